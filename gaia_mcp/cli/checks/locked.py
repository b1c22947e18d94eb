"""Tools that must match their approved definitions: the `--locked` option of several commands, and the lock file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import counted, error_object, print_line
from gaia_mcp.toolspec.contract import Contract, ToolChange, as_lines, as_objects, differences

if TYPE_CHECKING:
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.errors import ContractError, MCPError
    from gaia_mcp.session.parallel import Result
    from gaia_mcp.session.session import Session
    from gaia_mcp.storage.lock_file import LockedServer


class LockedTools:
    """The tools of each server in a lock file."""

    def __init__(self, path: Path, servers: Mapping[str, LockedServer]) -> None:
        self.path = path
        self._servers = servers

    @classmethod
    def wanted(cls, is_locked: bool, path: Path | None) -> LockedTools | None:
        """The locked tools, if `--locked` is given, or `--lock-file`, which implies it; None without these options.

        Raises `ConfigFileError` for a file that does not exist, or is invalid.
        """
        if not is_locked and path is None:
            return None
        from gaia_mcp.errors import ConfigFileError
        from gaia_mcp.storage.lock_file import read_lock

        where = lock_path(path)
        servers = read_lock(where)
        if servers is None:
            raise ConfigFileError(where, "does not exist", hint=f"create it with: {to_type('lock', more='NAME...')}")
        return cls(where, servers)

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
        from gaia_mcp.errors import ContractError

        hint = f"approve its tools: {to_type('lock', server, more=_named(self.path))}"
        return ContractError(server, f"is not in {self.path}", hint=hint)

    def check_server(self, server: str, tools: Sequence[MCPTool]) -> None:
        """Raises `ContractError` unless `tools` match the locked tools exactly."""
        from gaia_mcp.toolspec.contract import differences

        if changes := differences(self.contract(server), contract_now(server, tools)):
            raise changed(server, changes, self.path)

    def check_tool(self, server: str, tool: MCPTool) -> None:
        """Raises `ContractError` unless this tool matches its locked definition, and prints the difference to stderr.

        Other tools of the server may have changed.
        """
        from gaia_mcp.cli.screen.output import to_stderr
        from gaia_mcp.toolspec.contract import as_lines, as_objects, tool_difference

        now = contract_now(server, [tool])[tool.name]
        change = tool_difference(tool.name, self.contract(server).get(tool.name), now)
        if change is not None:
            for line in as_lines(as_objects([change])):
                to_stderr(line)
            raise changed(server, [change], self.path)


def lock_path(path: Path | None) -> Path:
    """The lock file that `--lock-file` names, or the default one."""
    from gaia_mcp.storage.lock_file import LOCK_FILE

    return path if path is not None else Path(LOCK_FILE)


def contract_now(server: str, tools: Sequence[MCPTool]) -> Contract:
    """The contract of these tools. Raises `RemoteProtocolError` for a definition that has no canonical form."""
    from gaia_mcp.errors import RemoteProtocolError
    from gaia_mcp.toolspec.contract import Undefinable, contract_of

    try:
        return contract_of(tool.definition for tool in tools)
    except Undefinable as problem:
        raise RemoteProtocolError(server, f"has a tool that cannot be locked: {problem}") from problem


def changed(server: str, changes: Sequence[ToolChange], path: Path) -> ContractError:
    """The error for tools that do not match their locked definitions."""
    from gaia_mcp.errors import ContractError
    from gaia_mcp.toolspec.contract import as_objects

    summary = ", ".join(map(str, changes))
    again = to_type("lock", server, more=f"--update {_named(path)}".rstrip())
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


def outcome_of(result: Result, before: LockedServer | None, *, update: bool) -> Outcome:
    """The outcome for a server that was locked as `before`, None if it never was; `update` approves its changes."""
    if result.error is not None:
        return Outcome(result, "failed")
    if before is None:
        return Outcome(result, "locked")
    changes = differences(before.contract, result.value.contract)
    return Outcome(result, ("approved" if update else "changed") if changes else "unchanged", changes)


def error_of(outcome: Outcome, path: Path) -> MCPError | None:
    """The error for a server that does not match its locked contract; None if it matches."""
    if outcome.what == "changed":
        return changed(outcome.result.entry.name, outcome.changes, path)
    return outcome.result.error


def print_outcome(outcome: Outcome, path: Path) -> None:
    """Print the outcome for a server; a failure is reported as an error instead."""
    name = outcome.result.entry.name
    if outcome.what in ("locked", "unchanged"):
        tools = counted(len(outcome.result.value.contract), "tool")
        print_line(
            f"locked {name!r} in {path}: {tools}"
            if outcome.what == "locked"
            else f"{name!r} is unchanged since it was locked: {tools}"
        )
    elif outcome.what != "failed":
        print_line(f"{name!r} has changed since it was locked" + ("; approved:" if outcome.what == "approved" else ":"))
        for line in as_lines(as_objects(outcome.changes)):
            print_line(f"  {line}")


def outcome_object(outcome: Outcome, path: Path) -> dict[str, Any]:
    """The outcome for a server in its JSON form."""
    shown: dict[str, Any] = {"name": outcome.result.entry.name, "outcome": outcome.what}
    if outcome.what != "failed":
        shown["tools"] = len(outcome.result.value.contract)
    if outcome.changes:
        shown["changes"] = as_objects(outcome.changes)
    if (error := error_of(outcome, path)) is not None:
        shown["error"] = {key: value for key, value in error_object(error).items() if key != "changes"}
    return shown
