"""The Python files that the entries of a project's file would run, and their content.

They are approved with the file that names them. What such a file imports is not followed, as little as what a command
of the project runs. Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gaia_mcp.config.entries import read_entry, servers_in
from gaia_mcp.errors import ConfigFileError, EntryError
from gaia_mcp.filebytes import read_file
from gaia_mcp.storage.json_files import parse_object

# What cannot be read cannot be run. Once it can, it has changed.
UNREADABLE = ""


def code_of(path: Path, data: bytes, environ: Mapping[str, str]) -> dict[str, str]:
    """The digests of the Python files that the entries in `data`, the content of the file `path`, would run, by the
    paths of the files.

    A file that does not exist, or cannot be read, is `UNREADABLE`. The files of a module are those that it would be
    imported from if they existed.
    """
    try:
        servers = servers_in(parse_object(data, path), path)
    except ConfigFileError:
        return {}  # None of them is used.
    files = [file for name, raw in servers.items() for file in _files_of(name, raw, path, environ)]
    return {file: _digest(file) for file in dict.fromkeys(files)}


def _files_of(name: str, raw: Any, path: Path, environ: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(raw, dict) or not ("handler" in raw or "agent" in raw):
        return
    from gaia_mcp.config.served import Served

    try:
        target = read_entry(name, raw, path).target
    except EntryError:
        return  # It cannot be used.
    if isinstance(target, Served):
        yield from target.source_files(name, environ, path.parent)


def _digest(file: str) -> str:
    from gaia_mcp.config.served import MAX_SOURCE_BYTES

    try:
        return hashlib.sha256(read_file(file, MAX_SOURCE_BYTES)).hexdigest()
    except OSError:
        return UNREADABLE
