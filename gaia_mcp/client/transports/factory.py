"""From an entry to its transport: the one place that decides which kinds of server this version can reach."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.config.command import Command
from gaia_mcp.core.errors import EntryError

if TYPE_CHECKING:
    import ssl

    from gaia_mcp.client.conversation.engine import ChannelTransport
    from gaia_mcp.client.transports.http.auth import Authorizer, Person
    from gaia_mcp.client.transports.http.transport import HttpTransport
    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.config.entries import ServerEntry


def transport_of(
    entry: ServerEntry,
    timeout: float,
    debug: bool = False,
    *,
    environ: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    started: tuple[Command, Child] | None = None,
    person: Person | None = None,
    busy_polls: bool = True,
) -> ChannelTransport:
    """The transport of an entry, not yet connected. `timeout`, in seconds, is for each request. If the server has been
    started already, `started` is its command, as `command_of` has resolved it, and its process; `person` grants access
    where a URL requires authorization; `busy_polls` and `environ` are those of `StdioTransport`, and variables are
    expanded from the latter. Raises as `command_of` does.
    """
    if entry.held is not None:
        found: ChannelTransport = entry.held.transport(entry, timeout, debug)
        return found
    if entry.is_remote:
        return _remote_transport(entry, timeout, debug, environ, person)
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

    # A keyring may ask the person for its password each time.
    command, child = started if started is not None else (command_of(entry, environ), None)
    return StdioTransport(
        command.command,
        command.args,
        command.env,
        timeout,
        debug,
        cwd=command.cwd,
        inherits_all=command.inherit,
        environ=environ,
        name=entry.name,
        on_stderr=on_stderr,
        child=child,
        busy_polls=busy_polls,
    )


def command_of(entry: ServerEntry, environ: Mapping[str, str] | None = None) -> Command:
    """The command that starts the server of an entry, with variables from `environ`, by default this process's own.

    Raises `EntryError` for a server that is not started by a command, and as `ServerEntry.resolved` does.
    """
    if not isinstance(entry.target, Command):
        from gaia_mcp.config.served import Served

        if not isinstance(entry.target, Served):
            raise EntryError(entry.name, "has a URL instead of a command")
    return entry.target.resolved(entry.name, os.environ if environ is None else environ)


def authorizer_of(
    entry: ServerEntry, environ: Mapping[str, str] | None = None, person: Person | None = None
) -> Authorizer:
    """The authorizer of the requests to the server of an entry with a URL. Without a `person` there is no login.

    Raises as `ServerEntry.resolved` does.
    """
    from gaia_mcp.client.transports.http.auth import NoAuthorizer
    from gaia_mcp.config.targets import Remote

    environ = os.environ if environ is None else environ
    target = entry.target.resolved(entry.name, environ)
    if not isinstance(target, Remote):
        raise EntryError(entry.name, "has no URL, and so no authorization")
    if any(name.lower() == "authorization" for name in target.headers):
        return NoAuthorizer(entry.name, has_header=True)
    if target.oauth.is_off:
        return NoAuthorizer(entry.name)
    from gaia_mcp.client.transports.http.auth import settings_of
    from gaia_mcp.client.transports.http.auth.oauth import OAuth
    from gaia_mcp.core.paths import config_folder

    def context() -> ssl.SSLContext:
        from gaia_mcp.client.transports.http.connections import Endpoint

        return Endpoint(entry.name, target.url, ca=target.ca, cert=target.cert, key=target.key).context()

    settings = settings_of(target.oauth.resolved(entry.name, environ))
    own = context if target.ca is not None else None
    return OAuth(entry.name, target.url, settings, config_folder(environ), person=person, context=own)


def check_type(entry: ServerEntry) -> None:
    """Raise `EntryError` for an entry given by a program if its `type` is not one that can be reached.

    Entries of a file may have other types, since other programs that share the file have their own.
    """
    kind = entry.raw.get("type", "stdio")
    if kind != "stdio" and not entry.is_remote:
        # GAIA's programs search for the last three words.
        raise EntryError(entry.name, f"type {kind!r} is unknown: a server with a command only supports stdio")


def _remote_transport(
    entry: ServerEntry, timeout: float, debug: bool, environ: Mapping[str, str] | None, person: Person | None
) -> HttpTransport:
    from gaia_mcp.client.transports.http.transport import HttpTransport
    from gaia_mcp.config.targets import Remote

    target = entry.target.resolved(entry.name, os.environ if environ is None else environ)
    assert isinstance(target, Remote)  # noqa: S101 (no other is reached so)
    return HttpTransport(
        target.url,
        target.headers,
        timeout,
        debug,
        # Without a `type` the transport is detected.
        way=target.transport if "type" in entry.raw else None,
        declared=_declared(entry),
        name=entry.name,
        authorizer=authorizer_of(entry, environ, person),
        ca=target.ca,
        cert=target.cert,
        key=target.key,
    )


def _declared(entry: ServerEntry) -> list[dict[str, Any]]:
    """The definitions of the tools in an entry's `tools`, for a server that cannot list them. Other hosts filter tools
    by this member, and may have "*" there.
    """
    found: list[dict[str, Any]] = []
    given = entry.raw.get("tools", [])
    for tool in given if isinstance(given, list) else [given]:
        named = {"name": tool} if isinstance(tool, str) else tool
        if not isinstance(named, dict) or not isinstance(named.get("name"), str):
            raise EntryError(entry.name, "'tools' must be a list of names, or of definitions of tools")
        if named["name"] != "*":
            found.append({"inputSchema": {"type": "object"}, **named})
    return found
