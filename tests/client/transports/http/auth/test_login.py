"""Logins over a loopback port, with a browser that follows redirects and one on another machine."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.discovery import Challenge, find
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
from gaia_mcp.client.transports.http.auth.login import (
    LOCALHOST,
    REFUSED,
    TAKEN,
    Listener,
    Login,
    PortTakenError,
    RedirectUriError,
    without_port,
)
from gaia_mcp.client.transports.http.auth.tokens import Identity
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError, DeadlineError
from tests.client.transports.http.auth.world import NOW, SOURCES, Answer, Browser, Paster, Request, World
from tests.waiting import ENOUGH_SECONDS, deadline_until, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth import Person


def logged_in(
    world: World,
    folder: Path,
    person: Person | None = None,
    *,
    scopes: tuple[str, ...] = (),
    deadline: Deadline | None = None,
    challenge: str = "bearer",
    is_anew: bool = False,
    **settings: Any,
) -> Grant:
    given, grants = Settings(**settings), Grants(folder)
    with Fetcher("web", world.url) as fetcher:
        found = find(world.url, Challenge(challenge), given, fetcher, Deadline(ENOUGH_SECONDS))
        login = Login(found, given, grants, fetcher, person or Browser(), SOURCES, deadline or Deadline(ENOUGH_SECONDS))
        grant = login.grant(scopes, is_anew=is_anew)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.keep(grant)
    return grant


def redirect_of(request: Request) -> int:
    return int(urlsplit(request.query["redirect_uri"]).port or 0)


def test_a_person_grants_access_in_a_browser(world: World, folder: Path) -> None:
    """Spec: AC-3, AC-4, AC-5, AC-8, AC-12: registration, authorization with PKCE, exchange."""
    browser = Browser()
    grant = logged_in(world, folder, browser, scopes=("a", "b"))

    assert grant.tokens is not None
    assert world.tokens == {grant.tokens.access: "a b"}
    assert (grant.tokens.scopes, grant.tokens.expires_at, grant.granted_at) == (("a", "b"), NOW + 3600, NOW)
    assert (grant.issuer, grant.resource, grant.requested) == (world.origin, world.url, ("a", "b"))
    assert grant.revocation_endpoint == f"{world.origin}/revoke"
    assert browser.pages[0].status_code == 200
    (exchange,) = world.asked("/token")
    assert exchange.form["client_id"] == grant.identity.client_id == "client-1"
    assert exchange.form["resource"] == world.asked("/authorize")[0].query["resource"] == world.url
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(grant.identity.redirect_uri)


def test_the_redirect_url_may_be_pasted(world: World, folder: Path) -> None:
    """Ours: on a machine without a browser."""
    assert logged_in(world, folder, Paster()).tokens is not None


def test_a_pasted_url_with_another_state_is_refused(world: World, folder: Path) -> None:
    """Spec: AC-5: it belongs to another login, or was made by an attacker."""
    with pytest.raises(AuthorizationError, match="not its answer"):
        logged_in(world, folder, Paster(lambda text: text.replace("state=", "state=x")))
    assert world.asked("/token") == []


def test_a_redirect_with_another_state_does_not_end_the_login(world: World, folder: Path) -> None:
    """Spec: AC-5: an attacker's code comes with another state, and the login goes on."""

    class Attacked(Browser):
        def show(self, url: str) -> None:
            query = parse_qs(urlsplit(url).query)
            attack = httpx2.get(f"{query['redirect_uri'][0]}?code=stolen&state=guessed")
            assert attack.status_code == 400
            super().show(url)

    assert logged_in(world, folder, Attacked()).tokens is not None
    assert [request.form["code"] for request in world.asked("/token")] != ["stolen"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("iss=", "iss=https%3A%2F%2Fevil.example%2F", "is not the one"),
        ("iss=", "x=", "did not name itself"),
        ("code=", "error=access_denied&x=", "was not authorized: access_denied"),
    ],
)
def test_no_token_is_requested_after_an_invalid_redirect(
    world: World, folder: Path, old: str, new: str, problem: str
) -> None:
    """Spec: AC-6: nothing is sent to any token endpoint."""
    with pytest.raises(AuthorizationError, match=problem):
        logged_in(world, folder, Paster(lambda text: text.replace(old, new)))
    assert world.asked("/token") == []


