"""Requests of the server: answered by the host, refused or cancelled, and invalid answers."""

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
from tests.client.conftest import noted
from tests.client.transports.talk import Message, asks, handshake, in_thread, opened, result
from tests.interleavings import explore
from tests.protocol.test_wire_types import SAMPLED
from tests.tracing_support import TRACE
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.client import ClientConnection
    from tests.client.transports.talk import Talk
    from tests.interleavings import Run, Threads

MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}
ROOTS = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
CALLBACKS = {"elicitation/create": "elicit", "sampling/createMessage": "sample"}
PERSONAL = pytest.mark.parametrize(("method", "member"), CALLBACKS.items())


def has_answered(talk: Talk) -> bool:
    """Whether the thread that answered requests waits for another one."""
    return talk.conversation._dispatcher._server_requests._free == 1


def response_to(method: str, host: Host) -> Message:
    """The response of a client with this host to a request of the server, whose id is "q"."""
    talk = opened(host=host)
    with noted((method, host)):
        talk.arrives(asks(method, "q"))
        wait_until(lambda: talk.sent)
        (sent,) = talk.sent
        assert sent["id"] == "q"
        return sent


def roots_requests(*ids: int) -> list[RequestReceived]:
    return [RequestReceived(each, "roots/list", {}, None) for each in ids]  # type: ignore[arg-type]


