"""Requests of the server: answered by the host, refused, cancelled, and what invalid answers become."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from gaia_mcp.client.conversation.server_requests import MAX_SERVER_REQUESTS
from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConnectError, UnansweredError
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS
from tests.client.transports.talk import Message, asks, handshake, in_thread, opened, result
from tests.protocol.test_wire_types import SAMPLED
from tests.waiting import Clock, wait_until

MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}
ROOTS = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
PERSONAL = pytest.mark.parametrize(
    ("method", "member"), [("elicitation/create", "elicit"), ("sampling/createMessage", "sample")]
)


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
    wait_until(lambda: not any(thread.name == "server request" for thread in threading.enumerate()))

    assert talk.sent == []


def test_an_answer_is_not_written_to_the_next_pipe() -> None:
    """Ours: the next server has asked nothing."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    may_answer.set()
    wait_until(lambda: not any(thread.name == "server request" for thread in threading.enumerate()))

    assert "(answer)" not in talk.methods()


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
