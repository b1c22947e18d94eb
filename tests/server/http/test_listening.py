"""A server on a port: where it listens, and how it ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
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


def test_a_listening_address_is_parsed() -> None:
    """Ours: without a host, a loopback address."""
    addresses = {
        "127.0.0.1:8000": ("127.0.0.1", 8000), "8000": ("127.0.0.1", 8000), ":0": ("127.0.0.1", 0),
        "localhost:1": ("127.0.0.1", 1), "0.0.0.0:65535": ("0.0.0.0", 65535), "[::1]:80": ("::1", 80),
        "example.com:80": ("example.com", 80),
    }  # fmt: skip

    assert {text: parsed_address(text) for text in addresses} == addresses


def test_an_invalid_listening_address_is_refused() -> None:
    """Ours: the error names the port, or the brackets that an IPv6 address needs."""

    def error_of(text: str) -> str:
        try:
            parsed_address(text)
        except ValueError as error:
            return str(error)
        return ""

    texts = ("", "x", "1:x", "1:", "1:65536", "1:-1", "1:٣", "::1:80", "1:" + "9" * 5000, "1: 1")
    errors = {text: error_of(text) for text in texts}

    assert {text: error for text, error in errors.items() if "port" not in error and "brackets" not in error} == {}


def test_an_address_has_a_url() -> None:
    """RFC 3986, section 3.2.2."""
    assert Address("127.0.0.1", 80).url("/mcp") == "http://127.0.0.1:80/mcp"
    assert Address("::1", 80).url("/mcp") == "http://[::1]:80/mcp"


def test_an_address_that_stands_for_all_is_shown_as_one_that_can_be_reached() -> None:
    """Ours: clients get it in the line that adds the server."""
    assert Address("127.0.0.1", 80).reachable() == Address("127.0.0.1", 80)
    for every, version in (("0.0.0.0", 4), ("::", 6)):
        found = Address(every, 80).reachable()
        assert not ip_address(found.host).is_unspecified
        assert (ip_address(found.host).version, found.port) == (version, 80)


def test_listening_works_with_ipv4_and_ipv6() -> None:
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
    """Ours: there, the option that allows a quick restart elsewhere would let another program use the same port."""
    # The only way to have another system.
    monkeypatch.setattr(listening.os, "name", "nt")
    with listening.listen(Address("127.0.0.1", 0)) as listener:
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


def test_a_call_is_answered_over_a_real_connection(listen: Listen) -> None:
    """Ours: beside the tests in memory, one that uses the ASGI server."""
    port = listen(Tools(hi=lambda _: "hello"))

    assert text_of(port.call("hi")) == "hello"
    assert port.reply(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").endswith(b"ok\n")


def test_stopping_lets_running_calls_finish(listen: Listen) -> None:
    """Ours: their clients get their responses, and new connections are refused."""
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


def test_stopping_cancels_calls_after_the_grace_period(listen: Listen) -> None:
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


def test_stopping_does_not_wait_for_a_client_that_does_not_read(listen: Listen) -> None:
    """Ours: its call has ended, so nothing is cut off."""
    done = threading.Event()
    port = listen(Tools(large=lambda _: done.set() or "x" * 30_000_000), grace_seconds=0.3)
    reader = port.begin("large")
    assert reader.recv(1)
    wait_until(lambda: port.app.unfinished == 0)

    port.stop()

    assert port.cut == []


def test_stopping_closes_streams_and_idle_connections(listen: Listen) -> None:
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


def test_the_limit_of_open_files_is_raised_to_the_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: each connection is one. Where that cannot be known or changed, it stays as it is."""
    import resource
    import sys

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert listening._raised_files() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]

        def refuse(*_: Any) -> None:
            raise ValueError

        # Only a system with other limits would behave like this.
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


def test_an_address_without_a_network_is_the_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a machine that is offline still serves itself."""

    class Unrouted(socket.socket):
        def connect(self, _: Any) -> None:
            raise OSError("Network is unreachable")

    monkeypatch.setattr(listening.socket, "socket", Unrouted)

    assert Address("0.0.0.0", 80).reachable() == Address("127.0.0.1", 80)
