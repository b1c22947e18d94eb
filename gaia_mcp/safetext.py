"""Text from elsewhere, made safe to show: without control characters, known secrets or endless lines.

Knows nothing of terminals; the code that prints decides when to use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gaia_mcp.jsontext import escaped

MASK = "****"
# Of a secret with several lines, shorter ones are common words and are not masked.
TELLING_CHARS = 6
# A line that does not end is passed on in pieces of this size, rather than kept in memory.
LINE_BYTES = 64 * 1024
# As long as one character of UTF-8 may be.
CHARACTER_BYTES = 4

# C0 without tab and newline, DEL, C1, and the marks that reorder or hide text on a terminal. The two joiners stay:
# scripts and emoji are written with them.
# None of them is printable. Patterns are compiled when they are used: most texts need none.
_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_SURROGATE = "[\ud800-\udfff]"


def clean(text: str) -> str:
    """`text` with every control, direction and invisible character written as an escape such as `\\x1b`."""
    return text if text.isprintable() else re.sub(_UNSAFE, lambda found: escape(found[0]), text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """JSON with the same characters written as JSON's own escapes: the same value, safe to show."""
    return escaped(text, re.compile(_UNSAFE))


def one_line(text: str, limit: int = 200) -> str:
    """The first `limit` characters of `text` on one line, cleaned, ending in `…` if something was cut."""
    flat = " ".join(clean(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, ending in `…` if something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut_middle(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with `…` for its middle: the end of a problem is what is wrong."""
    begin = limit // 3
    return text if len(text) <= limit else f"{text[:begin]}…{text[len(text) - (limit - begin - 1) :]}"


def encodable(text: str) -> str:
    """`text` without lone surrogates, which no encoding can carry."""
    return text if text.isprintable() else re.sub(_SURROGATE, "\ufffd", text)


def redacted(text: str, secrets: Sequence[str]) -> str:
    """`text` with each of `secrets` replaced by `****`."""
    # Very short values would blank out half of every message and protect nothing.
    for secret in sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


class RedactedLines:
    """Turns bytes that arrive in pieces into whole lines without `secrets()`, also where a secret is in two pieces.

    Each line of a secret that has several is masked by itself, since a log may show them one by one.
    """

    def __init__(self, secrets: Callable[[], Sequence[str]]) -> None:
        self._secrets = secrets
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete now."""
        text, newline, self._begun = (self._begun + data).rpartition(b"\n")
        whole = self._redacted(text + newline)
        if len(self._begun) > LINE_BYTES:
            begun = self._redacted(self._begun)
            # What may be the beginning of a secret, or of a character, waits for its rest.
            end = max(len(begun) - CHARACTER_BYTES * max((1, *map(len, self._secrets()))), 0)
            end = next((at for at in range(end, max(end - CHARACTER_BYTES, -1), -1) if begun[at] & 0xC0 != 0x80), end)
            whole, self._begun = whole + begun[:end], begun[end:]
        return whole

    def rest(self) -> bytes:
        """The unfinished line, when nothing more will arrive."""
        begun, self._begun = self._begun, b""
        return self._redacted(begun)

    def _redacted(self, data: bytes) -> bytes:
        if not data:
            return data
        secrets = self._secrets()
        lines = (line.strip() for secret in secrets if "\n" in secret for line in secret.splitlines())
        telling = [*secrets, *(line for line in lines if len(line) >= TELLING_CHARS)]
        return redacted(data.decode("utf-8", "surrogateescape"), telling).encode("utf-8", "surrogateescape")


def escape(character: str) -> str:
    """`character` as the escape that a Python or JavaScript string would have for it, such as `\\x1b`."""
    code = ord(character)
    if code == 0x0D:
        return "\\r"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
