"""Requests on connections: what goes with each, and how their responses are read."""

from __future__ import annotations

import gzip
import socket
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2
import pytest

from gaia_mcp.client.transports.http.connections import (
    MAX_HELD_BYTES,
    TRANSPORT_ERRORS,
    Connections,
    Endpoint,
    InterruptedExchangeError,
    Network,
    Response,
    Stream,
    same_origin,
    shown_origin,
)
from gaia_mcp.client.transports.http.wire import read
from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, EntryError, RemoteProtocolError
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.proxy import proxying
from tests.client.transports.http.web import (
    Answer,
    Asked,
    as_events,
    as_json,
    connections_to,
    event,
    line_to,
    result,
    serving,
    talking,
)
from tests.waiting import ENOUGH_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connections() -> Connections:
    return connections_to(Endpoint("web", "http://host.example/mcp", {"User-Agent": "mine", "X-Key": "é"}))


def sent(connections: Connections, url: str = "http://host.example/mcp", **headers: str) -> dict[str, bytes]:
    request = connections.request("POST", url, headers, b"{}", 5)
    found = {name.decode().lower(): value for name, value in request.headers}
    assert len(found) == len(request.headers)
    return found


def test_a_header_is_sent_once_and_message_headers_take_precedence(connections: Connections) -> None:
    """Ours: names are compared ignoring case."""
    found = sent(connections, **{"x-key": "other", "Content-Length": "99"})

    assert (found["user-agent"], found["x-key"]) == (b"mine", b"other")
    assert (found["host"], found["content-length"]) == (b"host.example", b"2")
    assert sent(connections)["x-key"] == "é".encode()


def test_a_request_without_a_body_has_no_content_length(connections: Connections) -> None:
    """HTTP: a GET has none."""
    request = connections.request("GET", "http://host.example:8000/mcp?a=b", {}, None, 5)

    assert b"content-length" not in [name.lower() for name, _ in request.headers]
    assert (b"Host", b"host.example:8000") in request.headers
    assert request.url.target == b"/mcp?a=b"


def test_credentials_in_the_url_are_sent_as_a_header(connections: Connections) -> None:
    """HTTP: basic authentication. A header of the entry's own, or a token, counts more."""
    url = "http://ada:p%40ss@host.example/mcp"

    assert sent(connections, url)["authorization"] == b"Basic YWRhOnBAc3M="
    assert sent(connections, url)["host"] == b"host.example"
    assert sent(connections, url, Authorization="Bearer T")["authorization"] == b"Bearer T"
    own = connections_to(Endpoint("web", url, {"authorization": "Bearer mine"}))
    assert sent(own, url)["authorization"] == b"Bearer mine"


def test_an_invalid_url_is_a_transport_error(connections: Connections) -> None:
    """Ours: a server may name any."""
    with pytest.raises(TRANSPORT_ERRORS):
        connections.request("POST", "http://host.example:x/", {}, b"", 5)


def test_cookies_are_sent_with_later_requests_on_any_connection() -> None:
    """Ours: balancers find the server of a session by a cookie of theirs."""
    goes_on = threading.Event()

    def answer(asked: Asked) -> Answer:
        first = as_json({"jsonrpc": "2.0", "id": 1, "result": {}}, **{"Set-Cookie": "node=a; Path=/mcp"})
        if asked.message["id"] == 1:
            return first
        return as_events(goes_on, event({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}))

    with talking(answer) as (web, line):
        line.ask("tools/list", 1)
        line.kept.wait(1)
        line.ask("tools/list", 2)
        line.ask("tools/list", 3)
        wait_until(lambda: len(web.asked) == 3)
        goes_on.set()
        line.kept.wait(3)
        assert [asked.headers.get("cookie") for asked in web.asked] == [None, "node=a", "node=a"]
    with talking(answer, headers={"Cookie": "mine=1"}) as (web, line):
        line.ask("tools/list", 1)
        line.kept.wait(1)
        line.ask("tools/list", 2)
        line.kept.wait(2)
        assert [asked.headers.get("cookie") for asked in web.asked] == ["mine=1", "mine=1"]


