"""Which requests are let in, and which era each belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.server.http.asgi import Tools, app_of
from tests.server.talk import DISCOVER, META, initialize, plain, stateless

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
    server = serve(app_of(Tools(hi=lambda _: "hello"), rpc=["/mcp"]))

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
