"""Who may use a server: DNS rebinding, foreign pages, tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.server.http.security import Hosts, SocketHosts, StaticToken, is_loopback
from tests.server.http.asgi import Tools, app_of
from tests.server.talk import DISCOVER

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
# One that a page can only have made: a thousand of them must not be remembered for ever.
MANY = 1100


def status(server: Server, **headers: str) -> int:
    return server.stateless(DISCOVER, **headers).reply().status


def test_the_names_of_the_local_machine_are_allowed(serve: Serve) -> None:
    """Spec 2026-07-28, HS-1."""
    server = serve(Tools())
    hosts = ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "[::1]", "LOCALHOST:80")

    assert {host: status(server, host=host) for host in hosts} == dict.fromkeys(hosts, 200)


def test_other_host_names_are_refused(serve: Serve) -> None:
    """Spec 2026-07-28, HS-1: a name that a page makes resolve to this machine (DNS rebinding)."""
    server = serve(Tools())
    hosts = (
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", " ", "a@localhost", "localhost:x", "[::1",
        "10.0.0.1",
    )  # fmt: skip

    assert {host: status(server, host=host) for host in hosts} == dict.fromkeys(hosts, 403)


def test_the_origin_of_the_server_itself_is_allowed(serve: Serve) -> None:
    """Spec 2025-11-25, LS-5; 2026-07-28, HS-1: by every name that it has, also behind a proxy with TLS."""
    server = serve(Tools())
    names = ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LocalHost", "127.0.0.1")
    origins = [(name, f"{scheme}://{name}") for name in names for scheme in ("http", "https", "HTTP")]

    assert {each: status(server, host=each[0], origin=each[1]) for each in origins} == dict.fromkeys(origins, 200)


def test_other_origins_are_refused(serve: Serve) -> None:
    """Spec 2025-11-25, LS-5; 2026-07-28, HS-1: 403, for every method. A page of another port of this machine may be of
    anybody: a preview of a file, the server of another user.
    """
    server = serve(Tools())
    origins = (
        "http://evil.example", "null", " ", "http://localhost.evil.example", "file://", "http://a@localhost", "x:y",
        "http://127.0.0.1:3000", "http://localhost", "https://[::1]", "chrome-extension://127.0.0.1", "127.0.0.1",
        "http://127.0.0.1.evil.example", "http://127.0.0.1/", "http://a@127.0.0.1",
    )  # fmt: skip

    def statuses(origin: str) -> tuple[int, ...]:
        others = [server.ask(method, origin=origin).reply().status for method in ("GET", "DELETE")]
        return (status(server, origin=origin), *others)

    assert {origin: statuses(origin) for origin in origins} == dict.fromkeys(origins, (403, 403, 403))


def test_hosts_and_origins_can_be_allowed(serve: Serve) -> None:
    """Ours: for a server behind a proxy."""
    hosts = Hosts(["mcp.example", "[2001:db8::1]"], ["https://app.example/"])
    server = serve(app_of(Tools(), hosts=hosts))

    assert status(server, host="MCP.example:443", origin="https://app.example") == 200
    assert status(server, host="[2001:db8::1]:80") == 200
    assert status(server, host="mcp.example", origin="http://mcp.example") == 200
    assert status(server, host="mcp.example", origin="https://other.example") == 403
    assert status(server, host="other.example") == 403


def test_every_host_and_every_origin_can_be_allowed(serve: Serve) -> None:
    """Ours: for a server that only a proxy can reach, which checks them itself."""
    server = serve(app_of(Tools(), hosts=Hosts(["*"], ["*"])))

    assert status(server, host="any.example", origin="https://other.example") == 200


def test_at_a_unix_socket_only_the_pages_of_sites_are_refused(serve: Serve) -> None:
    """Ours: its clients send any Host, and no browser reaches it, unless another program forwards a port to it."""
    server = serve(app_of(Tools(), hosts=SocketHosts()))

    for host in ("localhost", "any.example", ""):
        assert status(server, host=host) == 200
        assert status(server, host=host, origin="http://localhost:3000") == 200
        assert status(server, host=host, origin="vscode-webview://x") == 200
        for origin in ("https://any.example", "http://evil.example", "http://", "null", "x"):
            assert status(server, host=host, origin=origin) == 403


def test_ip_addresses_can_be_allowed(serve: Serve) -> None:
    """Ours: no name server can redirect them."""
    server = serve(app_of(Tools(), hosts=Hosts(addresses=True)))

    assert status(server, host="10.1.2.3:8000", origin="http://10.1.2.3:8000") == 200
    assert status(server, host="name.example") == 403


def test_the_cache_of_allowed_hosts_is_bounded() -> None:
    """Ours: any client may send any number of names."""
    from gaia_mcp.server.http.received import Received

    hosts = Hosts(["*"])
    for number in range(MANY):
        scope = {"method": "GET", "headers": [(b"host", b"h%d" % number)]}
        for _ in range(2):
            hosts.check(Received(scope, None))  # type: ignore[arg-type]

    assert len(hosts._known) == 1000


def test_the_static_token_is_accepted(serve: Serve) -> None:
    """RFC 6750, section 2.1: the scheme is not case-sensitive."""
    server = serve(app_of(Tools(), authorizer=StaticToken("s3cret")))
    credentials = ("Bearer s3cret", "bearer s3cret", "BEARER  s3cret ")

    assert {each: status(server, authorization=each) for each in credentials} == dict.fromkeys(credentials, 200)


def test_other_credentials_are_refused(serve: Serve) -> None:
    """RFC 6750, section 3; spec AS-2. No part of either is in the response."""
    server = serve(app_of(Tools(), authorizer=StaticToken("s3cret")))
    credentials = ("Bearer s3cre", "Bearer S3CRET", "Basic s3cret", "s3cret", "", "Bearer", "Bearer é")

    def refused(given: str) -> tuple[int, str, bool]:
        reply = server.ask("POST", authorization=given.encode().decode("latin-1")).reply()
        return reply.status, reply.headers["www-authenticate"], b"s3cret" in reply.body.lower()

    expected = (401, 'Bearer error="invalid_token"', False)
    assert {each: refused(each) for each in credentials} == dict.fromkeys(credentials, expected)


def test_a_request_without_a_token_gets_a_challenge(serve: Serve) -> None:
    """RFC 6750, section 3.1: without an error code, for there were no credentials."""
    reply = serve(app_of(Tools(), authorizer=StaticToken("s3cret"))).ask("POST").reply()

    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


def test_loopback_addresses_are_recognized() -> None:
    """Ours: a server at any other address needs a token."""
    hosts = {
        "127.0.0.1": True, "127.9.9.9": True, "::1": True, "Localhost": True, "0.0.0.0": False, "::": False,
        "10.0.0.1": False, "example.com": False,
    }  # fmt: skip

    assert {host: is_loopback(host) for host in hosts} == hosts