def test_a_login_without_a_redirect_ends_at_the_deadline(world: World, folder: Path) -> None:
    """Ours: and its port is closed."""
    ports: list[int] = []

    class Away(Browser):
        def show(self, url: str) -> None:
            ports.append(int(urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0]).port or 0))

    with pytest.raises(DeadlineError) as caught:
        logged_in(world, folder, Away(), deadline=deadline_until(lambda: ports))
    assert caught.value.case == "login"
    with socket.create_server(("127.0.0.1", ports[0])):
        pass


def test_an_interrupted_login_closes_its_port(world: World, folder: Path) -> None:
    """Ours: after Ctrl-C the next login must be able to use the registered port."""
    ports: list[int] = []

    class Interrupted(Browser):
        def show(self, url: str) -> None:
            ports.append(int(urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0]).port or 0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        logged_in(world, folder, Interrupted())
    with socket.create_server(("127.0.0.1", ports[0])):
        pass


def test_a_second_login_reuses_the_client_and_the_port(world: World, folder: Path) -> None:
    """Spec: AC-12: the redirect URI is the registered one; AC-7: of the same issuer."""
    first = logged_in(world, folder)
    second = logged_in(world, folder)

    assert second.identity == first.identity
    assert len(world.asked("/register")) == 1
    ports = {redirect_of(request) for request in world.asked("/authorize")}
    assert len(ports) == 1


def test_a_concurrent_login_registers_another_port(world: World, folder: Path) -> None:
    """Spec: AC-12: the port of the first is taken, so the client is registered with another."""
    first = logged_in(world, folder)
    with Listener(first.identity.redirect_uri):
        second = logged_in(world, folder)

    assert second.identity.redirect_uri != first.identity.redirect_uri
    assert len(world.asked("/register")) == 2


def test_a_client_is_registered_for_each_issuer(world: World, folder: Path) -> None:
    """Spec: AC-7: a client is registered anew where the authorization server changes."""
    first = logged_in(world, folder)
    other = World()
    try:
        world.resource["authorization_servers"] = [other.origin]
        second = logged_in(world, folder)
    finally:
        other.close()

    assert (first.issuer, second.issuer) == (world.origin, other.origin)
    assert len(other.asked("/register")) == 1
    assert second.identity.redirect_uri != first.identity.redirect_uri


def test_a_client_that_the_server_no_longer_knows_is_registered_again(world: World, folder: Path) -> None:
    """Ours, as the official SDK for TypeScript: once."""
    first = logged_in(world, folder)
    forgotten = first.identity.client_id

    def refuse(request: Request) -> Answer | None:
        return Answer(401, {"error": "invalid_client"}) if request.form["client_id"] == forgotten else None

    world.answer_of_token = refuse
    assert logged_in(world, folder).identity.client_id != forgotten

    world.answer_of_token = lambda _: Answer(401, {"error": "invalid_client", "error_description": "no\r\nx"})
    with pytest.raises(AuthorizationError, match="was not authorized: invalid_client: no x"):
        logged_in(world, folder)


def test_a_configured_client_is_not_registered(world: World, folder: Path) -> None:
    """Spec: pre-registered clients come first, with their secret and at their port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    grant = logged_in(world, folder, client_id="CID", client_secret="s", callback_port=port)

    assert grant.identity == Identity("CID", "client_secret_basic", "s")
    assert world.asked("/register") == []
    assert world.asked("/authorize")[0].query["redirect_uri"] == f"http://localhost:{port}/callback"
    assert logged_in(world, folder, client_id="CID").identity == Identity("CID")


def test_a_configured_port_in_use_is_reported(world: World, folder: Path) -> None:
    """Ours: no other port would match the registered redirect URI."""
    with Listener() as other, pytest.raises(AuthorizationError, match=f"port {other.port} of its entry is taken"):
        logged_in(world, folder, client_id="CID", callback_port=other.port)


def test_the_redirect_uri_of_the_entry_is_used(world: World, folder: Path) -> None:
    """Ours, as the Gemini CLI: a client that was registered beforehand has one, and the server compares it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    given = f"http://127.0.0.1:{port}/oauth/callback"
    logged_in(world, folder, client_id="CID", redirect_uri=given)
    logged_in(world, folder, client_id="CID", redirect_uri="http://localhost/x", callback_port=port)
    registered = logged_in(world, folder, redirect_uri=given)

    used = [request.query["redirect_uri"] for request in world.asked("/authorize")]
    assert used == [given, f"http://localhost:{port}/x", given]
    assert registered.identity.redirect_uri == given
    with Listener(given), pytest.raises(AuthorizationError, match=f"port {port} of its entry is taken"):
        logged_in(world, folder, client_id="CID", redirect_uri=given)


