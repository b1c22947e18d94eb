"""Requests of the server: answered by the host, refused, cancelled, and what invalid answers become."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import server_requests
from gaia_mcp.client.conversation.server_requests import MAX_SERVER_REQUESTS, ServerRequests
from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConnectError, UnansweredError
from gaia_mcp.protocol.events import RequestReceived
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS
from gaia_mcp.tracing import with_trace
from tests.client.transports.talk import Message, asks, handshake, in_thread, opened, result
from tests.interleavings import explore
from tests.protocol.test_wire_types import SAMPLED
from tests.tracing_support import TRACE
from tests.waiting import Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.client import ClientConnection
    from tests.client.transports.talk import Talk
    from tests.interleavings import Run, Threads

MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}
ROOTS = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
PERSONAL = pytest.mark.parametrize(
    ("method", "member"), [("elicitation/create", "elicit"), ("sampling/createMessage", "sample")]
)


def has_answered(talk: Talk) -> bool:
    """Whether the thread that answered requests waits for another one."""
    return talk.conversation._dispatcher._server_requests._free == 1


def test_a_server_request_is_answered_by_the_host() -> None:
    """Spec, roots."""
    talk = opened(host=Host(roots=[{"uri": "file:///a"}]))

    talk.arrives(asks("roots/list"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///a"}]}}]


def test_an_unsupported_server_request_is_refused() -> None:
    """Spec: with -32601, or the server's tool would hang."""
    talk = opened()

    talk.arrives(asks("sampling/createMessage", "s"))
    wait_until(lambda: talk.sent)

    assert (talk.sent[0]["id"], talk.sent[0]["error"]["code"]) == ("s", -32601)


def test_a_model_is_not_asked_to_use_tools() -> None:
    """Spec, LC-3: an error, since `sampling.tools` is not declared."""
    talk = opened(host=Host(sample=lambda _: {"role": "assistant"}))

    talk.arrives({**asks("sampling/createMessage", "s"), "params": {"tools": [], "messages": [], "maxTokens": 1}})
    wait_until(lambda: talk.sent)

    refused = "sampling/createMessage with tools, which this client did not declare"
    assert talk.sent[0]["error"] == {"code": -32602, "message": refused}


@pytest.mark.parametrize("problem", ["raises", "answers with no JSON"])
def test_a_host_that_fails_to_answer_still_lets_the_server_hear_something(problem: str) -> None:
    """Ours: -32603 without a word of the reason, which is not the server's to know."""

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        if problem == "raises":
            raise ValueError("secret")
        return {"action": "accept", "content": {"when": object()}}

    talk = opened(host=Host(elicit=elicit))

    talk.arrives(asks("elicitation/create"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"]["code"] == -32603
    assert "secret" not in json.dumps(talk.sent)


@PERSONAL
def test_a_host_that_cannot_answer_ends_the_request_that_led_to_the_question(method: str, member: str) -> None:
    """Ours: as in the stateless era, where the caller's own thread asks the host. The server gets a response too."""
    error = UnansweredError("talk", "asks: Well?", {"message": "Well?"})

    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        raise error

    talk = opened(host=Host(**{member: refuse}))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, Deadline(5)))
    wait_until(lambda: talk.sent)
    talk.arrives(asks(method, "q"))
    thread.join(5)
    wait_until(lambda: len(talk.sent) == 3)

    assert outcomes == [error]
    assert sorted(one.get("method", "") for one in talk.sent) == ["", "notifications/cancelled", "tools/call"]
    assert next(one for one in talk.sent if "method" not in one)["error"]["code"] == -32603


def test_a_deadline_stands_still_while_a_person_answers() -> None:
    """Ours: no person types against the clock."""
    clock = Clock()
    deadline = Deadline(10, clock=clock)
    is_asked, may_answer = threading.Event(), threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(5)
    clock.now += 1000
    assert not deadline.expired
    may_answer.set()
    wait_until(lambda: len(talk.sent) == 2)

    assert deadline.remaining() == 10.0
    talk.arrives(result(talk.sent[0], {}))
    thread.join(5)
    assert outcomes == [{}]


