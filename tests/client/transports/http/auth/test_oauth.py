"""OAuth as a channel uses it, against a loopback server."""

from __future__ import annotations

import json
import ssl
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import jwt
import pytest

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
from gaia_mcp.client.transports.http.auth.oauth import MAX_AUTHORIZATIONS, OAuth
from gaia_mcp.client.transports.http.auth.token_requests import Sources, new_key
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError, DeadlineError
from gaia_mcp.core.grant_kinds import CLIENT_CREDENTIALS, JWT_BEARER
from tests.client.transports.http.auth.world import NOW, SOURCES, TLS, Answer, Browser, Request, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth import Authorizer, Person


def oauth(world: World, folder: Path, person: Person | None = None, **settings: Any) -> OAuth:
    return OAuth("web", world.url, Settings(**settings), folder, person=person, sources=SOURCES, context=lambda: TLS)


def call(authorizer: Authorizer, world: World, url: str = "", seconds: float = ENOUGH_SECONDS) -> httpx2.Response:
    """Send requests as a channel does, until one is not refused or not to be repeated."""
    while True:
        headers = dict(authorizer.headers("POST", world.url, Deadline(seconds)))
        response = httpx2.post(url or world.url, headers=headers, verify=TLS)
        if response.status_code not in (401, 403) or not authorizer.challenged(response, Deadline(seconds)):
            return response


def keep(world: World, folder: Path, tokens: Tokens | None, requested: tuple[str, ...] = (), **more: Any) -> Grant:
    grant = Grant(world.url, world.origin, f"{world.origin}/token", Identity("CID"), tokens, requested)
    grant = grant._replace(**more)
    grants = Grants(folder)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.keep(grant)
    return grant


def test_a_server_without_authorization_gets_no_header(world: World, folder: Path) -> None:
    """Ours: and no folder is made."""
    assert oauth(world, folder).headers("POST", world.url, Deadline(ENOUGH_SECONDS)) == {}
    assert not folder.exists()


def test_a_token_is_reused_by_the_next_process(world: World, folder: Path) -> None:
    """Spec: AC-9: on every request, in the header."""
    browser = Browser()
    first = oauth(world, folder, browser)
    assert call(first, world).status_code == 200
    assert call(first, world).status_code == 200
    assert call(oauth(world, folder), world).status_code == 200

    assert len(browser.shown) == 1
    assert [request.query for request in world.asked("/mcp")] == [{}] * 4
    assert len({request.headers.get("authorization") for request in world.asked("/mcp")}) == 2


def test_a_login_is_required_if_no_person_can_be_asked(world: World, folder: Path) -> None:
    """Ours: a command in a script opens no browser."""
    with pytest.raises(AuthorizationError, match="requires authorization") as caught:
        call(oauth(world, folder), world)
    assert (caught.value.case, caught.value.scopes) == ("", ())

    keep(world, folder, Tokens("revoked"))
    with pytest.raises(AuthorizationError, match="no longer accepts its token"):
        call(oauth(world, folder), world)


