"""Python values as JSON values: what a tool returns, and the defaults of its parameters.

Knows the standard types and pydantic's models, without importing any of them: a value whose type is not loaded cannot
exist.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

_SCALARS = frozenset({str, int, float, bool, type(None)})


class NotJSONError(TypeError):
    """A value that JSON cannot express. `where` is its path (`a.b[0]`), empty for the value itself."""

    def __init__(self, where: str, kind: type) -> None:
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        super().__init__(f"{where} is of type {name}" if where else f"it is of type {name}")
        self.where = where


def as_json_value(value: Any, where: str = "") -> Any:
    """`value` as a dict with string keys, list, string, number, boolean or None, made of such values throughout.

    A dataclass and a pydantic model become objects, a named tuple a list, an enumeration's member its value, bytes
    base64; times, durations, decimals, UUIDs and paths become text. Raises `NotJSONError`, and `RecursionError` for a
    value that contains itself.
    """
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Enum):
        return as_json_value(value.value, where)
    if isinstance(value, Mapping):
        return {_key(key, where): as_json_value(item, at(where, str(key))) for key, item in value.items()}
    if isinstance(value, (list, tuple, Set)):
        items = _sorted(value) if isinstance(value, Set) else value
        return [as_json_value(item, at(where, number)) for number, item in enumerate(items)]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (str, int, float)):
        return value
    if (make := _maker(value)) is not None:
        return as_json_value(make(value), where)
    raise NotJSONError(where, type(value))


def at(where: str, step: str | int) -> str:
    """The path of a member or an item of the value at `where`."""
    if isinstance(step, int):
        return f"{where}[{step}]"
    return f"{where}.{step}" if where else step


def duration_text(value: Any) -> str:
    """A `timedelta` by ISO 8601: `P1DT2H3M4.5S`."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    parts = ((hours, "H"), (minutes, "M"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if number)
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    date = f"{value.days}D" if value.days else ""
    return f"{sign}P{date}T{clock}" if clock else f"{sign}P{date or 'T0S'}"


def _key(key: Any, where: str) -> str:
    plain = as_json_value(key, where)
    if isinstance(plain, str):
        return plain
    if isinstance(plain, (list, dict)):
        raise NotJSONError(f"a key of {where}" if where else "a key", type(key))
    return json.dumps(plain)


def _sorted(items: Set[Any]) -> list[Any]:
    """The items in an order that is the same in every process, if they can be ordered."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


def _fields(record: Any) -> dict[str, Any]:
    import dataclasses

    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


# By the full names of types.
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "datetime.datetime": lambda value: value.isoformat(),
    "datetime.date": lambda value: value.isoformat(),
    "datetime.time": lambda value: value.isoformat(),
    "datetime.timedelta": duration_text,
    "decimal.Decimal": str,
    "uuid.UUID": str,
}


def _maker(value: Any) -> Callable[[Any], Any] | None:
    """The function that converts a value of this type to a simpler one, None if there is none."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)):
        return lambda model: model.model_dump(mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        return _fields
    if hasattr(kind, "__fspath__"):
        return lambda path: path.__fspath__()
    return next((make for base in kind.__mro__ if (make := _MAKERS.get(f"{base.__module__}.{base.__name__}"))), None)
