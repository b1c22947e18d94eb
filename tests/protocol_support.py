"""What the tests of the protocol share: messages, two connections that talk to each other, and tables of cases."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from gaia_mcp.protocol import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.framing import LineBuffer
from gaia_mcp.protocol.jsonrpc import encode
from gaia_mcp.protocol.server import Description, ServerConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gaia_mcp.protocol.connection import Connection, Outgoing
    from gaia_mcp.protocol.events import Event, Peer

Wire = dict[str, Any]

# The same examples every time, however slow the machine is.
steady = settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def check_rows(check: Callable[..., None], rows: Iterable[tuple[Any, ...]]) -> None:
    """Run a check with each row of a table. Raises the failures of all rows together, each with its row as a note."""
    failures: list[BaseException] = []
    for row in rows:
        try:
            check(*row)
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"for {row!r}"[:1000])
            failures.append(failure)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} rows", failures)


def check_each(check: Callable[..., None], *columns: Iterable[Any]) -> None:
    """Run a check with each combination of the values in these columns, as `check_rows` does."""
    check_rows(check, product(*columns))


CLIENT: Wire = {"name": "test-client", "title": "Test client", "version": "1.0"}
CLIENT_CAPABILITIES: Wire = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
SERVER: Wire = {
    "name": "test-server",
    "title": "Test server",
    "version": "2.0",
    "description": "Answers tests",
    "websiteUrl": "https://example.com",
    "icons": [{"src": "https://example.com/icon.png", "mimeType": "image/png"}],
}
SERVER_CAPABILITIES: Wire = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {},
    "completions": {},
    "logging": {},
}

VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ENVELOPE: Wire = {VERSION: STATELESS_VERSIONS[0], CAPABILITIES: {}}


def sent_by(connection: Connection) -> list[Any]:
    """What the connection wants written, as it looks on the wire."""
    return [json.loads(encode(outgoing.message)) for outgoing in connection.take_outgoing()]


def give(connection: Connection, message: object) -> list[Event]:
    """Hand over one message; what happened."""
    connection.receive(message if isinstance(message, bytes) else json.dumps(message).encode())
    return connection.take_events()


def rpc(request_id: object, method: str, params: object = None) -> Wire:
    """A request."""
    message: Wire = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def enveloped(request_id: object, method: str, params: Mapping[str, Any] | None = None, **meta: object) -> Wire:
    """A stateless request; `meta` is added to its envelope."""
    return rpc(request_id, method, {**(params or {}), "_meta": {**ENVELOPE, **meta}})


def note(method: str, params: object = None) -> Wire:
    """A notification."""
    message: Wire = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def rpc_result(request_id: object, result: object) -> Wire:
    """An answer."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def rpc_error(request_id: object, code: object, text: object = "no", data: object = None) -> Wire:
    """A refusal; `request_id` ... leaves the id out."""
    error: Wire = {"code": code, "message": text}
    if data is not None:
        error["data"] = data
    message: Wire = {"jsonrpc": "2.0", "error": error}
    return message if request_id is ... else {**message, "id": request_id}


def discovered(**members: object) -> Wire:
    """A `DiscoverResult`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(STATELESS_VERSIONS),
        "capabilities": SERVER_CAPABILITIES,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: {"name": "peer", "version": "3"}},
        **members,
    }


def initialized(version: str = HANDSHAKE_VERSIONS[0], **members: object) -> Wire:
    """An `InitializeResult`."""
    return {
        "protocolVersion": version,
        "capabilities": SERVER_CAPABILITIES,
        "serverInfo": {"name": "peer", "version": "3"},
        **members,
    }


def new_client(*, probe: bool = True, revision: str | None = None) -> ClientConnection:
    """A client that has not begun."""
    return ClientConnection("peer", info=CLIENT, capabilities=CLIENT_CAPABILITIES, probe=probe, revision=revision)


def open_client(version: str, **members: object) -> ClientConnection:
    """A client in conversation with a server of `version`; `members` are added to how that presented itself."""
    stateless = version in STATELESS_VERSIONS
    client = new_client(probe=stateless)
    client.open()
    (asked,) = sent_by(client)
    give(client, rpc_result(asked["id"], discovered(**members) if stateless else initialized(version, **members)))
    sent_by(client)
    return client


def new_server(**capabilities: object) -> ServerConnection:
    """A server that has received nothing; `capabilities` replace the usual ones."""
    return ServerConnection(Description(SERVER, {**SERVER_CAPABILITIES, **capabilities}, "Be kind."))


def open_server(version: str, **capabilities: object) -> ServerConnection:
    """A server in conversation with a client of `version`."""
    server = new_server(**capabilities)
    if version in HANDSHAKE_VERSIONS:
        give(
            server, rpc("opening", "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT})
        )
        give(server, note("notifications/initialized"))
        sent_by(server)
    return server


class Pair:
    """A client and a server joined by two pipes. `bit_by_bit` carries one byte at a time."""

    def __init__(self, client: ClientConnection, server: ServerConnection, *, bit_by_bit: bool = False) -> None:
        self.client = client
        self.server = server
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self._bit_by_bit = bit_by_bit
        self._to_server = LineBuffer()
        self._to_client = LineBuffer()

    def settle(self) -> None:
        """Carry everything, until neither side has anything to send."""
        while True:
            to_server, to_client = self.client.take_outgoing(), self.server.take_outgoing()
            if not to_server and not to_client:
                return
            self._carry(to_server, self._to_server, self.server)
            self._carry(to_client, self._to_client, self.client)
            self.client_events += self.client.take_events()
            self.server_events += self.server.take_events()

    def open(self) -> Peer:
        """Let the two agree; the server as the client sees it."""
        self.client.open()
        self.settle()
        assert self.client.peer is not None
        self.client_events.clear()
        return self.client.peer

    def _carry(self, sent: list[Outgoing], buffer: LineBuffer, receiver: Connection) -> None:
        data = b"".join(encode(outgoing.message) for outgoing in sent)
        pieces = [data[at : at + 1] for at in range(len(data))] if self._bit_by_bit else [data]
        for piece in pieces:
            for record in buffer.feed(piece):
                receiver.receive(record)
