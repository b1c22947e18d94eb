"""Kinds of values that JSON carries as text: times, durations, decimals, UUIDs, paths and bytes."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gaia_mcp.agents.hints.kinds import ConversionError, Kind, shown

if TYPE_CHECKING:
    from gaia_mcp.agents.hints.definitions import Definitions

Wire = dict[str, Any]

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_DURATION = re.compile(rf"([-+]?)P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?")
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)$"


class Text(Kind):
    """A value that `make` reads from text; `noun` names it in messages."""

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
        except (ValueError, OverflowError, InvalidOperation) as cause:
            raise ConversionError(where, f"{shown(value)} is not {self._noun}") from cause


class DecimalText(Text):
    """A decimal number: as text with all its digits, or as a number."""

    def __init__(self) -> None:
        super().__init__("a decimal number", {"pattern": _DECIMAL}, Decimal)

    def schema(self, definitions: Definitions) -> Wire:
        return {"anyOf": [{"type": "number"}, super().schema(definitions)]}

    def convert(self, value: Any, where: str) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # By its text, which has the digits that were sent.
        return super().convert(str(value) if is_number else value, where)


def duration(text: str) -> timedelta:
    """The duration that an ISO 8601 text such as `P1DT2H3M4.5S` stands for. Raises `ValueError`."""
    matched = _DURATION.fullmatch(text)
    if matched is None or text.endswith(("P", "T")):
        raise ValueError(f"{text!r} is not a duration")
    numbers = {unit: float(number.replace(",", ".")) for unit, number in zip(_UNITS, matched.groups()[1:], strict=True)
               if number}  # fmt: skip
    return timedelta(**numbers) * (-1 if matched[1] == "-" else 1)


_TEXTS: dict[type, Callable[[], Kind]] = {
    datetime: lambda: Text("a date and time", {"format": "date-time"}, datetime.fromisoformat),
    date: lambda: Text("a date", {"format": "date"}, date.fromisoformat),
    time: lambda: Text("a time", {"format": "time"}, time.fromisoformat),
    timedelta: lambda: Text("a duration such as P1DT2H30M", {"format": "duration"}, duration),
    UUID: lambda: Text("a UUID", {"format": "uuid"}, UUID),
    bytes: lambda: Text("base64", {"contentEncoding": "base64"}, lambda text: base64.b64decode(text, validate=True)),
    Decimal: DecimalText,
}
_PATHS = (Path, PurePath, PurePosixPath, PureWindowsPath)


def text_kind(hint: Any) -> Kind | None:
    """The kind of a hint whose values are text, None for any other hint."""
    if hint in _PATHS:
        return Text("a path", {"format": "path"}, hint)
    make = _TEXTS.get(hint)
    return make() if make is not None else None
