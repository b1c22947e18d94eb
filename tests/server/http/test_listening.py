"""A server on a port: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest

from gaia_mcp.server.http import listening
from gaia_mcp.server.http.listening import (
    HEADER_BYTES,
    MAX_PIPELINED,
    Address,
    ConnectionLimits,
    JoinedWrites,
    parsed_address,
)
from gaia_mcp.server.http.security import StaticToken
from tests.server.http.asgi import Gate, Tools, app_of, text_of
from tests.server.http.sockets import Port, rest, stateless_call, until
from tests.waiting import PATIENCE_SECONDS, wait_until

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


HEAD = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n"

MANY = 300


def hello(_: Any) -> str:
    return "hello"


def test_connections_that_send_no_request_are_closed(listen: Listen) -> None:
    """Ours: whether they sent nothing, a part of it, or a second one that does not end."""
    port = listen(Tools(hi=hello))
    half = [port.connect() for _ in range(MANY)]
    half += [port.send(HEAD) for _ in range(20)]
    again = port.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    until(again, b"ok\n")
    again.sendall(b"GET /healthz HT")
    wait_until(lambda: len(port.server.connections) == MANY + 21)
    wait_until(lambda: all(each._headers_due is not None for each in port.server.connections))

    for each in port.server.connections:
        each.loop.call_soon_threadsafe(each.check, time.monotonic() + 2 * ConnectionLimits().header_seconds)

    assert [rest(each) for each in [*half, again]] == [b""] * (MANY + 21)
    assert text_of(port.call("hi")) == "hello"


def test_a_refused_request_whose_body_does_not_end_is_disconnected(listen: Listen) -> None:
    """Ours: a byte now and then would hold a connection for ever, of a client without a token too."""
    port = listen(app_of(Tools(hi=hello), authorizer=StaticToken("secret")))
    heads = {
        401: HEAD,
        403: HEAD.replace(b"localhost", b"evil.example"),
        404: HEAD.replace(b"/mcp", b"/nothing"),
        405: HEAD.replace(b"POST", b"PUT") + b"authorization: Bearer secret\r\n",
        415: HEAD.replace(b"application/json", b"text/plain") + b"authorization: Bearer secret\r\n",
    }
    slow = {status: port.send(head + b"content-length: 1000\r\n\r\n") for status, head in heads.items()}
    found = {status: until(each, b"\r\n\r\n")[9:12] for status, each in slow.items()}
    for each in slow.values():
        each.sendall(b"x")
    assert found == {status: b"%d" % status for status in heads}

    for each in port.server.connections:
        each.loop.call_soon_threadsafe(each.check, time.monotonic() + 2 * ConnectionLimits().rest_seconds)

    wait_until(lambda: not port.server.connections)


def test_a_connection_is_used_again_after_a_refused_request_has_ended(listen: Listen) -> None:
    """HTTP: the rest of its body is ignored, and is not taken for the next request."""
    port = listen(Tools(hi=hello))
    used = port.send(HEAD.replace(b"/mcp", b"/nothing") + b"content-length: 100\r\n\r\n")
    until(used, b"Not Found")
    used.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".ljust(100, b"x"))
    used.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")

    assert until(used, b"ok\n").count(b"HTTP/1.1 ") == 1
    wait_until(lambda: [each._rest_due for each in port.server.connections] == [None])


def test_connections_beyond_the_limit_are_refused(listen: Listen) -> None:
    """Ours: 503, with Retry-After; the open connections are served."""
    port = listen(Tools(hi=hello), connections=ConnectionLimits(connections=3))
    first = [port.connect() for _ in range(3)]
    for each in first:
        each.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        until(each, b"ok\n")

    refused = [port.connect() for _ in range(5)]
    for each in refused:
        assert until(each, b"\r\n\r\n").startswith(b"HTTP/1.1 503 ")
    busy = port.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    assert b"retry-after: " in rest(busy)
    first[0].close()
    first[1].sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    until(first[1], b"ok\n")


def test_a_client_that_does_not_read_is_disconnected(listen: Listen) -> None:
    """Ours: neither a large response nor an endless stream is kept in memory for it."""
    cancelled = threading.Event()

    def flood(running: Any) -> None:
        running.on_cancel(cancelled.set)
        for number in range(10**9):
            running.progress(number, None, "x" * 10_000)

    port = listen(
        Tools(flood=flood, large=lambda _: "x" * 30_000_000), connections=ConnectionLimits(stalled_seconds=0.0)
    )
    port.begin("flood", progressToken=1)
    port.begin("large")

    assert cancelled.wait(PATIENCE_SECONDS * 2)


def test_a_client_that_reads_slowly_is_served(listen: Listen) -> None:
    """Ours: as long as it takes some of it."""
    port = listen(Tools(large=lambda _: "x" * 3_000_000))

    assert len(until(port.begin("large"), b"isError")) > 3_000_000


class Written:
    """A transport, as far as a response is written to it."""

    def __init__(self) -> None:
        self.calls: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.calls.append(bytes(data))

    def close(self) -> None:
        self.calls.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.calls


def test_small_writes_of_one_loop_iteration_are_joined() -> None:
    """Ours: the head of a response and its body are one packet; a large piece is written at once."""

    async def write() -> list[bytes | str]:
        written: Any = Written()
        joined: Any = JoinedWrites(written)
        for data in (b"head", b"", b"body"):
            joined.write(data)
        assert written.calls == []
        await asyncio.sleep(0)
        assert written.calls == [b"headbody"]
        joined.write(b"")
        await asyncio.sleep(0)
        assert written.calls == [b"headbody"]
        joined.write(b"h")
        joined.write(b"x" * 20_000)
        joined.write(b"e")
        assert written.calls[1:] == [b"h", b"x" * 20_000]
        assert not joined.is_closing()
        joined.close()
        assert joined.is_closing()
        await asyncio.sleep(0)
        found: list[bytes | str] = written.calls[3:]
        return found

    assert asyncio.run(write()) == [b"e", "closed"]


def test_an_ambiguous_or_invalid_request_is_refused(listen: Listen) -> None:
    """RFC 9112, sections 6.3 and 11.2: request smuggling, header injection, and data that is not HTTP. No tool runs,
    and the connection is not used any further.
    """
    port = listen(Tools(hi=hello))
    requests = [
        # Two lengths, or two ways to state the length: a proxy in between may have used the other.
        HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        HEAD + b"transfer-encoding: gzip\r\n\r\n0\r\n\r\n",
        HEAD + b"content-length: -1\r\n\r\n",
        HEAD + b"content-length: +2\r\n\r\n{}",
        HEAD + b"content-length: 0x2\r\n\r\n{}",
        HEAD + b"content-length : 2\r\n\r\n{}",
        HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        # Lines that another program may read as two headers.
        HEAD + b"x: a\r\n b: c\x00d\r\n\r\n",
        HEAD + b"x\x01y: a\r\n\r\n",
        HEAD + b"x: a\rb: c\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\ncontent-length: 0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
        b"POST /mcp\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        HEAD + b"x: " + b"y" * (HEADER_BYTES + 1) + b"\r\n\r\n",
        b"POST /" + b"y" * (HEADER_BYTES + 1) + b" HTTP/1.1\r\n\r\n",
    ]  # fmt: skip

    for request in requests:
        answer = port.reply(request + b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        refused = answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 415 ", b"HTTP/1.1 431 "))
        assert (refused, b"ok\n" in answer) == (True, False), (request[:200], answer)


def test_a_tunnel_is_refused(listen: Listen) -> None:
    """RFC 9110, section 9.3.6: this is no proxy."""
    request = b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost:80\r\nconnection: close\r\n\r\n"

    assert listen(Tools()).reply(request).startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "endless",
    [
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx",
        HEAD + b"transfer-encoding: chunked\r\n\r\n2;",
        HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: ",
    ],
)
def test_a_part_of_a_request_that_does_not_end_is_refused(listen: Listen, endless: bytes) -> None:
    """Ours: a header, the extension of a chunk and a trailer are kept until they end."""
    port = listen(Tools(hi=hello))
    connection = port.send(endless)
    try:
        for _ in range(64):
            connection.sendall(b"y" * (HEADER_BYTES // 2))
    except OSError:
        pass  # The server has closed the connection.

    assert b"ok\n" not in rest(connection)
    wait_until(lambda: not port.server.connections)


def test_trailers_are_not_headers(listen: Listen) -> None:
    """RFC 9110, section 6.5.1: what may not be sent in a trailer is ignored there."""
    port = listen(Tools(hi=hello))
    body, headers = stateless_call("hi", 1)
    del headers["mcp-name"]
    lines = "\r\n".join(f"{name}: {value}" for name, value in headers.items())
    head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{lines}\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(body), body)

    answer = until(port.send(head.encode() + chunk + b"mcp-name: hi\r\n\r\n"), b"}")

    assert b"the header Mcp-Name is missing" in answer


def test_a_request_for_another_protocol_is_answered(listen: Listen) -> None:
    """RFC 9110, section 7.8: the header may be ignored; curl sends it to switch to HTTP/2."""
    port = listen(Tools(hi=hello))
    body, headers = stateless_call("hi", 1)
    headers |= {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "content-length": str(len(body))}
    lines = "\r\n".join(f"{name}: {value}" for name, value in headers.items())
    request = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n\r\n".encode() + body
    connection = port.connect()

    for _ in range(2):
        connection.sendall(request)
        assert b"hello" in until(connection, b"isError")


def test_the_running_request_ends_before_what_follows_it_is_refused(listen: Listen) -> None:
    """Ours: its client may have sent a few bytes too many. The connection is then closed."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    connection = port.begin("gate")
    gate.await_entered()
    connection.sendall(b"}}\r\n")
    connection.sendall(b"more\r\n\r\n")
    gate.open()

    answer = rest(connection)
    assert b"through" in answer
    assert answer.rindex(b"HTTP/1.1 400 ") > answer.index(b"through")


