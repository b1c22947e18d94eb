"""Tools that must match their approved definitions: the `--locked` option of several commands, and the lock file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.lines import to_type

if TYPE_CHECKING:
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.errors import ContractError
    from gaia_mcp.storage.lock_file import LockedServer
    from gaia_mcp.toolspec.contract import Contract, ToolChange


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
