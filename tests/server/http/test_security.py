"""Who may use a server: DNS rebinding, foreign pages, tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.server.http.security import Hosts, StaticToken, is_loopback
from tests.server.http.asgi import Tools, app_of
from tests.server.talk import DISCOVER

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
# One that a page can only have made: a thousand of them must not be remembered for ever.
MANY = 1100


def status(server: Server, **headers: str) -> int:
    return server.stateless(DISCOVER, **headers).reply().status


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "[::1]", "LOCALHOST:80"])
def test_this_machine_is_known_by_these_names(serve: Serve, host: str) -> None:
    """Spec 2026-07-28, HS-1."""
    assert status(serve(Tools()), host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        " ",
        "a@localhost",
        "localhost:x",
        "[::1",
        "10.0.0.1",
    ],
)
def test_another_name_for_this_machine_is_refused(serve: Serve, host: str) -> None:
    """Spec 2026-07-28, HS-1: a name that a page makes resolve to this machine (DNS rebinding)."""
    assert status(serve(Tools()), host=host) == 403


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1", "http://localhost", "HTTP://LOCALHOST:5"]
)
def test_pages_of_this_machine_may_use_it(serve: Serve, origin: str) -> None:
    """Spec 2025-11-25, LS-5; 2026-07-28, HS-1."""
    assert status(serve(Tools()), origin=origin) == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", " ", "http://localhost.evil.example", "file://", "http://a@localhost", "x:y"],
)
def test_pages_of_other_sites_may_not(serve: Serve, origin: str) -> None:
    """Spec 2025-11-25, LS-5; 2026-07-28, HS-1: 403, for every method."""
    server = serve(Tools())

    assert status(server, origin=origin) == 403
    assert server.ask("GET", origin=origin).reply().status == 403
    assert server.ask("DELETE", origin=origin).reply().status == 403


def test_hosts_and_sites_can_be_allowed(serve: Serve) -> None:
    """Ours: for a server behind a proxy."""
    hosts = Hosts(["mcp.example", "[2001:db8::1]"], ["https://app.example/"])
    server = serve(app_of(Tools(), hosts=hosts))

    assert status(server, host="MCP.example:443", origin="https://app.example") == 200
    assert status(server, host="[2001:db8::1]:80") == 200
    assert status(server, host="mcp.example", origin="http://mcp.example") == 200
    assert status(server, host="mcp.example", origin="https://other.example") == 403
    assert status(server, host="other.example") == 403


def test_every_host_and_every_site_can_be_allowed(serve: Serve) -> None:
    """Ours."""
    server = serve(app_of(Tools(), hosts=Hosts(["*"], ["*"])))

    assert status(server, host="any.example", origin="https://other.example") == 200


def test_addresses_can_be_allowed(serve: Serve) -> None:
    """Ours: no name server can redirect them."""
    server = serve(app_of(Tools(), hosts=Hosts(addresses=True)))

    assert status(server, host="10.1.2.3:8000", origin="http://10.1.2.3:8000") == 200
    assert status(server, host="name.example") == 403


def test_what_was_allowed_is_remembered_within_bounds() -> None:
    """Ours."""
    from gaia_mcp.server.http.received import Received

    hosts = Hosts(["*"])
    for number in range(MANY):
        scope = {"method": "GET", "headers": [(b"host", b"h%d" % number)]}
        for _ in range(2):
            hosts.check(Received(scope, None))  # type: ignore[arg-type]

    assert len(hosts._known) == 1000


@pytest.mark.parametrize("given", ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret "])
def test_the_token_opens(serve: Serve, given: str) -> None:
    """RFC 6750, section 2.1."""
    server = serve(app_of(Tools(), authorizer=StaticToken("s3cret")))

    assert status(server, authorization=given) == 200


@pytest.mark.parametrize("given", ["Bearer s3cre", "Bearer S3CRET", "Basic s3cret", "s3cret", "", "Bearer", "Bearer é"])
def test_another_token_does_not(serve: Serve, given: str) -> None:
    """RFC 6750, section 3; spec AS-2. No part of either is in the response."""
    server = serve(app_of(Tools(), authorizer=StaticToken("s3cret")))

    reply = server.ask("POST", authorization=given.encode().decode("latin-1")).reply()

    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert b"s3cret" not in reply.body.lower()


def test_no_token_is_told_that_one_is_needed(serve: Serve) -> None:
    """RFC 6750, section 3.1: without an error code, for there were no credentials."""
    reply = serve(app_of(Tools(), authorizer=StaticToken("s3cret"))).ask("POST").reply()

    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("Localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("example.com", False)],
)  # fmt: skip
def test_which_addresses_only_this_machine_reaches(host: str, is_local: bool) -> None:
    """Ours: any other needs a token."""
    assert is_loopback(host) is is_local
