"""Events that are kept for a client that comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.event_log import EventLog, split_event_id
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import Listener, MemoryStore, StoreError
from tests.server.http.asgi import Tools, app_of
from tests.server.stores import FailingStore
from tests.waiting import Clock

if TYPE_CHECKING:
    from tests.server.http.asgi import Server


def test_event_ids_name_their_stream_and_position() -> None:
    """Spec 2025-11-25, resumability: ids are unique within a session, and name the stream."""
    log = EventLog(MemoryStore(), "s")
    other = EventLog(MemoryStore(), "s")

    beginning = log.open()
    first, last = log.append(b"1", is_last=False), log.append(b"2", is_last=True)

    assert log.key != other.key
    key, position = split_event_id(first) or ("", -1)
    assert key == log.key
    assert split_event_id(beginning) == (key, 0)
    everything = log.read(0)
    assert [(kept.data, kept.event_id, kept.is_last) for kept in everything] == [
        (b"1", first, False),
        (b"2", last, True),
    ]
    assert log.read(position) == everything[1:]
    assert log.read(everything[1].position) == []


def test_a_log_is_opened_once() -> None:
    """Ours: its events stay."""
    store = MemoryStore()
    log = EventLog(store, "s", "0")
    assert not log.is_open

    assert log.open() == log.open() == "0-0"
    assert log.is_open
    assert EventLog(store, "s", "0").is_open
    assert not EventLog(store, "other", "0").is_open
    assert log.read(0) == []


def test_subscribers_of_a_log_are_notified_of_events_and_its_end() -> None:
    """Ours: any worker may follow a stream."""
    store = MemoryStore()
    log = EventLog(store, "s")
    woken: list[bytes] = []
    store.subscribe(log.name, woken.append)

    log.append(b"1", is_last=False)
    log.end()

    assert woken == [b"", b"end"]
    assert not log.is_open


def test_an_event_that_does_not_fit_into_the_store_has_no_id() -> None:
    """Ours: the client that listens gets it all the same."""
    assert EventLog(MemoryStore(max_bytes=10), "s").append(b"1" * 100, is_last=False) == ""


def test_only_one_stream_follows_a_log() -> None:
    """Ours: a message is never sent on two. Where messages may be lost, there may be more to read."""
    listeners: list[Listener] = []

    class Heard(MemoryStore):
        def subscribe(self, channel: str, listener: Listener) -> Callable[[], None]:
            listeners.append(listener)
            return super().subscribe(channel, listener)

    log = EventLog(Heard(), "s")
    calls: list[str] = []
    log.watch(lambda: calls.append("watch ended"))

    end = log.follow(lambda: calls.append("one added"), lambda: calls.append("one ended"))
    log.append(b"1", is_last=False)
    listeners[1](None)
    log.follow(lambda: calls.append("two added"), lambda: calls.append("two ended"))
    end()
    log.append(b"2", is_last=False)

    assert calls == ["watch ended", "one added", "one added", "watch ended", "one ended", "two added"]


def test_a_log_whose_following_fails_is_not_watched() -> None:
    """Ours: the stream has ended with the error, and must not be called again."""
    store = FailingStore()
    store.failing.add("publish")
    log = EventLog(store, "s")
    calls: list[str] = []

    with pytest.raises(StoreError):
        log.follow(lambda: calls.append("added"), lambda: calls.append("ended"))
    assert log.append(b"1", is_last=False)
    store.failing.clear()
    log.append(b"2", is_last=False)

    assert calls == []
    assert [kept.data for kept in log.read(0)] == [b"1", b"2"]


def failed(log: EventLog) -> list[tuple[bytes, bool]]:
    log.fail("gone")
    return [(kept.data, kept.is_last) for kept in log.read(0)]


def test_a_log_whose_worker_has_ended_gets_an_error_for_its_request() -> None:
    """Ours: a client that resumes it would wait for ever. The key names the worker for all others."""
    store = MemoryStore()
    log = EventLog(store, "s", worker="f" * 16, request_id="a")
    assert (log.worker, EventLog(store, "s").worker, EventLog(store, "s", "0").worker) == ("f" * 16, "", "")
    log.append(b"1", is_last=False)
    log.open()
    expected = b'{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"gone"}}'

    assert failed(EventLog(store, "s", log.key)) == [(b"1", False), (expected, True)]
    assert failed(log) == [(b"1", False), (expected, True)]


def test_a_log_without_its_request_is_removed_when_its_worker_has_ended() -> None:
    """Ours: for the client that resumes it, it has expired. A complete log stays."""
    store = MemoryStore()
    log, complete = EventLog(store, "s"), EventLog(store, "s")
    log.append(b"1", is_last=False)
    complete.append(b"1", is_last=True)
    calls: list[str] = []
    log.follow(lambda: calls.append("added"), lambda: calls.append("ended"))

    assert (failed(log), failed(log), failed(complete)) == ([], [], [(b"1", True)])

    assert (log.is_open, calls) == (False, ["ended"])


@pytest.mark.parametrize("damaged", [b"o", b"o{}", b"o[1", b"x"])
def test_a_damaged_log_is_removed_when_its_worker_has_ended(damaged: bytes) -> None:
    """Ours: as one whose request is unknown."""
    store = MemoryStore()
    log = EventLog(store, "s", "0" * 32)
    store.append(log.name, damaged, 60)

    log.fail("it has ended")

    assert not log.is_open


def test_an_invalid_event_id_is_recognized() -> None:
    """Ours: clients may send anything."""
    invalid = ("", "x", "a-", "-1", "a--1", "A-1", "a-1-2", "a-9999999999999999", "a-1\n", "ä-1", "a-²")

    assert {each: split_event_id(each) for each in invalid} == dict.fromkeys(invalid)


Serve = Callable[..., "Server"]


def test_keep_alives_renew_the_session_of_a_silent_stream(serve: Serve) -> None:
    """Ours: a session whose client listens does not expire."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    limits = Limits(keep_alive_seconds=0.01, session_seconds=50.0)
    server = serve(app_of(Tools(), limits, store=store))
    session = server.open_session()
    listening = server.ask("GET", accept="*/*", **session)
    listening.raw()

    for _ in range(3):
        clock.now += 30
        listening.drain()  # Of the two that follow, at least the second is sent after the clock has moved.
        assert listening.raw() == b":\n\n"
        assert listening.raw() == b":\n\n"

    assert server.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **session).reply().status == 200


def test_a_new_listening_stream_ends_the_previous_one(serve: Serve) -> None:
    """Ours: several messages, then the end of a client that goes away, or of one that came later."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))
    session = server.open_session()
    first = server.ask("GET", accept="*/*", **session)
    first.raw()
    provider.replace_agent(Tools())
    assert first.message()["method"] == "notifications/tools/list_changed"

    second = server.ask("GET", accept="*/*", **session)
    second.raw()

    assert first.ends()
    first.end()
    second.leave()
    second.end()


def test_a_stream_continues_after_a_failure_of_the_store(serve: Serve) -> None:
    """Ours: the stream is silent meanwhile, and loses nothing."""
    store = FailingStore()
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider, Limits(keep_alive_seconds=0.01), store=store))
    listening = server.ask("GET", accept="*/*", **server.open_session())
    listening.raw()
    store.failing = {"read"}
    provider.replace_agent(Tools())
    assert [listening.raw() for _ in range(3)] == [b":\n\n"] * 3

    store.failing = set()

    assert listening.message()["method"] == "notifications/tools/list_changed"
    listening.leave()
    listening.end()