def test_a_redirect_uri_of_another_machine_is_named(world: World, folder: Path) -> None:
    """Ours: a program that has a site of its own may share the entry."""
    browser = Browser()
    with pytest.raises(AuthorizationError, match=r"the redirectUri of its entry, 'https://me\.example/cb'"):
        logged_in(world, folder, browser, client_id="CID", redirect_uri="https://me.example/cb")
    assert browser.shown == []


def test_a_server_that_registers_no_address_gets_localhost(world: World, folder: Path) -> None:
    """Ours: some servers refuse `http://127.0.0.1`, which RFC 8252, §8.3 prefers; the next login uses what worked."""

    def register(request: Request) -> Answer:
        if b"127.0.0.1" in request.body:
            return Answer(400, {"error": "invalid_redirect_uri", "error_description": "no addresses"})
        return world.register(request)

    world.routes["/register"] = register
    first = logged_in(world, folder)
    second = logged_in(world, folder)
    with Listener(first.identity.redirect_uri):
        third = logged_in(world, folder)

    assert first.identity == second.identity != third.identity
    assert {urlsplit(grant.identity.redirect_uri).hostname for grant in (first, third)} == {"localhost"}
    assert len(world.asked("/register")) == 3


def test_a_redirect_uri_of_the_entry_is_not_replaced(world: World, folder: Path) -> None:
    """Ours: the user has chosen it."""
    world.routes["/register"] = lambda _: Answer(400, {"error": "invalid_redirect_uri"})
    with pytest.raises(AuthorizationError, match="invalid_redirect_uri"):
        logged_in(world, folder, redirect_uri="http://127.0.0.1/callback")
    assert len(world.asked("/register")) == 1


def test_a_client_that_only_the_page_of_the_server_refuses_is_registered_anew(world: World, folder: Path) -> None:
    """Ours: the page sends nobody back, so a login without an answer gives the registration up, not the tokens."""
    first = logged_in(world, folder)
    shown: list[str] = []

    class Stuck(Browser):
        def show(self, url: str) -> None:
            shown.append(url)

    with pytest.raises(DeadlineError):
        logged_in(world, folder, Stuck(), deadline=deadline_until(lambda: shown))
    (kept,) = Grants(folder).all()
    assert kept.tokens == first.tokens

    assert logged_in(world, folder).identity.client_id != first.identity.client_id


def test_a_registration_that_is_gone_need_not_be_given_up(world: World, folder: Path) -> None:
    """Ours: another process may have logged out meanwhile."""
    first = logged_in(world, folder)
    shown: list[str] = []

    class Leaving(Browser):
        def show(self, url: str) -> None:
            Grants(folder).forget(first)
            shown.append(url)

    with pytest.raises(DeadlineError):
        logged_in(world, folder, Leaving(), deadline=deadline_until(lambda: shown))
    assert Grants(folder).all() == []


def test_a_client_metadata_document_is_used_if_the_server_supports_it(world: World, folder: Path) -> None:
    """Spec: client id metadata documents, before dynamic registration."""
    url = "https://me.example/client.json"
    assert logged_in(world, folder, client_document=url).identity.client_id == "client-1"

    world.metadata["client_id_metadata_document_supported"] = True
    assert logged_in(world, folder, client_document=url).identity == Identity(url)
    assert len(world.asked("/register")) == 1


def test_a_server_without_registration_needs_a_configured_client(world: World, folder: Path) -> None:
    """Spec: then the user is asked."""
    del world.metadata["registration_endpoint"]
    with pytest.raises(AuthorizationError, match="registers no client") as caught:
        logged_in(world, folder)
    assert caught.value.case == "client-unknown"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(400, {"error": "invalid_redirect_uri"}), "invalid_redirect_uri"),
        (Answer(403), "status 403"),
        (Answer(201, {}), "gave no client id"),
    ],
)
def test_a_refused_registration_is_an_error(world: World, folder: Path, answer: Answer, problem: str) -> None:
    """Spec: RFC 7591, §3.2.2."""
    world.routes["/register"] = lambda _: answer
    with pytest.raises(AuthorizationError, match=problem):
        logged_in(world, folder)


