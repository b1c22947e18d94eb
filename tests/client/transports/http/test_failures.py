"""Each failure of HTTP, and of what is under it, is reported in words of its own."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2
import pytest

from gaia_mcp.client.transports.http.connections import Endpoint, Response
from gaia_mcp.client.transports.http.failures import (
    failure_of,
    is_page,
    lost,
    not_mcp,
    redirected,
    refused,
)
from gaia_mcp.core.errors import ConnectError, ConnectionLostError, MCPError, RemoteProtocolError, StatusError
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import Answer, Cut, Line, accepted, as_json, line_to, result, serving
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

AT = Endpoint("web", "https://user:hunter22@host.example:8443/mcp?key=hunter22")


def response_of(status: int, headers: Mapping[str, str] = {}, sent: Mapping[str, str] = {}) -> Response:
    request = httpcore2.Request("POST", AT.url, headers=sent)
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    connection = httpcore2.HTTPConnection(request.url.origin)
    return Response(AT.url, request, httpcore2.Response(status, headers=fields), connection)


def asked(url: str, **options: Any) -> MCPError:
    """Why a request to `url` fails."""
    line = Line(url, **options).start()
    try:
        return line.ask("tools/call", name="t").failure()
    finally:
        line.channel.close(0.1)


@contextlib.contextmanager
def speaking(data: bytes) -> Iterator[str]:
    """The address of a server that answers any connection with `data`, and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(data)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


# Where nothing can be reached.


def test_a_refused_connection_is_reported_with_host_and_port() -> None:
    """Ours: with host and port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    failure = asked(f"http://127.0.0.1:{port}/mcp")

    assert (type(failure), failure.case) == (ConnectError, "refused")
    assert f"could not be reached at 127.0.0.1:{port}: nothing listens there" in str(failure)


def test_an_unknown_host_is_reported() -> None:
    """Ours: DNS has no such name, by RFC 2606."""
    failure = asked("http://server.invalid/mcp")

    assert (type(failure), failure.case) == (ConnectError, "dns")
    assert "server.invalid: no host has this name" in str(failure)


def test_a_proxy_that_refuses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: without its password."""
    with speaking(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as host:
        monkeypatch.setenv("https_proxy", f"http://user:hunter22@{host}")
        monkeypatch.delenv("no_proxy", raising=False)
        failure = asked("https://server.invalid/mcp")

    assert (type(failure), failure.case) == (ConnectError, "proxy")
    assert "through the proxy 127.0.0.1: the proxy refused: 407" in str(failure)
    assert "hunter22" not in str(failure)


def test_an_unreachable_proxy_is_reported_as_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is the variable of the proxy that is to be corrected, and not the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("no_proxy", raising=False)

    assert asked("https://server.invalid/mcp").case == "proxy"


@pytest.mark.parametrize(
    ("raised", "case", "words"),
    [
        (httpcore2.ConnectTimeout("slow"), "unreachable", "no connection in time"),
        (httpcore2.ConnectError("odd\nreason"), "unreachable", "odd reason"),
    ],
)
def test_another_connection_error_is_quoted(raised: Exception, case: str, words: str) -> None:
    """Ours: on one line, and without the credentials of the URL."""
    failure = failure_of(raised, AT, "tools/list")

    assert (type(failure), failure.case) == (ConnectError, case)
    assert words in str(failure)
    assert "at host.example:8443: " in str(failure)
    assert "hunter22" not in str(failure)


def test_the_message_of_an_oserror_is_quoted() -> None:
    """Ours: such as a network that is not there."""
    error = httpcore2.ConnectError("failed")
    error.__cause__ = OSError(101, "Network is unreachable")

    assert str(failure_of(error, AT, "x")).endswith("Network is unreachable")


# TLS.


@pytest.mark.parametrize(
    ("how", "case"),
    [
        ({"to_day": 0, "from_day": -3}, "tls-expired"),
        ({"from_day": 1, "to_day": 2}, "tls-not-yet-valid"),
        ({"host": "127.0.0.9"}, "tls-other-name"),
    ],
)
def test_an_invalid_certificate_is_reported_with_the_reason(
    authority: Authority, how: dict[str, Any], case: str
) -> None:
    """Ours: each fault has another remedy."""
    with serving(lambda _: accepted(), server_context(authority.signed("web", **how))) as web:
        failure = asked(web.url, ca=authority.file)

    assert (type(failure), failure.case) == (ConnectError, case)
    assert "its certificate " in str(failure)


def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority) -> None:
    """Ours: what the system trusts, unless the entry names another authority."""
    with serving(result, server_context(authority.signed("web"))) as web:
        assert asked(web.url).case == "tls-unknown-authority"
        with line_to(web, ca=authority.file) as line:
            assert "result" in line.ask("tools/list").message()


