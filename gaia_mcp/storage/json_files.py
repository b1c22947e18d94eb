"""JSON files that people also edit: parsed with the position of each error, written without losing anything.

A file that cannot be read is never written.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.storage.atomic import Snapshot, read_bytes, write_bytes
from gaia_mcp.text.strict_json import (
    DepthError,
    JSONTextError,
    RepeatedKeyError,
    escaped,
    kind_of,
    parse_json,
    place_in,
)

if TYPE_CHECKING:
    from pathlib import Path


# Compiled at the first use: reading does not need it.
_SURROGATE = "[\ud800-\udfff]"


def read_object(path: Path, *, may_be_pipe: bool = False) -> dict[str, Any] | None:
    """The JSON object in a file, None if there is no such file. A byte order mark is tolerated.

    Raises `ConfigFileError` with line and column for any other content, and as `read_bytes` does.
    """
    data = read_bytes(path, may_be_pipe=may_be_pipe)
    return parse_object(data, path) if data is not None else None


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in `data`, the content of the file `path`. Raises as `read_object` does."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        line, column = place_in(data.decode("latin-1"), cause.start)
        raise ConfigFileError(path, "not UTF-8", line=line, column=column, hint="save it as UTF-8") from cause
    if not text.strip():
        raise ConfigFileError(path, "is empty", hint='it should hold at least {"mcpServers": {}}')
    try:
        value = parse_json(text, unique_keys=True)
    except JSONTextError as cause:
        raise _explained(path, text, cause) from cause
    if not isinstance(value, dict):
        raise ConfigFileError(
            path, f"contains {kind_of(value)}, not an object", hint='it should begin {"mcpServers": {'
        )
    return value


def write_object(path: Path, value: dict[str, Any], before: Snapshot, *, private: bool = True) -> None:
    """Replace the file of the snapshot `before`, keeping its indentation and, unless `private`, its mode. A symlink
    stays a symlink, and its target is replaced.

    Raises `ConfigFileError`, also if another program has changed the file meanwhile; the file is then unchanged.
    """
    try:
        text = json.dumps(value, indent=_indent_of(before.data), ensure_ascii=False) + "\n"
    except RecursionError as cause:
        raise ConfigFileError(path, "is nested too deeply to be written") from cause
    # A lone surrogate cannot be encoded as UTF-8, only as a JSON escape, as it was in the file.
    data = escaped(text, re.compile(_SURROGATE)).encode()
    mode = before.mode & 0o700 if private else before.mode
    write_bytes(path, before, data, mode)


def _explained(path: Path, text: str, error: JSONTextError) -> ConfigFileError:
    problem, hint = f"not JSON: {error.problem}", ""
    if isinstance(error, RepeatedKeyError):
        problem, hint = error.problem, "remove one of them"
    elif isinstance(error, DepthError):
        problem = error.problem
    elif error.at >= 0 and text[error.at :].lstrip().startswith(("//", "/*")):
        problem, hint = "comments are not allowed in JSON", 'remove the comment; a note can be a key such as "_note"'
    elif error.at >= len(text.rstrip()):
        problem = "ends too early"
    return ConfigFileError(path, problem, line=error.line, column=error.column, hint=hint)


def _indent_of(data: bytes) -> int | str:
    match = re.search(rb"\n([ \t]+)\S", data)
    if match is None:
        return 2
    return "\t" if match[1].startswith(b"\t") else len(match[1])