def test_roots_do_not_stop_the_clock() -> None:
    """Ours: only people may take long."""
    held: list[bool] = []
    deadline = Deadline(20)

    class Watching(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            held.append(deadline._holds > 0)
            return super().answer(method, params)

    talk = opened(host=Watching())
    thread, _ = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("roots/list", "r"))
    talk.arrives(asks("elicitation/create", "e"))
    wait_until(lambda: len(talk.sent) == 3)
    talk.arrives(result(talk.sent[0], {}))
    thread.join(5)

    assert sorted(held) == [False, True]


def test_a_server_request_that_was_cancelled_is_not_answered() -> None:
    """Spec, cancellation: a cancelled request gets no response."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    may_answer.set()
    wait_until(lambda: has_answered(talk))

    assert talk.sent == []


def test_an_answer_is_not_written_to_the_next_pipe() -> None:
    """Ours: the next server has asked nothing."""
    is_asked, may_answer = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.current_thread())
        is_asked.set()
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(5)
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    may_answer.set()
    threads[0].join(5)

    assert not threads[0].is_alive()
    assert "(answer)" not in talk.methods()


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("roots/list", {"roots": ROOTS}),
        ("elicitation/create", {"action": "decline"}),
        ("sampling/createMessage", None),
        ("tasks/list", None),
    ],
)
def test_what_needs_no_code_of_the_host_is_answered_by_the_thread_that_reads(method: str, answer: Any) -> None:
    """Ours: a thread for it would take longer than the answer."""
    talk = opened(host=Host(roots=ROOTS))

    talk.arrives(asks(method, "q"))

    (sent,) = talk.sent
    assert sent.get("result") == answer
    assert sent.get("error", {}).get("code") == (None if answer else -32601)


def test_requests_that_follow_one_another_are_answered_in_the_same_thread() -> None:
    """Ours: starting one takes longer than most programs take to answer."""
    threads: list[threading.Thread] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    talk = opened(host=Host(roots=roots))
    for number in range(3):
        talk.arrives(asks("roots/list", number))
        wait_until(lambda: has_answered(talk))

    assert [one["id"] for one in talk.sent] == [0, 1, 2]
    assert len(set(threads)) == 1
    talk.disconnect()
    threads[0].join(5)
    assert not threads[0].is_alive()


def test_a_thread_in_which_nothing_is_to_be_answered_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a connection may last for days. The next request has another."""
    monkeypatch.setattr(server_requests, "KEPT_SECONDS", 0.01)
    threads: list[threading.Thread] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    talk = opened(host=Host(roots=roots))
    for number in range(2):
        talk.arrives(asks("roots/list", number))
        wait_until(lambda number=number: len(threads) > number)  # type: ignore[misc]
        threads[number].join(5)
        assert not threads[number].is_alive()

    assert [one["id"] for one in talk.sent] == [0, 1]


