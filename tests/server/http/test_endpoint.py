"""Which requests are let in, and which era each belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.contrib.agentvault.rpc import RpcFront
from gaia_mcp.server.http import app_for
from gaia_mcp.server.http.endpoint import NOTE_SECONDS, Entrance
from gaia_mcp.server.http.gateway_marks import GatewayMarks
from gaia_mcp.server.http.security import Hosts
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import StoreError
from tests.server.http.asgi import Tools, app_of
from tests.server.stores import FailingStore
from tests.server.talk import DISCOVER, META, initialize, plain, stateless
from tests.waiting import Clock

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


def test_both_eras_are_served_at_one_url(serve: Serve) -> None:
    """Spec, DE-1, DE-4: an envelope is stateless, also beside a session; each gets the responses of its own era."""
    server = serve(Tools())
    session = server.open_session()

    legacy = server.send(plain(1, "tools/list"), **session).reply().json["result"]
    modern = server.stateless(stateless(1, "tools/list"), **session).reply()

    assert "resultType" not in legacy
    assert modern.json["result"]["resultType"] == "complete"
    assert "mcp-session-id" not in modern.headers


def test_the_rpc_dialect_has_a_url_of_its_own(serve: Serve) -> None:
    """Spec, C4: with the same checks as the other URL."""
    server = serve(app_of(Tools(hi=lambda _: "hello"), fronts=[RpcFront(["/mcp"])]))

    assert server.send(plain(1, "hi"), "/rpc").reply().json["result"]["content"][0]["text"] == "hello"
    reply = server.ask("GET", "/rpc").reply()
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert server.send(plain(1, "hi"), "/rpc", host="evil.example").reply().status == 403


def test_without_a_session_only_post_is_allowed(serve: Serve) -> None:
    """Spec 2026-07-28, HS-7: also where a session is named, for the header is ignored."""
    server = serve(Tools())
    session = server.open_session()

    for method in ("GET", "DELETE"):
        for headers in ({"accept": "*/*"}, {"accept": "*/*", "mcp_protocol_version": "2026-07-28", **session}):
            reply = server.ask(method, **headers).reply()
            assert (reply.status, reply.headers["allow"]) == (405, "POST"), (method, headers)
    assert server.ask("DELETE", **session).reply().status == 204


def test_the_era_of_an_incomplete_request_follows_envelope_and_header(serve: Serve) -> None:
    """Wire §1.6: by the envelope, else by the header; always 400."""
    server = serve(Tools())
    incomplete: list[tuple[Any, dict[str, str], int]] = [
        # The header of a revision of the stateless era, or an unknown one, without an envelope.
        (plain(1, "tools/list"), {"mcp_protocol_version": "2026-07-28"}, -32602),
        (plain(1, "tools/list"), {"mcp_protocol_version": "2031-01-01"}, -32602),
        # An envelope without headers.
        (DISCOVER, {}, -32020),
        # Neither: a session is missing.
        (plain(1, "tools/list"), {}, -32600),
        (plain(1, "tools/list"), {"mcp_protocol_version": "2025-06-18"}, -32600),
        # In a session, a revision that there is not.
        (plain(1, "tools/list"), {"mcp_protocol_version": "2031-01-01", "mcp_session_id": "x"}, -32600),
    ]

    for message, headers, code in incomplete:
        reply = server.send(message, **headers).reply()
        assert (reply.status, reply.error) == (400, code), (message, headers, reply.json)


def test_initialize_starts_a_session_whatever_its_version_header(serve: Serve) -> None:
    """Ours: a client that probed before may still send the revision that it hoped for."""
    for version in ("2026-07-28", "2025-11-25"):
        reply = serve(Tools()).send(initialize(), mcp_protocol_version=version).reply()
        assert "mcp-session-id" in reply.headers


def test_an_initialize_with_an_envelope_is_stateless(serve: Serve) -> None:
    """Spec, DE-1: and the stateless era does not have the method."""
    message = initialize()
    message["params"]["_meta"] = META

    assert serve(Tools()).stateless(message).reply().status == 404


def test_a_client_must_accept_json_and_event_streams(serve: Serve) -> None:
    """Wire §3.3: 406."""
    assert serve(Tools()).stateless(DISCOVER, accept="application/json").reply().status == 406


def test_get_opens_the_listening_stream_of_a_session(serve: Serve) -> None:
    """Spec 2025-11-25, LS-3."""
    server = serve(Tools())
    listening = server.ask("GET", accept="text/event-stream", **server.open_session())

    assert listening.head()["status"] == 200
    listening.leave()
    listening.end()


def test_open_streams_are_counted(serve: Serve) -> None:
    """Ours: subscriptions, and what a session listens to."""
    server = serve(Tools())
    endpoint = server.app.endpoints["/mcp"]
    assert endpoint.streams == 0

    listening = server.stateless(stateless("s", "subscriptions/listen", {"notifications": {}}))
    listening.message()
    following = server.ask("GET", accept="text/event-stream", **server.open_session())
    following.head()

    assert endpoint.streams == 2
    for stream in (listening, following):
        stream.leave()
        stream.end()
    assert endpoint.streams == 0


def test_the_end_of_a_server_ends_its_streams(serve: Serve) -> None:
    """Ours: and refuses new requests."""
    server = serve(Tools())
    listening = server.stateless(stateless("s", "subscriptions/listen", {"notifications": {}}))
    listening.message()
    server.app.endpoints["/mcp"].end_streams()

    assert listening.message()["id"] == "s"
    assert listening.ends()
    assert server.stateless(DISCOVER).reply().status == 503


def test_other_methods_are_not_allowed(serve: Serve) -> None:
    """Wire §3.3: 405 with `Allow`."""
    server = serve(Tools())

    for method in ("PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"):
        reply = server.ask(method).reply()
        assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, DELETE"), method


def test_an_ending_server_refuses_new_requests(serve: Serve) -> None:
    """Ours: 503, so that a client goes elsewhere."""
    server = serve(app_of(Tools()))
    server.app.end_streams()

    assert server.stateless(DISCOVER).reply().status == 503


def test_a_gateway_refuses_its_own_requests(serve: Serve) -> None:
    """Ours: 508 for its own requests, which would lead to more of them without end."""
    server = serve(app_of(Tools(), marks=GatewayMarks("own")))

    for marks in ("own", "another, own"):
        reply = server.stateless(DISCOVER, gaia_mcp_gateway=marks).reply()
        assert reply.status == 508
        assert reply.json["error"]["message"].startswith("this gateway is one of its own servers")
    assert server.stateless(DISCOVER, gaia_mcp_gateway="another").reply().status == 200
    assert serve(app_of(Tools())).stateless(DISCOVER, gaia_mcp_gateway="").reply().status == 200


def test_an_internal_exception_is_reported_and_answered_with_500(serve: Serve) -> None:
    """Ours: 500 with a JSON-RPC error, and no text of the fault."""
    failures: list[str] = []

    class Broken:
        async def authorize(self, request: Any) -> str | None:
            raise ZeroDivisionError("secret")

    server = serve(app_of(Tools(), authorizer=Broken(), on_failure=lambda what, _: failures.append(what)))
    reply = server.stateless(DISCOVER).reply()

    assert (reply.status, reply.error) == (500, -32603)
    assert b"secret" not in reply.body
    assert failures == ["POST raised ZeroDivisionError: secret"]


def test_a_client_that_disconnects_within_its_request_gets_no_response(serve: Serve) -> None:
    """Ours: a disconnect is not a failure, and is not reported as one."""
    asked = serve(Tools()).ask("POST", content_type="application/json", accept="*/*")
    asked.leave()
    asked.end()

    assert asked.start is None


def test_failures_of_the_store_are_reported_at_intervals() -> None:
    """Ours: a failing store fails every request, and the log of the server would be flooded."""
    failures: list[str] = []
    clock = Clock()
    entrance = Entrance(Limits(), Hosts(), None, lambda what, _: failures.append(what), clock=clock)

    for _ in range(3):
        entrance.note(StoreError("gone"))
    assert failures == ["gone"]
    clock.now += NOTE_SECONDS
    entrance.note(StoreError("gone"))

    assert failures == ["gone", "gone"]


def test_a_request_that_needs_a_failing_store_is_503_and_reported(serve: Serve) -> None:
    """Ours: the client retries it, and the owner of the server reads why."""
    failures: list[str] = []
    store = FailingStore()
    server = serve(app_of(Tools(), store=store, on_failure=lambda what, _: failures.append(what)))
    session = server.open_session()
    store.failing.add("get")

    for _ in range(3):
        assert server.send(plain(1, "ping"), **session).reply().status == 503
    assert failures == ["gone"]


def test_a_refused_request_is_given_to_on_refusal(serve: Serve) -> None:
    """Ours: for the metrics of the server."""
    server = serve(Tools())
    refused: list[int] = []
    server.app.endpoints["/mcp"].entrance.on_refusal = lambda refusal: refused.append(refusal.status)

    assert server.stateless(DISCOVER, host="evil.example").reply().status == 403
    assert refused == [403]


def test_an_authorized_client_gets_the_paths_of_the_servers(serve: Serve) -> None:
    """Ours: by any method, for a client looks for older transports by GET."""
    server = serve(app_for({"one": Tools(), "two": Tools()}, token="s3cret", environ={}))

    assert server.stateless(DISCOVER).reply().status == 401
    for asked in (
        server.stateless(DISCOVER, authorization="Bearer s3cret"),
        server.ask("GET", authorization="Bearer s3cret"),
    ):
        reply = asked.reply()
        assert reply.status == 404
        assert reply.json["error"]["message"] == "there are several servers here, at /one/mcp, /two/mcp"


def test_a_single_named_server_has_no_signpost(serve: Serve) -> None:
    """Ours: an error that names the only other path would not help a client that has the wrong URL."""
    assert serve(app_for({"one": Tools()}, environ={})).stateless(DISCOVER).reply().status == 404
