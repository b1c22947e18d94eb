"""An error as JSON, so that the command that has asked reports what it would report of a server that it started itself.

Only errors of `core.errors` arise on the other side, with the values that they carry; any other one becomes the nearest
of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gaia_mcp.core import errors
from gaia_mcp.core.errors import MCPError

# What JSON has no form for is an object with one of these members.
_PATH, _TUPLE = "$path", "$tuple"


def as_json(error: MCPError) -> dict[str, Any]:
    """An error: its class, and its values, without those that are of no plain type."""
    kind = next(each.__name__ for each in type(error).__mro__ if _class_of(each.__name__) is each)
    values = {name: _plain(value) for name, value in vars(error).items() if _is_plain(value)}
    return {"class": kind, "values": values}


def read_error(data: Any) -> MCPError | None:
    """The error in `data`; None if there is none."""
    name, values = (data.get("class"), data.get("values")) if isinstance(data, dict) else (None, None)
    kind = _class_of(name) if isinstance(name, str) else None
    if kind is None or not isinstance(values, dict) or not isinstance(message := values.get("message"), str):
        return None
    # Each class has its own parameters; what it makes of them is in the values.
    error = kind.__new__(kind)
    MCPError.__init__(error, message)
    vars(error).update({name: _read(value) for name, value in values.items()})
    return error


def _class_of(name: str) -> type[MCPError] | None:
    found = getattr(errors, name) if name in errors.__all__ else None
    return found if isinstance(found, type) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(held) for key, held in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (str, int, float, Path, type(None)))


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return {_PATH: str(value)}
    if isinstance(value, tuple):
        return {_TUPLE: list(map(_plain, value))}
    if isinstance(value, list):
        return list(map(_plain, value))
    return {key: _plain(held) for key, held in value.items()} if isinstance(value, dict) else value


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_read, value))
    if not isinstance(value, dict):
        return value
    if value.keys() == {_PATH}:
        return Path(value[_PATH])
    if value.keys() == {_TUPLE}:
        return tuple(map(_read, value[_TUPLE]))
    return {key: _read(held) for key, held in value.items()}