def test_a_cookie_for_another_path_is_not_sent() -> None:
    """HTTP: RFC 6265."""

    def answer(asked: Asked) -> Answer:
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}, **{"Set-Cookie": "a=b; Path=/x"})

    with talking(answer) as (web, line):
        for number in (1, 2):
            line.ask("tools/list", number)
            line.kept.wait(number)
        assert "cookie" not in web.asked[1].headers


def test_reading_a_silent_body_times_out() -> None:
    """Ours: what is only an excerpt is not waited for."""
    with serving(lambda _: as_events(threading.Event())) as web:
        connections = connections_to(Endpoint("web", web.url))
        request = connections.request("GET", web.url, {}, None, 5)
        connection = connections.connect(request)
        response = connections.response(web.url, request, connection.handle_request(request), connection)
        response.limit_silence(0.01)
        with pytest.raises(TRANSPORT_ERRORS):
            next(response.iter_bytes())
        response.close()


def test_non_ascii_response_headers_are_ignored() -> None:
    """Ours: HTTP allows them, and no cookie or encoding that counts has them."""
    odd = {"Set-Cookie": "a=\xe9; Path=/", "Content-Encoding": "\xe9"}

    with talking(lambda asked: as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}, **odd)) as (
        web,
        line,
    ):
        for number in (1, 2):
            line.ask("tools/list", number)
            line.kept.wait(number)
    assert line.kept.failures == []
    assert "cookie" not in web.asked[1].headers


def test_a_compressed_body_is_decompressed() -> None:
    """HTTP: it is announced in the request. One that is not what its header tells is the server's mistake."""
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    bodies = [b"not gzip", gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{}}')]

    with serving(lambda _: Answer(200, headers, bodies.pop())) as web:
        with line_to(web) as line:
            assert line.ask("tools/list").message()["result"] == {}
            assert web.asked[0].headers["accept-encoding"] == "gzip, deflate"
        with line_to(web) as line:
            assert type(line.ask("tools/list").failure()) is RemoteProtocolError


def received(pieces: list[bytes], **headers: str | bytes) -> tuple[Response, list[str]]:
    """A response, and what happens to the connection that it comes by."""
    done: list[str] = []

    class Stream:
        def __iter__(self) -> Iterator[bytes]:
            yield from pieces

        def close(self) -> None:
            done.append("free")

    class Noted(httpcore2.ConnectionInterface):
        def close(self) -> None:
            done.append("closed")

    fields = [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in headers.items()]
    url = "http://host.example/mcp"
    request = httpcore2.Request("POST", url, headers={"X-Key": "k"})
    answer: Any = httpcore2.Response(200, headers=fields, content=Stream())
    return Response(url, request, answer, Noted()), done


def test_a_compressed_body_counts_with_its_decompressed_size() -> None:
    """Ours: a few bytes may become gigabytes."""
    response, _ = received([gzip.compress(bytes(10_000))], **{"Content-Encoding": "gzip"})

    with pytest.raises(RemoteProtocolError, match="more than 5000 bytes"):
        read(response, "web", limit=5000)


def test_a_connection_is_reusable_once_the_body_has_been_read() -> None:
    """HTTP: what is left of a body would be taken for the next response. HTTP/2 has the server go on sending it."""
    response, done = received([b"a", b"b"])
    assert b"".join(response.iter_bytes()) == b"ab"
    response.close()
    assert set(done) == {"free"}

    response, done = received([b"a", b"b"])
    assert next(iter(response.iter_bytes())) == b"a"
    response.close()
    assert "closed" in done


