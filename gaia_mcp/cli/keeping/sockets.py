"""The socket of a held server in the file of another host, which then uses that very server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.keeping import REACH_SECONDS, address_of
from gaia_mcp.cli.keeping.holding import keeper_of_user
from gaia_mcp.cli.transfer import NotExportedError
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConnectError
from gaia_mcp.fleet.keeper.over_http import url_of

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.hosts.known import HostProgram


def entry_of_held(screen: Screen, entry: ServerEntry, host: HostProgram) -> dict[str, Any]:
    """The entry, in our format, by which `host` uses the held server of `entry`.

    Raises `NotExportedError` for a host that takes no such URL, and `ConnectError` for a server that is not held.
    """
    if not host.opens_sockets:
        gateway = screen.line.to_type("serve", more=f"--server {entry.name} --held --print-config {host.key}")
        hint = f"print an entry that uses the held server by a command: {gateway}"
        raise NotExportedError(entry.name, host, "it does not take the URL of a Unix socket", hint=hint)
    keeper, address = keeper_of_user(), address_of(entry, screen.line.config)
    found = keeper.socket_of(address, Deadline(REACH_SECONDS)) if keeper is not None and address is not None else None
    if found is None:
        again = screen.line.to_type("up", entry.name)
        raise ConnectError(f"server {entry.name!r} is not held", hint=f"hold it: {again}", server=entry.name)
    return {"type": "http", "url": url_of(found)}
