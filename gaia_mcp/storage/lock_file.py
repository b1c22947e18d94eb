"""The lock file `mcp.lock.json`: the tools of chosen servers as the user approved them.

Suitable for version control: sorted, one member per line, the same on every machine, invisible characters as escapes. A
file that was edited by hand or damaged is an error, and never overwritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.jsontext import escaped
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.storage.json_files import parse_object
from gaia_mcp.toolspec.contract import Contract, Undefinable, canonical_tool, fingerprint
from gaia_mcp.toolspec.poisoning import UNUSUAL

if TYPE_CHECKING:
    from pathlib import Path

LOCK_FILE = "mcp.lock.json"
VERSION = 1
# As for any file of a project; it contains no secrets.
NEW_MODE = 0o644
# A reviewer of the file must see every character, and a lone surrogate cannot be encoded as UTF-8.
_UNSEEN = re.compile(f"{UNUSUAL.pattern}|[\ud800-\udfff]")


class LockedServer(NamedTuple):
    """A server as it was locked: its entry without secrets, and its contract."""

    entry: dict[str, Any]
    contract: Contract


def read_lock(path: Path) -> dict[str, LockedServer] | None:
    """The locked servers by name, None if there is no such file.

    Raises `ConfigFileError` for a file that cannot be read, is of a newer version, or was changed by hand.
    """
    data = read_bytes(path)
    if data is None:
        return None
    return _parsed(path, data)


def _parsed(path: Path, data: bytes) -> dict[str, LockedServer]:
    try:
        document = parse_object(data, path)
    except ConfigFileError as error:
        error.hint, error.case = "", "lock-file"  # Its own hint is about a file of servers.
        raise
    version, servers = document.get("version"), document.get("servers")
    if isinstance(version, int) and version > VERSION:
        problem = f"is of version {version}, and this program knows versions up to {VERSION}"
        raise ConfigFileError(path, problem, hint="update gaia-mcp")
    if version is True or version != VERSION or not isinstance(servers, dict):
        raise ConfigFileError(path, 'is not a lock file: "version" or "servers" is missing', case="lock-file")
    return {name: _read_server(name, server, path, data) for name, server in servers.items()}


def update_lock(path: Path, changed: Mapping[str, LockedServer]) -> None:
    """Write these servers to the file; the others in it stay. Raises `ConfigFileError`; the file is then unchanged."""
    with locked(path):
        before = snapshot_of(path)
        servers = {**(_parsed(path, before.data) if before.exists else {}), **changed}
        document = {
            "version": VERSION,
            "servers": {name: _as_object(server) for name, server in sorted(servers.items())},
        }
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        data = escaped(text, _UNSEEN).encode()
        write_bytes(path, before, data, before.mode if before.exists else NEW_MODE)


def _as_object(server: LockedServer) -> dict[str, Any]:
    tools = {name: {"hash": fingerprint(tool), "definition": tool} for name, tool in sorted(server.contract.items())}
    return {"entry": server.entry, "tools": tools}


def _read_server(name: str, server: Any, path: Path, data: bytes) -> LockedServer:
    tools = server.get("tools") if isinstance(server, dict) else None
    if not isinstance(tools, dict):
        raise ConfigFileError(path, f"server {name!r} has no member 'tools'", case="lock-file")
    contract: Contract = {}
    for tool, kept in tools.items():
        definition = kept.get("definition") if isinstance(kept, dict) else None
        if not isinstance(definition, dict) or not isinstance(kept.get("hash"), str) or definition.get("name") != tool:
            raise ConfigFileError(path, f"tool {tool!r} of {name!r} has no definition, or no hash", case="lock-file")
        try:
            contract[tool] = canonical_tool(definition)
        except Undefinable as cause:
            raise ConfigFileError(path, f"tool {tool!r} of {name!r} is {cause}", case="lock-file") from cause
        if fingerprint(contract[tool]) != kept["hash"]:
            problem = f"tool {tool!r} of {name!r} was changed by hand: its hash does not match its definition"
            line = data.partition(json.dumps(kept["hash"]).encode())[0].count(b"\n") + 1
            raise ConfigFileError(path, problem, line=line, column=1, case="lock-file")
    entry = server.get("entry")
    return LockedServer(entry if isinstance(entry, dict) else {}, contract)