def test_header_names_are_lowercased_and_repeated_headers_joined() -> None:
    """HTTP: several of one name are one list; what is not UTF-8 is Latin-1."""
    response, _ = received(
        [], **{"X-A": "é", "X-B": "é".encode("latin-1"), "WWW-Authenticate": "a", "Www-Authenticate": "b"}
    )

    assert response.headers == {"x-a": "é", "x-b": "é", "www-authenticate": "a, b"}
    assert response.request.url == "http://host.example/mcp"
    assert response.request.headers == {"x-key": "k"}


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [("ftp://u:hunter22@proxy", "is not a URL of http"), ("socks5://u:hunter22@proxy:1", "socksio")],
)
def test_an_invalid_proxy_is_an_error(proxy: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: before anything is sent, and without its password."""
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)

    with pytest.raises(ConnectError, match=reason) as caught:
        connections_to(Endpoint("web", "http://host.example/mcp"))
    assert caught.value.case == "proxy"
    assert "hunter22" not in str(caught.value)


def test_a_plain_request_is_forwarded_by_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with the credentials of the proxy's URL, which the server does not see."""
    with serving(result) as web, proxying("Basic dTpwdw==") as proxy:
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("http_proxy", f"http://u:pw@{proxy.address}")
        with line_to(web) as line:
            assert "result" in line.ask("tools/list").message()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with line_to(web) as line:
            assert "result" in line.ask("tools/list").message()

        assert proxy.asked == [f"POST {web.url}"]
        assert len(web.asked) == 2


def test_an_encrypted_request_goes_through_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the proxy sees a host and a port; and one connection serves many requests."""
    authority = Authority(tmp_path)
    with serving(result, server_context(authority.signed("web"))) as web, proxying() as proxy:
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("https_proxy", proxy.address)
        with line_to(web, ca=authority.file) as line:
            for number in range(3):
                line.ask("tools/list", number)
                line.kept.wait(number + 1)

        assert line.kept.failures == []
        assert proxy.asked == [f"CONNECT {web.origin.removeprefix('https://')}"]


def test_a_connection_goes_to_the_origin_of_its_request(connections: Connections) -> None:
    """Ours: it is made when the request is sent on it."""
    request = connections.request("POST", "http://host.example/mcp", {}, b"", 5)

    connection = connections.connect(request)

    assert connection.can_handle_request(httpcore2.Origin(b"http", b"host.example", 80))
    assert not connection.is_available()


def test_the_errors_of_both_libraries_are_transport_errors() -> None:
    """Ours: a list, for they have no common class."""
    assert issubclass(httpcore2.ReadError, TRANSPORT_ERRORS)
    assert issubclass(httpcore2.RemoteProtocolError, TRANSPORT_ERRORS)
    assert issubclass(httpx2.DecodingError, TRANSPORT_ERRORS)


def test_the_headers_of_an_endpoint_may_change() -> None:
    """Ours: a gateway adds the marks of the gateways in front of it while it is connected."""
    headers = {"X-Key": "1"}
    connections = connections_to(Endpoint("web", "http://host.example/mcp", headers))
    before = sent(connections)["x-key"]
    headers["X-Key"] = "2"

    assert (before, sent(connections)["x-key"]) == (b"1", b"2")


Ends = tuple[Stream, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = Network().connect_tcp("127.0.0.1", listener.getsockname()[1], 5)
        assert isinstance(stream, Stream)
        server, _ = listener.accept()
        server.settimeout(5)
        with server:
            yield stream, server
        stream.close()


def test_the_parts_of_a_request_are_sent_at_once(ends: Ends) -> None:
    """Ours: a server that receives the head alone is woken twice."""
    stream, server = ends
    stream.write(b"head ")
    stream.write(b"body")
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(100)
    server.settimeout(5)
    server.sendall(b"response")

    assert stream.read(100, 5) == b"response"
    assert server.recv(100) == b"head body"


def test_a_long_body_is_not_buffered(ends: Ends) -> None:
    """Ours: it would be in memory twice."""
    stream, server = ends
    stream.write(b"x" * (MAX_HELD_BYTES + 1))

    assert server.recv(100) == b"x" * 100


@pytest.mark.parametrize("is_limited", [False, True])
def test_an_early_response_is_read_although_nothing_can_be_written(ends: Ends, is_limited: bool) -> None:
    """HTTP: a server may refuse a request before all of it has arrived, and close."""
    stream, server = ends
    stream.deadline = Deadline(ENOUGH_SECONDS) if is_limited else None
    server.sendall(b"refused")
    own = stream.get_extra_info("socket")
    own.shutdown(socket.SHUT_WR)
    stream.write(b"body")

    assert stream.read(100, 5) == b"refused"


def test_a_read_ends_at_its_deadline(ends: Ends) -> None:
    """Ours: a caller that reads by itself has a time limit; one that has passed before lets nothing be read."""
    stream, server = ends
    stream.deadline = Deadline(0.02)
    stream.write(b"request")

    with pytest.raises(InterruptedExchangeError):
        stream.read(100)
    assert server.recv(100) == b"request"
    with pytest.raises(InterruptedExchangeError):
        stream.read(100)


def test_a_read_ends_at_its_deadline_while_data_is_waiting(ends: Ends) -> None:
    """Ours: a server that never pauses would keep its caller for ever."""
    stream, server = ends
    clock = Clock()
    stream.deadline = Deadline(1, clock=clock)
    server.sendall(b": keep-alive\n\n" * 10)
    assert stream.read(4) == b": ke"
    clock.now += 1

    with pytest.raises(InterruptedExchangeError):
        stream.read(4)


def test_a_read_continues_while_its_deadline_is_held(ends: Ends) -> None:
    """Ours: a person may be answering a question."""
    stream, server = ends
    clock = Clock()
    stream.deadline = deadline = Deadline(1, clock=clock)
    deadline.hold()
    clock.now += 10
    threading.Timer(WAIT_SLICE_SECONDS * 1.5, server.sendall, [b"response"]).start()

    assert stream.read(100) == b"response"


def test_a_blocked_write_ends_at_the_deadline(ends: Ends) -> None:
    """Ours: a caller that sends by itself must not wait longer than its time limit for room in the connection."""
    stream, server = ends
    server.sendall(b"response")
    stream.deadline = Deadline(0.02)
    # More than the systems hold between two sockets. It is written only by the read, which ends.
    stream.write(b"x" * (64 << 20))

    with pytest.raises(InterruptedExchangeError):
        stream.read(100)
    assert server.recv(1) == b"x"


def test_a_connection_reset_is_a_read_error(ends: Ends) -> None:
    """Ours: as without a deadline."""
    stream, server = ends
    stream.deadline = Deadline(ENOUGH_SECONDS)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.close()

    with pytest.raises(httpcore2.ReadError):
        stream.read(100)


def test_a_request_is_sent_on_an_encrypted_connection(tmp_path: Path) -> None:
    """Ours: TLS wraps the stream, so that a request must go out through both."""
    authority = Authority(tmp_path)
    with serving(result, server_context(authority.signed("web"))) as web, line_to(web, ca=authority.file) as line:
        assert "result" in line.ask("tools/list").message()


USABLE_URLS = [
    "http://127.0.0.1",
    "https://host:8443/mcp?a=b",
    "http://[::1]:80/mcp",
    "https://user:x@host/",
    "HTTP://host/mcp",
]


def refusal_of(url: str, headers: dict[str, str] | None = None) -> Exception | None:
    """The error that an entry with this URL and these headers raises."""
    try:
        Endpoint("web", url, headers or {}).check()
    except Exception as error:
        return error
    return None


def refuses(error: Exception | None, words: str) -> bool:
    return isinstance(error, EntryError) and words in str(error)


def test_a_url_with_a_host_is_valid() -> None:
    """Ours: whatever else it holds."""
    headers = {"X-A": "b\tc", "Authorization": "Bearer é"}

    assert [(url, error) for url in USABLE_URLS if (error := refusal_of(url, headers)) is not None] == []


UNUSABLE_URLS = [
    "http://",
    "http:///mcp",
    "http://host:0/",
    "http://host:99999/",
    "http://host:x/",
    "http://[::1/",
    "http://a..b/",
]


def test_a_url_without_a_valid_host_or_port_is_an_error() -> None:
    """Ours: before anything is sent."""
    found = {url: refusal_of(url) for url in UNUSABLE_URLS}

    assert {url: error for url, error in found.items() if not refuses(error, "'url' is not a URL with a host")} == {}


def test_an_invalid_header_name_is_an_error() -> None:
    """HTTP: names are tokens."""
    found = {name: refusal_of("http://host", {name: "b"}) for name in ("X A", "", "X:", "X-é")}

    assert {name: error for name, error in found.items() if not refuses(error, "cannot be named")} == {}


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_content_length_and_transfer_encoding_cannot_be_configured(name: str) -> None:
    """HTTP: a request with two ends may be read as two requests."""
    with pytest.raises(EntryError, match=f"'headers' holds '{name}', which each request has of its own"):
        Endpoint("web", "http://host", {name: "1"}).check()


def test_a_header_value_with_control_characters_is_an_error() -> None:
    """Ours: it may come from a variable; and it is not shown."""
    faults = {
        "hunter22\r\nX-Evil: 1": "contains a line break",
        "hunter22\n": "contains a line break",
        "hunter22\0": "contains characters that HTTP does not allow",
        "hunter22\x7f": "contains characters that HTTP does not allow",
        "hunter22\ud800": "contains characters that HTTP does not allow",
        "hunter22 ": "ends with a space",
        "\thunter22": "begins with a tab",
    }
    for value, fault in faults.items():
        error = refusal_of("http://host", {"Authorization": value})

        assert refuses(error, f"the header 'Authorization' {fault}"), (value, error)
        assert "hunter22" not in str(error), value


def test_the_certificate_authorities_are_loaded_only_for_https(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: reading them takes longer than a call."""
    monkeypatch.delenv("https_proxy", raising=False)
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] == 0

    assert Endpoint("web", "https://host").context().cert_store_stats()["x509"] > 0
    monkeypatch.setenv("http_proxy", "https://proxy")
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] > 0


