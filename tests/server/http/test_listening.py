"""A server on a port: where it listens, and how it ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.server.http import listening
from gaia_mcp.server.http.listening import Address, parsed_address
from tests.server.http.asgi import Gate, Tools, text_of
from tests.server.http.sockets import rest, until
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.server.http.sockets import Port

Listen = Callable[..., "Port"]


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000), ("8000", "127.0.0.1", 8000), (":0", "127.0.0.1", 0),
        ("localhost:1", "127.0.0.1", 1), ("0.0.0.0:65535", "0.0.0.0", 65535), ("[::1]:80", "::1", 80),
        ("example.com:80", "example.com", 80),
    ],
)  # fmt: skip
def test_an_address(text: str, host: str, port: int) -> None:
    """Ours: without a host, this machine alone."""
    assert parsed_address(text) == (host, port)


@pytest.mark.parametrize("text", ["", "x", "1:x", "1:", "1:65536", "1:-1", "1:٣", "::1:80", "1:" + "9" * 5000, "1: 1"])
def test_what_is_not_an_address(text: str) -> None:
    """Ours."""
    with pytest.raises(ValueError, match=r"port|brackets"):
        parsed_address(text)


def test_a_url() -> None:
    """RFC 3986, section 3.2.2."""
    assert Address("127.0.0.1", 80).url("/mcp") == "http://127.0.0.1:80/mcp"
    assert Address("::1", 80).url("/mcp") == "http://[::1]:80/mcp"


def test_it_listens_on_both_families_of_addresses() -> None:
    """Ours: and a port that is taken is an error of the system."""
    with listening.listen(Address("127.0.0.1", 0)) as taken:
        with pytest.raises(OSError, match="in use"):
            listening.listen(Address("127.0.0.1", taken.getsockname()[1]))
        assert taken.family == socket.AF_INET
        # Otherwise the second half of a response waits for the client to confirm the first.
        assert taken.proto == socket.IPPROTO_TCP
    if socket.has_ipv6:
        with listening.listen(Address("::1", 0)) as other:
            assert other.family == socket.AF_INET6


def test_on_windows_a_port_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: what lets a server be started again elsewhere lets another program take the port over there."""
    monkeypatch.setattr(listening.os, "name", "nt")
    with listening.listen(Address("127.0.0.1", 0)) as listener:
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


def test_a_call_over_a_real_connection(listen: Listen) -> None:
    """Ours."""
    port = listen(Tools(hi=lambda _: "hello"))

    assert text_of(port.call("hi")) == "hello"
    assert port.reply(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").endswith(b"ok\n")


def test_the_end_lets_running_calls_finish(listen: Listen) -> None:
    """Ours: their clients get their responses, and nothing new is taken."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    running = port.begin("gate")
    gate.await_entered()

    port.server.stop()
    wait_until(lambda: port.app.endpoints["/mcp"].entrance.is_ending)
    gate.open()

    assert b"through" in rest(running)
    port.stop()
    assert port.cut == []
    with pytest.raises(OSError, match="refused"):
        port.connect()


def test_the_end_cuts_off_what_does_not_finish(listen: Listen) -> None:
    """Ours: a tool that blocks for ever does not keep the server; one that looks is cancelled."""
    gate, cancelled, began = Gate(), threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    port = listen(Tools(gate=gate, wait=wait), grace_seconds=0)
    port.begin("gate")
    port.begin("wait")
    gate.await_entered()
    assert began.wait(PATIENCE_SECONDS)

    port.stop()

    assert port.cut == [2]
    assert cancelled.wait(PATIENCE_SECONDS)
    gate.open()


def test_the_end_does_not_wait_for_a_client_that_does_not_read(listen: Listen) -> None:
    """Ours: its call has ended, so nothing is cut off."""
    done = threading.Event()
    port = listen(Tools(large=lambda _: done.set() or "x" * 30_000_000), grace_seconds=0.3)
    reader = port.begin("large")
    assert reader.recv(1)

    port.stop()

    assert port.cut == []


def test_the_end_closes_streams_and_idle_connections(listen: Listen) -> None:
    """Spec 2026-07-28, MS-13: a subscription ends with its result."""
    port = listen(Tools())
    idle = port.connect()
    body = (
        b'{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{},"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    stream = port.send(
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n"
        b"mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\ncontent-length: %d\r\n\r\n%s"
        % (len(body), body)
    )
    until(stream, b"acknowledged")
    assert len(port.server.connections) == 2

    port.stop()

    assert b'"id":"s","result"' in rest(stream)
    assert rest(idle) == b""


def test_as_many_files_may_be_open_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: each connection is one. Where that cannot be known or changed, it stays as it is."""
    import resource
    import sys

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert listening._raised_files() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]

        def refuse(*_: Any) -> None:
            raise ValueError

        monkeypatch.setattr(resource, "setrlimit", refuse)
        assert listening._raised_files() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
        monkeypatch.setattr(resource, "getrlimit", lambda _: (5, resource.RLIM_INFINITY))
        assert listening._raised_files() == 1 << 20
        monkeypatch.setitem(sys.modules, "resource", None)
        assert listening._raised_files() == 1 << 20
    finally:
        monkeypatch.undo()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
