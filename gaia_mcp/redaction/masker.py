"""Replaces the secrets of a server by `****` in what it wrote: texts, JSON values, and bytes that come in pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gaia_mcp.redaction.finding import Place, hidden, merged
from gaia_mcp.redaction.forms import Form, forms_of, longest
from gaia_mcp.redaction.looks import is_ordinary
from gaia_mcp.safetext import MASK

# Of what is shorter, such as `1` or `eth0`, one finds a piece in every message: masked, it would blank out half of each
# and protect nothing, for so few characters are guessed as quickly as they are read. In the entry of a server they are
# hidden all the same, by their place.
MIN_CHARS = 6
# No person reads what is nested more deeply; going on would end in a RecursionError of ours.
MAX_DEPTH = 100
# Shorter beginnings of a secret stand at the end of many words, and reveal nothing.
TELLING_CHARS = 4
# A line that does not end is passed on in pieces of this size, rather than kept in memory.
LINE_BYTES = 64 * 1024
# As long as one character of UTF-8 may be.
CHARACTER_BYTES = 4
# What a tool, a prompt or a resource is called by, and what its arguments may be: without these it is of no use.
_ADDRESSES = frozenset((
    "name", "uri", "url", "uriTemplate", "mimeType", "type", "format", "enum", "const", "pattern", "$ref",
))  # fmt: skip
# Of JSON, around its words.
_PUNCTUATION = str.maketrans(dict.fromkeys('"{}[]', " "))


class Masker:
    """Knows `secrets` in all their forms. The name of the server, `spared`, is not masked, although it may be one.

    Nothing is done until there is a text to be masked.
    """

    def __init__(self, secrets: Iterable[str] = (), *, spared: str = "") -> None:
        self._given = secrets
        self._spared = spared
        self._known: list[_Secret] | None = None

    @property
    def secrets(self) -> list[str]:
        """The secrets that are looked for, the lines of one that has several among them."""
        return [each.text for each in self._all()]

    @property
    def reach(self) -> int:
        """How many bytes the longest form of a secret may have."""
        return max((each.reach for each in self._all()), default=1)

    def text(self, text: str) -> str:
        """`text` with each secret replaced by `****`, in whatever form it stands there."""
        if not text:
            return text
        places = merged(place for each in self._all() for place in each.places(text))
        return hidden(text, places) if places else text

    def excerpt(self, text: str) -> str:
        """As `text`, for one that was cut off at its end, perhaps within a secret."""
        text = self.text(text)
        cut = max((each.begun_at_end(text) for each in self._all()), default=0)
        return text[:-cut] + MASK if cut >= TELLING_CHARS else text

    def value(self, value: Any) -> Any:
        """A JSON value with each secret replaced by `****`, in its keys too. What holds none is returned as it is."""
        return self._value(value, 0) if self._may_hold(value) else value

    def definition(self, value: Any) -> Any:
        """As `value`, for the definition of a tool, a prompt or a resource: what it is called by stays."""
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
    """A secret in its forms, which are made when they are first looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.reach = longest(text)
        self._made: list[Form] | None = None
        # A server that shortens a secret in its log, to tell which it is, leaves less of it than half.
        half = max(len(text) // 2, MIN_CHARS)
        self._half = text[:half] if len(text) > half and not is_ordinary(text) else ""

    def may_stand_in(self, text: str) -> bool:
        """Whether it may stand in a JSON text, as it is or cut off."""
        return any(form.core in text for form in self._forms()) or (bool(self._half) and self._half in text)

    def places(self, text: str) -> Iterator[Place]:
        """Where it stands in `text`, and where more than half of it does, before a word's end."""
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
        """How many characters of its beginning stand at the end of `text`."""
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
    """A secret, and its lines by themselves, since a log may show them one by one; but not those that frame a key, nor
    the ordinary ones of a document.
    """
    yield secret
    if "\n" in secret or "\r" in secret:
        is_document = secret.startswith(("{", "["))
        for line in map(str.strip, secret.splitlines()):
            if not line.startswith("-----") and not (is_document and is_ordinary(line.translate(_PUNCTUATION))):
                yield line


class MaskedLines:
    """Turns bytes that arrive in pieces into whole lines without secrets, also where a secret is in two pieces."""

    def __init__(self, masker: Callable[[], Masker]) -> None:
        self._masker = masker
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete now."""
        text, newline, self._begun = (self._begun + data).rpartition(b"\n")
        whole = self._masked(text + newline)
        if len(self._begun) > LINE_BYTES:
            begun = self._masked(self._begun)
            # What may be the beginning of a secret, or of a character, waits for its rest.
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
