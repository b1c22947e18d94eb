"""Access tokens of an authorization server, with keys from a real one on this machine."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from gaia_mcp.server.http.security import KEYS_SECONDS, MAX_WAITING, REFETCH_SECONDS, REFRESH_SECONDS, JwtAuthorizer
from gaia_mcp.server.provider import InsufficientScopeError, RequestError
from tests.server.http.asgi import Tools, app_of, text_of
from tests.server.talk import DISCOVER, call, plain
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Reply, Server

Serve = Callable[..., "Server"]
ISSUER, AUDIENCE = "https://issuer.example", "https://tools.example/a/mcp"
METADATA_URL = "https://tools.example/.well-known/oauth-protected-resource/a/mcp"


class Issuer:
    """An authorization server that publishes its keys."""

    def __init__(self) -> None:
        self.keys = {"one": ec.generate_private_key(ec.SECP256R1())}
        self.fetched = 0
        self.status = 200
        self.body = ""
        # Cleared to let a request wait for its response.
        self.answers = threading.Event()
        self.answers.set()
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                assert issuer.answers.wait(PATIENCE_SECONDS)
                keys = [issuer.public(key_id) for key_id in issuer.keys]
                body = (issuer.body or json.dumps({"keys": keys})).encode()
                self.send_response(issuer.status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"

    def public(self, key_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(ECAlgorithm.to_jwk(self.keys[key_id].public_key()))
        return {**found, "kid": key_id, "use": "sig", "alg": "ES256"}

    def token(self, key_id: str | None = "one", **claims: Any) -> str:
        """A token, with other claims than a good one; those that are None are left out."""
        given = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 60, **claims}
        held = {name: value for name, value in given.items() if value is not None}
        headers = {"kid": key_id} if key_id else {}
        return jwt.encode(held, self.keys[key_id or "one"], "ES256", headers=headers)

    def end(self) -> None:
        self.answers.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    started = Issuer()
    yield started
    started.end()


@pytest.fixture
def clock() -> Clock:
    """Decides when keys are fetched again."""
    return Clock()


@pytest.fixture
def server(issuer: Issuer, serve: Serve, clock: Clock) -> Server:
    authorizer = JwtAuthorizer(issuer.url, ISSUER, AUDIENCE, clock=clock)
    return serve(app_of(Tools(who=lambda running: running.principal), authorizer=authorizer))


def status(server: Server, token: str) -> int:
    return server.stateless(DISCOVER, authorization=f"Bearer {token}").reply().status


def test_a_valid_token_is_accepted(server: Server, issuer: Issuer) -> None:
    """Spec, AS-2: and the tool knows the caller."""
    reply = server.stateless(call(1, "who"), authorization=f"Bearer {issuer.token()}").reply()

    assert reply.json["result"]["content"][0]["text"] == f"{ISSUER} ada"
    assert status(server, issuer.token(None)) == 200
    assert status(server, issuer.token(aud=["https://other.example", AUDIENCE])) == 200
    assert issuer.fetched == 1


def test_a_token_with_invalid_claims_is_refused(server: Server, issuer: Issuer) -> None:
    """Spec, AS-2: 401. The error does not name the claim, for the token may have been stolen."""
    invalid: list[dict[str, Any]] = [
        {"exp": 1}, {"exp": None}, {"aud": "https://other.example/mcp"}, {"aud": None}, {"iss": "https://evil.example"},
        {"iss": None}, {"sub": None}, {"nbf": time.time() + 3600},
    ]  # fmt: skip

    for claims in invalid:
        reply = server.stateless(DISCOVER, authorization=f"Bearer {issuer.token(**claims)}").reply()
        challenge = f'Bearer error="invalid_token", resource_metadata="{METADATA_URL}"'
        assert (reply.status, reply.headers["www-authenticate"]) == (401, challenge), claims
        assert reply.json["error"]["message"] == "the bearer token is not valid", claims


def test_a_forged_token_is_refused(server: Server, issuer: Issuer) -> None:
    """RFC 8725: signed by another key, unsigned, signed with the public key as a secret, or not a token."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 60}
    other = jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "one"})
    unsigned = jwt.encode(claims, None, "none", headers={"kid": "one"})
    secret = jwt.encode(claims, issuer.public("one")["x"], "HS256", headers={"kid": "one"})

    for token in (other, unsigned, secret, "x", "", "a.b.c", issuer.token()[:-3]):
        assert status(server, token) == 401
    assert server.stateless(DISCOVER, authorization="Basic x").reply().status == 401
    asked = server.stateless(DISCOVER).reply()
    assert (asked.status, asked.headers["www-authenticate"]) == (401, f'Bearer resource_metadata="{METADATA_URL}"')