def test_a_self_signed_certificate_is_reported(authority: Authority) -> None:
    """Ours: most often it is the server's own."""
    signed = ssl.SSLCertVerificationError()
    signed.verify_code, signed.verify_message = 18, "self-signed certificate"
    error = httpcore2.ConnectError("x")
    error.__cause__ = signed

    assert failure_of(error, AT, "x").case == "tls-self-signed"
    signed.verify_code, signed.verify_message = 7, "certificate signature failure"
    assert "its certificate is invalid: certificate signature failure" in str(failure_of(error, AT, "x"))


def test_a_missing_client_certificate_is_an_error(authority: Authority) -> None:
    """Ours: and one that is shown is accepted."""
    context = server_context(authority.signed("web"), client_authority=authority.file)
    with serving(result, context) as web:
        failure = asked(web.url, ca=authority.file)
        assert isinstance(failure, ConnectError)
        with line_to(web, ca=authority.file, cert=authority.signed("client")) as line:
            assert "result" in line.ask("tools/list").message()


def test_a_server_without_tls_is_reported() -> None:
    """Ours: most often the URL begins with the wrong scheme."""
    with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host:
        failure = asked(f"https://{host}/mcp")

    assert (type(failure), failure.case) == (ConnectError, "tls-none")
    assert "perhaps the URL begins with http://" in str(failure)


TLS_CASES = {
    "TLSV1_ALERT_PROTOCOL_VERSION": "tls-version",
    "UNSUPPORTED_PROTOCOL": "tls-version",
    "UNEXPECTED_EOF_WHILE_READING": "tls-none",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "tls-client",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "tls-client",
    "SOMETHING_ELSE": "tls",
    None: "tls",
}


def test_a_tls_error_is_classified_by_its_openssl_reason() -> None:
    """Ours: by what OpenSSL calls it where nothing better is known."""

    def found(reason: str | None) -> tuple[type[MCPError], str]:
        cause = ssl.SSLError(1, "went wrong")
        cause.reason = reason  # type: ignore[assignment]
        error = httpcore2.ConnectError("x")
        error.__cause__ = cause
        failure = failure_of(error, AT, "x")
        return type(failure), failure.case

    assert {reason: found(reason) for reason in TLS_CASES} == {
        reason: (ConnectError, case) for reason, case in TLS_CASES.items()
    }


def test_a_tls_alert_after_the_handshake_is_about_the_client_certificate() -> None:
    """TLS 1.3: a server rejects a client's certificate when the client believes that all is done."""
    cause = ssl.SSLError(1, "alert")
    cause.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    error = httpcore2.ReadError("x")
    error.__cause__ = cause

    assert failure_of(error, AT, "x").case == "tls-client"


# HTTP.


def test_a_server_that_does_not_speak_http_is_reported() -> None:
    """Ours: another program may listen at that port."""
    with speaking(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") as host:
        failure = asked(f"http://{host}/mcp")

    assert type(failure) is RemoteProtocolError
    assert f"does not speak HTTP at {host}" in str(failure)


def test_a_connection_closed_without_a_response_fails_the_request() -> None:
    """Ours: the request has left."""
    with speaking(b"") as host:
        failure = asked(f"http://{host}/mcp")

    assert type(failure) is ConnectionLostError
    assert "closed the connection before it answered tools/call" in str(failure)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
    ],
)
def test_an_incomplete_response_is_reported(response: bytes) -> None:
    """Ours: the server had begun to answer."""
    with speaking(response) as host:
        failure = asked(f"http://{host}/mcp")

    assert type(failure) is ConnectionLostError
    assert "closed the connection in the middle of its answer to tools/call" in str(failure)


def test_a_plain_connection_closed_at_once_suggests_tls() -> None:
    """Ours: a TLS server gives no other sign; a later request fails for other reasons."""
    error = httpx2.ReadError("Connection reset by peer")
    plain = AT._replace(url="http://host.example/mcp")

    assert failure_of(error, plain, "initialize").case == "url-closed"
    assert {failure_of(error, plain, "tools/list").case, failure_of(error, AT, "initialize").case} == {""}


