"""The messages in response to one POST, from threads to a coroutine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import pytest

from gaia_mcp.server.http.exchange import MAX_AHEAD, MAX_AHEAD_BYTES, Answering, Exchange, Sent, scope_head, sent_of
from gaia_mcp.server.http.received import Caller
from gaia_mcp.server.http.workers import Limits
from tests.server.http.asgi import Gate, Tools, text_of
from tests.server.talk import call, cancel, plain
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

T = TypeVar("T")
ONE, TWO = Sent(b"1"), Sent(b"2", "id-2", -1)


def run(test: Callable[[], Awaitable[T]]) -> T:
    """Run a test in an event loop."""

    async def bounded() -> T:
        return await asyncio.wait_for(test(), PATIENCE_SECONDS)

    return asyncio.run(bounded())


def test_a_sent_message_has_its_error_code_and_required_scopes() -> None:
    """Ours: they become a status and a challenge, except in a batch."""
    assert sent_of({"result": {}}, b"1", "id") == Sent(b"1", "id")
    assert sent_of([{"error": {"code": 403}}], b"1") == Sent(b"1")
    assert sent_of({"error": {"code": -1}}, b"1") == Sent(b"1", error_code=-1)
    demanding = {"error": {"code": 403, "data": {"requiredScopes": ["a"]}}}
    assert sent_of(demanding, b"1") == Sent(b"1", error_code=403, scopes=("a",))


def test_messages_come_in_order_and_end_with_the_last_response() -> None:
    """Ours: a batch has several responses."""

    async def test() -> None:
        exchange = Exchange((7, "b"))
        exchange.put(ONE)
        exchange.put(ONE, [7])
        assert not exchange.has_ended
        exchange.put(TWO, ["b"])

        assert [await exchange.next(1), await exchange.next(1)] == [ONE, ONE]
        assert exchange.has_more
        assert await exchange.next(1) == TWO
        assert exchange.has_ended
        assert await exchange.next(1) is None

    run(test)


def test_pending_notifications_of_a_subscription_are_merged() -> None:
    """Ours: an agent does not wait for its subscribers; what changes while one reads is announced again."""

    async def test() -> None:
        exchange = Exchange((1,), merges=True)
        for _ in range(10_000):
            exchange.put(ONE)
            exchange.put(TWO)

        assert [await exchange.next(1), await exchange.next(1)] == [ONE, TWO]
        assert not exchange.has_more
        exchange.put(ONE)
        exchange.put(Sent(b"end"), [1])
        assert [await exchange.next(1), await exchange.next(1)] == [ONE, Sent(b"end")]
        assert exchange.has_ended

    run(test)


def test_a_message_of_another_thread_wakes_the_coroutine() -> None:
    """Ours: a call runs in a thread of its own."""

    async def test() -> None:
        exchange = Exchange((1,))

        def call() -> None:
            exchange.put(ONE)
            exchange.put(TWO, [1])

        waiting = asyncio.create_task(exchange.next(PATIENCE_SECONDS))
        await asyncio.sleep(0)
        thread = threading.Thread(target=call)
        thread.start()
        assert await waiting == ONE
        await asyncio.to_thread(thread.join)
        assert await exchange.next(1) == TWO

    run(test)


def test_several_exchanges_are_woken_at_once() -> None:
    """Ours: by one turn of the event loop."""

    async def test() -> None:
        first, second = Exchange((1,)), Exchange((1,))
        waiting = [asyncio.create_task(each.next(PATIENCE_SECONDS)) for each in (first, second)]
        await asyncio.sleep(0)
        # The loop stands still meanwhile.
        thread = threading.Thread(target=lambda: (first.put(ONE), second.put(TWO)))
        thread.start()
        thread.join()
        assert await asyncio.gather(*waiting) == [ONE, TWO]

    run(test)


def test_next_returns_none_after_its_timeout_and_at_the_end() -> None:
    """Ours: a keep-alive is sent, or the answer ends."""

    async def test() -> None:
        exchange = Exchange((1,))
        assert await exchange.next(0) is None
        assert not exchange.has_ended

        waiting = asyncio.create_task(exchange.next(PATIENCE_SECONDS))
        await asyncio.sleep(0)
        exchange.withdraw(1)
        assert await waiting is None
        assert exchange.has_ended

    run(test)


def test_a_closed_exchange_sends_nothing() -> None:
    """Ours: its client has disconnected, while the call may still run."""

    async def test() -> None:
        exchange = Exchange((1,))
        exchange.put(ONE)
        waiting = asyncio.create_task(exchange.next(PATIENCE_SECONDS))
        exchange.close()
        exchange.put(TWO)
        assert await waiting is None
        assert exchange.is_closed
        assert not exchange.has_more

    run(test)


def test_a_released_exchange_ends_once_it_is_resumable() -> None:
    """Ours: and messages that are there are sent before."""

    async def test() -> None:
        exchange = Exchange((1,))
        exchange.release()
        assert not exchange.is_released
        assert await exchange.next(0.01) is None
        exchange.is_resumable = True
        assert exchange.is_released
        exchange.put(ONE)
        assert await exchange.next(PATIENCE_SECONDS) == ONE
        assert await exchange.next(PATIENCE_SECONDS) is None

        waiting = Exchange((1,))
        waiting.is_resumable = True
        threading.Timer(0.01, waiting.release).start()
        assert await waiting.next(PATIENCE_SECONDS) is None
        assert not waiting.has_ended

    run(test)


def test_a_message_that_arrives_just_before_the_wait_is_not_missed() -> None:
    """Ours: it has woken nothing."""

    async def test() -> None:
        exchange = Exchange((1,))
        thread = threading.Thread(target=exchange.put, args=(ONE,))
        thread.start()
        thread.join()
        assert await exchange._wait(PATIENCE_SECONDS)
        assert await exchange.next(0) == ONE

    run(test)


def test_a_call_waits_for_a_client_that_is_far_behind() -> None:
    """Ours: a slow reader holds no memory without bound."""

    async def test() -> None:
        exchange = Exchange((1,))
        assert exchange.await_room(0)
        for _ in range(MAX_AHEAD):
            exchange.put(ONE)
        assert not exchange.await_room(0)
        waiting = asyncio.create_task(asyncio.to_thread(exchange.await_room, PATIENCE_SECONDS))
        await asyncio.to_thread(wait_until, lambda: exchange._room is not None and exchange._room._waiters)  # type: ignore[attr-defined]
        await exchange.next(0)
        assert await waiting

        exchange.put(ONE)
        waiting = asyncio.create_task(asyncio.to_thread(exchange.await_room, PATIENCE_SECONDS))
        exchange.close()
        assert await waiting

    run(test)


def test_a_held_exchange_sends_nothing() -> None:
    """Ours: they may yet be refused, however long that takes."""

    async def test() -> None:
        exchange = Exchange((1, 2))
        exchange.hold()
        exchange.put(ONE, [1])
        waiting = asyncio.create_task(exchange.next(0.001))
        assert await asyncio.wait((waiting,), timeout=0.05) == (set(), {waiting})
        thread = threading.Thread(target=exchange.go_on)
        thread.start()
        assert await waiting == ONE
        thread.join()

        exchange.hold()
        exchange.go_on()
        assert await exchange.next(0.001) is None

    run(test)


def test_a_refused_exchange_raises_instead_of_sending() -> None:
    """Ours: also after messages were put in, for they must not be sent."""

    async def test() -> None:
        exchange = Exchange((1,))
        exchange.hold()
        waiting = asyncio.create_task(exchange.next(1))
        exchange.put(ONE)
        thread = threading.Thread(target=exchange.refuse, args=(LookupError("no session"),))
        thread.start()
        with pytest.raises(LookupError, match="no session"):
            await waiting
        thread.join()

    run(test)


def test_the_bytes_of_pending_messages_are_limited() -> None:
    """Ours: it is bytes that have to be held."""

    async def test() -> None:
        exchange = Exchange((1,))
        exchange.put(Sent(b"x" * MAX_AHEAD_BYTES))
        assert not exchange.await_room(0)
        await exchange.next(0)
        assert exchange.await_room(0)

    run(test)


def test_a_message_after_the_end_of_the_event_loop_is_not_an_error() -> None:
    """Ours: the process ends, and a call still reports."""

    async def test() -> Exchange:
        return Exchange((1,))

    exchange = run(test)
    thread = threading.Thread(target=exchange.put, args=(ONE,))
    thread.start()
    thread.join()
    assert exchange.has_more


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
    answering = Answering(1.0)
    answering.caller = Caller(scopes=frozenset())
    assert [answering.head_of(sent)[0] for sent in (demanding, ONE, TWO)] == [403, 200, 200]


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