def test_a_server_request_is_answered_by_the_host() -> None:
    """Spec, roots."""
    talk = opened(host=Host(roots=[{"uri": "file:///a"}]))

    talk.arrives(asks("roots/list"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///a"}]}}]


def test_an_unsupported_server_request_is_refused() -> None:
    """Spec: with -32601, as the server's tool waits for a response."""
    talk = opened()

    talk.arrives(asks("sampling/createMessage", "s"))
    wait_until(lambda: talk.sent)

    assert (talk.sent[0]["id"], talk.sent[0]["error"]["code"]) == ("s", -32601)


def test_sampling_with_tools_is_refused() -> None:
    """Spec, LC-3: an error, since `sampling.tools` is not declared."""
    talk = opened(host=Host(sample=lambda _: {"role": "assistant"}))

    talk.arrives({**asks("sampling/createMessage", "s"), "params": {"tools": [], "messages": [], "maxTokens": 1}})
    wait_until(lambda: talk.sent)

    refused = "sampling/createMessage with tools, which this client did not declare"
    assert talk.sent[0]["error"] == {"code": -32602, "message": refused}


@pytest.mark.parametrize("problem", ["raises", "returns no JSON"])
def test_an_exception_of_the_host_is_an_internal_error(problem: str) -> None:
    """Ours: -32603 without the message of the exception, which may contain private data."""

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
def test_a_server_request_that_the_host_cannot_answer_ends_the_call(method: str, member: str) -> None:
    """Ours: as in the stateless era, where the caller's own thread asks the host. The server gets a response too."""
    error = UnansweredError("talk", "asks: Well?", {"message": "Well?"})

    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        raise error

    talk = opened(host=Host(**{member: refuse}))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)
    talk.arrives(asks(method, "q"))
    thread.join(PATIENCE_SECONDS)
    wait_until(lambda: len(talk.sent) == 3)

    assert outcomes == [error]
    assert sorted(one.get("method", "") for one in talk.sent) == ["", "notifications/cancelled", "tools/call"]
    assert next(one for one in talk.sent if "method" not in one)["error"]["code"] == -32603


def test_a_deadline_is_paused_while_the_user_answers() -> None:
    """Ours: a user must not have to type against the clock."""
    clock = Clock()
    deadline = Deadline(10, clock=clock)
    is_asked, may_answer = threading.Event(), threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(PATIENCE_SECONDS)
    clock.now += 1000
    assert not deadline.expired
    may_answer.set()
    wait_until(lambda: len(talk.sent) == 2)

    assert deadline.remaining() == 10.0
    talk.arrives(result(talk.sent[0], {}))
    thread.join(PATIENCE_SECONDS)
    assert outcomes == [{}]


def test_only_elicitation_and_sampling_pause_the_deadline() -> None:
    """Ours: a user reads and types, also to approve a sampling request; a list of roots takes no time."""
    held: dict[str, bool] = {}
    deadline = Deadline(20)

    class Watching(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            held[method] = deadline._holds > 0
            return super().answer(method, params)

    talk = opened(host=Watching(sample=lambda _: MESSAGE))
    thread, _ = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    for number, method in enumerate(("roots/list", "elicitation/create", "sampling/createMessage"), 1):
        # One after the other, since all requests pause the same deadline.
        talk.arrives(asks(method, method))
        wait_until(lambda number=number: len(talk.sent) == number + 1)  # type: ignore[misc]
    talk.arrives(result(talk.sent[0], {}))
    thread.join(PATIENCE_SECONDS)

    assert held == {"roots/list": False, "elicitation/create": True, "sampling/createMessage": True}


def test_a_server_request_that_was_cancelled_is_not_answered() -> None:
    """Spec, cancellation: a cancelled request gets no response."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    may_answer.set()
    wait_until(lambda: has_answered(talk))

    assert talk.sent == []


def test_a_response_is_not_sent_on_the_next_channel() -> None:
    """Ours: the restarted server has not sent the request."""
    is_asked, may_answer = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.current_thread())
        is_asked.set()
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(PATIENCE_SECONDS)
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    may_answer.set()
    threads[0].join(PATIENCE_SECONDS)

    assert not threads[0].is_alive()
    assert "(answer)" not in talk.methods()


def test_a_request_that_calls_no_callback_is_answered_on_the_reading_thread() -> None:
    """Ours: starting a thread for it would take longer than the answer."""
    talk = opened(host=Host(roots=ROOTS))

    # Each is answered before `arrives` returns.
    for method in ("roots/list", "elicitation/create", "sampling/createMessage", "tasks/list"):
        talk.arrives(asks(method, method))

    assert {one["id"]: one.get("result", one.get("error", {}).get("code")) for one in talk.sent} == {
        "roots/list": {"roots": ROOTS},
        "elicitation/create": {"action": "decline"},
        "sampling/createMessage": -32601,
        "tasks/list": -32601,
    }


def test_successive_requests_are_answered_in_one_thread() -> None:
    """Ours: starting a thread takes longer than most programs take to answer."""
    threads: list[threading.Thread] = []
    answered: list[Any] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    requests = ServerRequests(Host(roots=roots), answered.append, list, kept_seconds=PATIENCE_SECONDS)
    for one in roots_requests(0, 1, 2):
        requests.take(one)
        wait_until(lambda: requests._free == 1)

    assert (len(answered), len(threads), len(set(threads))) == (3, 3, 1)
    requests.close()
    threads[0].join(PATIENCE_SECONDS)
    assert not threads[0].is_alive()


def test_an_idle_thread_ends() -> None:
    """Ours: a connection may last for days. The next request gets another thread."""
    threads: list[threading.Thread] = []
    answered: list[Any] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    requests = ServerRequests(Host(roots=roots), answered.append, list, kept_seconds=0.01)
    for one in roots_requests(0, 1):
        requests.take(one)
        wait_until(lambda number=one.id: len(threads) > number)  # type: ignore[misc]
        threads[-1].join(PATIENCE_SECONDS)
        assert not threads[-1].is_alive()

    assert (len(answered), len(set(threads))) == (2, 2)


@pytest.mark.parametrize("is_closed", [False, True])
def test_in_every_interleaving_each_request_is_answered_once_and_no_thread_is_left(
    monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """Ours: a thread may be about to end when the next request is queued for it."""
    asked = roots_requests(0, 1, 2)

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(server_requests, "threading", threads)
        monkeypatch.setattr(server_requests, "SimpleQueue", threads.SimpleQueue)
        answered: list[Any] = []

        def respond(change: Callable[[ClientConnection], None]) -> None:
            run.step()
            answered.append(change)

        requests = ServerRequests(Host(roots=lambda: ROOTS), respond, list, kept_seconds=5 if is_closed else 0)

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


def test_too_many_server_requests_at_once_are_refused() -> None:
    """Ours: each occupies a thread, and a server must not exhaust them."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(PATIENCE_SECONDS)
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


def test_an_answer_that_is_not_an_object_is_an_internal_error() -> None:
    """Spec, JSON-RPC: a result of MCP is an object. Ours: an internal error, as for an exception of the host."""
    answers: list[Any] = [None, 7, "yes", True, [], [MESSAGE]]
    responses = [
        (method, answer, response_to(method, Host(**{member: lambda _, answer=answer: answer})))  # type: ignore[arg-type]
        for method, member in CALLBACKS.items()
        for answer in answers
    ]

    assert [each for each in responses if each[2].get("error", {}).get("code") != -32603] == []


def test_invalid_roots_are_an_internal_error() -> None:
    """Ours: the server gets a response, whatever the callback of the program does."""
    callbacks: dict[str, Any] = {
        "None": lambda: None, "7": lambda: 7, "an object": lambda: [object()], "an exception": lambda: 1 / 0,
    }  # fmt: skip
    responses = {name: response_to("roots/list", Host(roots=callback)) for name, callback in callbacks.items()}

    assert {name: sent.get("error", {}).get("code") for name, sent in responses.items()} == dict.fromkeys(
        callbacks, -32603
    )


def test_a_sampled_message_is_the_response() -> None:
    """Spec, sampling: the callback gets the parameters of the request."""
    talk = opened(host=Host(sample=lambda params: {**MESSAGE, "model": str(params)}))

    talk.arrives(asks("sampling/createMessage", 5))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 5, "result": {**MESSAGE, "model": "{}"}}]