def test_an_unreadable_login_is_reported(world: World, folder: Path) -> None:
    """Ours: the keyring has to be unlocked, or installed; a new login takes the place of the old one."""
    call(oauth(world, folder, Browser()), world)
    (file,) = folder.glob("tokens/*/credentials.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"secret": "keyring"}))
    registered = len(world.asked("/register"))

    with pytest.raises(AuthorizationError, match="has a login in the system's keyring, which cannot be read"):
        call(oauth(world, folder), world)
    assert oauth(world, folder, Browser()).log_in({}, (), Deadline(ENOUGH_SECONDS)).tokens is not None
    assert call(oauth(world, folder), world).status_code == 200
    # With what is known of it, a client that has a secret could not be used again.
    assert len(world.asked("/register")) == registered + 1


def test_a_login_that_was_asked_for_registers_the_client_anew(world: World, folder: Path) -> None:
    """Ours: only the page of a server that has forgotten the client shows it; a refused request reuses the client."""
    call(oauth(world, folder, Browser()), world)
    world.tokens.clear()
    world.refresh_tokens.clear()
    call(oauth(world, folder, Browser()), world)
    assert len(world.asked("/register")) == 1

    oauth(world, folder, Browser()).log_in({}, (), Deadline(ENOUGH_SECONDS))
    assert len(world.asked("/register")) == 2


def test_a_token_is_not_sent_to_another_origin(world: World, folder: Path) -> None:
    """Spec: AC-9: a redirect or an endpoint event may name any URL."""
    keep(world, folder, Tokens("A"))
    authorizer = oauth(world, folder)

    assert authorizer.secrets() == ()
    assert authorizer.headers("POST", f"{world.origin}/messages?x=1", Deadline(ENOUGH_SECONDS)) == {
        "Authorization": "Bearer A"
    }
    assert authorizer.secrets() == ["A"]
    for url in ("http://127.0.0.1:9/mcp", "https://evil.example/mcp", world.url.replace("http:", "https:"), "x"):
        assert authorizer.headers("POST", url, Deadline(ENOUGH_SECONDS)) == {}
        refused = httpx2.Response(401, request=httpx2.Request("POST", url if ":" in url else "https://x.example"))
        assert not authorizer.challenged(refused, Deadline(ENOUGH_SECONDS))


def test_a_token_is_renewed_before_it_expires(world: World, folder: Path) -> None:
    """Ours: the request is not refused first."""
    keep(world, folder, Tokens("OLD", expires_at=NOW, refresh="R"))
    world.refresh_tokens["R"] = ""

    assert call(oauth(world, folder), world).status_code == 200
    assert world.paths() == ["/token", "/mcp"]


def test_a_refused_token_is_renewed_once(world: World, folder: Path) -> None:
    """Spec: on a 401 the client refreshes, and else begins anew."""
    keep(world, folder, Tokens("REVOKED", refresh="R"))
    world.refresh_tokens["R"] = ""

    assert call(oauth(world, folder), world).status_code == 200
    assert world.paths() == ["/mcp", "/token", "/mcp"]


def test_a_refused_refresh_leads_to_a_login(world: World, folder: Path) -> None:
    """Spec: on a refused refresh authorization begins anew; if no person can be asked, that is an error."""
    keep(world, folder, Tokens("REVOKED", refresh="UNKNOWN"))
    with pytest.raises(AuthorizationError, match="requires authorization"):
        call(oauth(world, folder), world)
    assert call(oauth(world, folder, Browser()), world).status_code == 200


def test_the_number_of_logins_is_limited(world: World, folder: Path) -> None:
    """Spec: AC-10: attempts are limited."""
    world.routes["/mcp"] = lambda _: Answer(401, headers={"WWW-Authenticate": "Bearer"})
    browser = Browser()
    with pytest.raises(AuthorizationError, match="refuses every token"):
        call(oauth(world, folder, browser), world)
    assert len(browser.shown) == MAX_AUTHORIZATIONS


def test_logins_are_counted_per_minute(world: World, folder: Path) -> None:
    """Ours: a program that runs for days may log in every day."""
    now = [NOW]
    sources = Sources(now=lambda: now[0])
    authorizer = OAuth("web", world.url, Settings(), folder, person=Browser(), sources=sources, context=lambda: TLS)
    for _ in range(MAX_AUTHORIZATIONS + 2):
        world.tokens.clear()
        world.refresh_tokens.clear()
        now[0] += 61
        assert call(authorizer, world).status_code == 200


def test_a_step_up_requests_the_union_of_the_scopes(world: World, folder: Path) -> None:
    """Spec: AC-10: what was asked for before, and what the challenge names."""
    authorizer = oauth(world, folder, Browser())
    world.needs_scope = "a"
    assert call(authorizer, world).status_code == 200
    world.needs_scope = "b c"
    assert call(authorizer, world).status_code == 200

    assert [request.query["scope"] for request in world.asked("/authorize")] == ["a", "a b c"]


def test_a_scope_that_was_not_granted_is_not_requested_again(world: World, folder: Path) -> None:
    """Spec: AC-10: the login would be repeated for ever."""
    browser = Browser()
    world.needs_scope = "admin"
    challenge = 'Bearer error="insufficient_scope", scope="admin"'

    def forbidden(request: Request) -> Answer:
        if "authorization" not in request.headers:
            return world.mcp(request)
        return Answer(403, headers={"WWW-Authenticate": challenge})

    world.routes["/mcp"] = forbidden
    with pytest.raises(AuthorizationError, match="requires admin, which was asked for and not granted") as caught:
        call(oauth(world, folder, browser), world)
    assert caught.value.scopes == ("admin",)
    assert len(browser.shown) == 1

    challenge = 'Bearer error="insufficient_scope"'
    with pytest.raises(AuthorizationError, match="requires more than was granted"):
        call(oauth(world, folder, browser), world)


def test_a_missing_scope_is_reported_if_no_person_can_be_asked(world: World, folder: Path) -> None:
    """Ours: the person needs its name for the login."""
    keep(world, folder, Tokens("A"), ("a",))
    world.tokens["A"] = "a"
    world.needs_scope = "b"
    with pytest.raises(AuthorizationError, match="requires the scope b") as caught:
        call(oauth(world, folder), world)
    assert caught.value.scopes == ("b",)


def test_an_insufficient_scope_before_any_login_leads_to_a_login(world: World, folder: Path) -> None:
    """Ours: some servers answer so without a token."""
    challenge = 'Bearer error="insufficient_scope", scope="a"'
    world.routes["/mcp"] = lambda request: (
        world.mcp(request)
        if "authorization" in request.headers
        else Answer(403, headers={"WWW-Authenticate": challenge})
    )
    assert call(oauth(world, folder, Browser()), world).status_code == 200


def test_a_403_without_a_scope_is_left_to_the_channel(world: World, folder: Path) -> None:
    """Ours: it may be about the origin."""
    world.routes["/mcp"] = lambda _: Answer(403)
    assert call(oauth(world, folder, Browser()), world).status_code == 403
    assert world.paths() == ["/mcp"]


def test_client_credentials_need_no_person(world: World, folder: Path) -> None:
    """Spec: client credentials; a token that has expired is replaced."""
    settings = {"client_id": "CID", "client_secret": "s", "grant": CLIENT_CREDENTIALS}
    authorizer = oauth(world, folder, **settings)
    assert call(authorizer, world).status_code == 200
    assert call(oauth(world, folder, **settings), world).status_code == 200
    assert len(world.asked("/token")) == 1

    world.tokens.clear()
    world.refresh_tokens.clear()
    assert call(authorizer, world).status_code == 200


def test_a_grant_of_another_client_is_not_used(world: World, folder: Path) -> None:
    """Spec: AC-7: the entry names a client of its own."""
    keep(world, folder, Tokens("A"))
    assert oauth(world, folder, client_id="other").headers("POST", world.url, Deadline(ENOUGH_SECONDS)) == {}


@pytest.mark.parametrize("secret", ["client_secret", "private_key", "assertion"])
def test_a_secret_is_not_sent_to_another_authorization_server(world: World, folder: Path, secret: str) -> None:
    """Spec: AC-7: a server that is hostile by now names one of its own."""
    settings = {"client_id": "CID", "grant": JWT_BEARER, "assertion": "W", secret: new_key()}
    assert call(oauth(world, folder, **settings), world).status_code == 200
    other = World()
    try:
        world.resource["authorization_servers"] = [other.origin]
        world.tokens.clear()
        world.refresh_tokens.clear()
        with pytest.raises(AuthorizationError, match="another authorization server than before") as caught:
            call(oauth(world, folder, **settings), world)
        assert caught.value.case == "issuer-changed"
        assert other.asked("/token") == []
        assert call(oauth(world, folder, **{**settings, "issuer": other.origin}), other, other.url)
    finally:
        other.close()


def test_a_change_of_issuer_replaces_the_grant(world: World, folder: Path) -> None:
    """Spec: AC-7, AC-9: the token of the issuer before is for nothing any more."""
    assert call(oauth(world, folder, Browser()), world).status_code == 200
    first = Grants(folder).find(world.url)
    other = World()
    try:
        world.resource["authorization_servers"] = [other.origin]
        world.tokens = other.tokens
        world.refresh_tokens.clear()
        assert call(oauth(world, folder, Browser()), world).status_code == 200
    finally:
        other.close()

    (left,) = Grants(folder).all()
    assert first is not None
    assert (first.issuer, left.issuer) == (world.origin, other.origin)


def test_the_login_of_another_process_is_used(world: World, folder: Path) -> None:
    """Ours: a program that was refused looks once more before it gives up."""
    authorizer = oauth(world, folder)
    assert authorizer.headers("POST", world.url, Deadline(ENOUGH_SECONDS)) == {}
    keep(world, folder, Tokens("A"))
    world.tokens["A"] = ""

    assert call(authorizer, world).status_code == 200


def test_a_token_that_another_thread_has_replaced_is_used(world: World, folder: Path) -> None:
    """Ours: its request was refused with the one before."""
    keep(world, folder, Tokens("A"))
    authorizer = oauth(world, folder)
    authorizer.headers("POST", world.url, Deadline(ENOUGH_SECONDS))
    request = httpx2.Request("POST", world.url, headers={"Authorization": "Bearer BEFORE"})

    assert authorizer.challenged(httpx2.Response(401, request=request), Deadline(ENOUGH_SECONDS))


def test_bound_tokens_come_with_a_proof_for_each_request(world: World, folder: Path) -> None:
    """Spec: RFC 9449, §7.1 and §9: a fresh proof, with the nonce that the server wants."""
    keep(world, folder, Tokens("A", "DPoP"), dpop_key=new_key())
    proofs: list[dict[str, Any]] = []

    def wants_nonce(request: Request) -> Answer:
        assert request.headers["authorization"] == "DPoP A"
        proofs.append(jwt.decode(request.headers["dpop"], options={"verify_signature": False}))
        if proofs[-1].get("nonce") == "N":
            return Answer()
        challenge = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "N"}
        return Answer(401, headers=challenge)

    world.routes["/mcp"] = wants_nonce
    authorizer = oauth(world, folder)
    assert call(authorizer, world).status_code == 200
    assert call(authorizer, world).status_code == 200
    assert [proof.get("nonce") for proof in proofs] == [None, "N", "N"]
    assert len({proof["jti"] for proof in proofs}) == 3
    assert {(proof["htm"], proof["htu"]) for proof in proofs} == {("POST", world.url)}


