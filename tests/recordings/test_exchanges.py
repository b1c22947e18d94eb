"""A recorded conversation divided into exchanges: which message belongs to which request."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.recordings.exchanges import AwaitResponse, RecordedConversation, Send, request_keys
from gaia_mcp.recordings.transcript import CLIENT, SERVER, TranscriptLine

LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def client(message: Any) -> TranscriptLine:
    return TranscriptLine(CLIENT, message, None, 0)


def server(message: Any) -> TranscriptLine:
    return TranscriptLine(SERVER, message, None, 0)


def asked(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answered(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {}}


def steps_of(*lines: TranscriptLine) -> dict[str, list[Any]]:
    """The steps of the server for each request and notification of the client, by method."""
    exchanges = RecordedConversation(lines).exchanges
    return {one.method: [step.message if isinstance(step, Send) else step for step in one.steps] for one in exchanges}


def test_an_answer_belongs_to_the_request_that_it_names() -> None:
    """Spec, JSON-RPC: by its id, in any order; a response to a request that is not open is left out."""
    asking = client([asked(1, "a"), asked(2, "b")])

    found = steps_of(asking, server([answered(2), answered(1)]), server(answered(2)))

    assert found == {"a": [answered(1)], "b": [answered(2)]}


def test_a_message_without_a_request_belongs_to_the_latest_that_is_open() -> None:
    """Ours: the tool that was called last is the likeliest to have sent it."""
    asking = [client(asked(1, "a")), client(asked(2, "b"))]

    assert steps_of(*asking, server(LOG), server(answered(2)), server(answered(1))) == {
        "a": [answered(1)], "b": [LOG, answered(2)]
    }  # fmt: skip
    assert steps_of(*asking, server(answered(2)), server(LOG), server(answered(1))) == {
        "a": [LOG, answered(1)], "b": [answered(2)]
    }  # fmt: skip


def test_a_message_while_no_request_is_open_belongs_to_the_latest() -> None:
    """Ours: also to a notification; before the first of them it is the prologue."""
    change = told("notifications/tools/list_changed")
    lines = [server("odd"), TranscriptLine(SERVER, None, "Listening", 0), client(asked(1, "a")), server(answered(1))]

    conversation = RecordedConversation(
        [*lines, server(change), client(told("n")), TranscriptLine(SERVER, None, "oops", 0)]
    )

    assert conversation.prologue.steps == [Send("odd"), Send(None, "Listening")]
    assert [one.steps for one in conversation.exchanges] == [[Send(answered(1)), Send(change)], [Send(None, "oops")]]


def test_progress_belongs_to_the_request_with_its_token() -> None:
    """Spec, progress: without a token, or with that of a request that is not open, it is left out."""
    asking = [client(asked(1, "a", _meta={"progressToken": "t"})), client(asked(2, "b"))]
    mine, nobodys = (told("notifications/progress", progressToken=token, progress=1) for token in ("t", "old"))

    found = steps_of(*asking, *map(server, (mine, nobodys, told("notifications/progress", progress=1))))

    assert found == {"a": [mine], "b": []}


def test_a_message_of_a_subscription_belongs_to_it() -> None:
    """Spec 2026-07-28, subscriptions: every message has the id of its subscription."""
    meta = {"io.modelcontextprotocol/subscriptionId": "s"}
    change = told("notifications/tools/list_changed", _meta=meta)

    found = steps_of(client(asked("s", "subscriptions/listen")), client(asked(2, "b")), server(change))

    assert found == {"subscriptions/listen": [change], "b": []}


def test_a_response_to_the_server_continues_the_exchange_that_asked() -> None:
    """Ours: also when another request has begun meanwhile."""
    question = asked("q", "roots/list")

    found = steps_of(
        client(asked(1, "a")), server(question), client(asked(2, "b")), client(answered("q")), client(answered("q"))
    )

    assert found == {"a": [question, AwaitResponse("q")], "b": []}


def test_a_cancelled_request_is_not_open_any_more() -> None:
    """Spec, cancellation: a response that was sent all the same is left out."""
    conversation = RecordedConversation([
        client(asked(1, "a")), client(told("notifications/cancelled", requestId=1)), server(answered(1))
    ])  # fmt: skip

    (found,) = conversation.exchanges
    assert (found.is_cancelled, found.is_answered, found.steps) == (True, False, [])


@pytest.mark.parametrize("given_up", [1, 99, None, [1]])
def test_a_cancellation_of_a_request_that_is_not_open_changes_nothing(given_up: Any) -> None:
    """Spec, cancellation: it may cross the response."""
    cancelled = told("notifications/cancelled", requestId=given_up)

    (found,) = RecordedConversation([client(asked(1, "a")), server(answered(1)), client(cancelled)]).exchanges

    assert (found.is_cancelled, found.is_answered) == (False, True)


def test_an_error_without_an_id_answers_the_latest_request_that_is_open() -> None:
    """Spec, JSON-RPC: its server could not read whose request it was."""
    lost = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}

    (found,) = RecordedConversation(
        [client("odd"), TranscriptLine(CLIENT, None, "{", 0), client(asked(1, "a")), server(lost)]
    ).exchanges

    assert (found.is_answered, found.steps) == (True, [Send(lost)])


def test_a_message_is_recognised_by_its_method_and_params() -> None:
    """Ours: not by `_meta`, the order of keys or how a number is written."""
    (known,) = request_keys("a", {"x": {"b": 1, "c": 0.5}, "_meta": {}})

    assert request_keys("a", {"x": {"c": 0.5, "b": 1.0}}) == [known]
    assert request_keys("a", {"x": {"b": 2, "c": 0.5}}) != [known]
    assert request_keys("initialize", {"protocolVersion": "1", "clientInfo": {}}) == ['initialize "1"', "initialize"]


def test_a_request_with_input_responses_is_recognised_by_them_and_by_having_some() -> None:
    """Spec 2026-07-28, input required: other responses will do too."""
    (first,), (oslo, one), (rome, other) = (
        request_keys("a", {"x": 1, **more}) for more in ({}, {"inputResponses": "Oslo"}, {"inputResponses": "Rome"})
    )

    assert one == other
    assert len({first, oslo, rome, one}) == 4


def test_params_that_are_nested_too_deeply_have_a_key_too() -> None:
    """Ours: they must not end the conversation; all such values have the same key."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert request_keys("a", {"x": deep}) == request_keys("a", {"x": [deep]})
