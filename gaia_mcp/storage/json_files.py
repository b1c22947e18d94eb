"""JSON files that people also edit: read with exact complaints, written so that nothing is ever lost.

A file that cannot be read is never written.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.storage.atomic import read_bytes, write_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.storage.atomic import Standing

_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None if there is no such file. A byte order mark is tolerated.

    Raises `ConfigFileError` with line and column for everything else.
    """
    data = read_bytes(path)
    return parse_object(data, path) if data is not None else None


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in `data`, which stands in the file `path`. Raises as `read_object` does."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = data[: cause.start].count(b"\n") + 1
        column = cause.start - (data.rfind(b"\n", 0, cause.start) + 1) + 1
        raise ConfigFileError(path, "not UTF-8", line=line, column=column, hint="save it as UTF-8") from cause
    if not text.strip():
        raise ConfigFileError(path, "is empty", hint='it should hold at least {"mcpServers": {}}')
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as cause:
        raise _explained(path, text, cause) from cause
    except _RepeatedKeyError as cause:
        problem = f"has the key {cause.args[0]!r} twice in one object"
        raise ConfigFileError(path, problem, hint="only one of them would survive: remove the other") from cause
    except RecursionError as cause:
        raise ConfigFileError(path, "is nested too deeply") from cause
    except ValueError as cause:
        raise ConfigFileError(path, f"not JSON: {cause}") from cause
    if not isinstance(value, dict):
        raise ConfigFileError(
            path, f"holds {_KINDS[type(value)]}, not an object", hint='it should begin {"mcpServers": {'
        )
    return value


def write_object(path: Path, value: dict[str, Any], standing: Standing, *, private: bool = True) -> None:
    """Replace what is `standing` there as a whole, keeping its indentation and, unless `private`, its mode. A symlink
    stays one: what it points at is replaced.

    Raises `ConfigFileError`, also when another program has written meanwhile; the file is then as it was.
    """
    try:
        text = json.dumps(value, indent=_indent_of(standing.data), ensure_ascii=False) + "\n"
    except RecursionError as cause:
        raise ConfigFileError(path, "is nested too deeply to be written") from cause
    # Half of a surrogate pair has no UTF-8, only a JSON escape, which is how it can have been read.
    data = _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text).encode()
    mode = standing.mode & 0o700 if private else standing.mode
    write_bytes(path, standing, data, mode)


class _RepeatedKeyError(ValueError):
    """An object that says the same thing twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return value


def _finite(text: str) -> float:
    # Infinity and NaN could be read, but what we wrote then would not be JSON.
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number that JSON has")
    return value


def _explained(path: Path, text: str, error: json.JSONDecodeError) -> ConfigFileError:
    rest = text[error.pos :].lstrip()
    if rest.startswith(("//", "/*")):
        return ConfigFileError(
            path,
            "comments are not allowed in JSON",
            line=error.lineno,
            column=error.colno,
            hint='remove the comment; notes may go into a key such as "_note"',
        )
    if error.pos >= len(text.rstrip()):
        return ConfigFileError(path, "ends too early, as if it had been cut off", line=error.lineno, column=error.colno)
    return ConfigFileError(path, f"not JSON: {error.msg}", line=error.lineno, column=error.colno)


def _indent_of(data: bytes) -> int | str:
    match = re.search(rb"\n([ \t]+)\S", data)
    if match is None:
        return 2
    return "\t" if match[1].startswith(b"\t") else len(match[1])
