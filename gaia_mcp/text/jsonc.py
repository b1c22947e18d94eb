"""JSON with comments and trailing commas: reads it, and changes one member; keeps every other character.

No library in wide use can change such a text in place. This is a parser that records the positions of the objects on
the path to one key.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gaia_mcp.text.strict_json import TextProblemError, with_pairs

# Far deeper than any settings, and well below Python's recursion limit.
MAX_DEPTH = 200

_DECODER = json.JSONDecoder()
# The line endings of VS Code: a lone carriage return is one, other Unicode line separators are not.
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None}
# A comment after a value, on its line, belongs to the value.
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|(?:/\*(?:[^*\r\n]|\*(?!/))*\*/[ \t]*)*)(?=\r?\n)")
_INDENT = re.compile(r"\n([ \t]+)[^\s/]")


class Member(NamedTuple):
    """The position of an object's member: its key, the start and end of its value, and the comma after it, or -1."""

    at: int
    start: int
    end: int
    comma: int


class Braces(NamedTuple):
    """The position of an object, from brace to brace, and its members by key."""

    start: int
    end: int
    members: dict[str, Member]


def parse(text: str) -> Any:
    """The value of `text`. An object with a duplicate key becomes a `Repeated`. Raises `TextProblemError`."""
    try:
        # Ten times as fast, and sufficient for most files, which are plain JSON.
        return json.loads(text, object_pairs_hook=with_pairs)
    except (ValueError, RecursionError):
        return _Reader(text, ()).document()


def with_member(text: str, path: tuple[str, ...], value: Any) -> str:
    """`text` with `value` at `path`, replacing the existing member, or after the last one.

    Raises `TextProblemError`, also if a value along `path` is not an object.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        for key in reversed(path):
            value = {key: value}
        return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", newline) + newline
    reader = _Reader(text, path)
    reader.document()
    depth = max((len(found) for found in reader.found), default=-1)
    if depth < 0:
        raise TextProblemError("does not contain an object", at=0)
    braces = reader.found[path[:depth]]
    member = braces.members.get(path[depth])
    unit = _unit(text)
    if member is not None:
        if text[member.start : member.end] == "null":
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
        elif depth < len(path) - 1:
            raise TextProblemError(f"{path[depth]!r} is not an object", at=member.start)
        elif "\n" not in text[member.start : member.end] and text[member.start + 1 : member.end - 1].strip():
            return text[: member.start] + json.dumps(value, ensure_ascii=False) + text[member.end :]
        lines = _lines(value, unit, _indent_at(text, member.at), newline)
        return text[: member.start] + lines + text[member.end :]
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _with_new(text, braces, path[depth], value, unit, newline)


def _with_new(text: str, braces: Braces, key: str, value: Any, unit: str, newline: str) -> str:
    name = json.dumps(key, ensure_ascii=False)
    outer = _indent_at(text, braces.start)
    if not braces.members:
        inside = text[braces.start + 1 : braces.end - 1].rstrip()
        indent = outer + unit
        new = f"{inside}{newline}{indent}{name}: {_lines(value, unit, indent, newline)}{newline}{outer}"
        return text[: braces.start + 1] + new + text[braces.end - 1 :]
    last = list(braces.members.values())[-1]
    # A trailing comma is kept.
    before, end, behind = ("", last.comma + 1, ",") if last.comma >= 0 else (",", last.end, "")
    if "\n" not in text[braces.start : last.at]:
        # The first member is on the line of the brace: a compact object stays compact.
        return f"{text[:end]}{before} {name}: {json.dumps(value, ensure_ascii=False)}{behind}{text[end:]}"
    indent = _indent_at(text, last.at)
    rest = _REST_OF_LINE.match(text, end)
    line_end = rest.end() if rest is not None and rest.end() < braces.end else end
    new = f"{newline}{indent}{name}: {_lines(value, unit, indent, newline)}{behind}"
    return text[:end] + before + text[end:line_end] + new + text[line_end:]


def _lines(value: Any, unit: str, indent: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _unit(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


class _Reader:
    """Parses a text. `found` are the objects along `path`, by the path of each."""

    def __init__(self, text: str, path: tuple[str, ...]) -> None:
        self.text = text
        self.path = path
        self.found: dict[tuple[str, ...], Braces] = {}

    def document(self) -> Any:
        value, at = self._value(self._space(0), (), 0)
        at = self._space(at)
        if at < len(self.text):
            raise TextProblemError("goes on after its end", at=at)
        return value

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        at = match.end() if match else at
        if self.text.startswith("/*", at):
            raise TextProblemError("a comment has no end", at=at)
        return at

    def _value(self, at: int, trail: tuple[str, ...] | None, depth: int) -> tuple[Any, int]:
        sign = self.text[at : at + 1]
        if depth > MAX_DEPTH:
            raise TextProblemError("is nested too deeply", at=at)
        if sign == "{":
            return self._object(at, trail, depth)
        if sign == "[":
            return self._array(at, depth)
        if sign == '"':
            return self._string(at)
        if (match := _NUMBER.match(self.text, at)) is not None:
            number = match.group()
            return (int(number) if number.lstrip("-").isdigit() and len(number) < 4000 else float(number)), match.end()
        if (match := _WORD.match(self.text, at)) is not None and match.group() in _WORDS:
            return _WORDS[match.group()], match.end()
        raise self._unexpected(at, "a value")

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as cause:
            raise TextProblemError(f"not JSON: {cause.msg}", at=cause.pos) from cause
        return str(text), end

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self._space(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self._value(at, None, depth + 1)
            found.append(value)
            at, _ = self._comma(at, "]")
        return found, at + 1

    def _object(self, start: int, trail: tuple[str, ...] | None, depth: int) -> tuple[dict[str, Any], int]:
        pairs: list[tuple[str, Any]] = []
        members: dict[str, Member] = {}
        at = self._space(start + 1)
        while self.text[at : at + 1] != "}":
            key_at = at
            if self.text[at : at + 1] != '"':
                raise self._unexpected(at, "a name in double quotes")
            key, at = self._string(at)
            at = self._space(at)
            if self.text[at : at + 1] != ":":
                raise self._unexpected(at, "a colon")
            at = value_at = self._space(at + 1)
            inner = (*trail, key) if trail is not None and (*trail, key) == self.path[: len(trail) + 1] else None
            value, end = self._value(at, inner, depth + 1)
            pairs.append((key, value))
            at, comma = self._comma(end, "}")
            if trail is not None:
                members[key] = Member(key_at, value_at, end, comma)
        if trail is not None and len(trail) < len(self.path):
            self.found[trail] = Braces(start, at + 1, members)
        return with_pairs(pairs), at + 1

    def _comma(self, at: int, end: str) -> tuple[int, int]:
        """After a value: the position of the next token, and that of the comma, or -1."""
        at = self._space(at)
        if self.text[at : at + 1] == ",":
            return self._space(at + 1), at
        if self.text[at : at + 1] != end:
            raise self._unexpected(at, f"a comma or {end!r}")
        return at, -1

    def _unexpected(self, at: int, wanted: str) -> TextProblemError:
        if at >= len(self.text):
            return TextProblemError("ends too early", at=at)
        return TextProblemError(f"not JSON: here should be {wanted}", at=at)
