"""Tools that must match their approved definitions: the lock file `mcp.lock.json`, `gaia mcp lock`, which compares a
server's current tools with the locked ones, and the `--locked` option of several commands.

The file is suitable for version control: sorted, one member per line, the same on every machine, invisible characters
as escapes. A file that was edited by hand or damaged is an error, and never overwritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.output import counted
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.storage.json_files import parse_object
from gaia_mcp.text.strict_json import escaped
from gaia_mcp.toolspec.contract import (
    Contract,
    ToolChange,
    Undefinable,
    as_lines,
    as_objects,
    canonical_tool,
    differences,
    fingerprint,
)
from gaia_mcp.toolspec.poisoning import UNUSUAL

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.core.errors import ContractError, MCPError
    from gaia_mcp.fleet.parallel import Result
    from gaia_mcp.fleet.session import Session

LOCK_FILE = "mcp.lock.json"
VERSION = 1
# As for any file of a project; it contains no secrets.
NEW_MODE = 0o644
# A reviewer of the file must see every character, and a lone surrogate cannot be encoded as UTF-8.
_UNSEEN = re.compile(f"{UNUSUAL.pattern}|[\ud800-\udfff]")


class Locking(NamedTuple):
    """The options `--locked`, `--lock-file` and `--compatible`, of which the others imply the first."""

    is_locked: bool = False
    file: Path | None = None
    allows_compatible: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether one of them is given."""
        return self.is_locked or self.file is not None or self.allows_compatible


class LockedTools:
    """The tools of each server in a lock file. With `allows_compatible` a change that cannot break a caller is none."""

    def __init__(
        self, screen: Screen, path: Path, servers: Mapping[str, LockedServer], *, allows_compatible: bool = False
    ) -> None:
        self.path = path
        self._allows_compatible = allows_compatible
        self._screen = screen
        self._servers = servers

    @classmethod
    def wanted(cls, screen: Screen, locking: Locking) -> LockedTools | None:
        """The locked tools, if `--locked` is given, or an option that implies it; None without these options.

        Raises `ConfigFileError` for a file that does not exist, or is invalid.
        """
        if not locking.is_wanted:
            return None
        where = lock_path(locking.file)
        servers = read_lock(where)
        if servers is None:
            raise ConfigFileError(
                where, "does not exist", hint=f"create it with: {screen.line.to_type('lock', more='NAME...')}"
            )
        return cls(screen, where, servers, allows_compatible=locking.allows_compatible)

    @property
    def contracts(self) -> dict[str, Contract]:
        """The contracts of all servers in the file, by server name."""
        return {name: server.contract for name, server in self._servers.items()}

    def contract(self, server: str) -> Contract:
        """The locked contract of a server. Raises `ContractError` if the server was never locked."""
        if server not in self._servers:
            raise self.unlocked(server)
        return self._servers[server].contract

    def unlocked(self, server: str) -> ContractError:
        """The error for a server that was never locked."""
        from gaia_mcp.core.errors import ContractError

        hint = f"approve its tools: {self._screen.line.to_type('lock', server, more=_named(self.path))}"
        return ContractError(server, f"is not in {self.path}", hint=hint)

    def check_server(self, server: str, tools: Sequence[MCPTool]) -> None:
        """Raises `ContractError` unless `tools` match the locked tools."""
        then, now = self.contract(server), contract_now(server, tools)
        changes = differences(then, now)
        if self._allows_compatible:
            changes = breaking(changes, then, now)
        if changes:
            raise changed(self._screen.line, server, changes, self.path)

    def check_tool(self, server: str, tool: MCPTool) -> None:
        """Raises `ContractError` unless this tool matches its locked definition, and prints the difference to stderr.

        Other tools of the server may have changed.
        """
        from gaia_mcp.toolspec.contract import tool_difference

        now, then = contract_now(server, [tool]), self.contract(server)
        change = tool_difference(tool.name, then.get(tool.name), now[tool.name])
        changes = [change] if change is not None else []
        if self._allows_compatible:
            changes = breaking(changes, then, now)
        if changes:
            for line in as_lines(as_objects(changes)):
                self._screen.to_stderr(line)
            raise changed(self._screen.line, server, changes, self.path)


def breaking(changes: Sequence[ToolChange], then: Contract, now: Contract) -> list[ToolChange]:
    """Those of the changes that may break a caller, with the reasons."""
    from gaia_mcp.toolspec.compatibility import breaks

    judged = [change._replace(breaks=tuple(breaks(then.get(change.tool), now.get(change.tool)))) for change in changes]
    return [change for change in judged if change.breaks]


