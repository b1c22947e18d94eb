"""One request many times, several of them at once, by one thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import GARBLED_SECONDS
from gaia_mcp.client.conversation.pipelining import SHARED_PART
from gaia_mcp.client.host import Host
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CallCutError,
    CallGarbledError,
    CallLateError,
    ConnectionLostError,
    NotConnectedError,
    PeerError,
    RemoteProtocolError,
    UnansweredError,
)
from tests.client.eras import CAPABILITIES, ERAS, scripted
from tests.client.transports.talk import Message, OneStream, Talk, error, handshake, result
from tests.waiting import ENOUGH_SECONDS, Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.conversation.pipelining import Pipeline
    from tests.client.transports.talk import Script

PARAMS: Message = {"name": "t", "arguments": {}}
DONE: Message = {"content": [{"type": "text", "text": "done"}]}


def started(
    script: Script = handshake, new_deadline: Callable[[], Deadline] = lambda: Deadline(ENOUGH_SECONDS), **options: Any
) -> tuple[Talk, Pipeline]:
    """An open conversation, and the calls on it."""
    talk = Talk(script, options.pop("host", None), OneStream)
    talk.engine.open(Deadline(ENOUGH_SECONDS))
    talk.sent.clear()
    pipeline = talk.engine.pipeline("tools/call", PARAMS, 3, new_deadline)
    assert pipeline is not None
    return talk, pipeline


def test_responses_in_any_order_are_those_of_their_requests() -> None:
    """Spec, base: a response has the id of its request. Ours: so has its time."""
    clock = Clock()
    talk, pipeline = started()
    pipeline._clock = clock
    for _ in range(3):
        pipeline.send()
        clock.now += 1
    first, second, third = talk.sent

    talk.arrives(result(third, {"content": [3]}))
    talk.arrives(result(first, {"content": [1]}))
    answers = pipeline.answers()
    talk.arrives(result(second, {"content": [2]}))
    answers += pipeline.answers()

    assert [(answer.seconds, answer.result["content"]) for answer in answers] == [(1, [3]), (3, [1]), (2, [2])]
    assert pipeline.in_flight == 0
    assert not talk.conversation._dispatcher.waiters


def test_an_error_response_is_an_answer() -> None:
    """Ours: a server that refuses one call answers the next. Its error has no secret."""
    talk, pipeline = started()
    pipeline.send()
    talk.arrives(error(talk.sent[0], -32000, "busy with hunter22"))

    (answer,) = pipeline.answers()

    assert isinstance(answer.error, PeerError)
    assert (answer.error.code, answer.error.text, answer.result) == (-32000, "busy with ****", {})
    assert pipeline.in_flight == 0


def test_a_request_that_is_not_answered_in_time_ends_it() -> None:
    """Ours: it hangs, or it is too slow; it is cancelled, and so are the others."""
    clock = Clock()
    talk, pipeline = started(new_deadline=lambda: Deadline(30, clock=clock))
    pipeline.send()
    pipeline.send()
    clock.now += 31

    with pytest.raises(CallLateError) as caught:
        pipeline.answers()
    pipeline.close()

    assert caught.value.seconds == 30
    assert talk.methods() == ["tools/call"] * 2 + ["notifications/cancelled"] * 2
    assert pipeline.in_flight == 0


def test_requests_that_begin_together_share_a_deadline() -> None:
    """Ours: one for each would cost more than the rest of a request; the next ones have all of their time."""
    clock = Clock()
    made: list[Deadline] = []

    def new_deadline() -> Deadline:
        made.append(Deadline(30, clock=clock))
        return made[-1]

    talk, pipeline = started(new_deadline=new_deadline)
    first = len(made)
    for _ in range(3):
        pipeline.send()
    assert len(made) == first

    clock.now += 2 * 30 * SHARED_PART
    pipeline.send()
    assert len(made) == first + 1
    assert len(talk.sent) == 4


def test_a_lost_connection_ends_it() -> None:
    """Ours: no call is made again, since it may have run, and none is made on another connection."""
    talk, pipeline = started()
    pipeline.send()
    talk.ends(ConnectionLostError("gone", server="server"))

    with pytest.raises(ConnectionLostError) as caught:
        pipeline.answers()
    assert isinstance(caught.value, CallCutError)
    with pytest.raises(ConnectionLostError):
        pipeline.send()
    pipeline.close()
    assert talk.methods() == ["tools/call"]


def test_answers_before_the_end_are_returned() -> None:
    """Ours: they were given, so they count."""
    talk, pipeline = started()
    for _ in range(3):
        pipeline.send()
    talk.arrives(result(talk.sent[1], DONE))
    talk.ends(ConnectionLostError("gone", server="server"))

    assert [answer.result for answer in pipeline.answers()] == [DONE]
    with pytest.raises(ConnectionLostError):
        pipeline.answers()


def test_a_connection_that_was_closed_here_ends_it_as_such() -> None:
    """Ours: after a Ctrl-C the server is not to blame."""
    talk, pipeline = started()
    pipeline.send()
    talk.engine.disconnect(0)

    with pytest.raises(NotConnectedError):
        pipeline.answers()


def test_an_invalid_response_ends_it_and_is_quoted() -> None:
    """Ours: its author has to find the place."""
    talk, pipeline = started()
    pipeline.send()
    talk.arrives({"jsonrpc": "2.0", "id": talk.sent[0]["id"], "result": "done"})

    with pytest.raises(CallGarbledError):
        pipeline.answers()


def test_a_line_that_may_have_been_the_response_is_one_if_no_other_arrives() -> None:
    """Ours: a server may log such lines. Two of them are awaited no longer."""
    clock = Clock()
    talk, pipeline = started(new_deadline=lambda: Deadline(30, clock=clock))
    pipeline.send()
    talk.arrives(b'{"text": "for hunter22"')
    talk.arrives(result(talk.sent[0], DONE))
    assert [answer.result for answer in pipeline.answers()] == [DONE]

    pipeline.send()
    talk.arrives(b'{"text": "for hunter22"')
    talk.arrives(b'{"text": again')
    # Checked before each wait.
    talk.channels[-1].wait = lambda outcomes, *_: outcomes.get_nowait() if outcomes.qsize() else passed()  # type: ignore[method-assign]

    def passed() -> None:
        clock.now += GARBLED_SECONDS

    with pytest.raises(RemoteProtocolError, match="not valid JSON") as caught:
        pipeline.answers()
    assert "for ****" in str(caught.value)


def test_a_result_that_requires_input_is_completed_beside_the_others() -> None:
    """Spec 2026-07-28, multi round-trip requests. Ours: its time includes that of its completion."""
    free = threading.Event()
    question = {"method": "elicitation/create", "params": {"message": "Which city?"}}
    asked: list[Message] = []

    def script(message: Message) -> Any:
        asked.append(message)
        if "inputResponses" in message["params"]:
            return DONE
        if len(asked) > 1:
            return {"content": []}
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    def elicit(_: Message) -> Message:
        assert free.wait(ENOUGH_SECONDS)
        return {"action": "decline"}

    _, pipeline = started(scripted(ERAS[0], script, CAPABILITIES), host=Host(elicit=elicit))
    pipeline.send()
    pipeline.send()

    assert [answer.result for answer in pipeline.answers()] == [{"content": []}]
    assert pipeline.in_flight == 1
    free.set()
    assert [answer.result for answer in pipeline.answers()] == [DONE]
    assert pipeline.in_flight == 0


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_completion_may_fail_as_a_request_does(is_refused: bool) -> None:
    """Ours: an error response is an answer, any other error ends it."""

    def script(message: Message) -> Any:
        if message["method"] == "tasks/get":
            return [error(message, -32000, "no")] if is_refused else {"resultType": "complete"}
        if message["method"] == "tasks/cancel":
            return {"resultType": "complete"}
        times = {"createdAt": "2026-11-20T08:00:00Z", "lastUpdatedAt": "2026-11-20T08:00:00Z", "ttlMs": None}
        return {"resultType": "task", "taskId": "t-1", "status": "working", "pollIntervalMs": 1, **times}

    _, pipeline = started(scripted(ERAS[0], script, CAPABILITIES))
    pipeline.send()

    if is_refused:
        (answer,) = pipeline.answers()
        assert isinstance(answer.error, PeerError)
    else:
        with pytest.raises(RemoteProtocolError):
            pipeline.answers()


def test_a_completion_ends_by_its_own_deadline() -> None:
    """Ours: the wait for the other responses does not end it."""
    clock = Clock()
    asked, free = threading.Event(), threading.Event()

    def elicit(_: Message) -> Message:
        asked.set()
        assert free.wait(ENOUGH_SECONDS)
        return {"action": "decline"}

    def script(message: Message) -> Any:
        if "inputResponses" in message["params"]:
            return DONE
        return {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": {}}}}

    talk, pipeline = started(
        scripted(ERAS[0], script, CAPABILITIES),
        lambda: Deadline(30, clock=clock),
        host=Host(elicit=elicit),
    )
    channel = talk.channels[-1]
    wait = channel.wait
    waits: list[None] = []

    def wait_late(outcomes: Any, about: Any, deadline: Deadline) -> Any:
        """The second wait of the pipeline ends with the deadline, as if nobody was asked at that moment."""
        if outcomes is pipeline._outcomes:
            waits.append(None)
            if len(waits) == 2:
                assert asked.wait(ENOUGH_SECONDS)
                deadline.release()
                clock.now += 31
                return None
            if len(waits) == 3:
                clock.now -= 31
                deadline.hold()
                free.set()
        return wait(outcomes, about, deadline)

    channel.wait = wait_late  # type: ignore[method-assign]
    pipeline.send()

    assert [answer.result for answer in pipeline.answers()] == [DONE]


def test_a_question_that_nobody_answers_ends_it() -> None:
    """Ours: it is not known which call has asked, so none is waited for any longer."""

    def elicit(_: Message) -> Message:
        raise UnansweredError("server", "was not answered", hint="answer it")

    talk, pipeline = started(host=Host(elicit=elicit))
    pipeline.send()
    talk.arrives({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "?"}})

    with pytest.raises(UnansweredError):
        pipeline.answers()


def test_a_request_of_any_method_is_named_by_it() -> None:
    """Ours: only a call can leave open whether it has run."""
    clock = Clock()
    talk = Talk(handshake, None, OneStream)
    talk.engine.open(Deadline(ENOUGH_SECONDS))
    pipeline = talk.engine.pipeline("tools/list", {}, 1, lambda: Deadline(30, clock=clock))
    assert pipeline is not None
    pipeline.send()
    clock.now += 31

    with pytest.raises(TimeoutError, match="did not answer tools/list within") as caught:
        pipeline.answers()
    assert not isinstance(caught.value, CallLateError)
