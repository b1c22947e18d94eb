"""The keeper's process, and clients at the socket of a held server: HTTP, lines, and programs that send neither."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.fleet.keeper import SOCKET, Address
from gaia_mcp.fleet.keeper.process import Keeper
from gaia_mcp.fleet.keeper.requests import Keeper as Client
from tests.fleet.gateway.conftest import script
from tests.server.http.sockets import rest, stateless_call, until
from tests.server.talk import initialize
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.story


class Held:
    """A keeper in this process, which holds one server."""

    def __init__(self, folder: Path) -> None:
        self.reports: list[str] = []
        self.entry = read_entry("one", script("remembers.py"))
        self.keeper = Keeper(folder / "k", lambda _: self.entry, self.reports.append)
        self.thread = threading.Thread(target=self.keeper.serve)
        self.thread.start()
        self.client = Client(folder / "k" / SOCKET)
        self.address = Address("one", folder=str(folder), environ=dict(os.environ))
        self.pid = self.client.hold(self.address, None, Deadline(PATIENCE_SECONDS))["pid"]
        self._connected: list[socket.socket] = []

    def connect(self, data: bytes = b"") -> socket.socket:
        """A foreign program that has sent this to the socket of the server."""
        path = self.client.socket_of(self.address, Deadline(PATIENCE_SECONDS))
        assert path is not None
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connected.append(client)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(path)
        client.sendall(data)
        return client

    def close(self) -> None:
        self.keeper.end()
        self.thread.join(PATIENCE_SECONDS * 2)
        for client in self._connected:
            client.close()
        assert not self.thread.is_alive()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    folder = Path(tempfile.mkdtemp(prefix="k"))
    for name in ("HOME", "GAIA_HOME"):
        monkeypatch.setenv(name, str(folder))
    found = Held(folder)
    yield found
    found.close()
    shutil.rmtree(folder)


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def post() -> bytes:
    body, headers = stateless_call("pid", 1)
    lines = [f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items()]
    return "\r\n".join(["POST / HTTP/1.1", "host: x", "connection: close", *lines, "", ""]).encode() + body


CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pid", "arguments": {}}}


def test_one_socket_serves_lines_and_http(held: Held) -> None:
    """Ours: the first byte tells them apart, and both reach the one instance."""
    lines = held.connect(line(initialize()))
    until(lines, b"\n")
    lines.sendall(line(CALL))

    assert f'"{held.pid}"'.encode() in until(lines, b"\n")
    assert f'"{held.pid}"'.encode() in rest(held.connect(post()))


def test_a_program_that_sends_nothing_keeps_no_other_waiting(held: Held) -> None:
    """Ours: nor does one that sends half of a request, or disconnects at once."""
    held.connect()
    held.connect(b"{")
    held.connect(b"POST")
    held.connect().close()

    assert f'"{held.pid}"'.encode() in rest(held.connect(post()))


def test_a_server_that_has_ended_is_started_for_the_next_client(held: Held) -> None:
    """Ours: also for one that is not this program."""
    os.kill(held.pid, signal.SIGKILL)
    (found,) = held.keeper.described()["servers"]
    wait_until(lambda: held.keeper.described()["servers"][0]["state"] == "ended")

    response = rest(held.connect(post()))

    (new,) = held.keeper.described()["servers"]
    assert found["pid"] == held.pid != new["pid"]
    assert f'"{new["pid"]}"'.encode() in response


def test_the_clients_of_a_released_server_are_disconnected(held: Held) -> None:
    """Ours: over both; the keeper then ends."""
    lines, idle = held.connect(line(initialize())), held.connect(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    until(lines, b"\n")
    until(idle, b"ok\n")

    assert held.client.release(None) == ["one"]

    assert (rest(lines), rest(idle)) == (b"", b"")
    held.thread.join(PATIENCE_SECONDS)
    assert not held.thread.is_alive()


def test_the_end_of_the_keeper_ends_its_loop(held: Held) -> None:
    """Ours: and may be ordered twice."""
    idle = held.connect(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    until(idle, b"ok\n")

    held.keeper.end()
    held.thread.join(PATIENCE_SECONDS * 2)
    held.keeper.close()

    assert rest(idle) == b""
    assert not any(thread.name == "http" for thread in threading.enumerate())
