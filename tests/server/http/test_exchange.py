"""The messages in response to one POST, from threads to a coroutine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from gaia_mcp.server.http.exchange import MAX_AHEAD, MAX_AHEAD_BYTES, Exchange, Sent, sent_of
from tests.waiting import PATIENCE_SECONDS, wait_until

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
