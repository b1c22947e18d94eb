"""Compares the answer of a case with what is expected of it. Each difference is a line in words, and the expected and
the seen value of it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.checking import matches, validation_errors
from gaia_mcp.cli.checks.cases import as_text, texts
from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.core.errors import MCPError, PeerError
from gaia_mcp.text import cut, cut_middle
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.validation import SchemaCostError, SchemaError

# A line has room for so many characters of a value.
VALUE_CHARS = 80
# The differences of one structured result, and the lines of one text, that are shown.
MAX_SHOWN = 20
# So many lines of a text are compared line by line.
MAX_COMPARED = 1000
_NOTHING = object()


class Answer(NamedTuple):
    """What a call has brought: a result or an error, and its time. `kind` as in a `Case`."""

    kind: str
    result: dict[str, Any]
    error: MCPError | None
    seconds: float

    @property
    def is_failure(self) -> bool:
        """Whether a tool has reported a failure."""
        return self.result.get("isError") is True

    @property
    def exit_code(self) -> int:
        """The exit code that a command would have."""
        if self.error is not None:
            return int(status_of(self.error))
        return int(ExitStatus.TOOL_FAILED if self.is_failure else ExitStatus.DONE)

    @property
    def text(self) -> str:
        """The whole text, of several blocks one below the other; of an error its message."""
        if self.error is not None:
            return self.error.text if isinstance(self.error, PeerError) else self.error.message
        if self.kind == "resource":
            blocks = self.result.get("contents")
        elif self.kind == "prompt":
            messages = self.result.get("messages")
            blocks = (
                [each.get("content") for each in messages if isinstance(each, dict)]
                if isinstance(messages, list)
                else []
            )
        else:
            blocks = self.result.get("content")
        found = [each.get("text") for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
        return "\n".join(text for text in found if isinstance(text, str))

    def at(self, pointer: str) -> Any:
        """The value at a JSON Pointer (RFC 6901) in the result, or its `text`. Raises `LookupError`."""
        if pointer == "text":
            return self.text
        value: Any = self.result
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list):
                if not key.isdecimal():
                    raise LookupError(key)
                value = value[int(key)]
            elif isinstance(value, dict):
                value = value[key]
            else:
                raise LookupError(key)
        return value


class Difference(NamedTuple):
    """A difference in words, and its lines: those of the expected value begin with `- `, of the seen one with `+ `."""

    words: str
    lines: Sequence[str]


def expects_error(expect: Mapping[str, Any]) -> bool:
    """Whether an error is expected, in place of a result."""
    return "code" in expect or expect.get("exitCode", 0) != 0


def differences(expect: Mapping[str, Any], answer: Answer) -> Iterator[Difference]:
    """The differences between an answer and what is expected of it."""
    has_result = not expects_error(expect)
    if answer.error is None and "exitCode" not in expect and answer.is_failure is not expect.get("isError", False):
        said = f": {_short(answer.text)}" if answer.is_failure else ""
        yield _unlike(f"isError{said}", expect.get("isError", False), answer.is_failure)
    if "code" in expect:
        seen = answer.error.code if isinstance(answer.error, PeerError) else None
        if seen != expect["code"]:
            yield _unlike("code", expect["code"], seen)
    if "exitCode" in expect and answer.exit_code != expect["exitCode"]:
        yield _unlike("exitCode", expect["exitCode"], answer.exit_code)
    # A variable may have made a number of it.
    if "text" in expect and answer.text != (text := as_text(expect["text"])):
        yield Difference("text: it is another one", list(_diff(text, answer.text)))
    for text in texts(expect.get("contains", [])):
        if text not in answer.text:
            yield _missing("contains", text, answer.text)
    for pattern in texts(expect.get("matches", [])):
        try:
            if not matches(pattern, answer.text):
                yield _missing("matches", pattern, answer.text)
        except re.error as problem:
            yield Difference(f"matches: {_short(pattern)} is no regular expression: {problem}", ())
        except SchemaCostError as problem:
            yield Difference(f"matches: {_short(pattern)}: {problem}", ())
    if "structured" in expect and has_result:
        seen = answer.result.get("structuredContent", _NOTHING)
        found = list(_parts("", expect["structured"], seen))
        for where, expected, got in found[:MAX_SHOWN]:
            yield _unlike(f"structured{' ' if where else ''}{where}", expected, got)
        if len(found) > MAX_SHOWN:
            yield Difference(f"structured: {len(found) - MAX_SHOWN} more differences", ())
    if "schema" in expect and has_result:
        yield from _unlike_schema(expect["schema"], answer)
    if "max_ms" in expect and answer.seconds * 1000 > expect["max_ms"]:
        took = round(answer.seconds * 1000, 1)
        yield Difference(f"max_ms: it took {took} ms, and {expect['max_ms']} ms are allowed", ())


def _unlike(what: str, expected: Any, seen: Any) -> Difference:
    is_there = f"is {_json(seen)}, not" if seen is not _NOTHING else "is missing, not"
    seen_line = [f"+ {_json(seen)}"] if seen is not _NOTHING else []
    return Difference(f"{what} {is_there} {_json(expected)}", [f"- {_json(expected)}", *seen_line])


def _missing(what: str, wanted: str, text: str) -> Difference:
    return Difference(f"{what}: {_short(wanted)} is not in the text", [f"- {_json(wanted)}", f"+ {_json(text)}"])


def _unlike_schema(schema: Any, answer: Answer) -> Iterator[Difference]:
    value = answer.result.get("structuredContent", _NOTHING)
    if value is _NOTHING:
        try:
            value = json.loads(answer.text)
        except ValueError:
            yield Difference("schema: there is no structured result, and the text is no JSON", ())
            return
    try:
        errors = validation_errors(schema, value)
    except SchemaError as problem:
        yield Difference(f"schema: it cannot be used: {problem}", ())
        return
    for error in errors[:MAX_SHOWN]:
        yield Difference(f"schema: {error}", ())


def _parts(where: str, expected: Any, seen: Any) -> Iterator[tuple[str, Any, Any]]:
    """The places where `seen` does not have what is expected: each with both values."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key, held in expected.items():
            place = f"{where}/{key.replace('~', '~0').replace('/', '~1')}"
            yield from _parts(place, held, seen.get(key, _NOTHING))
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for number, (one, other) in enumerate(zip(expected, seen, strict=True)):
            yield from _parts(f"{where}/{number}", one, other)
    elif seen is _NOTHING or not is_same(expected, seen):
        yield where, expected, seen


def _diff(expected: str, seen: str) -> Iterator[str]:
    """The lines that differ, with one line around them."""
    # Comparing takes quadratic time, and a server may send any number of lines.
    one, other = (text.split("\n")[:MAX_COMPARED] for text in (expected, seen))
    if len(one) == len(other) == 1:
        # Quoted: a space at the end is seen.
        yield f"- {_json(expected)}"
        yield f"+ {_json(seen)}"
        return
    lines = list(difflib.unified_diff(one, other, lineterm="", n=1))[2:]
    for line in lines[:MAX_SHOWN]:
        yield cut(f"{line[:1]} {line[1:]}" if line[:1] in "+- " else line, 2 * VALUE_CHARS)
    if not lines:
        yield f"… they differ after line {MAX_COMPARED}"
    if len(lines) > MAX_SHOWN:
        yield f"… {len(lines) - MAX_SHOWN} more lines"


def _json(value: Any) -> str:
    return cut_middle(json.dumps(value, ensure_ascii=False), 2 * VALUE_CHARS)


def _short(text: str) -> str:
    return cut_middle(json.dumps(text, ensure_ascii=False), VALUE_CHARS)
