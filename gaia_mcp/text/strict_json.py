"""Strict JSON: parsing with the position of each error, a canonical form, and escaping of JSON text; and the errors in
the text of a hand-written file of any format, without its path.

For files and command-line input. `protocol.jsonrpc` parses messages, and tolerates what peers send.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import re

# A lone surrogate in ASCII JSON text. Also matches a pair that follows a backslash.
_UNPAIRED = r"\\ud(?:[89ab]..(?!\\ud[c-f])|[c-f](?<![^\\]\\ud[89ab]..\\ud[c-f]))"
# The beginning of such text in which every surrogate is part of a pair: a high one, then a low one.
_PAIRED = r"[^\\]*+(?:\\(?:ud[89ab]..\\ud[c-f]..|(?!ud).)[^\\]*+)*+"
_ESCAPE_CHARS = len(r"\ud800")

_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}


class JSONTextError(ValueError):
    """Text that is not JSON. `at` counts characters from 0; `line` and `column` count from 1, and are 0 if the position
    is unknown.
    """

    def __init__(self, problem: str, *, text: str = "", at: int = -1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.line, self.column = place_in(text, at) if at >= 0 else (0, 0)


class DepthError(JSONTextError):
    """Text that is nested more deeply than Python can parse."""


class RepeatedKeyError(JSONTextError):
    """An object that has `key` twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"has the key {key!r} twice in one object")
        self.key = key


def parse_json(text: str, *, unique_keys: bool = False) -> Any:
    """The value of `text`. Numbers that JSON does not have (NaN, infinities, also as `1e999`) are rejected, and with
    `unique_keys` also objects that repeat a key; otherwise the last one counts.

    Raises `JSONTextError`.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_unique if unique_keys else None, parse_float=_finite, parse_constant=_finite
        )
    except json.JSONDecodeError as cause:
        raise JSONTextError(cause.msg, text=text, at=cause.pos) from cause
    except RecursionError as cause:
        raise DepthError("is nested too deeply") from cause
    except JSONTextError:
        raise
    except ValueError as cause:  # Python's limit on the digits of an integer.
        raise JSONTextError(str(cause)) from cause


def canonical(value: Any) -> Any:
    """A copy of `value` that is the same for the same JSON: object keys are sorted, and 1.0 is 1.

    Raises `TypeError`, `ValueError` or `RecursionError` for a value that JSON does not have.
    """
    return json.loads(json.dumps(value, sort_keys=True, allow_nan=False), parse_float=_whole_or_float)


def canonical_text(value: Any) -> str:
    """`value` as one line of ASCII without blanks, object keys sorted. For a `canonical` value it is unique, and the
    basis of hashes and comparisons.

    Raises as `canonical` does.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. In JSON 1.0 is 1, but `True` equals 1 in Python alone."""
    return one is other or (one == other and _comparable(one) == _comparable(other))


def escaped(text: str, pattern: re.Pattern[str]) -> str:
    """JSON text with each character that `pattern` matches as a JSON escape: the value stays the same."""
    return pattern.sub(lambda found: json.dumps(found[0])[1:-1], text)


def paired(text: str) -> str:
    """JSON text in ASCII, as `json` writes it, with U+FFFD for each lone surrogate, which is not valid Unicode and
    which a JSON parser may reject.
    """
    # Most texts have no escape at all, which is detected at once.
    if "\\" not in text:
        return text
    import re

    if re.search(_UNPAIRED, text) is None:
        return text
    pattern = re.compile(_PAIRED)
    parts: list[str] = []
    at = 0
    while at < len(text):
        # Never None: it may match nothing.
        end = pattern.match(text, at).end()  # type: ignore[union-attr]
        parts.append(text[at:end])
        if end < len(text):
            parts.append("\\ufffd")
        at = end + _ESCAPE_CHARS
    return "".join(parts)


def kind_of(value: Any) -> str:
    """The type of a JSON value as part of a sentence: "a list", "null"."""
    return _KINDS.get(type(value), "an object")


def place_in(text: str, at: int) -> tuple[int, int]:
    """Line and column, both counted from 1, of the character at offset `at`."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def repeated_key(pairs: list[tuple[str, Any]]) -> str | None:
    """The first key that occurs twice among the members of an object."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return None


def _comparable(value: Any) -> str:
    return json.dumps(json.loads(json.dumps(value), parse_float=_whole_or_float), sort_keys=True)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs) and (key := repeated_key(pairs)) is not None:
        raise RepeatedKeyError(key)
    return value


def _finite(text: str) -> float:
    import math  # Few texts have such numbers, and TAB completion must start fast.

    value = float(text)
    if not math.isfinite(value):
        raise JSONTextError(f"{text} is not a number in JSON")
    return value


def _whole_or_float(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


class TextProblemError(ValueError):
    """Text that cannot be read, or cannot be changed without touching more than one entry. `at` counts characters."""

    def __init__(self, problem: str, *, at: int | None = None, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.line = line
        self.column = column

    def placed(self, text: str) -> TextProblemError:
        """The same with line and column of `text`, both counted from 1."""
        if self.at is None:
            return self
        line, column = place_in(text, self.at)
        return TextProblemError(self.problem, line=line, column=column)


class Repeated(dict[str, Any]):
    """An object that has `key` twice; which of the two the host uses is unknown."""

    key = ""


def with_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object, or as `Repeated`."""
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = Repeated(value)
    repeated.key = repeated_key(pairs) or ""
    return repeated