def test_a_login_that_the_user_asks_for_registers_anew_where_it_can(world: World, folder: Path) -> None:
    """Ours: the server may have forgotten the client; one that registers no other goes on with the first."""
    first = logged_in(world, folder)
    second = logged_in(world, folder, is_anew=True)
    world.routes["/register"] = lambda _: Answer(429)
    third = logged_in(world, folder, is_anew=True)
    del world.metadata["registration_endpoint"]
    fourth = logged_in(world, folder, is_anew=True)

    assert first.identity.redirect_uri == second.identity.redirect_uri
    assert first.identity != second.identity == third.identity == fourth.identity


@pytest.mark.parametrize(
    ("answer", "case"),
    [
        (Answer(404), "token-only"),
        (Answer(401), "token-only"),
        (Answer(400, {"error": "invalid_redirect_uri"}), "registration-refused"),
    ],
)
def test_a_server_without_metadata_and_registration_accepts_only_a_static_token(
    world: World, folder: Path, answer: Answer, case: str
) -> None:
    """Ours: a static token, whose server has no login."""
    del world.routes["/.well-known/oauth-protected-resource/mcp"]
    del world.routes["/.well-known/oauth-authorization-server"]
    world.routes["/register"] = lambda _: answer

    with pytest.raises(AuthorizationError) as caught:
        logged_in(world, folder)
    assert caught.value.case == case


def test_a_server_without_pkce_is_refused(world: World, folder: Path) -> None:
    """Spec: AC-3: no browser is opened."""
    del world.metadata["code_challenge_methods_supported"]
    browser = Browser()
    with pytest.raises(AuthorizationError, match="does not support PKCE"):
        logged_in(world, folder, browser)
    assert browser.shown == []


def test_a_resource_that_requires_dpop_gets_bound_tokens(world: World, folder: Path) -> None:
    """Spec: RFC 9449, §5."""

    def bound(request: Request) -> Answer:
        assert jwt.decode(request.headers["dpop"], options={"verify_signature": False})["htm"] == "POST"
        return Answer(value={"access_token": "A", "token_type": "DPoP"})

    world.answer_of_token = bound
    grant = logged_in(world, folder, challenge="dpop")
    assert grant.tokens is not None
    assert (grant.tokens.kind, grant.dpop_key[:10]) == ("DPoP", "-----BEGIN")

    world.answer_of_token = lambda _: Answer(value={"access_token": "A", "token_type": "Bearer"})
    assert logged_in(world, folder, challenge="dpop").dpop_key == ""


def test_a_login_with_dpop_needs_pyjwt(world: World, folder: Path, no_pyjwt: None) -> None:
    """Ours: a bound token could not be used afterwards, so that no browser is opened."""
    browser = Browser()
    with pytest.raises(AuthorizationError, match="PyJWT") as caught:
        logged_in(world, folder, browser, challenge="dpop")
    assert (caught.value.case, browser.shown) == ("pyjwt-missing", [])


def is_bound(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_redirect_of_a_login_is_accepted_once() -> None:
    """Spec: AC-12: on the loopback address; AC-5: one that is replayed is refused."""
    with Listener() as listener:
        assert listener.redirect_uri == f"http://127.0.0.1:{listener.port}/callback"
        listener.expect(lambda path: "state=ours" in path)

        page = httpx2.get(f"{listener.redirect_uri}?code=C&state=ours")
        again = httpx2.get(f"{listener.redirect_uri}?code=C&state=ours")

        assert (page.status_code, again.status_code) == (200, 400)
        assert TAKEN in page.text
        assert listener.take(ENOUGH_SECONDS) == "/callback?code=C&state=ours"
        assert listener.take(0.01) is None


def test_an_unrelated_request_is_refused_and_the_listener_keeps_waiting() -> None:
    """Ours: a browser asks for an icon, and another page may guess the port; nothing of a request is shown."""
    with Listener() as listener:
        early = httpx2.get(f"{listener.redirect_uri}?state=ours")
        listener.expect(lambda path: "state=ours" in path)
        pages = [
            httpx2.get(f"http://127.0.0.1:{listener.port}/favicon.ico"),
            httpx2.get(f"{listener.redirect_uri}?state=stolen&error=%3Cscript%3E"),
            httpx2.post(f"{listener.redirect_uri}?state=ours"),
        ]

        assert [page.status_code for page in [early, *pages]] == [400, 404, 400, 501]
        assert pages[1].text.count("script") == 0
        assert REFUSED in pages[1].text
        assert listener.take(0.01) is None
        assert httpx2.get(f"{listener.redirect_uri}?state=ours").status_code == 200


def test_a_page_runs_no_script_and_is_not_cached() -> None:
    """Ours: the URL of the page holds the code."""
    with Listener() as listener:
        headers = httpx2.get(listener.redirect_uri).headers

    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["server"] == "gaia-mcp"


def test_a_listener_may_be_closed_twice_and_with_open_connections() -> None:
    """Ours: browsers open connections in advance, and send nothing."""
    listener = Listener()
    with socket.create_connection(("127.0.0.1", listener.port)), socket.create_connection(("127.0.0.1", listener.port)):
        listener.close()
        listener.close()
    port = listener.port

    assert not is_bound(port)
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "gaia-mcp login"])


