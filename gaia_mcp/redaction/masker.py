"""Replaces the secrets of a server with `****` in its output: texts, JSON values, and bytes that arrive in chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gaia_mcp.redaction.finding import Place, hidden, merged
from gaia_mcp.redaction.forms import Form, forms_of, longest
from gaia_mcp.redaction.looks import is_ordinary
from gaia_mcp.safetext import MASK

# Shorter values, such as `1` or `eth0`, occur in every message: masking them would hide half of it and protect nothing,
# since they are easily guessed. In the entry of a server they are still masked, by their position.
MIN_CHARS = 6
# Deeper nesting is unreadable anyway, and would cause a RecursionError.
MAX_DEPTH = 100
# Shorter prefixes of a secret occur at the end of many words, and reveal nothing.
TELLING_CHARS = 4
# An endless line is passed on in chunks of this size, rather than held in memory.
LINE_BYTES = 64 * 1024
# The longest UTF-8 sequence of a character.
CHARACTER_BYTES = 4
# The members needed to use a tool, a prompt or a resource: its name, and the values of its arguments.
_ADDRESSES = frozenset((
    "name", "uri", "url", "uriTemplate", "mimeType", "type", "format", "enum", "const", "pattern", "$ref",
))  # fmt: skip
# The punctuation of JSON.
_PUNCTUATION = str.maketrans(dict.fromkeys('"{}[]', " "))


class Masker:
    """Masks `secrets` in all their forms. The name of the server, `spared`, is not masked, even if it is one.

    Initialised by the first text to mask.
    """

    def __init__(self, secrets: Iterable[str] = (), *, spared: str = "") -> None:
        self._given = secrets
        self._spared = spared
        self._known: list[_Secret] | None = None

    @property
    def secrets(self) -> list[str]:
        """The secrets that are searched for, including the lines of a secret with several."""
        return [each.text for each in self._all()]

    @property
    def reach(self) -> int:
        """The bytes of the longest form of a secret."""
        return max((each.reach for each in self._all()), default=1)

    def text(self, text: str) -> str:
        """`text` with each secret replaced with `****`, in any of its forms."""
        if not text:
            return text
        places = merged(place for each in self._all() for place in each.places(text))
        return hidden(text, places) if places else text

    def excerpt(self, text: str) -> str:
        """As `text`, for a text that was cut off at its end, perhaps within a secret."""
        text = self.text(text)
        cut = max((each.begun_at_end(text) for each in self._all()), default=0)
        return text[:-cut] + MASK if cut >= TELLING_CHARS else text

    def value(self, value: Any) -> Any:
        """A JSON value with each secret replaced with `****`, also in its keys. Returned unchanged if it has none."""
        return self._value(value, 0) if self._may_hold(value) else value

    def definition(self, value: Any) -> Any:
        """As `value`, for the definition of a tool, a prompt or a resource: the names needed to use it stay."""
        return self._value(value, 0, spares_addresses=True) if self._may_hold(value) else value

    def _value(self, value: Any, depth: int, *, spares_addresses: bool = False) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return MASK if self.text(str(value)) == MASK else value
        if not isinstance(value, (dict, list)):
            return value
        if depth == MAX_DEPTH:
            return MASK
        if isinstance(value, list):
            return [self._value(item, depth + 1, spares_addresses=spares_addresses) for item in value]
        if not spares_addresses:
            return {self.text(key): self._value(item, depth + 1) for key, item in value.items()}
        return {
            key: item if key in _ADDRESSES and not isinstance(item, dict) else
            self._value(item, depth + 1, spares_addresses=True)
            for key, item in value.items()
        }  # fmt: skip

    def _may_hold(self, value: Any) -> bool:
        if not self._all() or not isinstance(value, (str, int, dict, list)):
            return False
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (ValueError, TypeError, RecursionError):
            return True
        return any(each.may_stand_in(text) for each in self._all())

    def _all(self) -> list[_Secret]:
        if self._known is None:
            texts = dict.fromkeys(each for secret in self._given for each in _with_lines(secret.strip()))
            spared = self._spared.casefold()
            self._known = [_Secret(text) for text in texts if len(text) >= MIN_CHARS and text.casefold() != spared]
        return self._known


class _Secret:
    """A secret in its forms, which are computed when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.reach = longest(text)
        self._made: list[Form] | None = None
        # A server that abbreviates a secret in its log, to identify it, shows less than half of it.
        half = max(len(text) // 2, MIN_CHARS)
        self._half = text[:half] if len(text) > half and not is_ordinary(text) else ""

    def may_stand_in(self, text: str) -> bool:
        """Whether a JSON text may contain it, complete or cut off."""
        return any(form.core in text for form in self._forms()) or (bool(self._half) and self._half in text)

    def places(self, text: str) -> Iterator[Place]:
        """The places of it in `text`, and of more than half of it, before the end of a word."""
        for form in self._forms():
            yield from form.places(text)
        at = -1
        while self._half and (at := text.find(self._half, at + 1)) >= 0:
            end = at + len(self._half)
            while end < len(text) and end - at < len(self.text) and text[end] == self.text[end - at]:
                end += 1
            if end == len(text) or not text[end].isalnum():
                yield at, end
            at = end - 1

    def begun_at_end(self, text: str) -> int:
        """The length of its longest prefix at the end of `text`."""
        begin = max(len(text) - len(self.text) + 1, 0)
        while (begin := text.find(self.text[:TELLING_CHARS], begin)) >= 0:
            if self.text.startswith(text[begin:]):
                return len(text) - begin
            begin += 1
        return 0

    def _forms(self) -> list[Form]:
        if self._made is None:
            self._made = list(forms_of(self.text))
        return self._made


def _with_lines(secret: str) -> Iterator[str]:
    """A secret, and each of its lines, since a log may contain them one by one; but not the frame lines of a key, nor
    ordinary lines of a document.
    """
    yield secret
    if "\n" in secret or "\r" in secret:
        is_document = secret.startswith(("{", "["))
        for line in map(str.strip, secret.splitlines()):
            if not line.startswith("-----") and not (is_document and is_ordinary(line.translate(_PUNCTUATION))):
                yield line


class MaskedLines:
    """Turns bytes that arrive in chunks into whole lines without secrets, even if a secret is split between chunks."""

    def __init__(self, masker: Callable[[], Masker]) -> None:
        self._masker = masker
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """The lines that `data` completes."""
        text, newline, self._begun = (self._begun + data).rpartition(b"\n")
        whole = self._masked(text + newline)
        if len(self._begun) > LINE_BYTES:
            begun = self._masked(self._begun)
            # A possible beginning of a secret, or of a character, waits for the rest.
            end = max(len(begun) - max(self._masker().reach, CHARACTER_BYTES), 0)
            end = next((at for at in range(end, max(end - CHARACTER_BYTES, -1), -1) if begun[at] & 0xC0 != 0x80), end)
            whole, self._begun = whole + begun[:end], begun[end:]
        return whole

    def rest(self) -> bytes:
        """The unfinished line, when nothing more will arrive."""
        begun, self._begun = self._begun, b""
        return self._masked(begun)

    def _masked(self, data: bytes) -> bytes:
        if not data:
            return data
        return self._masker().text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
