"""Recorded conversations as JSON lines."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from gaia_mcp.recordings import (
    CLIENT,
    SERVER,
    AwaitResponse,
    Player,
    RecordedConversation,
    Send,
    Transcript,
    TranscriptError,
    TranscriptLine,
    header_line,
    message_line,
    read_transcripts,
    request_keys,
)
from tests.protocol_support import check_each, check_rows

HEADER = header_line("time", "2026-11-21T08:00:00+00:00")


def unmasked(value: Any) -> Any:
    return value


def test_a_written_transcript_is_read_back() -> None:
    """Ours: messages, batches, and lines that are not JSON."""
    written = HEADER + b"".join([
        message_line(CLIENT, b'{"id": 1, "x": "gr\xc3\xbc\xc3\x9f"}', 0, unmasked),
        message_line(SERVER, b'[{"id":1}]', 5, unmasked),
        message_line(SERVER, b"Listening \xff", 7, unmasked),
        message_line(SERVER, b'{"a": NaN}', 8, unmasked),
    ])  # fmt: skip

    found, is_cut = read_transcripts(written)

    assert not is_cut
    assert found == [
        Transcript(
            "time",
            "2026-11-21T08:00:00+00:00",
            [
                TranscriptLine(CLIENT, {"id": 1, "x": "grüß"}, None, 0),
                TranscriptLine(SERVER, [{"id": 1}], None, 5),
                TranscriptLine(SERVER, None, "Listening \ufffd", 7),
                TranscriptLine(SERVER, None, '{"a": NaN}', 8),
            ],
        )
    ]


def test_each_line_is_one_json_object_in_ascii() -> None:
    """Ours: other programs read it, too."""
    line = message_line(SERVER, '{"a": "\u2028ü"}'.encode(), 3, unmasked)

    assert line.count(b"\n") == 1
    assert line.isascii()
    assert json.loads(line) == {"from": "server", "message": {"a": "\u2028ü"}, "ms": 3}
    assert list(json.loads(HEADER)) == ["format", "version", "server", "date"]


def test_secrets_are_masked_in_values_and_texts() -> None:
    """Ours: also out of a line that is not JSON."""

    def mask(value: Any) -> Any:
        return "masked " + type(value).__name__

    assert json.loads(message_line(CLIENT, b'{"a": 1}', 0, mask))["message"] == "masked dict"
    assert json.loads(message_line(CLIENT, b"{", 0, mask))["text"] == "masked str"


def test_a_file_may_hold_several_conversations() -> None:
    """Ours: one for each start of the server. Blank lines are ignored."""
    said = message_line(CLIENT, b"{}", 0, unmasked)

    found, _ = read_transcripts(HEADER + said + b"\n" + HEADER + HEADER + said + said)

    assert [len(one.lines) for one in found] == [1, 0, 2]


def test_a_truncated_last_line_is_left_out() -> None:
    """Ours: its writer was killed."""
    found, is_cut = read_transcripts(HEADER + message_line(CLIENT, b"{}", 0, unmasked)[:-3])

    assert (found[0].lines, is_cut) == ([], True)


def test_spaces_at_the_end_are_not_a_truncated_line() -> None:
    """Ours: an editor may leave some."""
    assert read_transcripts(HEADER + b"  ")[1] is False


def test_a_message_with_a_text_beside_it_is_a_message() -> None:
    """Ours: a text is recorded only without a message."""
    (found,), _ = read_transcripts(HEADER + b'{"from": "client", "message": {}, "text": "x"}\n')

    assert found.lines == [TranscriptLine(CLIENT, {}, None, 0)]


def test_an_invalid_file_is_an_error_with_the_number_of_its_line() -> None:
    """Ours: recordings are edited by hand, and the user needs the line to correct."""
    cases = [
        (b"", 1),
        (HEADER[:-1], 1),
        (b"{\n", 1),
        (b"[]\n", 1),
        (b'{"from": "client", "message": {}}\n', 1),
        (b'{"format": "other", "version": 1}\n', 1),
        (b'{"format": "gaia-mcp-conversation", "version": "1"}\n', 1),
        (b'{"format": "gaia-mcp-conversation", "version": 2}\n', 1),
        (HEADER + b"x\n", 2),
        (HEADER + b'\n{"from": "nobody", "message": {}}\n', 3),
        (HEADER + b'{"from": "client"}\n', 2),
        (HEADER + b'{"from": "client", "text": 7}\n', 2),
    ]

    def check(data: bytes, line: int) -> None:
        with pytest.raises(TranscriptError) as caught:
            read_transcripts(data)

        assert caught.value.line == line

    check_rows(check, cases)


def test_an_invalid_time_is_read_as_zero() -> None:
    """Ours: nothing depends on it."""
    (found,), _ = read_transcripts(HEADER + b'{"from": "client", "message": 1, "ms": "x"}\n')

    assert found.lines == [TranscriptLine(CLIENT, 1, None, 0)]


def test_values_nested_as_deeply_as_can_be_read_are_recorded_and_replayed() -> None:
    """Ours: a few values can be read but not written again; they must not end the conversation."""

    def passes() -> None:
        for depth in range(900, 1100):
            record = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%s}}' % (b"[" * depth + b"]" * depth)
            try:
                (found,), _ = read_transcripts(HEADER + message_line(CLIENT, record, 1, unmasked))
            except TranscriptError:
                continue
            Player([found]).receive(record)
            passed.append(depth)

    # In a thread, as in the program: how deep one may go depends on where one stands.
    passed: list[int] = []
    thread = threading.Thread(target=passes)
    thread.start()
    thread.join()

    assert passed[-1] == 1099


LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def client(message: Any) -> TranscriptLine:
    return TranscriptLine(CLIENT, message, None, 0)


def server(message: Any) -> TranscriptLine:
    return TranscriptLine(SERVER, message, None, 0)


def rpc(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def rpc_result(request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {}}


def steps_of(*lines: TranscriptLine) -> dict[str, list[Any]]:
    """The steps of the server for each request and notification of the client, by method."""
    exchanges = RecordedConversation(lines).exchanges
    return {one.method: [step.message if isinstance(step, Send) else step for step in one.steps] for one in exchanges}


def test_a_response_belongs_to_the_request_with_its_id() -> None:
    """Spec, JSON-RPC: by its id, in any order; a response to a request that is not open is left out."""
    asking = client([rpc(1, "a"), rpc(2, "b")])

    found = steps_of(asking, server([rpc_result(2), rpc_result(1)]), server(rpc_result(2)))

    assert found == {"a": [rpc_result(1)], "b": [rpc_result(2)]}


def test_a_message_without_a_request_belongs_to_the_latest_open_request() -> None:
    """Ours: the tool that was called last is the likeliest to have sent it."""
    asking = [client(rpc(1, "a")), client(rpc(2, "b"))]

    assert steps_of(*asking, server(LOG), server(rpc_result(2)), server(rpc_result(1))) == {
        "a": [rpc_result(1)], "b": [LOG, rpc_result(2)]
    }  # fmt: skip
    assert steps_of(*asking, server(rpc_result(2)), server(LOG), server(rpc_result(1))) == {
        "a": [LOG, rpc_result(1)], "b": [rpc_result(2)]
    }  # fmt: skip


def test_a_message_while_no_request_is_open_belongs_to_the_latest_request() -> None:
    """Ours: also to a notification; before the first of them it is the prologue."""
    change = note("notifications/tools/list_changed")
    lines = [server("odd"), TranscriptLine(SERVER, None, "Listening", 0), client(rpc(1, "a")), server(rpc_result(1))]

    conversation = RecordedConversation(
        [*lines, server(change), client(note("n")), TranscriptLine(SERVER, None, "oops", 0)]
    )

    assert conversation.prologue.steps == [Send("odd"), Send(None, "Listening")]
    assert [one.steps for one in conversation.exchanges] == [[Send(rpc_result(1)), Send(change)], [Send(None, "oops")]]


def test_progress_belongs_to_the_request_with_its_token() -> None:
    """Spec, progress: without a token, or with that of a request that is not open, it is left out."""
    asking = [client(rpc(1, "a", _meta={"progressToken": "t"})), client(rpc(2, "b"))]
    open_one, other = (note("notifications/progress", progressToken=token, progress=1) for token in ("t", "old"))

    found = steps_of(*asking, *map(server, (open_one, other, note("notifications/progress", progress=1))))

    assert found == {"a": [open_one], "b": []}


def test_a_message_of_a_subscription_belongs_to_it() -> None:
    """Spec 2026-07-28, subscriptions: every message has the id of its subscription."""
    meta = {"io.modelcontextprotocol/subscriptionId": "s"}
    change = note("notifications/tools/list_changed", _meta=meta)

    found = steps_of(client(rpc("s", "subscriptions/listen")), client(rpc(2, "b")), server(change))

    assert found == {"subscriptions/listen": [change], "b": []}


def test_a_response_to_the_server_continues_the_exchange_that_asked() -> None:
    """Ours: also when another request has begun meanwhile."""
    question = rpc("q", "roots/list")

    found = steps_of(
        client(rpc(1, "a")), server(question), client(rpc(2, "b")), client(rpc_result("q")), client(rpc_result("q"))
    )

    assert found == {"a": [question, AwaitResponse("q")], "b": []}


def test_a_cancelled_request_is_not_open() -> None:
    """Spec, cancellation: a response that was sent all the same is left out."""
    conversation = RecordedConversation([
        client(rpc(1, "a")), client(note("notifications/cancelled", requestId=1)), server(rpc_result(1))
    ])  # fmt: skip

    (found,) = conversation.exchanges
    assert (found.is_cancelled, found.is_answered, found.steps) == (True, False, [])


def test_a_cancellation_of_a_request_that_is_not_open_changes_nothing() -> None:
    """Spec, cancellation: it may cross the response."""

    def check(given_up: Any) -> None:
        cancelled = note("notifications/cancelled", requestId=given_up)

        (found,) = RecordedConversation([client(rpc(1, "a")), server(rpc_result(1)), client(cancelled)]).exchanges

        assert (found.is_cancelled, found.is_answered) == (False, True)

    check_each(check, [1, 99, None, [1]])


def test_an_error_without_an_id_answers_the_latest_open_request() -> None:
    """Spec, JSON-RPC: its server could not read whose request it was."""
    lost = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}

    (found,) = RecordedConversation(
        [client("odd"), TranscriptLine(CLIENT, None, "{", 0), client(rpc(1, "a")), server(lost)]
    ).exchanges

    assert (found.is_answered, found.steps) == (True, [Send(lost)])


def test_a_message_is_recognised_by_its_method_and_params() -> None:
    """Ours: not by `_meta`, the order of keys or how a number is written."""
    (known,) = request_keys("a", {"x": {"b": 1, "c": 0.5}, "_meta": {}})

    assert request_keys("a", {"x": {"c": 0.5, "b": 1.0}}) == [known]
    assert request_keys("a", {"x": {"b": 2, "c": 0.5}}) != [known]
    assert request_keys("initialize", {"protocolVersion": "1", "clientInfo": {}}) == ['initialize "1"', "initialize"]


def test_input_responses_are_matched_exactly_or_by_their_presence() -> None:
    """Spec 2026-07-28, input required: other responses will do too."""
    (first,), (oslo, one), (rome, other) = (
        request_keys("a", {"x": 1, **more}) for more in ({}, {"inputResponses": "Oslo"}, {"inputResponses": "Rome"})
    )

    assert one == other
    assert len({first, oslo, rome, one}) == 4


def test_params_nested_too_deeply_have_a_key() -> None:
    """Ours: they must not end the conversation; all such values have the same key."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert request_keys("a", {"x": deep}) == request_keys("a", {"x": [deep]})