def test_a_declined_server_request_is_an_error_response() -> None:
    """Spec, sampling: a request that the user rejects gets an error with code -1."""
    rows = [(method, *reasons) for method in CALLBACKS for reasons in (("not now", "not now"), ("", "declined"))]

    def error_for(method: str, reason: str) -> Any:
        def decline(_: dict[str, Any]) -> dict[str, Any]:
            raise DeclinedError(reason)

        return response_to(method, Host(**{CALLBACKS[method]: decline}))["error"]  # type: ignore[arg-type]

    assert [(method, reason, error_for(method, reason)) for method, reason, _ in rows] == [
        (method, reason, {"code": -1, "message": message}) for method, reason, message in rows
    ]


@PERSONAL
def test_a_host_may_send_requests_before_it_answers(method: str, member: str) -> None:
    """Ours: it is called in a thread of its own, and reading continues."""

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        talk.check_alive(Deadline(5))
        return MESSAGE

    talk = opened(host=Host(**{member: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: len(talk.sent) == 2)

    assert talk.methods() == ["ping", "(answer)"]
    assert talk.sent[1]["result"] == MESSAGE


def test_the_answer_of_a_host_is_sent_unchanged() -> None:
    """Spec, sampling and roots: whatever the revision."""
    host = Host(sample=lambda _: SAMPLED[0], roots=lambda: ROOTS)

    def sent_with(version: str) -> list[Message]:
        def server(message: Message) -> list[Message]:
            if message.get("method") == "initialize":
                return [result(message, {"protocolVersion": version, "capabilities": {}})]
            return handshake(message)

        talk = opened(server, host)
        assert talk.peer is not None
        assert talk.peer.version == version
        for number, method in enumerate(("sampling/createMessage", "roots/list"), 1):
            talk.arrives(asks(method, number))
            wait_until(lambda number=number: len(talk.sent) == number)  # type: ignore[misc]
        return talk.sent

    expected = [
        {"jsonrpc": "2.0", "id": 1, "result": SAMPLED[0]},
        {"jsonrpc": "2.0", "id": 2, "result": {"roots": ROOTS}},
    ]
    assert {version: sent_with(version) for version in HANDSHAKE_VERSIONS} == dict.fromkeys(
        HANDSHAKE_VERSIONS, expected
    )


def test_requests_of_the_host_belong_to_the_trace_of_the_server_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a host may call other servers before it answers."""
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