class Trips(Tools):
    """An agent with a tool that needs a scope."""

    def __init__(self) -> None:
        super().__init__(
            write=lambda _: "written",
            read=lambda running: sorted(running.scopes or ()),
            late=lambda _: self.fail(),
            odd=lambda _: self.fail_oddly(),
        )

    def get_mcp_tool_scopes(self) -> dict[str, list[str]]:
        return {"write": ["trips:write", "trips:read"]}

    def fail(self) -> None:
        raise InsufficientScopeError(["admin"])

    def fail_oddly(self) -> None:
        raise RequestError("odd", 403)


@pytest.fixture
def trips(issuer: Issuer, serve: Serve) -> Server:
    return serve(app_of(Trips(), authorizer=JwtAuthorizer(issuer.url, ISSUER, AUDIENCE, ["use", "trips:read"])))


def challenge_of(reply: Reply) -> str:
    assert reply.status == 403, reply
    return reply.headers["www-authenticate"]


def test_a_token_without_the_scopes_of_a_tool_gets_a_challenge(trips: Server, issuer: Issuer) -> None:
    """Spec, AS-3: 403 with all scopes that the call needs, in both eras; another token of the same session will do."""
    few = f"Bearer {issuer.token(scope='use trips:read')}"
    more = f"Bearer {issuer.token(scope='use trips:read trips:write')}"
    expected = (
        f'Bearer error="insufficient_scope", scope="use trips:read trips:write", resource_metadata="{METADATA_URL}"'
    )

    refused = trips.stateless(call(1, "write"), authorization=few).reply()
    assert challenge_of(refused) == expected
    assert refused.json["error"]["data"] == {"requiredScopes": ["trips:write", "trips:read"]}
    assert trips.stateless(call(1, "write"), authorization=more).reply().status == 200
    session = trips.open_session(authorization=few)
    use = plain(2, "tools/call", {"name": "write", "arguments": {}})
    assert challenge_of(trips.send(use, **session).reply()) == expected
    assert text_of(trips.send(use, **session | {"authorization": more}).reply().json) == "written"


def test_a_tool_may_demand_a_scope_while_it_runs(trips: Server, issuer: Issuer) -> None:
    """Ours: for those that depend on its arguments. Another error with the code is only an error."""
    token = f"Bearer {issuer.token(scope='use trips:read')}"

    assert 'scope="use trips:read admin"' in challenge_of(trips.stateless(call(1, "late"), authorization=token).reply())
    odd = trips.stateless(call(1, "odd"), authorization=token).reply()
    assert (odd.status, odd.error, "www-authenticate" in odd.headers) == (200, 403, False)


def test_every_request_needs_the_common_scopes(trips: Server, issuer: Issuer) -> None:
    """Spec, AS-3: in the claim of RFC 8693, or as others have it; the challenge and the metadata name them."""
    sufficient = [{"scope": "use  trips:read other"}, {"scp": "use trips:read"}, {"scp": ["use", "trips:read"]}]
    insufficient: list[dict[str, Any]] = [{"scope": "use"}, {"scope": 7}, {}]
    challenge = f'Bearer error="insufficient_scope", scope="use trips:read", resource_metadata="{METADATA_URL}"'

    def reply_to(claims: dict[str, Any]) -> Reply:
        return trips.stateless(DISCOVER, authorization=f"Bearer {issuer.token(**claims)}").reply()

    assert [reply_to(claims).status for claims in sufficient] == [200] * 3
    assert [challenge_of(reply_to(claims)) for claims in insufficient] == [challenge] * 3
    first = trips.stateless(DISCOVER).reply()
    assert first.headers["www-authenticate"] == f'Bearer scope="use trips:read", resource_metadata="{METADATA_URL}"'
    metadata = trips.ask("GET", "/.well-known/oauth-protected-resource").reply().json
    assert metadata["scopes_supported"] == ["use", "trips:read"]


def test_an_invalid_scope_is_refused() -> None:
    """RFC 6749: it would break the challenge."""
    with pytest.raises(ValueError, match="cannot be a scope"):
        JwtAuthorizer("https://issuer.example/jwks", ISSUER, AUDIENCE, ['a"'])


