"""Apps on connections that were accepted elsewhere, over pairs of sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.server.http.accepted import AcceptedConnections
from gaia_mcp.server.http.listening import ConnectionLimits
from tests.server.http.asgi import Gate, Tools, app_of, text_of
from tests.server.http.sockets import rest, stateless_call, until
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from gaia_mcp.server.http.app import HttpApp

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Accepted:
    """Accepted connections of apps, and the clients at their other ends."""

    def __init__(self, *, is_pure: bool) -> None:
        self.is_pure = is_pure
        self.connections = AcceptedConnections(is_pure=is_pure)
        self.threads: list[threading.Thread] = []
        self.clients: list[socket.socket] = []
        self.apps: list[HttpApp] = []

    def app(self, **tools: Any) -> HttpApp:
        self.apps.append(app_of(Tools(**tools)))
        return self.apps[-1]

    def client(self, app: Any, data: bytes = b"") -> socket.socket:
        """A client that has sent this."""
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE_SECONDS)
        self.threads.append(threading.Thread(target=self.connections.serve, args=(app, theirs), daemon=True))
        self.threads[-1].start()
        self.clients.append(ours)
        if data:
            ours.sendall(data)
        return ours

    def close(self) -> None:
        self.connections.close()
        for each in (*self.clients, *self.apps):
            each.close()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


@pytest.fixture(params=["httptools", "h11"])
def accepted(request: pytest.FixtureRequest) -> Iterator[Accepted]:
    found = Accepted(is_pure=request.param == "h11")
    yield found
    found.close()


def post(tool: str) -> bytes:
    body, headers = stateless_call(tool, 1)
    lines = [f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items()]
    return "\r\n".join(["POST /mcp HTTP/1.1", "host: localhost", *lines, "", ""]).encode() + body


def test_each_connection_is_served_by_its_app(accepted: Accepted) -> None:
    """Ours: one thread serves all of them."""
    one, other = accepted.app(hi=lambda _: "one"), accepted.app(hi=lambda _: "other")
    clients = [accepted.client(app, post("hi")) for app in (one, other, one)]

    texts = [text_of(json.loads(until(client, b"}}").partition(b"\r\n\r\n")[2])) for client in clients]

    assert texts == ["one", "other", "one"]
    assert sum(thread.name == "http" for thread in threading.enumerate()) == 1


def test_a_client_that_disconnects_ends_its_thread(accepted: Accepted) -> None:
    """Ours: and with it the caller's use of the connection."""
    client = accepted.client(accepted.app(), HEALTH)
    assert b"200 OK" in until(client, b"ok\n")

    client.close()

    accepted.threads[0].join(PATIENCE_SECONDS)
    assert not accepted.threads[0].is_alive()


def test_the_connections_of_one_app_end_after_their_responses(accepted: Accepted) -> None:
    """Ours: those of another app stay."""
    gate = Gate()
    app, other = accepted.app(gate=gate), accepted.app()
    idle, running, stays = (accepted.client(each, HEALTH) for each in (app, app, other))
    for client in (idle, running, stays):
        until(client, b"ok\n")
    running.sendall(post("gate"))
    gate.await_entered()
    done: list[str] = []

    accepted.connections.end(app, lambda: done.append(threading.current_thread().name))
    assert rest(idle) == b""
    gate.open()

    assert b"through" in rest(running)
    assert done == ["http"]
    stays.sendall(HEALTH)
    assert b"200 OK" in until(stays, b"ok\n")


def test_closing_ends_running_calls_and_hanging_clients(accepted: Accepted) -> None:
    """Ours: at once, and for good."""
    gate = Gate()
    running, silent = accepted.client(accepted.app(gate=gate), post("gate")), accepted.client(accepted.app())
    gate.await_entered()

    accepted.connections.close()
    accepted.connections.close()

    assert (rest(running), rest(silent)) == (b"", b"")
    late = accepted.client(accepted.app())
    assert rest(late) == b""
    accepted.connections.end(accepted.apps[0])
    gate.open()


def test_without_a_connection_there_is_no_thread() -> None:
    """Ours: the loop begins with the first."""
    connections = AcceptedConnections()

    connections.end(None)  # type: ignore[arg-type]
    connections.close()

    assert not any(thread.name == "http" for thread in threading.enumerate())


def test_a_client_that_is_too_slow_is_disconnected() -> None:
    """Ours: the limits are those of a server on a port."""
    accepted = Accepted(is_pure=True)
    accepted.connections = AcceptedConnections(ConnectionLimits(header_seconds=0.0))
    try:
        assert rest(accepted.client(accepted.app(), b"GET")) == b""
    finally:
        accepted.close()


def test_a_socket_that_cannot_be_served_is_an_error_of_the_system() -> None:
    """Ours: for the caller, and the others are still served."""
    connections = AcceptedConnections()
    datagrams, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with peer, pytest.raises(ValueError, match="Stream Socket"):
        connections.serve(app_of(Tools()), datagrams)
    connections.close()
