"""From an entry to its transport: the one place that decides which kinds of server this version can reach."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gaia_mcp.config.command import Command
from gaia_mcp.errors import EntryError

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.client.transports.stdio.transport import StdioTransport
    from gaia_mcp.config.entries import ServerEntry


def transport_of(
    entry: ServerEntry,
    timeout: float,
    debug: bool = False,
    *,
    environ: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    child: Child | None = None,
) -> StdioTransport:
    """The transport of an entry, not yet connected. `timeout`, in seconds, is for each request. `child` is the server's
    process if that has been started already. Raises as `command_of` does.
    """
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

    command = command_of(entry, environ)
    return StdioTransport(
        command.command,
        command.args,
        command.env,
        timeout,
        debug,
        cwd=command.cwd,
        inherits_all=command.inherit,
        name=entry.name,
        on_stderr=on_stderr,
        child=child,
    )


def command_of(entry: ServerEntry, environ: Mapping[str, str] | None = None) -> Command:
    """The command that starts the server of an entry, resolved by `environ`, which is by default this process's own.

    Raises `EntryError` for a server that is reached in another way, and as `ServerEntry.resolved` does.
    """
    if not isinstance(entry.target, Command):
        from gaia_mcp.config.served import Served

        if not isinstance(entry.target, Served):
            raise _unreachable(entry, entry.transport)
    return entry.target.resolved(entry.name, os.environ if environ is None else environ)


def check_type(entry: ServerEntry) -> None:
    """Raise `EntryError` for an entry of a program whose `type` is not that of a server which is started.

    In a file other words are read too, for the programs that share it have words of their own.
    """
    check_reachable(entry)
    kind = entry.raw.get("type", "stdio")
    if kind != "stdio":
        raise _unreachable(entry, kind)


def check_reachable(entry: ServerEntry) -> None:
    """Raise `EntryError` for a server that is not started, but reached by a URL."""
    if entry.transport in ("http", "sse", "rpc"):
        raise _unreachable(entry, entry.transport)


def _unreachable(entry: ServerEntry, kind: object) -> EntryError:
    # The words after the comma are GAIA's, whose programs look for them.
    return EntryError(
        entry.name,
        f"servers of type {kind!r} cannot be reached by this version, which only supports stdio",
        case="transport-unknown",
    )