def test_what_follows_the_last_request_of_a_connection_is_ignored(listen: Listen) -> None:
    """RFC 9112, section 9.6: the client has said that it is the last one."""
    port = listen(Tools(hi=hello))
    body, headers = stateless_call("hi", 1)
    lines = "\r\n".join(f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items())
    request = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{lines}\r\n\r\n".encode() + body

    answer = port.reply(request + b"}} more\r\n\r\n")

    assert b"hello" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_part_of_the_next_request_does_not_disturb_the_running_one(listen: Listen) -> None:
    """Ours: the time for its headers begins with the end of the running request."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    connection = port.begin("gate")
    gate.await_entered()
    connection.sendall(b"GET /healthz HTTP/1.1\r\nho")
    (open_one,) = port.server.connections
    open_one.loop.call_soon_threadsafe(open_one.check, time.monotonic() + 2 * ConnectionLimits().header_seconds)
    gate.open()
    assert b"through" in until(connection, b"isError")
    connection.sendall(b"st: localhost\r\n\r\n")

    assert until(connection, b"ok\n")


def test_no_more_than_some_requests_wait_for_a_response(listen: Listen) -> None:
    """Ours: each takes more memory than its bytes. They are answered, or refused with the connection."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    connection = port.begin("gate")
    gate.await_entered()
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
    gate.open()

    answer = until(connection, b"ok\n")
    assert b"through" in answer
    wait_until(lambda: all(len(getattr(each, "pipeline", ())) <= MAX_PIPELINED for each in port.server.connections))


