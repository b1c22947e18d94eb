"""HTTP at the socket of a held server, for the official SDK and for other clients."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from gaia_mcp.config.entries import read_entry
from gaia_mcp.fleet.keeper import Address
from gaia_mcp.fleet.keeper.held import HeldServer, Key
from gaia_mcp.fleet.keeper.over_http import HttpClients, is_request, url_of
from tests.server.http.sockets import rest, stateless_call, until
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.story

SERVERS = Path(__file__).parents[2] / "servers"
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
MANY = 50


class Socket:
    """A Unix socket at which clients of a held server are served over HTTP."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.reports: list[str] = []
        address = Address("one", folder=str(folder), environ=dict(os.environ))
        entry = read_entry("one", {"command": sys.executable, "args": [str(SERVERS / "remembers.py")]})
        self.server = HeldServer(Key.of(address, entry), address, entry, None, self.reports.append)
        self.server.backend.ready()
        self.clients = HttpClients(self.reports.append, **options)
        self.path = str(folder / f"s{id(self)}")
        self.threads: list[threading.Thread] = []
        self._connected: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(MANY)
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self, data: bytes = b"") -> socket.socket:
        """A client that has sent this."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connected.append(client)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(self.path)
        client.sendall(data)
        return client

    def post(self, tool: str, path: str = "/mcp", **headers: str) -> Any:
        """The status and the JSON of the response to a stateless call."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect()
        body, own = stateless_call(tool, 1)
        connection.request("POST", path, body, {**own, **headers})
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._connected:
            client.close()
        self.server.close()
        self.clients.close()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.threads.append(threading.Thread(target=self.clients.serve, args=(connection, self.server)))
            self.threads[-1].start()


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Socket]]:
    """Makes sockets, in a home of their own."""
    folder = Path(tempfile.mkdtemp(prefix="k"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GAIA_HOME", str(folder))
    made: list[Socket] = []

    def make(**options: Any) -> Socket:
        made.append(Socket(folder, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
    shutil.rmtree(folder)


@pytest.fixture
def held(listening: Callable[..., Socket]) -> Socket:
    return listening()


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_the_official_client_uses_a_held_server_in_both_eras(held: Socket, mode: Any) -> None:
    """Ours: all clients share the one instance."""

    async def pid() -> str:
        transport = httpx2.AsyncHTTPTransport(uds=held.path)
        async with httpx2.AsyncClient(transport=transport) as web:
            channel = streamable_http_client("http://localhost/", http_client=web)
            async with Client(channel, mode=mode) as client:
                assert "pid" in [tool.name for tool in (await client.list_tools()).tools]
                found: Any = (await client.call_tool("pid", {})).content[0]
                return str(found.text)

    assert asyncio.run(pid()) == str(held.server.pid)
    assert held.reports == []


def test_the_endpoint_is_at_its_usual_path_and_at_the_root(held: Socket) -> None:
    """Ours: the URL of a socket needs no fragment."""
    assert [held.post("pid", path)[0] for path in ("/mcp", "/")] == [200, 200]
    assert b"404" in until(held.connect(b"GET /elsewhere HTTP/1.1\r\nhost: x\r\n\r\n"), b"\r\n\r\n")


def test_pages_of_sites_are_refused(held: Socket) -> None:
    """Ours: a port that another program forwards to the socket may be reached by a browser."""
    assert held.post("pid", host="any.example")[0] == 200
    status, body = held.post("pid", origin="https://any.example")

    assert status == 403
    assert "any.example" in body["error"]["message"]


def test_fifty_clients_are_served_at_once(held: Socket) -> None:
    """Ours: by one thread that runs the loop; a client that sends nothing more keeps no other waiting."""
    silent = held.connect(b"P")
    clients = [held.connect(HEALTH) for _ in range(MANY)]

    assert all(b"200 OK" in until(client, b"ok\n") for client in clients)
    assert held.post("pid")[0] == 200
    silent.close()


def test_a_client_counts_while_it_waits_for_a_response(held: Socket) -> None:
    """Ours: a server is not ended for want of clients meanwhile; an idle connection is no use of it."""
    idle = held.connect(HEALTH)
    until(idle, b"ok\n")
    wait_until(lambda: held.server.idle_seconds() > 0.0)

    body, headers = stateless_call("subscriptions/listen", 1)
    message = {**json.loads(body), "method": "subscriptions/listen"}
    del message["params"]["name"], message["params"]["arguments"], headers["mcp-name"]
    message["params"]["notifications"] = {"toolsListChanged": True}
    sent = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in {**headers, "mcp-method": "subscriptions/listen"}.items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", "host: x", f"content-length: {len(sent)}", *lines, "", ""])
    stream = held.connect(head.encode() + sent)
    until(stream, b"acknowledged")
    assert held.server.idle_seconds() == 0.0

    stream.close()
    wait_until(lambda: held.server.idle_seconds() > 0.0)


def test_the_end_of_the_server_disconnects_its_clients(held: Socket) -> None:
    """Ours: they connect again, to the server that is in its place."""
    idle = held.connect(HEALTH)
    until(idle, b"ok\n")

    held.server.close()
    assert rest(idle) == b""

    # A client that comes at the same moment.
    status, body = held.post("pid")
    assert (status, body["error"]["message"]) == (503, "this server is ending; repeat this later")


def test_without_the_extra_the_response_names_it(listening: Callable[..., Socket]) -> None:
    """Ours: also to a client that sends more than is read at once, or disconnects."""
    for missing in ("starlette", "uvicorn"):
        held = listening(is_installed=partial(str.__ne__, missing))

        response = rest(held.connect(b"POST / HTTP/1.1\r\n\r\n" + bytes(200_000)))
        head, _, body = response.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 501 Not Implemented\r\n")
        assert "gaia-mcp[http]" in json.loads(body)["error"]["message"]

        ours, theirs = socket.socketpair()
        ours.close()
        held.clients.serve(theirs, held.server)


def test_http_is_told_apart_by_its_first_byte() -> None:
    """Ours: a method is a word, JSON begins otherwise."""
    assert [is_request(first) for first in (b"G", b"P", b"{", b"[", b" ", b"\n", b"\0", b"")] == [True] * 2 + [
        False
    ] * 6


def test_the_url_of_a_socket_is_written_as_vs_code_reads_it() -> None:
    """VS Code: the path of the socket, percent-encoded, and the path of the endpoint as the fragment."""
    assert url_of("/run/a b#c/x+2.sock") == "unix:///run/a%20b%23c/x%2B2.sock#/mcp"