def test_certificate_authorities_are_read_from_the_entry_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as other programs read `SSL_CERT_FILE`; `~` is the home folder."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(result, server_context(authority.signed("web"))) as web:
        with line_to(web, ca="~/authority.pem") as line:
            assert "result" in line.ask("tools/list").message()
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        with line_to(web) as line:
            assert "result" in line.ask("tools/list").message()


def test_a_client_certificate_may_have_its_key_in_another_file(tmp_path: Path) -> None:
    """Ours: both are in PEM."""
    authority = Authority(tmp_path)
    signed = authority.signed("client")
    endpoint = Endpoint("web", "https://host", cert=signed, key=signed)

    assert endpoint.context()


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"ca": "none.pem"}, "'none.pem' cannot be used: No such file"),
        ({"cert": "none.pem"}, "'none.pem' cannot be used: No such file"),
        ({"ca": "text"}, "'text' cannot be used: not certificates in PEM"),
    ],
)
def test_a_missing_or_invalid_certificate_file_is_an_error(
    files: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it is named."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("hi")

    with pytest.raises(EntryError) as caught:
        Endpoint("web", "https://host", **files).context()
    assert named in str(caught.value)


def test_headers_of_the_entry_are_sent_with_those_of_the_protocol(tmp_path: Path) -> None:
    """Ours: what a message is, no entry can change."""

    def answer(asked: Asked) -> Answer:
        return result(asked)

    headers = {"X-Key": "k", "X-Other": "é", "Accept": "text/html", "User-Agent": "mine"}
    with serving(answer) as web, line_to(web, headers=headers) as line:
        line.ask("tools/list").message()
        sent = web.asked[0].headers
    assert (sent["x-key"], sent["user-agent"]) == ("k", "mine")
    assert sent["accept"] == "application/json, text/event-stream"


def test_the_proxy_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: for errors, without credentials."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert Endpoint("web", "http://host/").proxy() == ""

    monkeypatch.setenv("all_proxy", "http://u:p@every:1")
    monkeypatch.setenv("http_proxy", "http://u:p@some:1")
    monkeypatch.setenv("no_proxy", "spared")
    assert Endpoint("web", "http://host/").proxy() == "some"
    assert Endpoint("web", "https://host/").proxy() == "every"
    assert Endpoint("web", "http://spared/").proxy() == ""


PLACES = {
    "/mcp/": "https://host/mcp/",
    "other": "https://host/other",
    "https://host:443/x": "https://host:443/x",
    "https://HOST/x": "https://HOST/x",
    "http://host/x": None,
    "https://host:444/x": None,
    "https://host.evil/x": None,
    "//evil/x": None,
    "https://host@evil/x": None,
    "https://host:x/": None,
    "javascript:alert(1)": None,
}


def test_an_origin_is_shown_without_the_rest_of_the_url() -> None:
    """Ours: the path, the query and the user may hold secrets."""
    urls = {
        "https://me:secret@host:8443/sse?key=secret": "https://host:8443",
        "http://[::1]:80/x": "http://[::1]:80",
        "https://host\x07/": "https://host\\x07",
        "http://[::1": "an invalid URL",
    }

    assert {url: shown_origin(url) for url in urls} == urls


def test_a_url_of_another_origin_is_rejected() -> None:
    """Ours: scheme, host and port."""
    assert {place: same_origin("https://host/mcp", place) for place in PLACES} == PLACES
