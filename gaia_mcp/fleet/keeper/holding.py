"""A held server as a command uses it: a transport over the keeper's socket, in place of a process of its own.

What the keeper reports as an error of the server is the error that a command would have got from the server itself.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp.client.transports.unix_socket import Connected, SocketTransport
from gaia_mcp.core.errors import ConnectionLostError, MCPError, NotConnectedError
from gaia_mcp.fleet.keeper import SERVER_ERROR, errors

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from gaia_mcp.client.transports.base import Receiver
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.text.redaction.masker import Masker

_SERVER_ERROR = b"%d" % SERVER_ERROR


class Checking(Protocol):
    """Checks within `deadline` that a server responds, or accepts a subscription to the resource at `uri`."""

    def __call__(self, deadline: Deadline, uri: str | None = None) -> None:
        """Raises `MCPError`, in particular `NotConnectedError` if it is not held any more."""


class Holding:
    """The server `shown`, which a keeper holds: `first` is a connection to it, with `received` on it already, and
    `connect` makes further ones; it returns None if the server is not held any more. `revision` is the one that the
    server speaks, and so does the keeper then, whose results are those of the server. `remark` is for the user,
    `stderr_tail` returns the end of the server's stderr. `check` raises `MCPError` if the server does not respond, or
    refuses a subscription to the resource at a URI: the keeper answers both in its place. `masker` masks the secrets
    that were passed to it, by default those of its entry with this process's variables.
    """

    def __init__(
        self,
        shown: str,
        first: socket.socket,
        remark: str,
        stderr_tail: Callable[[], str],
        check: Checking,
        *,
        revision: str | None = None,
        received: bytes = b"",
        connect: Callable[[Deadline], Connected | None] = lambda _: None,
        masker: Callable[[], Masker] | None = None,
    ) -> None:
        self.remark = remark
        self.revision = revision
        self._shown = shown
        self._first: Connected | None = Connected(first, received)
        self._stderr_tail = stderr_tail
        self.check = check
        self._connect = connect
        self._masker = masker
        self._used: SocketTransport | None = None

    def transport(self, entry: ServerEntry, timeout: float, debug: bool) -> SocketTransport:
        """The transport of the server, whose entry is given."""
        name = entry.name

        @cache
        def masker() -> Masker:
            from gaia_mcp.client.transports.factory import transport_of

            # It is never started: the secrets are those of the entry and of this command's variables.
            return transport_of(entry._replace(held=None), timeout).masker()

        def why_lost(stage: str) -> MCPError:
            return ConnectionLostError(f"the keeper, which held server {name!r}, ended {stage}", server=name)

        self._used = SocketTransport(
            self._connected,
            timeout,
            debug,
            name=name,
            masker=self._masker or masker,
            stderr_tail=self._stderr_tail,
            why_lost=why_lost,
            receiving=Reading,
        )
        return self._used

    def close(self) -> None:
        """End the connection."""
        first, self._first = self._first, None
        if first is not None:
            first.socket.close()
        if self._used is not None:
            self._used.close(0.0)

    def _connected(self, deadline: Deadline) -> Connected:
        first, self._first = self._first, None
        found = first or self._connect(deadline)
        if found is None:
            raise NotConnectedError(self._shown)
        return found


class Reading:
    """Passes to `receiver` what arrives, but errors that the keeper reports of the server as such."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        if _SERVER_ERROR in record:
            try:
                value = json.loads(record)
            except (ValueError, RecursionError):
                value = None
            if (error := _error_in(value)) is not None:
                self._receiver.request_failed(value["id"], error)
                return
        self._receiver.receive(record, about)

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        if (error := _error_in(value)) is not None:
            self._receiver.request_failed(value["id"], error)
        else:
            self._receiver.receive_message(value, about)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        self._receiver.request_failed(about, error)

    def channel_ended(self, error: MCPError) -> None:
        self._receiver.channel_ended(error)


def _error_in(value: Any) -> MCPError | None:
    error = value.get("error") if isinstance(value, dict) and "id" in value else None
    if not isinstance(error, dict) or error.get("code") != SERVER_ERROR:
        return None
    return errors.read_error(error.get("data"))