def test_the_number_of_dpop_nonce_retries_is_limited(world: World, folder: Path) -> None:
    """Ours: a server may refuse every nonce that it sends."""
    keep(world, folder, Tokens("A", "DPoP"), dpop_key=new_key())
    challenge = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "N"}
    world.routes["/mcp"] = lambda _: Answer(401, headers=challenge)

    assert call(oauth(world, folder), world).status_code == 401
    assert len(world.requests) < 20


def test_a_bound_token_without_pyjwt_is_an_error(world: World, folder: Path, no_pyjwt: None) -> None:
    """Ours: without a proof the server would refuse the token."""
    keep(world, folder, Tokens("A", "DPoP"), dpop_key="PEM")
    with pytest.raises(AuthorizationError, match="PyJWT") as caught:
        oauth(world, folder).headers("POST", world.url, Deadline(ENOUGH_SECONDS))
    assert caught.value.case == "pyjwt-missing"


def test_a_bound_token_whose_key_is_damaged_is_an_error(world: World, folder: Path) -> None:
    """Ours: a new login replaces the key; the error does not show it."""
    keep(world, folder, Tokens("A", "DPoP"), dpop_key="PEM")
    with pytest.raises(AuthorizationError) as caught:
        oauth(world, folder).headers("POST", world.url, Deadline(ENOUGH_SECONDS))
    assert caught.value.case == ""