def test_a_disconnect_cancels_the_running_call_while_another_request_waits(listen: Listen) -> None:
    """Spec 2026-07-28, HS-4: the client that closes the connection waits for neither."""
    began, cancelled = threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    port = listen(Tools(wait=wait))
    connection = port.begin("wait")
    assert began.wait(PATIENCE_SECONDS)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    connection.close()

    assert cancelled.wait(PATIENCE_SECONDS)


def test_pipelined_requests_are_answered_in_order(listen: Listen) -> None:
    """RFC 9112, section 9.3.2."""
    port = listen(Tools(hi=hello))
    body, headers = stateless_call("hi", 1)
    lines = "\r\n".join(f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items())
    one = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n\r\n".encode() + body
    last = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"

    answer = port.reply(one + one + last)

    assert answer.count(b"hello") == 2
    assert answer.endswith(b"ok\n")


def test_a_client_that_closes_its_side_after_a_request_is_answered(listen: Listen) -> None:
    """RFC 9112, section 9.6: however long the call takes. The interim response shows that the client still reads."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    connection = port.begin("gate")
    gate.await_entered()
    connection.shutdown(socket.SHUT_WR)
    assert until(connection, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    (open_one,) = port.server.connections
    open_one.check(0.0)
    gate.open()

    assert b"through" in rest(connection)
    wait_until(lambda: not port.server.connections)


def test_all_requests_before_the_end_of_a_client_are_answered(listen: Listen) -> None:
    """RFC 9112, section 9.3.2: they may come at once."""
    gate = Gate()
    port = listen(Tools(gate=gate))
    connection = port.begin("gate")
    gate.await_entered()
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    connection.shutdown(socket.SHUT_WR)
    gate.open()

    received = rest(connection)
    assert b"through" in received
    assert received.endswith(b"ok\n")
    wait_until(lambda: not port.server.connections)


@pytest.mark.parametrize(
    "sent", [b"", b"GET /healthz HTTP/1.1\r\n", b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"]
)
def test_a_client_that_closes_its_side_without_a_complete_request_is_disconnected(listen: Listen, sent: bytes) -> None:
    """Ours: nothing more can follow."""
    port = listen(Tools())
    connection = port.send(sent)
    connection.shutdown(socket.SHUT_WR)

    rest(connection)
    wait_until(lambda: not port.server.connections)


def test_closing_the_connection_cancels_the_call(listen: Listen) -> None:
    """Spec 2026-07-28, HS-4: over a real connection."""
    began, cancelled = threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    connection = listen(Tools(wait=wait)).begin("wait")
    assert began.wait(PATIENCE_SECONDS)
    connection.close()

    assert cancelled.wait(PATIENCE_SECONDS)


def test_a_client_that_still_reads_is_not_disconnected(listen: Listen) -> None:
    """Ours: only one that has taken nothing for long is disconnected."""
    port = listen(Tools(large=lambda _: "x" * 30_000_000))
    reader = port.begin("large")
    assert reader.recv(1)
    (connection,) = port.server.connections
    wait_until(lambda: connection.transport.get_write_buffer_size() > 0)

    for now in (1e9, 1e9 + 1):
        connection.check(now)

    assert len(until(reader, b"isError")) > 29_000_000


def test_where_the_compiled_modules_are_missing_a_server_works_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: not every platform has wheels of them."""
    import sys

    # The only way to have another installation.
    for name in ("httptools", "uvloop"):
        monkeypatch.setitem(sys.modules, name, None)
    port = Port(app_of(Tools(hi=hello)))
    try:
        connection = port.connect()
        wait_until(lambda: len(port.server.connections) == 1)
        (open_one,) = port.server.connections
        assert isinstance(open_one, listening.H11Connection)
        assert isinstance(open_one.loop, asyncio.BaseEventLoop)
        assert text_of(port.call("hi")) == "hello"
        connection.close()
    finally:
        port.end()