def test_an_illegal_header_is_an_error() -> None:
    """Ours: it is our fault, or that of the entry."""
    failure = failure_of(httpcore2.LocalProtocolError("Illegal header value"), AT, "tools/list")

    assert type(failure) is ConnectError
    assert str(failure) == "tools/list cannot be sent to server 'web': Illegal header value"


def test_a_body_that_cannot_be_decompressed_is_a_protocol_error() -> None:
    """Ours: it has said how it is compressed."""
    assert type(failure_of(httpx2.DecodingError("bad"), AT, "x")) is RemoteProtocolError


STATUSES = [
    (404, b"", "", "with 404 Not Found"),
    (404, b"<html>secret", "text/html", "with 404 Not Found, and an HTML page"),
    (404, b"not found\n", "text/plain", "with 404 Not Found"),
    (500, b"a\nb", "text/plain", "with 500 Internal Server Error: a b"),
    (418, b"x" * 1000, "", "with 418 I'm a Teapot: " + "x" * 120),
    (599, b"", "", "with 599"),
]


def test_an_error_status_is_reported_with_an_excerpt_of_its_body() -> None:
    """Ours: a page would fill the screen."""
    wrong = []
    for status, body, kind, words in STATUSES:
        failure = refused(AT, "tools/list", response_of(status, {"Content-Type": kind}), body)
        expected = StatusError if status < 500 else ConnectionLostError
        if not (str(failure).endswith(words) and type(failure) is expected and failure.case == f"http-{status}"):
            wrong.append((status, body, kind, failure))

    assert not wrong


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404, {"Content-Type": "text/event-stream"}, [b": hello\n\n", threading.Event()]),
        Answer(404, {}, [b"cut off", Cut()]),
        Answer(404, {"Content-Encoding": "gzip"}, b"not compressed"),
    ],
    ids=["never-ending", "cut-off", "not-compressed"],
)
def test_an_error_status_is_reported_even_if_its_body_cannot_be_read(answer: Answer) -> None:
    """Ours: the status is why the request failed, and not that its page is broken."""
    with serving(lambda _: answer) as web:
        failure = asked(web.url)

    assert (type(failure), failure.case) == (StatusError, "http-404")


def test_secrets_of_the_request_are_masked_in_an_error() -> None:
    """Ours: servers send back what they do not like, and an error may be printed."""
    response = response_of(500, sent={"Authorization": "Bearer s3cret-s3cret-s3cret"})

    assert "s3cret" not in str(refused(AT, "tools/list", response, b"bad token s3cret-s3cret-s3cret"))


def test_secrets_in_a_redirect_url_are_masked() -> None:
    """Ours: servers put sessions into URLs."""
    failure = redirected(AT, 302, "https://login.example/?token=hunter22hunter22")

    assert failure.case == "redirect"
    assert "login.example" in str(failure)
    assert "hunter22" not in str(failure)


PAGES = {
    ("text/html", b""): True,
    ("", b"  <!DOCTYPE html>"): True,
    ("text/plain", b"<HTML>"): True,
    ("application/json", b"{}"): False,
}


def test_an_html_page_is_recognized_by_its_type_or_its_first_bytes() -> None:
    """Ours: people type the address of a page."""
    assert {page: is_page(*page) for page in PAGES} == PAGES


def test_an_unexpected_content_type_is_reported() -> None:
    """Ours: it is the server's text."""
    assert "'text/x'" in str(not_mcp(AT, "x", "text/x", b"a"))
    page = not_mcp(AT, "x", "text/html", b"a")
    assert (page.case, "with an HTML page" in str(page)) == ("url-page", True)
    assert "with an empty body" in str(not_mcp(AT, "x", "text/x", b""))
    assert "not valid JSON" in str(not_mcp(AT, "x", "", b"a"))
    assert str(lost("web", "tools/list")) == "server 'web' closed the connection before it answered tools/list"


def test_a_failed_request_does_not_fail_the_next() -> None:
    """Ours: the channel goes on."""
    answers = [as_json({}, 500)]

    with serving(lambda asked: answers.pop() if answers else result(asked)) as web, line_to(web) as line:
        line.ask("tools/list", 1)
        wait_until(lambda: bool(line.kept.failures))
        line.ask("tools/list", 2)
        wait_until(lambda: bool(line.kept.messages))
