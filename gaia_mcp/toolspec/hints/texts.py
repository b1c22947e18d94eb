"""Kinds of values that JSON represents as strings: times, durations, decimals, UUIDs, paths and bytes.

The types are recognised by name, so that an agent loads only those that its hints use.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.toolspec.hints.kinds import ConversionError, Kind, shown

if TYPE_CHECKING:
    from datetime import timedelta

    from gaia_mcp.toolspec.hints.kinds import Definitions

Wire = dict[str, Any]

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_DURATION = re.compile(rf"([-+]?)P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?")
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)$"


class Text(Kind):
    """A value that `make` parses from a string; `noun` names it in messages."""

    def __init__(self, noun: str, schema: Wire, make: Callable[[str], Any]) -> None:
        self._noun = noun
        self._schema = schema
        self._make = make

    def schema(self, definitions: Definitions) -> Wire:  # noqa: ARG002
        return {"type": "string", **self._schema}

    def convert(self, value: Any, where: str) -> Any:
        if not isinstance(value, str):
            raise ConversionError(where, f"{shown(value)} is not of type 'string'")
        try:
            return self._make(value)
        except (ValueError, ArithmeticError) as cause:
            raise ConversionError(where, f"{shown(value)} is not {self._noun}") from cause


class DecimalText(Text):
    """A decimal number: a string with all its digits, or a number."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__("a decimal number", {"pattern": _DECIMAL}, make)

    def schema(self, definitions: Definitions) -> Wire:
        return {"anyOf": [{"type": "number"}, super().schema(definitions)]}

    def convert(self, value: Any, where: str) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # From its text, which has the digits that were sent.
        return super().convert(str(value) if is_number else value, where)


def duration(text: str) -> timedelta:
    """The duration of an ISO 8601 string such as `P1DT2H3M4.5S`. Raises `ValueError`, `OverflowError`."""
    from datetime import timedelta

    matched = _DURATION.fullmatch(text)
    if matched is None or text.endswith(("P", "T")):
        raise ValueError(f"{text!r} is not a duration")
    given = zip(_UNITS, matched.groups()[1:], strict=True)
    numbers = {unit: float(number.replace(",", ".")) for unit, number in given if number}
    return timedelta(**numbers) * (-1 if matched[1] == "-" else 1)


# By the full name of the type: the function that creates its kind.
_TEXTS: dict[str, Callable[[Any], Kind]] = {
    "datetime.datetime": lambda kind: Text("a date and time", {"format": "date-time"}, kind.fromisoformat),
    "datetime.date": lambda kind: Text("a date", {"format": "date"}, kind.fromisoformat),
    "datetime.time": lambda kind: Text("a time", {"format": "time"}, kind.fromisoformat),
    "datetime.timedelta": lambda _: Text("a duration such as P1DT2H30M", {"format": "duration"}, duration),
    "uuid.UUID": lambda kind: Text("a UUID", {"format": "uuid"}, kind),
    "builtins.bytes": lambda _: Text("base64", {"contentEncoding": "base64"}, _from_base64),
    "decimal.Decimal": DecimalText,
}


def text_kind(hint: type) -> Kind | None:
    """The kind of a type whose values are strings, None for any other type."""
    # Some Python versions define the paths in a submodule of `pathlib`.
    module = hint.__module__.partition(".")[0]
    if module == "pathlib" and hasattr(hint, "__fspath__"):
        return Text("a path", {"format": "path"}, hint)
    make = _TEXTS.get(f"{module}.{hint.__qualname__}")
    return make(hint) if make is not None else None


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
