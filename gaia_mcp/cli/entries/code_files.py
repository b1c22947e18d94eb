"""Python files with handlers and agents, distinguished by their source text: no code is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.config.served import MAX_SOURCE_BYTES, Served
from gaia_mcp.errors import HandlerError
from gaia_mcp.filebytes import read_file
from gaia_mcp.names import HANDLER_SUFFIX

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

# The bases of a class at the top level of a file. The limits are far beyond what a person writes.
_HANDLER = rb"(?m)^(?:MCP_HANDLER_CLASS\s{0,9}[:=]|class\s{1,9}\w{1,200}\s{0,9}\([^)]{0,500}\bMCPHandler\b)"
_AGENT = rb"(?m)^class\s{1,9}\w{1,200}\s{0,9}\([^)]{0,500}\bMCPAgent\b"


def code_kind(path: Path) -> str:
    """Whether a Python file contains a "handler" or an "agent". If its text does not show it, the file name decides."""
    try:
        source = read_file(path, MAX_SOURCE_BYTES)
    except OSError:
        source = b""  # The loader reports the error.
    if re.search(_HANDLER, source):
        return "handler"
    return "handler" if path.stem.endswith(HANDLER_SUFFIX) and not re.search(_AGENT, source) else "agent"


def handler_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The handlers in a folder, sorted by file name, and remarks on the files that are ignored.

    Files that begin with `_` are skipped; links to files outside of the folder are ignored. Raises `HandlerError` for a
    folder without a handler, or one that cannot be read.
    """
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".py" and not file.name.startswith("_"))
    except OSError as problem:
        raise HandlerError(str(folder), f"cannot be read: {problem.strerror}", hint="check the path") from problem
    found, remarks = [], []
    for file in files:
        if not _is_inside(file, folder):
            remarks.append(f"{file.name} is left out: it is a link to a file outside of this folder")
        elif code_kind(file) == "handler":
            found.append(file)
        else:
            remarks.append(f"{file.name} is left out: it contains no handler")
    if not found:
        hint = "name the folder with files such as cost_lookup_handler.py"
        raise HandlerError(str(folder), "is a folder without a handler", hint=hint)
    return found, remarks


def listed_name(entry: ServerEntry | None, name: str, listed: Iterable[str]) -> str | None:
    """The tool among `listed` that `HANDLER.TOOL` names, for a folder of handlers; None for any other entry or name.

    A folder accepts such a name for every tool, but lists it only where several handlers have the tool.
    """
    target = entry.target if entry is not None else None
    if not isinstance(target, Served) or target.transport != "handler" or not os.path.isdir(target.target):  # noqa: PTH112
        return None
    return next((tool for tool in listed if name.endswith(f".{tool}")), None)


def _is_inside(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return not file.is_symlink()
