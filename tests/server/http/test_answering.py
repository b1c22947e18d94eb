"""JSON or a stream: when which, and what keeps a stream open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.server.http.answering import scope_head
from gaia_mcp.server.http.exchange import Sent
from gaia_mcp.server.http.received import Caller
from gaia_mcp.server.http.workers import Limits
from tests.server.http.asgi import Gate, Tools, text_of
from tests.server.talk import call, cancel, plain

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


def test_a_long_call_is_answered_with_json(serve: Serve) -> None:
    """Ours: it is only watched whether its client goes away."""
    gate = Gate()
    server = serve(Tools(gate=gate))
    asked = server.stateless(call(1, "gate"))
    gate.await_entered()
    assert server.stateless(call(2, "none")).reply().status == 200
    gate.open()

    assert text_of(asked.reply().json) == "through"


def test_a_scope_challenge_is_sent_only_to_callers_with_scopes() -> None:
    """Ours: with one token for all there is no authorization server to ask."""
    demanding = Sent(b"", error_code=403, scopes=("a",))

    assert scope_head(Caller(scopes=frozenset()), Sent(b"", error_code=403)) is None
    assert scope_head(Caller(), demanding) is None
    assert scope_head(Caller(scopes=frozenset()), demanding) == (
        403, ((b"www-authenticate", b'Bearer error="insufficient_scope", scope="a"'),)
    )  # fmt: skip


def test_a_silent_call_sends_keep_alive_comments(serve: Serve) -> None:
    """Spec 2026-07-28, HS-8: comments, so that no proxy closes it; and the response comes as an event."""
    gate = Gate()
    asked = serve(Tools(gate=gate), Limits(keep_alive_seconds=0.01)).stateless(call(1, "gate"))

    assert asked.raw() == b":\n\n"
    assert asked.raw() == b":\n\n"
    gate.open()
    assert text_of(asked.message()) == "through"


def test_a_slow_call_is_answered_with_json(serve: Serve) -> None:
    """Ours: nothing was sent before."""
    reply = serve(Tools(slow=lambda running: running.wait(0.1))).stateless(call(1, "slow")).reply()

    assert reply.headers["content-type"] == "application/json"


def test_late_progress_starts_an_event_stream(serve: Serve) -> None:
    """Ours: several messages at once are sent at once."""

    def late(running: object) -> str:
        running.wait(0.1)  # type: ignore[attr-defined]
        for number in range(5):
            running.progress(number)  # type: ignore[attr-defined]
        return "late"

    messages = serve(Tools(late=late)).stateless(call(1, "late", progressToken=1)).reply().messages

    assert [each["params"]["progress"] for each in messages[:-1]] == [0, 1, 2, 3, 4]
    assert text_of(messages[-1]) == "late"


def test_close_stream_ends_the_connection_before_the_response(serve: Serve) -> None:
    """Spec 2025-11-25, resumability: after the event that its client can come back with, and before the response."""
    gate = Gate()

    def work(running: object) -> str:
        running.close_stream()  # type: ignore[attr-defined]
        gate()
        return "done"

    server = serve(Tools(work=work), Limits(json_seconds=0.0))
    session = server.open_session()
    reply = server.send(plain(1, "tools/call", {"name": "work"}), **session).reply()
    gate.open()

    assert reply.body.startswith(b"id: ")
    assert reply.messages == []


def test_early_progress_starts_an_event_stream(serve: Serve) -> None:
    """Spec 2026-07-28, HS-3: also where the first message is sent while only JSON was expected."""

    def report(running: object) -> str:
        running.progress(1)  # type: ignore[attr-defined]
        running.wait(0.1)  # type: ignore[attr-defined]
        return "done"

    messages = serve(Tools(report=report)).stateless(call(1, "report", progressToken=1)).reply().messages

    assert len(messages) == 2


def test_a_client_that_disconnects_gets_nothing_more(serve: Serve) -> None:
    """Ours: before its response has begun, and within a stream."""
    gate = Gate()

    def report(running: object) -> str:
        running.progress(1)  # type: ignore[attr-defined]
        return gate()

    server = serve(Tools(gate=gate, report=report))
    silent, loud = server.stateless(call(1, "gate")), server.stateless(call(1, "report", progressToken=1))
    loud.message()
    gate.await_entered()
    gate.await_entered()

    silent.leave()
    loud.leave()

    silent.end()
    loud.end()
    assert silent.start is None
    gate.open()


def test_the_stream_of_a_cancelled_call_ends(serve: Serve) -> None:
    """Spec, cancellation: no response follows."""
    gate = Gate()

    def report(running: object) -> str:
        running.progress(1)  # type: ignore[attr-defined]
        return gate()

    server = serve(Tools(report=report))
    session = server.open_session()
    params = {"name": "report", "_meta": {"progressToken": 1}}
    asked = server.send(plain(1, "tools/call", params), **session)
    asked.message()
    gate.await_entered()

    server.send(cancel(1), **session).reply()

    assert asked.ends()
    gate.open()
