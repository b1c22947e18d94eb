"""Replaces the secrets of a server with `****` in its output: texts, JSON values, and bytes that arrive in chunks.

The secrets are those that the server was given, each with its parts, in all encoded forms: escaped once or twice by
JSON, Python or HTML, percent-encoded, in Base64.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from gaia_mcp.text import MASK
from gaia_mcp.text.redaction import (
    Place,
    credentials,
    decoded,
    hidden,
    in_text,
    in_value,
    is_ordinary,
    looks_secret,
    merged,
    places_in,
)

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
_SCHEME = r"(?i)(?:bearer|basic|token)\s+(?=\S)"
_PAIR = r"(?<![\w.-])([\w.-]++)=([^;&\s]++)"
# A secret in a secret in a secret: an encoded password in a URL in a document.
MAX_DOCUMENT_DEPTH = 4


class Masker:
    """Masks `secrets` in all their forms. The name of the server, `spared`, is not masked, even if it is one.

    Initialised by the first text to mask.
    """

    def __init__(self, secrets: Iterable[str] = (), *, spared: str = "") -> None:
        self._given = secrets
        self._spared = spared
        self._known: list[_Secret] | None = None

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
        self._made: list[SecretForm] | None = None
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

    def _forms(self) -> list[SecretForm]:
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


# The shared Base64 character at the edge of a secret, and the padding after it.
_EDGE, _PADDING = "[A-Za-z0-9+/_-]?", r"(?:=|%3[Dd]){0,2}"


class SecretForm:
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


def forms_of(secret: str) -> Iterator[SecretForm]:
    """Every form of a secret."""
    if len(secret) > MAX_CHARS:
        yield SecretForm(secret, lambda: re.escape(secret))
        return
    yield SecretForm(_core(secret), lambda: disguised(secret))
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


def _in_base64(data: bytes) -> Iterator[SecretForm]:
    """In Base64, alone or among other bytes, which shift it and share the characters at its edges."""
    for before in range(3):
        encoded = b64encode(bytes(before) + data).decode()
        begin = (before * 8 + 5) // 6
        end = (before + len(data)) * 8 // 6
        inner = encoded[begin:end]
        core = max(re.findall("[A-Za-z0-9]+", inner), key=len, default="")
        yield SecretForm(core, partial(_disguised_base64, inner, is_within=before > 0))


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


def secrets_in(variables: Mapping[str, str], arguments: Sequence[str]) -> list[str]:
    """The secrets in a server's own variables and in its arguments, each also without the text around it."""
    found: list[str] = []
    for name, value in variables.items():
        found += secrets_at(value, in_value(name, value))
        found += _in_document(value)
    for argument, places in zip(arguments, places_in(arguments), strict=True):
        found += secrets_at(argument, places)
    return list(dict.fromkeys(found))


def secrets_at(text: str, places: Sequence[Place]) -> list[str]:
    """The secrets in these places of `text`, and the parts of each."""
    found = [part for begin, end in places for part in _parts(text[begin:end], MAX_DOCUMENT_DEPTH)]
    return [*found, *credentials_in(text)] if "://" in text else found


def credentials_in(text: str) -> list[str]:
    """The credentials in the URLs of `text`, and each password separately, also percent-decoded."""
    found = [text[begin:end] for begin, end in credentials(text)]
    passwords = [password for each in found if (password := each.partition(":")[2])]
    if any("%" in password for password in passwords):
        passwords += [_decoded(password) for password in passwords]
    return [*found, *passwords]


def _in_document(value: str) -> Iterator[str]:
    """The secrets in the members of a value that is a JSON object, by their own names."""
    if not value.lstrip().startswith("{"):
        return
    try:
        members = list(_named_texts("", json.loads(value)))
    except (ValueError, RecursionError):
        return
    for name, text in members:
        yield from secrets_at(text, in_value(name, text))


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Each text and number in a JSON value, with the name of its member, or of an outer member that names a secret."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _named_texts(name if looks_secret(name) and not looks_secret(key) else key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named_texts(name, inner)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield name, str(value)


def _parts(secret: str, depth: int) -> Iterator[str]:
    """The secret, and each part of it that is itself one."""
    yield secret
    if not depth:
        return
    parts = [secret.strip(), *_members(secret)]
    parts += [secret[begin:end] for begin, end in in_text(secret)]
    parts += [pair[2] for pair in re.finditer(_PAIR, secret) if in_value(pair[1], pair[2])]
    if scheme := re.match(_SCHEME, secret):
        parts += secret[scheme.end() :].split()
    if basic := decoded(secret):
        parts.append(basic.partition(":")[2])
    if ";" in secret or "&" in secret:
        parts.append(re.split("[;&]", secret, maxsplit=1)[0])
    if "://" in secret:
        parts += credentials_in(secret)
    if "%" in secret:
        parts.append(_decoded(secret))
    for part in dict.fromkeys(parts):
        if part and part != secret:
            yield from _parts(part, depth - 1)


def _members(secret: str) -> list[str]:
    """The secret texts in a secret that is JSON, or the unescaped text of a secret that is part of JSON."""
    if secret[:1] in ("{", "["):
        with_braces = secret
    elif "\\" in secret:
        with_braces = f'["{secret}"]'
    else:
        return []
    try:
        value = json.loads(with_braces)
    except (ValueError, RecursionError):
        return []
    return [text for text in _texts(value) if not is_ordinary(text)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _decoded(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
