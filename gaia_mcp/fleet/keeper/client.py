"""The address of an entry, and a held server as a Python program uses it. Loaded at a TAB."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.config.command import Command
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, Deadline
from gaia_mcp.core.errors import NotConnectedError
from gaia_mcp.fleet.keeper import Address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.client.host import Host
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.entries import ServerEntry


def held_client(
    name: str,
    *,
    instance: str = "",
    config: Path | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    debug: bool = False,
    host: Host | None = None,
) -> MCPClient:
    """A client of the configured server `name`, or of one `instance` of it, which `gaia mcp up` holds open: it shares
    what the server keeps with the command line and with other programs, and leaves it running. Not yet connected.

    `config` is the file of the configuration, by default the user's; the other arguments are those of `MCPClient`.
    Raises `NotConnectedError` if the server is not held, `ServerUnknownError`, `EntryError` and `ConfigFileError`.
    """
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.fleet.keeper.requests import Keeper

    entry = ConfigStore.locate(config).entry(name)
    address = address_in(entry._replace(instance=instance), config, str(Path.cwd()), os.environ)
    holding = Keeper.of_user().use(address, Deadline(timeout)) if address is not None else None
    if holding is None:
        raise NotConnectedError(f"{name}@{instance}" if instance else name)
    return MCPClient.from_entry(entry._replace(held=holding), timeout, debug, host=host)


def address_in(entry: ServerEntry, config: Path | None, folder: str, environ: Mapping[str, str]) -> Address | None:
    """The address of the server of an entry, in a command with this `--config`, working folder and variables; None for
    one that cannot be named: a server with the variables or headers of options.
    """
    words: list[str] = []
    if entry.source is None:
        target = entry.target
        if isinstance(target, Served):
            words = [target.anchored()] if not target.env else []
        elif isinstance(target, Remote):
            words = [target.url] if not target.headers else []
        elif isinstance(target, Command):
            words = [target.command, *(target.args or [])] if not target.env else []
        if not words:
            return None
    file = str(config.expanduser().absolute()) if config is not None else None
    name = entry.saved_name if entry.source is not None else ""
    return Address(name, words, entry.instance, file, folder, dict(environ))
