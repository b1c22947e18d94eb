"""One session in one worker, and in another worker that restores it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gaia_mcp.asking.sealing import Sealer
from gaia_mcp.protocol.subscriptions import MAX_URIS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.exchange import MAX_AHEAD, Exchange
from gaia_mcp.server.http.received import Caller, Received, RefusalError
from gaia_mcp.server.http.served import Served
from gaia_mcp.server.http.session import DamagedError, Session
from gaia_mcp.server.http.workers import Limits, Workers
from gaia_mcp.server.provider import Change
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Gate, Tools
from tests.server.stores import FailingStore
from tests.server.talk import cancel, initialize, plain
from tests.waiting import PATIENCE_SECONDS, wait_until

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Watched(Tools):
    """An agent with a resource that may change."""

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        """As an agent that offers resources."""
        return [{"uri": "c:d", "text": "x"}]

    def on_mcp_change(self, _: Any) -> Callable[[], None]:
        """As an agent that announces changes."""
        return lambda: None


class Worker:
    """A process that serves an agent."""

    def __init__(self, store: MemoryStore, agent: Any, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.store = store
        self.workers = Workers(self.limits.calls, self.limits.waiting_calls, self.limits.asking_calls)
        self.served = Served(AgentProvider(agent), self.workers, self.limits, Sealer(), Tasks(MemoryStore()))

    def begun(
        self, version: str = "2025-11-25", principal: str | None = None, capabilities: dict[str, Any] | None = None
    ) -> Session:
        """A session whose handshake is over."""
        session = Session("s", self.served, self.store, principal)
        begin = initialize(version)
        begin["params"]["capabilities"] |= capabilities or {}
        session.receive(begin)
        session.receive(INITIALIZED)
        return session


@pytest.fixture
def worker() -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []

    def start(store: MemoryStore | None = None, agent: Any = None, limits: Limits | None = None) -> Worker:
        made.append(Worker(MemoryStore() if store is None else store, agent or Tools(), limits))
        return made[-1]

    yield start
    for each in made:
        each.workers.close()


def post(session: Session, message: Any) -> Exchange:
    """What a POST does, in an event loop that goes on meanwhile."""
    exchange = Exchange([message["id"]])
    session.open(exchange)
    for job in session.receive(message):
        session.start(job)
    return exchange


def run(test: Callable[[], Any]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(test(), PATIENCE_SECONDS)

    return asyncio.run(bounded())


def test_a_request_is_answered_in_its_exchange(worker: Callable[..., Worker]) -> None:
    """Ours: each POST has an exchange, which ends with its response."""
    session = worker(agent=Tools(hi=lambda _: "hello")).begun("2025-06-18")

    async def test() -> None:
        exchange = post(session, plain(1, "tools/call", {"name": "hi"}))
        sent = await exchange.next(PATIENCE_SECONDS)
        assert sent is not None
        assert json.loads(sent.data)["id"] == 1
        assert sent.event_id == ""
        assert exchange.has_ended

    run(test)
    assert session.version == "2025-06-18"
    wait_until(lambda: session.is_idle)
    session.close()


def test_an_open_request_keeps_the_session_busy(worker: Callable[..., Worker]) -> None:
    """Ours: and its id stays in use until the session is closed."""
    gate = Gate()
    session = worker(agent=Tools(gate=gate)).begun()

    async def test() -> None:
        exchange = post(session, plain(1, "tools/call", {"name": "gate"}))
        assert session.is_open(1)
        assert not session.is_open("1")
        assert session.is_answering
        assert not session.is_idle
        session.close()
        assert exchange.has_ended
        assert await exchange.next(0) is None

    run(test)
    gate.open()
    assert not session.is_open(1)
    assert not session.is_answering


def test_a_cancellation_ends_the_exchange(worker: Callable[..., Worker]) -> None:
    """Spec, cancellation: no response follows. One of what is unknown, or of what is not an id, changes nothing."""
    gate = Gate()
    session = worker(agent=Tools(gate=gate)).begun()

    async def test() -> None:
        exchange = post(session, plain(1, "tools/call", {"name": "gate"}))
        for unknown in ("1", [], None):
            session.receive(cancel(unknown))  # type: ignore[arg-type]
        assert not exchange.has_ended
        session.receive(cancel(1))
        assert exchange.has_ended

    run(test)
    gate.open()
    session.close()


def test_a_session_is_restored_in_another_worker(worker: Callable[..., Worker]) -> None:
    """Ours: with the revision, the level of the log, and the caller."""
    store = MemoryStore()

    def log(running: Any) -> str:
        running.log("info", "quiet")
        running.log("error", "loud")
        return "done"

    first, second = worker(store, Watched()).begun(principal="ada"), worker(store, Watched(log=log))
    first.receive(plain(5, "logging/setLevel", {"level": "error"}))
    first.receive(plain(6, "resources/subscribe", {"uri": "a:b"}))
    first.receive(plain(7, "resources/subscribe", {"uri": "c:d"}))
    first.receive(plain(8, "resources/unsubscribe", {"uri": "a:b"}))

    loaded = Session.loaded("s", second.served, store, saved(first))

    assert (loaded.principal, loaded.version) == ("ada", "2025-11-25")
    assert loaded.saved == first.dumped() == loaded.dumped()
    assert b"c:d" in loaded.saved
    assert b"a:b" not in loaded.saved

    async def test() -> None:
        exchange = post(loaded, plain(1, "tools/call", {"name": "log"}))
        sent = [await exchange.next(PATIENCE_SECONDS) for _ in range(2)]
        assert [b"loud" in each.data for each in sent if each] == [True, False]

    run(test)
    first.close()
    loaded.close()


def test_the_saved_subscriptions_are_limited(worker: Callable[..., Worker]) -> None:
    """Ours: no more than the connection grants, and of each its URI alone."""
    refused = worker().begun()
    refused.receive(plain(5, "resources/subscribe", {"uri": "c:d"}))
    assert b"c:d" not in refused.dumped()

    granted = worker(agent=Watched()).begun()
    for number in range(MAX_URIS + 10):
        granted.receive(plain(number, "resources/subscribe", {"uri": f"c:{number}", "_meta": {"x": "y" * 1000}}))
    granted.receive(plain("odd", "resources/subscribe", {"uri": ["c:d"]}))

    assert granted.dumped().count(b'"method": "resources/subscribe"') == MAX_URIS
    assert b"yyy" not in granted.dumped()
    refused.close()
    granted.close()


def test_of_the_lasting_messages_only_what_is_known_is_saved(worker: Callable[..., Worker]) -> None:
    """Ours: a session is kept for an hour, so that what a client makes up must not fill the memory."""
    made_up = {"x": "y" * 1000}
    session = Session("s", worker().served, worker().store, None)
    begun = initialize()
    begun["params"] |= {"_meta": made_up, "capabilities": {"roots": {}, **made_up}, **made_up}
    for message in (
        begun | made_up,
        INITIALIZED | made_up | {"params": made_up},
        plain(1, "logging/setLevel", {"level": "error", **made_up}) | made_up,
        plain(2, "logging/setLevel", {"level": "loud" * 1000}),
    ):
        session.receive(message)

    assert b"yyy" not in session.dumped()
    assert [(each["method"], each.get("params")) for each in json.loads(session.dumped())["messages"]] == [
        ("initialize", {**initialize()["params"], "capabilities": {"roots": {}}}),
        ("notifications/initialized", None),
        ("logging/setLevel", {"level": "error"}),
    ]
    session.close()


def test_only_what_another_worker_may_need_is_for_others(worker: Callable[..., Worker]) -> None:
    """Ours: responses to its requests, and cancellations of calls that do not run here, without their reasons."""
    store = MemoryStore()
    session = worker(store).begun()
    foreign = {"jsonrpc": "2.0", "id": (session._place + 1 << 20) + 5, "result": {}}
    messages = (
        foreign, foreign | {"id": 5}, {"jsonrpc": "2.0", "method": "n"}, cancel("x" * 1001), cancel([1]),  # type: ignore[arg-type]
        cancel(1) | {"params": {"requestId": 1, "reason": "x"}},
    )  # fmt: skip

    assert [session.for_others(each) for each in messages] == [foreign, None, None, None, None, cancel(1)]

    async def test() -> None:
        session.open(Exchange([1]))
        assert session.for_others(cancel(1)) is None

    run(test)
    session.close()


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b'{"principal": 1, "revision": 1, "messages": []}', b'{"principal": null, "revision": 1, "messages": []}',
        b'{"principal": null, "revision": 1, "messages": [{"method": "initialize", "params": []}]}',
    ],
)  # fmt: skip
def test_a_damaged_state_is_refused(worker: Callable[..., Worker], damaged: bytes) -> None:
    """Ours: something else has written to the store, and a session with it would be none."""
    store = MemoryStore()
    session = worker(store).begun()

    for use in (session.catch_up, lambda saved: Session.loaded("s", worker(store).served, store, saved)):
        with pytest.raises(DamagedError):
            use(damaged)
    session.close()


def test_a_session_catches_up_with_another_worker(worker: Callable[..., Worker]) -> None:
    """Ours: and receives nothing twice."""
    store = MemoryStore()
    first = worker(store).begun()
    second = Session.loaded("s", worker(store).served, store, saved(first))

    first.receive(plain(5, "logging/setLevel", {"level": "error"}))
    second.catch_up(first.dumped())

    assert second.dumped() == first.dumped() == second.saved
    first.close()
    second.close()


def test_a_subscription_that_ended_in_another_worker_ends_here(worker: Callable[..., Worker]) -> None:
    """Spec, resources/unsubscribe: and one that began here, and is not saved yet, stays."""
    store = MemoryStore()
    first = worker(store, Watched()).begun()
    for number, uri in enumerate(("a:b", "c:d")):
        first.receive(plain(number, "resources/subscribe", {"uri": uri}))
    two = worker(store, Watched())
    second = Session.loaded("s", two.served, store, before := saved(first))
    second.receive(plain(7, "resources/subscribe", {"uri": "e:f"}))
    first.receive(plain(8, "resources/unsubscribe", {"uri": "a:b"}))

    second.catch_up(after := saved(first))
    second.catch_up(before)

    assert second.saved == after
    assert [uri in second.dumped() for uri in (b"a:b", b"c:d", b"e:f")] == [False, True, True]
    first.close()
    second.close()


def test_a_duplicate_request_id_is_refused_until_its_exchange_is_dropped(worker: Callable[..., Worker]) -> None:
    """Spec, B-1: ids are unique."""
    session = worker().begun()

    async def test() -> None:
        exchange = Exchange([1, 2])
        session.open(exchange)
        with pytest.raises(RefusalError, match="id 2 is still in use"):
            session.open(Exchange([2]))
        session.drop(exchange)
        session.open(Exchange([2]))

    run(test)
    session.close()


def test_the_event_log_of_a_single_request_can_end_with_an_error(worker: Callable[..., Worker]) -> None:
    """Ours: once its worker, which its key names, has ended. A batch has several responses, and its log is removed."""
    session = worker().begun()

    async def test() -> None:
        one, batch = session.open(Exchange([1]), "f" * 16), session.open(Exchange([2, 3]), "f" * 16)
        for log in (one, batch):
            assert log.worker == "f" * 16
            log.open()
            log.fail("gone")
        assert [kept.is_last for kept in one.read(0)] == [True]
        assert not batch.is_open

    run(test)
    session.close()


def saved(session: Session) -> bytes:
    """What a session has saved."""
    state = session.dumped()
    session.has_saved(state)
    return state


def asking(one: Worker) -> Session:
    """A session whose client can be asked for its roots."""
    session = Session("s", one.served, one.store, None)
    begin = initialize()
    begin["params"]["capabilities"] = {"roots": {}}
    session.receive(begin)
    session.receive(INITIALIZED)
    return session


def test_a_response_to_a_request_of_another_worker_is_ignored(worker: Callable[..., Worker]) -> None:
    """Ours: the requests of all workers have different numbers. What none has sent answers no question."""
    answers: list[Any] = []

    def roots(running: Any) -> str:
        try:
            answers.append(running.roots())
        except Exception as problem:
            answers.append(str(problem))
        return "done"

    store = MemoryStore()
    sessions = [asking(worker(store, Tools(roots=roots))) for _ in range(2)]

    async def test() -> None:
        exchanges = [post(each, plain(1, "tools/call", {"name": "roots"})) for each in sessions]
        sent = [await each.next(PATIENCE_SECONDS) for each in exchanges]
        first, second = (json.loads(each.data)["id"] for each in sent if each)
        assert first != second
        assert max(first, second) < 2**53
        for each in sessions:
            each.receive({"jsonrpc": "2.0", "id": second, "result": {"roots": [{"uri": "file:///b"}]}})
        assert await exchanges[1].next(PATIENCE_SECONDS)
        assert len(answers) == 1
        sessions[0].receive({"jsonrpc": "2.0", "id": 3, "result": {}})
        sessions[0].receive({"jsonrpc": "2.0", "id": first, "result": {"roots": []}})
        assert await exchanges[0].next(PATIENCE_SECONDS)

    run(test)
    assert answers[1] == []
    for each in sessions:
        each.close()


def test_a_failing_store_does_not_end_the_session(worker: Callable[..., Worker]) -> None:
    """Ours: what belongs to no request is lost, as if its client had been disconnected."""

    store = FailingStore()
    provider = AgentProvider(Tools(), list_changes=True)
    one = worker(store)
    one.served = Served(provider, one.workers, one.limits, Sealer(), Tasks(MemoryStore()))
    session = one.begun()
    session.take_listening()
    store.failing.add("get")
    heard = threading.Semaphore(0)
    provider.on_change(lambda _: heard.release())
    provider.replace_agent(Tools())
    assert heard.acquire(timeout=PATIENCE_SECONDS)
    store.failing.clear()

    provider.replace_agent(Tools())

    assert heard.acquire(timeout=PATIENCE_SECONDS)
    assert len(session.listening.read(0)) == 1
    session.close()


def test_a_job_beyond_the_limit_gets_an_error(worker: Callable[..., Worker]) -> None:
    """Ours: there was one when the POST came."""
    gate = Gate()
    session = worker(agent=Tools(gate=gate), limits=Limits(calls=1, waiting_calls=0)).begun()

    async def test() -> None:
        post(session, plain(1, "tools/call", {"name": "gate"}))
        sent = await post(session, plain(2, "tools/call", {"name": "gate"})).next(PATIENCE_SECONDS)
        assert sent is not None
        assert json.loads(sent.data)["error"]["code"] == -32603

    run(test)
    gate.open()
    session.close()


def test_a_response_without_an_exchange_is_dropped(worker: Callable[..., Worker]) -> None:
    """Ours: the call ends, and the session is idle."""
    session = worker(agent=Tools(hi=lambda _: "hello")).begun()
    # There is no exchange for it.
    (job,) = session.receive(plain(1, "tools/call", {"name": "hi"}))
    session.start(job)
    wait_until(lambda: session.is_idle)
    session.close()


def test_a_call_whose_messages_are_not_read_continues_after_a_while(worker: Callable[..., Worker]) -> None:
    """Ours: the log keeps the last of it for a client that comes back; nothing is cancelled."""
    done = threading.Event()

    def flood(running: Any) -> str:
        for number in range(MAX_AHEAD + 20):
            running.progress(number)
        done.set()
        return "done"

    session = worker(agent=Tools(flood=flood), limits=Limits(stalled_seconds=0.001)).begun()

    async def test() -> None:
        meta = {"progressToken": 1}
        exchange = post(session, plain(1, "tools/call", {"name": "flood", "_meta": meta}))
        assert await asyncio.to_thread(done.wait, PATIENCE_SECONDS)
        exchange.close()

    run(test)
    wait_until(lambda: session.is_idle)
    session.close()


def test_progress_of_a_call_without_an_exchange_is_not_waited_for(worker: Callable[..., Worker]) -> None:
    """Ours: there is no client that could read it, and the call would wait for ever."""

    def report(running: Any) -> str:
        running.progress(1)
        return "done"

    session = worker(agent=Tools(report=report)).begun()
    (job,) = session.receive(plain(1, "tools/call", {"name": "report", "_meta": {"progressToken": 1}}))
    session.start(job)
    wait_until(lambda: session.is_idle)
    session.close()


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_close_stream_releases_the_exchange_where_the_client_can_resume_it(
    worker: Callable[..., Worker], version: str
) -> None:
    """Spec 2025-11-25, resumability: a server may close the connection after an event with an id."""
    gate = Gate()

    def work(running: Any) -> str:
        running.close_stream()
        gate()
        return "done"

    session = worker(agent=Tools(work=work)).begun(version)

    async def test() -> None:
        exchange = post(session, plain(1, "tools/call", {"name": "work"}))
        exchange.is_resumable = True
        assert await asyncio.to_thread(gate.await_entered) is None
        assert exchange.is_released is (version == "2025-11-25")
        gate.open()
        while not exchange.has_ended:
            await exchange.next(PATIENCE_SECONDS)

    run(test)
    session.close()


def test_close_stream_without_an_exchange_does_nothing(worker: Callable[..., Worker]) -> None:
    """Ours: the client of the call may have disconnected before."""
    session = worker(agent=Tools(work=lambda running: running.close_stream())).begun()
    (job,) = session.receive(plain(1, "tools/call", {"name": "work"}))
    session.start(job)
    wait_until(lambda: session.is_idle)
    session.close()


def test_notifications_are_saved_once_a_client_has_listened(worker: Callable[..., Worker]) -> None:
    """Spec, the listening stream: before it was opened, nothing is kept for it."""
    store = MemoryStore()
    provider = AgentProvider(Tools(), list_changes=True)
    one = worker(store)
    one.served = Served(provider, one.workers, one.limits, Sealer(), Tasks(MemoryStore()))
    session = one.begun()

    heard = threading.Semaphore(0)
    provider.on_change(lambda _: heard.release())
    provider.replace_agent(Tools())
    assert heard.acquire(timeout=PATIENCE_SECONDS)
    assert session.listening.read(0) == []
    session.take_listening()
    provider.replace_agent(Tools())
    assert heard.acquire(timeout=PATIENCE_SECONDS)

    assert [json.loads(kept.data)["method"] for kept in session.listening.read(0)] == [
        "notifications/tools/list_changed"
    ]
    session.close()


def test_server_requests_and_their_cancellation_are_in_the_exchange_of_the_call(worker: Callable[..., Worker]) -> None:
    """Spec, server requests: when one of two is refused, the other is cancelled."""
    refused = threading.Event()

    def both(running: Any) -> str:
        from gaia_mcp.asking.questions import ListRoots, Sample

        try:
            running.ask_all(Sample("hm"), ListRoots())
        except Exception:
            refused.set()
        return "done"

    one = worker(agent=Tools(both=both))
    session = Session("s", one.served, one.store, None)
    begin = initialize()
    begin["params"]["capabilities"] = {"sampling": {}, "roots": {}}
    session.receive(begin)
    session.receive(INITIALIZED)

    async def test() -> None:
        exchange = post(session, plain(1, "tools/call", {"name": "both"}))
        sent = [await exchange.next(PATIENCE_SECONDS) for _ in range(2)]
        ids = [json.loads(each.data)["id"] for each in sent if each]
        session.receive({"jsonrpc": "2.0", "id": ids[0], "error": {"code": -1, "message": "no"}})
        withdrawn = await exchange.next(PATIENCE_SECONDS)
        assert withdrawn is not None
        assert json.loads(withdrawn.data)["params"]["requestId"] == ids[1]

    run(test)
    assert refused.wait(PATIENCE_SECONDS)
    session.close()


def test_a_call_whose_client_is_gone_gives_its_place_to_another(worker: Callable[..., Worker]) -> None:
    """Ours: one that has neither its connection nor another that resumes the stream."""
    session = worker(agent=Tools(think=lambda running: running.sample("hm").text), limits=Limits(asking_calls=1)).begun(
        capabilities={"sampling": {}}
    )

    async def text(exchange: Exchange) -> str:
        sent = None
        while not exchange.has_ended:
            sent = await exchange.next(PATIENCE_SECONDS)
        assert sent is not None
        return str(json.loads(sent.data)["result"]["content"][0]["text"])

    async def test() -> None:
        gone = Exchange([1])
        log = session.open(gone)
        for job in session.receive(plain(1, "tools/call", {"name": "think"})):
            session.start(job)
        assert await gone.next(PATIENCE_SECONDS) is not None
        session.followers[log.key] += 1
        gone.close()
        assert "too many calls wait" in await text(post(session, plain(2, "tools/call", {"name": "think"})))

        session.followers[log.key] -= 1
        asked = post(session, plain(3, "tools/call", {"name": "think"}))
        sent = await asked.next(PATIENCE_SECONDS)
        assert sent is not None
        thought = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}
        session.receive({"jsonrpc": "2.0", "id": json.loads(sent.data)["id"], "result": thought})
        assert await text(asked) == "aha"

    run(test)
    wait_until(lambda: not session.is_answering)
    session.close()


def test_only_one_worker_writes_to_the_listening_stream(worker: Callable[..., Worker]) -> None:
    """Ours: the worker where it was opened last, and first the changes that were missed."""
    store = MemoryStore()
    first = worker(store, Watched()).begun()
    first.receive(plain(5, "resources/subscribe", {"uri": "c:d"}))
    second = Session.loaded("s", worker(store, Watched()).served, store, saved(first))
    for _ in range(2):
        first.take_listening()

    for each in (first, second):
        each._calls.announce(Change(("tools",)))
    assert announced(first) == ["tools/list_changed"]
    second.take_listening()
    lists = ["tools/list_changed", "resources/list_changed"]
    assert announced(first) == ["tools/list_changed", *lists, "resources/updated"]
    for each in (first, second):
        each._calls.announce(Change(("tools",)))
    assert announced(first)[4:] == ["tools/list_changed"]
    assert (first.keep_listening(), second.keep_listening()) == (False, True)
    second.forget_listening()

    assert not second.keep_listening()
    assert announced(first) == []
    first.close()
    second.close()


def announced(session: Session) -> list[str]:
    """What the listening stream has."""
    return [json.loads(kept.data)["method"].removeprefix("notifications/") for kept in session.listening.read(0)]


def test_a_call_knows_the_scopes_and_the_trace_of_its_request(worker: Callable[..., Worker]) -> None:
    """Ours: the scopes of its token, which may be another one than that of the handshake, and its trace."""
    seen: list[Any] = []
    asked = Received({"method": "POST", "headers": [(b"traceparent", b"00-a")]}, None)  # type: ignore[arg-type]
    asked.caller = Caller("ada", frozenset({"write"}))

    def look(running: Any) -> None:
        seen.append((running.principal, running.scopes, running.transport.trace, running.transport.attributes))

    session = worker(agent=Tools(look=look)).begun(principal="ada")
    (job,) = session.receive(plain(1, "tools/call", {"name": "look"}))
    session.start(job, asked)
    wait_until(lambda: seen)

    attributes = {"network.transport": "tcp", "network.protocol.name": "http", "mcp.session.id": "s"}
    assert seen == [("ada", {"write"}, {"traceparent": "00-a"}, attributes)]