def lock_path(path: Path | None) -> Path:
    """The lock file that `--lock-file` names, or the default one."""
    return path if path is not None else Path(LOCK_FILE)


def contract_now(server: str, tools: Sequence[MCPTool]) -> Contract:
    """The contract of these tools. Raises `RemoteProtocolError` for a definition that has no canonical form."""
    from gaia_mcp.core.errors import RemoteProtocolError
    from gaia_mcp.toolspec.contract import contract_of

    try:
        return contract_of(tool.definition for tool in tools)
    except Undefinable as problem:
        raise RemoteProtocolError(server, f"has a tool that cannot be locked: {problem}") from problem


def changed(line: CommandLine, server: str, changes: Sequence[ToolChange], path: Path) -> ContractError:
    """The error for tools that do not match their locked definitions."""
    from gaia_mcp.core.errors import ContractError

    summary = ", ".join(map(str, changes))
    again = line.to_type("lock", server, more=f"--update {_named(path)}".rstrip())
    hint = f"review the changes; to approve them: {again}"
    return ContractError(server, f"does not match {path}: {summary}", as_objects(changes), hint=hint)


def _named(path: Path) -> str:
    """The option that names the lock file; empty for the default one."""
    import shlex

    return "" if path == lock_path(None) else f"--lock-file {shlex.quote(str(path))}"


class Seen(NamedTuple):
    """The tools of a server as a contract, and the problems of tools with an invalid definition."""

    contract: Contract
    problems: list[str]


class Outcome(NamedTuple):
    """The outcome for one server: "failed", "changed", "unchanged", "approved" or "locked"."""

    result: Result
    what: str
    changes: Sequence[ToolChange] = ()


def read_contract(session: Session) -> Seen:
    """The current tools of a server. Raises as the session's requests do."""
    contract = contract_now(session.entry.name, session.tools())
    return Seen(contract, session.problems)


def outcome_of(
    result: Result, before: LockedServer | None, *, update: bool, allows_compatible: bool = False
) -> Outcome:
    """The outcome for a server that was locked as `before`, None if it never was; `update` approves its changes, and
    `allows_compatible` those that cannot break a caller, if there are no others.
    """
    if result.error is not None:
        return Outcome(result, "failed")
    if before is None:
        return Outcome(result, "locked")
    then, now = before.contract, result.value.contract
    changes = differences(then, now)
    if allows_compatible and not update:
        found = breaking(changes, then, now)
        return Outcome(result, "changed", found) if found else outcome_of(result, before, update=True)
    return Outcome(result, ("approved" if update else "changed") if changes else "unchanged", changes)


def error_of(line: CommandLine, outcome: Outcome, path: Path) -> MCPError | None:
    """The error for a server that does not match its locked contract; None if it matches."""
    if outcome.what == "changed":
        return changed(line, outcome.result.entry.name, outcome.changes, path)
    return outcome.result.error


def print_outcome(screen: Screen, outcome: Outcome, path: Path) -> None:
    """Print the outcome for a server; a failure is reported as an error instead."""
    name = outcome.result.entry.name
    if outcome.what in ("locked", "unchanged"):
        tools = counted(len(outcome.result.value.contract), "tool")
        screen.print_line(
            f"locked {name!r} in {path}: {tools}"
            if outcome.what == "locked"
            else f"{name!r} is unchanged since it was locked: {tools}"
        )
    elif outcome.what != "failed":
        screen.print_line(
            f"{name!r} has changed since it was locked" + ("; approved:" if outcome.what == "approved" else ":")
        )
        for line in as_lines(as_objects(outcome.changes)):
            screen.print_line(f"  {line}")


def outcome_object(screen: Screen, outcome: Outcome, path: Path) -> dict[str, Any]:
    """The outcome for a server in its JSON form."""
    shown: dict[str, Any] = {"name": outcome.result.entry.name, "outcome": outcome.what}
    if outcome.what != "failed":
        shown["tools"] = len(outcome.result.value.contract)
    if outcome.changes:
        shown["changes"] = as_objects(outcome.changes)
    if (error := error_of(screen.line, outcome, path)) is not None:
        shown["error"] = {key: value for key, value in screen.error_object(error).items() if key != "changes"}
    return shown


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
