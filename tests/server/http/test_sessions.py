"""The sessions of an endpoint, in one worker and in several that share a store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking.sealing import Sealer
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.exchange import Exchange
from gaia_mcp.server.http.received import RefusalError
from gaia_mcp.server.http.served import Served
from gaia_mcp.server.http.session import LISTENING
from gaia_mcp.server.http.sessions import IDLE_SECONDS, SWEEP_SECONDS, Sessions
from gaia_mcp.server.http.workers import Limits, Workers
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Tools
from tests.server.stores import FailingStore
from tests.server.talk import cancel, initialize, plain
from tests.waiting import PATIENCE_SECONDS, Clock

if TYPE_CHECKING:
    from gaia_mcp.server.http.session import Session

Make = Callable[..., Sessions]
EVERYTHING = {"get", "replace", "renew", "remove", "append", "publish"}


@pytest.fixture
def sessions() -> Iterator[Make]:
    made: list[tuple[Sessions, Workers]] = []

    def make(
        store: MemoryStore | None = None,
        agent: Any = None,
        limits: Limits | None = None,
        path: str = "/mcp",
        clock: Clock | None = None,
    ) -> Sessions:
        limits = limits or Limits()
        workers = Workers(4, 4, 4)
        served = Served(AgentProvider(agent or Tools()), workers, limits, Sealer(), Tasks(MemoryStore()))
        store = MemoryStore() if store is None else store
        made.append((Sessions(served, store, path, clock=clock or Clock()), workers))
        return made[-1][0]

    yield make
    for each, workers in made:
        each.close()
        workers.close()


def begun(sessions: Sessions, principal: str | None = None) -> Session:
    session = sessions.create(principal)
    session.receive(initialize())
    sessions.save(session)
    return session


def status(call: Callable[[], Any]) -> int:
    with pytest.raises(RefusalError) as refused:
        call()
    return refused.value.status


def test_a_session_is_found_by_its_caller_only(sessions: Make) -> None:
    """Ours: an id that was stolen is of no use to another caller."""
    one = sessions()
    session = begun(one, "ada")

    assert one.find(session.id, "ada") is session
    assert status(lambda: one.find(session.id, "eve")) == 404
    assert status(lambda: one.find(session.id, None)) == 404
    assert status(lambda: one.find("other", "ada")) == 404
    assert begun(one).id != session.id
    assert len(one) == 2


def test_a_session_is_found_by_every_worker(sessions: Make) -> None:
    """Ours: it becomes live in the worker that finds it."""
    store = MemoryStore()
    one, two = sessions(store), sessions(store)
    session = begun(one)

    found = two.find(session.id, None)

    assert found is not session
    assert found.version == "2025-11-25"
    found.receive(plain(3, "logging/setLevel", {"level": "error"}))
    two.save(found)
    assert one.find(session.id, None).dumped() == found.dumped()


def looked_up(sessions: Sessions, session_id: str, principal: str | None = None) -> Session | None:
    """What is found without asking the store for more."""
    found: SimpleQueue[Session | None] = SimpleQueue()
    assert sessions.look_up(session_id, principal, found.put)
    return found.get(timeout=PATIENCE_SECONDS)


def test_look_up_finds_an_unchanged_session(sessions: Make) -> None:
    """Ours: where a sweep is due or the session is not known here, it has to be found in the store."""
    store, clock = MemoryStore(), Clock()
    one, two = sessions(store, clock=clock), sessions(store)
    session = begun(one, "ada")

    assert looked_up(one, session.id, "ada") is session
    assert looked_up(one, session.id, "eve") is None
    assert looked_up(one, "other", "ada") is None
    assert looked_up(two, session.id, "ada") is None
    there = two.find(session.id, "ada")
    assert looked_up(two, session.id, "ada") is there
    fresh = one.create("ada")
    assert looked_up(one, fresh.id, "ada") is None
    clock.now += SWEEP_SECONDS
    assert looked_up(one, session.id, "ada") is None
    one.close()
    assert not one.look_up(session.id, "ada", lambda _: None)


def test_look_up_does_not_find_a_session_that_another_worker_has_changed(sessions: Make) -> None:
    """Ours: the messages that the other worker received are read first, although their publication was lost."""
    store = FailingStore()
    one, two = sessions(store), sessions(store)
    session = begun(one)
    there = two.find(session.id, None)
    store.failing = {"publish"}
    there.receive(plain(3, "logging/setLevel", {"level": "error"}))
    assert status(lambda: two.save(there)) == 503
    store.failing = set()

    assert looked_up(one, session.id) is None
    assert looked_up(one, one.find(session.id, None).id) is session
    one.remove(session)
    assert looked_up(two, session.id) is None


def test_a_session_is_not_found_by_another_endpoint(sessions: Make) -> None:
    """Ours: its client made the handshake with another agent."""
    store = MemoryStore()
    session = begun(sessions(store, path="/one/mcp"))

    assert status(lambda: sessions(store, path="/two/mcp").find(session.id, None)) == 404


def test_a_message_of_a_client_reaches_every_worker(sessions: Make) -> None:
    """Ours: the call that waits for it, or is to be cancelled by it, may run in any."""
    store = FailingStore()
    began, cancelled = threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    one, two = sessions(store, Tools(wait=wait)), sessions(store)
    session = begun(one)
    (job,) = session.receive(plain(1, "tools/call", {"name": "wait"}))
    session.start(job)
    assert began.wait(PATIENCE_SECONDS)

    two.deliver(two.find(session.id, None), cancel(1))

    assert cancelled.wait(PATIENCE_SECONDS)


def test_a_worker_is_answering_while_a_session_has_an_open_request(sessions: Make) -> None:
    """Ours: it needs its lease then."""
    worker = sessions()
    begun(worker)
    session = begun(worker)
    assert not worker.are_answering

    async def ask() -> None:
        session.open(Exchange([1]))

    asyncio.run(ask())
    assert worker.are_answering


class Deaf(FailingStore):
    """A store whose messages are lost, until `reconnect`."""

    def __init__(self) -> None:
        super().__init__()
        self._deaf: list[Callable[[bytes | None], None]] = []

    def subscribe(self, channel: str, listener: Callable[[bytes | None], None]) -> Callable[[], None]:
        self._deaf.append(listener)
        return lambda: None

    def reconnect(self) -> None:
        for listener in self._deaf:
            listener(None)


def test_a_message_whose_publication_was_lost_is_read_on_reconnect(sessions: Make) -> None:
    """Ours: and once, also when other messages follow."""
    store = Deaf()
    began, cancelled = threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    one, two = sessions(store, Tools(wait=wait)), sessions(store)
    session = begun(one)
    (job,) = session.receive(plain(1, "tools/call", {"name": "wait"}))
    session.start(job)
    assert began.wait(PATIENCE_SECONDS)
    found = two.find(session.id, None)
    found.receive(plain(3, "logging/setLevel", {"level": "error"}))
    two.save(found)
    two.deliver(found, cancel(1))
    assert not cancelled.is_set()

    store.reconnect()

    assert cancelled.wait(PATIENCE_SECONDS)
    assert session.dumped() == found.dumped()
    two.remove(found)
    assert len(one) == 1
    store.reconnect()
    assert len(one) == 0


def test_concurrent_saves_of_two_workers_are_merged(sessions: Make) -> None:
    """Ours: each reads the state that the other has saved, before it saves again."""
    store = Deaf()
    one, two = sessions(store), sessions(store)
    session = begun(one)
    found = two.find(session.id, None)
    session.receive(plain(3, "logging/setLevel", {"level": "error"}))
    found.receive({"jsonrpc": "2.0", "method": "notifications/initialized"})

    one.save(session)
    two.save(found)

    for method in (b"logging/setLevel", b"notifications/initialized"):
        assert method in (store.get(f"http:session:/mcp:{session.id}") or b"")
    assert one.find(session.id, None).dumped() == found.dumped()
    store.remove(f"http:session:/mcp:{session.id}")
    session.receive(plain(4, "logging/setLevel", {"level": "info"}))
    assert status(lambda: one.save(session)) == 404


def test_a_session_without_a_subscription_does_not_stay_in_memory(sessions: Make) -> None:
    """Ours: 503, and the next request tries again; one that was discarded is saved all the same."""
    store = FailingStore()
    one = sessions(store)
    store.failing.add("subscribe")
    assert status(lambda: begun(one)) == 503
    assert len(one) == 0
    store.failing.clear()

    session = begun(one)

    one.discard(session)
    session.receive({"jsonrpc": "2.0", "method": "notifications/initialized"})
    one.save(session)
    assert len(one) == 0
    assert one.find(session.id, None).dumped() == session.dumped()


def test_a_removed_session_ends_in_every_worker(sessions: Make) -> None:
    """Spec, sessions: DELETE."""
    store = MemoryStore()
    one, two = sessions(store), sessions(store)
    session = begun(one)
    two.remove(two.find(session.id, None))

    assert (len(one), len(two)) == (0, 0)
    assert status(lambda: one.find(session.id, None)) == 404


def test_an_expired_session_is_not_found(sessions: Make) -> None:
    """Spec, LS-3."""
    clock = Clock()
    one = sessions(MemoryStore(clock=clock), limits=Limits(session_seconds=10))
    session = begun(one)
    clock.now += 9
    one.find(session.id, None)
    clock.now += 9
    assert one.renew(session)
    clock.now += 11

    assert not one.renew(session)
    assert status(lambda: one.find(session.id, None)) == 404
    assert len(one) == 0


def open_request(session: Session) -> None:
    """Let a session have a request that is not answered."""

    async def ask() -> None:
        session.open(Exchange([1]))

    asyncio.run(ask())


def test_sessions_beyond_the_limit_are_refused_while_none_is_idle(sessions: Make) -> None:
    """Ours: 503; also where the store has no more room."""
    one = sessions(limits=Limits(sessions=1))
    open_request(begun(one))

    assert status(lambda: one.create(None)) == 503
    assert status(lambda: begun(sessions(MemoryStore(max_bytes=10)))) == 503


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_session_beyond_the_limit_closes_one_that_was_never_used(sessions: Make, is_shared: bool) -> None:
    """Ours: a client that sends nothing but `initialize` keeps nobody out. In a shared store, its sessions stay."""
    clock = Clock()
    one = sessions(FailingStore() if is_shared else None, limits=Limits(sessions=3), clock=clock)
    busy, used, unused = begun(one), begun(one), begun(one)
    open_request(busy)
    for session in (busy, used):
        one.find(session.id, None)
    clock.now += 1
    late = begun(one)

    assert len(one) == 3
    assert [one.find(session.id, None) for session in (busy, used, late)] == [busy, used, late]
    clock.now += 1
    if is_shared:
        assert one.find(unused.id, None).id == unused.id
        assert len(one) == 3
    else:
        assert status(lambda: one.find(unused.id, None)) == 404


def test_a_caller_has_a_part_of_the_sessions(sessions: Make) -> None:
    """Ours: its own are closed, and those of others stay. So do those that a request has just found."""
    clock = Clock()
    one = sessions(limits=Limits(sessions=4), clock=clock)
    other, first, second = (begun(one, caller) for caller in ("bob", "ada", "ada"))
    one.find(second.id, "ada")
    assert status(lambda: one.create("ada")) == 503
    clock.now += 1
    third = begun(one, "ada")

    assert [one.find(each.id, "ada") for each in (second, third)] == [second, third]
    assert one.find(other.id, "bob") is other
    assert status(lambda: one.find(first.id, "ada")) == 404
    for each in (second, third):
        open_request(each)
    assert status(lambda: one.create("ada")) == 503
    assert one.create("bob")


DAMAGED = [
    b"", b"\xff", b"[]", b"{}", b"1", b'{"principal": null, "revision": 9, "messages": []}',
    b'{"principal": null, "revision": 9, "messages": [{"method": "initialize", "params": []}]}',
    b'{"principal": null, "revision": 9, "messages": [{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]}',
    b'{"principal": null, "revision": 9, "messages": [1]}', b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_session_is_not_found(sessions: Make, damaged: bytes) -> None:
    """Ours: 404, with which a client begins another one; in the worker where it is live, and in any other."""
    store = FailingStore()
    one, two = sessions(store), sessions(store)
    session = begun(one)
    name = next(name for name in store._entries if session.id in name)
    for worker in (two, one):
        store.put(name, damaged, 60)

        assert status(lambda worker=worker: worker.find(session.id, None)) == 404
        assert store.get(name) is None
    assert (len(one), len(two)) == (0, 0)


def test_a_session_that_is_damaged_while_it_is_saved_ends(sessions: Make) -> None:
    """Ours: also where the entry is of another kind."""
    for spoil in (FailingStore.put, FailingStore.append):
        store = FailingStore()
        one = sessions(store)
        session = begun(one)
        name = next(name for name in store._entries if session.id in name)
        store.remove(name)
        spoil(store, name, b"x", 60)
        session.receive(plain(1, "logging/setLevel", {"level": "error"}))
        assert status(lambda session=session, one=one: one.save(session)) == 404
        assert len(one) == 0


def test_a_damaged_message_of_a_client_is_ignored(sessions: Make) -> None:
    """Ours: those that follow it are received."""
    store = FailingStore()
    one = sessions(store)
    session = begun(one)
    for record in (b"", b"12345678", b"12345678[]", b"12345678{}"):
        store.append(f"http:received:/mcp:{session.id}", record, 60)

    store.publish(f"http:session:/mcp:{session.id}", b"another")

    assert one.find(session.id, None) is session


def test_what_no_other_worker_can_need_is_not_stored(sessions: Make) -> None:
    """Ours: the notifications of one session could fill the store for all others."""
    for store in (MemoryStore(), FailingStore()):
        one = sessions(store)
        session = begun(one)
        before = len(store)
        for message in (
            {"jsonrpc": "2.0", "method": "n", "params": {"a": "x" * 1000}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x" * 1001}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": None}},
            {"jsonrpc": "2.0", "id": 7, "result": {"a": "x" * 1000}},
        ):
            one.deliver(session, message)

        assert len(store) == before
        assert b"xxx" not in session.dumped()


def test_of_a_cancellation_only_the_id_is_stored(sessions: Make) -> None:
    """Ours: the reason may have any length."""
    store = FailingStore()
    one = sessions(store)
    session = begun(one)
    message = cancel(1)
    message["params"]["reason"] = "x" * 10_000
    before = store.size

    one.deliver(session, message)

    assert store.size < before + 2000


def test_an_unsaved_session_can_be_discarded(sessions: Make) -> None:
    """Ours: its client did not get its id, so that it would stay until it expires."""
    one = sessions()
    session = one.create(None)

    one.discard(session)

    assert len(one) == 0
    one.discard(session)


def test_idle_sessions_stay_in_the_store_only(sessions: Make) -> None:
    """Ours: and a session with a listening client does not expire."""
    clock, clock_of_store = Clock(), Clock()
    store = FailingStore(clock=clock_of_store)
    one = sessions(store, limits=Limits(session_seconds=10), clock=clock)
    idle, listened, gone = begun(one), begun(one), begun(one)
    listened.followers[LISTENING] = gone.followers[LISTENING] = 1
    store.remove(f"http:session:/mcp:{gone.id}")

    def pass_time() -> None:
        clock.now += IDLE_SECONDS
        clock_of_store.now += 9

    pass_time()
    one.create(None)
    pass_time()
    found = one.find(listened.id, None)

    assert found is listened
    assert status(lambda: one.find(idle.id, None)) == 404
    assert len(one) == 1
    store.failing |= EVERYTHING
    clock.now += IDLE_SECONDS
    assert status(lambda: one.find(listened.id, None)) == 503
    assert len(one) == 1


def test_a_sweep_is_not_run_for_every_request(sessions: Make) -> None:
    """Ours: it visits every session, which may be thousands."""
    clock = Clock()
    one = sessions(clock=clock)
    begun(one)
    clock.now += IDLE_SECONDS - 1
    one.create(None)  # Sweeps, while the first is not idle yet.

    clock.now += SWEEP_SECONDS - 1
    one.create(None)
    assert len(one) == 3
    clock.now += 1
    one.create(None)
    assert len(one) == 3


def test_a_failing_store_is_a_503(sessions: Make) -> None:
    """Ours: nothing is lost, and the client comes again."""
    store = FailingStore()
    one = sessions(store)
    session = begun(one)
    session.receive(plain(3, "logging/setLevel", {"level": "error"}))
    store.failing |= EVERYTHING

    assert status(lambda: one.find(session.id, None)) == 503
    assert status(lambda: one.save(session)) == 503
    assert status(lambda: one.remove(session)) == 503
    assert status(lambda: one.renew(session)) == 503
    session.saved = session.dumped()
    assert status(lambda: one.deliver(session, cancel(1))) == 503
    store.failing.clear()
