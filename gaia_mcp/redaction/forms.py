"""The encoded forms of a secret: escaped once or twice by JSON, Python or HTML, percent-encoded, in Base64.

A form is a regular expression in which each character may be encoded in any way. It is compiled only for a text that
contains its core, the longest part of the secret that no encoding changes; so most secrets cost one search.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial

# Characters that no encoding changes.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")
# A shorter core occurs in every text.
CORE_CHARS = 3
# The regular expression of a longer secret takes too long to compile; it is searched unencoded, and line by line.
MAX_CHARS = 4096
# JSON in JSON in JSON: each level doubles the backslashes.
_BACKSLASHES = 8
_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\0": "0"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
# Between the lines of a secret that were joined into one line.
_LINE_BREAK = rf"(?:\s|\\{{1,{_BACKSLASHES}}}[nr]|%(?:25)*0[AaDd]|&#(?:10|13|x[AaDd]);){{0,8}}"
# The shared Base64 character at the edge of a secret, and the padding after it.
_EDGE, _PADDING = "[A-Za-z0-9+/_-]?", r"(?:=|%3[Dd]){0,2}"


class Form:
    """One form of a secret. Every text that contains the form contains `core`, which may be empty."""

    def __init__(self, core: str, write: Callable[[], str]) -> None:
        self.core = core if len(core) >= CORE_CHARS else ""
        self._write = write
        self._compiled: re.Pattern[str] | None = None

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Its places in `text`."""
        if self.core not in text:
            return
        if self._compiled is None:
            self._compiled = re.compile(self._write())
        for found in self._compiled.finditer(text):
            yield found.span()


def forms_of(secret: str) -> Iterator[Form]:
    """Every form of a secret."""
    if len(secret) > MAX_CHARS:
        yield Form(secret, lambda: re.escape(secret))
        return
    yield Form(_core(secret), lambda: disguised(secret))
    yield from _in_base64(secret.encode("utf-8", "surrogatepass"))


def disguised(text: str) -> str:
    """A pattern for `text` unencoded, and escaped or encoded in any way but Base64."""
    pattern = ""
    for part in re.findall(r"[A-Za-z0-9_.~-]+|\s*[\r\n]\s*|\\+|.", text, re.DOTALL):
        if _PLAIN.fullmatch(part):
            pattern += re.escape(part)
        elif part.strip() == "" and ("\n" in part or "\r" in part):
            pattern += _LINE_BREAK
        elif part[0] == "\\":
            count = len(part)
            pattern += rf"(?:\\{{{count},{count * _BACKSLASHES}}}|(?:{_encoded(part[0])}){{{count}}})"
        else:
            pattern += _disguised_character(part)
    return pattern


def longest(text: str) -> int:
    """An upper estimate of the bytes of the longest form of `text`."""
    special = len(_PLAIN.sub("", text))
    return (len(text) - special) * 2 + special * 48


def _disguised_character(character: str) -> str:
    forms = [rf"\\{{0,{_BACKSLASHES}}}{re.escape(character)}", _encoded(character)]
    if character == " ":
        forms.append(r"\+")
    if (letter := _ESCAPES.get(character)) is not None:
        forms.append(rf"\\{{1,{_BACKSLASHES}}}{letter}")
    code = ord(character)
    entities = [rf"#0*{code}", rf"#[xX]0*{_hexadecimal(f'{code:x}')}"]
    if (name := _ENTITIES.get(character)) is not None:
        entities.append(name)
    forms.append(rf"\\{{0,{_BACKSLASHES}}}&(?:amp;)*(?:{'|'.join(entities)});")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    backslashes = rf"\\{{1,{_BACKSLASHES}}}"
    forms.append("".join(rf"{backslashes}u{_hexadecimal(units[at : at + 4])}" for at in range(0, len(units), 4)))
    if code > 0xFFFF:
        forms.append(rf"{backslashes}U{_hexadecimal(f'{code:08x}')}")
    if code <= 0xFF:
        forms.append(rf"{backslashes}x{_hexadecimal(f'{code:02x}')}")
    if code > 0x7F:
        data = character.encode("utf-8", "surrogatepass")
        forms.append("".join(rf"{backslashes}x{_hexadecimal(f'{byte:02x}')}" for byte in data))
    return f"(?:{'|'.join(forms)})"


def _encoded(character: str) -> str:
    """Percent-encoded, perhaps more than once."""
    return "".join(f"%(?:25)*{_hexadecimal(f'{byte:02x}')}" for byte in character.encode("utf-8", "surrogatepass"))


def _hexadecimal(digits: str) -> str:
    return "".join(digit if digit.isdigit() else f"[{digit.upper()}{digit.lower()}]" for digit in digits)


def _in_base64(data: bytes) -> Iterator[Form]:
    """In Base64, alone or among other bytes, which shift it and share the characters at its edges."""
    for before in range(3):
        encoded = b64encode(bytes(before) + data).decode()
        begin = (before * 8 + 5) // 6
        end = (before + len(data)) * 8 // 6
        inner = encoded[begin:end]
        if len(inner) < CORE_CHARS:
            continue
        core = max(re.findall("[A-Za-z0-9]+", inner), key=len, default="")
        yield Form(core, partial(_disguised_base64, inner, is_within=before > 0))


def _disguised_base64(inner: str, *, is_within: bool) -> str:
    """A pattern for Base64 in either alphabet, escaped or encoded. `is_within`: other bytes may precede it."""
    pattern = "".join(_of_base64(part) for part in re.findall(r"[A-Za-z0-9]+|.", inner))
    return f"{_EDGE if is_within else ''}{pattern}{_EDGE}{_PADDING}"


def _of_base64(part: str) -> str:
    if part == "+":
        return rf"(?:\\{{0,{_BACKSLASHES}}}\+|-|%(?:25)*2[Bb]|\\{{1,{_BACKSLASHES}}}u002[Bb]|&#43;)"
    if part == "/":
        return rf"(?:\\{{0,{_BACKSLASHES}}}/|_|%(?:25)*2[Ff]|&#47;)"
    return part


def _core(secret: str) -> str:
    return max(_PLAIN.findall(secret), key=len, default="")