def test_an_explicit_login_replaces_a_valid_token(world: World, folder: Path) -> None:
    """Ours: `login` with a token that is still good, and with scopes of the user's own."""
    keep(world, folder, Tokens("A"), ("a",))
    authorizer = oauth(world, folder, Browser(), scopes=("w",))
    grant = authorizer.log_in({"X-Own": "1"}, ("x",), Deadline(ENOUGH_SECONDS))

    assert grant.requested == ("a", "x", "w")
    assert Grants(folder).find(world.url) == grant
    assert world.asked("/mcp")[0].headers["x-own"] == "1"
    assert "authorization" not in world.asked("/mcp")[0].headers
    assert authorizer.log_in({}, (), Deadline(ENOUGH_SECONDS)).requested == ("w",)


def test_an_explicit_login_to_a_public_server_needs_metadata(world: World, folder: Path) -> None:
    """Ours: some servers let everybody in, and offer more to those who log in."""
    world.routes["/mcp"] = lambda _: Answer()
    assert oauth(world, folder, Browser()).log_in({}, (), Deadline(ENOUGH_SECONDS)).tokens is not None

    world.routes = {"/mcp": world.routes["/mcp"]}
    with pytest.raises(AuthorizationError, match="asks for no authorization"):
        oauth(world, folder, Browser()).log_in({}, (), Deadline(ENOUGH_SECONDS))


def test_the_deadline_applies_while_another_thread_logs_in(world: World, folder: Path) -> None:
    """Ours: a person may take minutes in the browser, and a request has its own time limit."""
    shown, ended = threading.Event(), threading.Event()

    class Slow(Browser):
        def show(self, url: str) -> None:
            shown.set()
            ended.wait(ENOUGH_SECONDS)
            super().show(url)

    authorizer = oauth(world, folder, Slow())
    thread = threading.Thread(target=call, args=(authorizer, world))
    thread.start()
    assert shown.wait(ENOUGH_SECONDS)
    with pytest.raises(DeadlineError):
        call(authorizer, world, seconds=0.05)
    ended.set()
    thread.join()
    assert authorizer.headers("POST", world.url, Deadline(ENOUGH_SECONDS)) != {}


def test_the_ssl_context_of_an_entry_is_used(world: World, folder: Path) -> None:
    """Ours: a company has its own, for both of its servers."""
    made: list[ssl.SSLContext] = []

    def context() -> ssl.SSLContext:
        made.append(ssl.create_default_context())
        return made[-1]

    authorizer = OAuth("web", world.url, Settings(), folder, person=Browser(), context=context)
    assert call(authorizer, world).status_code == 200
    assert made


def test_a_login_works_with_the_clock_and_the_randomness_of_the_system(world: World, folder: Path) -> None:
    """Ours: the other tests replace both."""
    authorizer = OAuth("web", world.url, Settings(), folder, person=Browser())
    assert call(authorizer, world).status_code == 200