def test_the_protected_resource_metadata_names_the_authorization_server(server: Server) -> None:
    """RFC 9728, spec AS-1, AS-4: at the root and at the path, without a token."""
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/a/mcp"):
        reply = server.ask("GET", path).reply()
        assert reply.status == 200
        assert reply.json == {
            "resource": AUDIENCE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"],
        }  # fmt: skip


def test_an_unknown_key_is_fetched_at_most_once_per_interval(server: Server, issuer: Issuer, clock: Clock) -> None:
    """Ours: otherwise tokens with forged key ids would each cause a request to the issuer."""
    assert status(server, issuer.token()) == 200
    issuer.keys["two"] = ec.generate_private_key(ec.SECP256R1())
    assert status(server, issuer.token("two")) == 401
    assert issuer.fetched == 1

    clock.now += REFETCH_SECONDS + 1
    assert status(server, issuer.token("two")) == 200
    assert issuer.fetched == 2
    # With two keys, a token needs a key id.
    assert status(server, issuer.token(None)) == 401


def test_an_issuer_that_does_not_answer_is_503(server: Server, issuer: Issuer, clock: Clock) -> None:
    """Ours: the token may be valid, so that 401 would be wrong. The issuer does not get another request at once."""
    issuer.status = 500
    for _ in range(2):
        reply = server.stateless(DISCOVER, authorization=f"Bearer {issuer.token()}").reply()
        assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    assert issuer.fetched == 1

    issuer.status = 200
    clock.now += REFETCH_SECONDS + 1
    assert status(server, issuer.token()) == 200


def test_a_cached_key_is_used_while_the_issuer_does_not_answer(server: Server, issuer: Issuer, clock: Clock) -> None:
    """Ours: otherwise tokens with forged key ids would shut the valid ones out."""
    assert status(server, issuer.token()) == 200
    clock.now += REFETCH_SECONDS + 1
    issuer.keys["two"] = ec.generate_private_key(ec.SECP256R1())
    issuer.status = 500

    assert status(server, issuer.token("two")) == 503
    assert status(server, issuer.token()) == 200
    assert issuer.fetched == 2

    clock.now += KEYS_SECONDS
    assert status(server, issuer.token()) == 503


def test_a_known_key_is_used_while_the_keys_are_fetched(server: Server, issuer: Issuer, clock: Clock) -> None:
    """Ours: anybody can cause a fetch, with an unknown key id, and the issuer may be slow. Few requests wait for it."""
    assert status(server, issuer.token()) == 200
    clock.now += REFETCH_SECONDS + 1
    issuer.keys["two"] = ec.generate_private_key(ec.SECP256R1())
    issuer.answers.clear()
    token = f"Bearer {issuer.token('two')}"
    waiting = [server.stateless(DISCOVER, authorization=token) for _ in range(MAX_WAITING)]
    wait_until(lambda: issuer.fetched == 2)

    assert status(server, issuer.token()) == 200
    assert status(server, issuer.token("two")) == 503
    issuer.answers.set()
    assert {each.reply().status for each in waiting} == {200}
    assert issuer.fetched == 2


def test_keys_are_fetched_again_before_they_expire(server: Server, issuer: Issuer, clock: Clock) -> None:
    """Ours: no request waits for it."""
    assert status(server, issuer.token()) == 200
    clock.now += REFRESH_SECONDS + 1
    issuer.answers.clear()

    assert status(server, issuer.token()) == 200
    wait_until(lambda: issuer.fetched == 2)
    issuer.answers.set()
    clock.now += KEYS_SECONDS - REFRESH_SECONDS
    assert status(server, issuer.token()) == 200
    assert issuer.fetched == 2


@pytest.mark.parametrize("body", ["[]", "{}", "x", '{"keys": [{"kty": "x"}]}', '{"keys": 1}'])
def test_keys_that_cannot_be_read_are_503(server: Server, issuer: Issuer, body: str) -> None:
    """Ours: and the next request of this time gets the same, without another fetch."""
    issuer.body = body

    assert [status(server, issuer.token()) for _ in range(2)] == [503, 503]
    assert issuer.fetched == 1


def test_keys_are_fetched_over_https_only() -> None:
    """Spec, AC-12: an attacker who can change them can sign valid tokens."""
    JwtAuthorizer("https://issuer.example/jwks", ISSUER, AUDIENCE)
    for url in ("http://issuer.example/jwks", "file:///etc/passwd", "ftp://127.0.0.1/x", "x"):
        with pytest.raises(ValueError, match="not https"):
            JwtAuthorizer(url, ISSUER, AUDIENCE)