def test_a_connection_reset_by_the_browser_is_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    """Ours: nothing is printed."""
    with Listener() as listener:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", listener.port)) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                gone.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert httpx2.get(f"http://127.0.0.1:{listener.port}/").status_code == 404
        for server in listener._servers:
            server.handle_error(None, None)

    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_an_error() -> None:
    """Ours: a client that was registered by hand has one port."""
    with Listener() as first, pytest.raises(PortTakenError):
        Listener(port=first.port)


def test_localhost_listens_on_ipv4_and_ipv6() -> None:
    """Ours: browsers look the name up, and some try IPv6 first."""
    with Listener(LOCALHOST) as listener:
        assert listener.redirect_uri == f"http://localhost:{listener.port}/callback"
        for host in ["127.0.0.1"] + ["[::1]"] * has_ipv6():
            assert httpx2.get(f"http://{host}:{listener.port}/").status_code == 404


def test_a_port_in_use_on_ipv6_alone_is_an_error() -> None:
    """Ours: the code would go to that program."""
    if not has_ipv6():
        pytest.skip("this machine has no IPv6, which a browser on it does not use either")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other, pytest.raises(PortTakenError):
        Listener(LOCALHOST, other.getsockname()[1])


def test_an_unavailable_address_is_skipped() -> None:
    """Ours: without IPv6 no browser goes there; without 127.0.0.1 there is no login."""
    listener = Listener()
    try:
        listener._listen("::2:3", 0, is_needed=False)
        assert len(listener._servers) == 1
    finally:
        listener.close()
    with pytest.raises(OverflowError):
        Listener(port=70000)


def test_the_redirect_uri_is_used_as_it_was_registered() -> None:
    """RFC 6749, §3.1.2.3: servers compare it as text; RFC 8252, §7.3: a server that compares no port allows any."""
    port = free_port()
    uris = [
        f"http://LocalHost:{port}/oauth/callback",
        f"http://127.0.0.1:{port}",
        *[f"http://[::1]:{port}/cb"] * has_ipv6(),
    ]
    for uri in uris:
        with Listener(uri, 9) as listener:
            assert (listener.redirect_uri, listener.port) == (uri, port)
            listener.expect(lambda path: "state=ours" in path)
            assert httpx2.get(f"{uri}?state=ours").status_code == 200
            assert httpx2.get(f"http://{httpx2.URL(uri).netloc.decode()}/elsewhere?state=ours").status_code == 404
    with Listener("http://localhost/oauth/callback", port) as listener:
        assert listener.redirect_uri == f"http://localhost:{port}/oauth/callback"
        assert without_port(listener.redirect_uri) == "http://localhost/oauth/callback"


def test_a_redirect_uri_of_another_machine_is_refused() -> None:
    """RFC 8252, §7.3: the code would go there, or in the clear; RFC 6749, §3.1.2: without a fragment."""
    taken = []
    for uri in (
        "https://127.0.0.1:3118/callback",
        "http://example.com:3118/callback",
        "http://127.0.0.1.example.com/callback",
        "http://localhost@example.com/callback",
        "http://0.0.0.0:3118/callback",
        "http://me@localhost:3118/callback",
        "http://localhost:3118/callback?x=1",
        "http://localhost:3118/callback#x",
        "http://localhost:99999/callback",
        "http://[::1/callback",
        "myapp://callback",
        "localhost:3118/callback",
        "",
    ):
        try:
            Listener(uri).close()
        except RedirectUriError:
            continue
        taken.append(uri)

    assert not taken


def test_an_oserror_of_the_socket_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a machine without sockets left."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    # A limit of open files would also stop what reports this test.
    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(OSError, match="Too many"):
        Listener()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
