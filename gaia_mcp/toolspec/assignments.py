"""A call's arguments as they are typed in a shell: `key=value`, `key:=JSON`, `key=@FILE`. Knows no schema."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple


class Assignment(NamedTuple):
    """One argument as typed: `raw` for `:=`, whose value is JSON."""

    key: str
    value: str
    raw: bool


class ArgumentSyntaxError(ValueError):
    """Something that is no `key=value`, or JSON that is none."""


def read_assignment(text: str) -> Assignment:
    """`key=value` or `key:=JSON` taken apart. Raises `ArgumentSyntaxError`."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise ArgumentSyntaxError(f"{text!r} is not key=value")
    is_raw = len(key) > 1 and key.endswith(":")
    return Assignment(key[:-1] if is_raw else key, value, is_raw)


def read_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object in `text`, which came from `where`. Raises `ArgumentSyntaxError`."""
    value = read_json(text, where)
    if not isinstance(value, dict):
        raise ArgumentSyntaxError(f"{where} holds {_kind_of(value)}, not a JSON object")
    return value


def strict_json(text: str) -> Any:
    """The value of `text`, which can be sent as JSON again. Raises `ValueError` and `RecursionError`."""
    return json.loads(text, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    # What Python reads as infinite, or as no number, could not be sent as JSON.
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number that JSON has")
    return value


def read_json(text: str, where: str) -> Any:
    """The same of what came from `where`. Raises `ArgumentSyntaxError`."""
    try:
        return strict_json(text)
    except RecursionError:
        raise ArgumentSyntaxError(f"{where}: JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ArgumentSyntaxError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise ArgumentSyntaxError(f"{where}: not JSON: {error}") from None


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