@pytest.mark.parametrize("is_closed", [False, True])
def test_in_every_order_each_request_is_answered_once_and_no_thread_is_left(
    monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """Ours: a thread may be about to end when the next request comes for it."""
    asked = [RequestReceived(number, "roots/list", {}, None) for number in range(3)]  # type: ignore[arg-type]
    monkeypatch.setattr(server_requests, "KEPT_SECONDS", 5 if is_closed else 0)

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(server_requests, "threading", threads)
        monkeypatch.setattr(server_requests, "SimpleQueue", threads.SimpleQueue)
        answered: list[Any] = []

        def respond(change: Callable[[ClientConnection], None]) -> None:
            run.step()
            answered.append(change)

        requests = ServerRequests(Host(roots=lambda: ROOTS), respond, list)

        def read() -> None:
            for one in asked:
                requests.take(one)
            if is_closed:
                requests.close()

        def check() -> None:
            assert [task.name for task in run.tasks if not task.is_done] == []
            assert len(answered) == len(asked)

        run.spawn(read, "reader")
        return check

    assert explore(scenario) > 100


def test_a_flood_of_server_requests_is_refused() -> None:
    """Ours: each has a thread, and a server must not take the machine with it."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    for number in range(MAX_SERVER_REQUESTS + 3):
        talk.arrives(asks("elicitation/create", number))

    assert [message["error"]["code"] for message in talk.sent] == [-32603] * 3
    may_answer.set()
    wait_until(lambda: len(talk.sent) == MAX_SERVER_REQUESTS + 3)
    talk.arrives(asks("elicitation/create", "once more"))
    wait_until(lambda: len(talk.sent) == MAX_SERVER_REQUESTS + 4)
    assert talk.sent[-1]["result"] == {"action": "accept"}


@PERSONAL
@pytest.mark.parametrize("answer", [None, 7, "yes", True, [], [MESSAGE]])
def test_an_answer_that_is_no_object_is_an_error(method: str, member: str, answer: Any) -> None:
    """Spec, JSON-RPC: a result of MCP is an object; ours: an internal error, as for a host that fails."""
    talk = opened(host=Host(**{member: lambda _: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["id"] == "q"
    assert talk.sent[0]["error"]["code"] == -32603


@pytest.mark.parametrize("roots", [lambda: None, lambda: 7, lambda: [object()], lambda: 1 / 0])
def test_folders_that_are_none_are_an_error(roots: Any) -> None:
    """Ours: the server hears something."""
    talk = opened(host=Host(roots=roots))

    talk.arrives(asks("roots/list", "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"]["code"] == -32603


def test_a_models_words_are_the_answer() -> None:
    """Spec, sampling."""
    talk = opened(host=Host(sample=lambda params: {**MESSAGE, "model": str(params)}))

    talk.arrives(asks("sampling/createMessage", 5))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 5, "result": {**MESSAGE, "model": "{}"}}]


@pytest.mark.parametrize(("said", "heard"), [("not now", "not now"), ("", "declined")])
@PERSONAL
def test_who_declines_is_said_to_have_declined(method: str, member: str, said: str, heard: str) -> None:
    """Spec, sampling: -1 is what a person's refusal is told with."""

    def decline(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError(said)

    talk = opened(host=Host(**{member: decline}))

    talk.arrives(asks(method))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"] == {"code": -1, "message": heard}


@PERSONAL
def test_a_host_may_ask_the_server_before_it_answers(method: str, member: str) -> None:
    """Ours: it has a thread of its own, and reading goes on."""

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        talk.check_alive(Deadline(5))
        return MESSAGE

    talk = opened(host=Host(**{member: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: len(talk.sent) == 2)

    assert talk.methods() == ["ping", "(answer)"]
    assert talk.sent[1]["result"] == MESSAGE


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
@pytest.mark.parametrize(
    ("method", "expected"), [("sampling/createMessage", SAMPLED[0]), ("roots/list", {"roots": ROOTS})]
)
def test_what_a_host_answers_arrives_as_it_is(version: str, method: str, expected: Any) -> None:
    """Spec, sampling and roots: whatever the revision."""

    def server(message: Message) -> list[Message]:
        if message.get("method") == "initialize":
            return [result(message, {"protocolVersion": version, "capabilities": {}})]
        return handshake(message)

    talk = opened(server, Host(sample=lambda _: SAMPLED[0], roots=lambda: ROOTS))
    assert talk.peer is not None
    assert talk.peer.version == version

    talk.arrives(asks(method, "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": "q", "result": expected}]


def test_what_the_host_sends_meanwhile_belongs_to_the_trace_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a host may ask other servers before it answers."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    seen: list[Any] = []

    def sample(_: Message) -> Message:
        seen.append(with_trace({}))
        return MESSAGE

    talk = opened(host=Host(sample=sample))
    for number, meta in enumerate([{"traceparent": TRACE["traceparent"]}, {}], 1):
        talk.arrives({**asks("sampling/createMessage", number), "params": {"_meta": meta, "messages": []}})
        wait_until(lambda number=number: len(talk.sent) == number)

    assert seen == [{"_meta": {"traceparent": TRACE["traceparent"]}}, {}]
