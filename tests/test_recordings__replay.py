"""Recorded conversations, replayed as a server."""

from __future__ import annotations

import json
from typing import Any

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from gaia_mcp.recordings import CLIENT, SERVER, Player, Transcript, TranscriptLine
from tests.protocol_support import check_each, check_rows

META = "io.modelcontextprotocol/"


def rpc(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def rpc_result(request_id: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def progress(token: Any, number: int) -> dict[str, Any]:
    return note("notifications/progress", progressToken=token, progress=number)


class Recorded:
    """A conversation, recorded message by message."""

    def __init__(self) -> None:
        self.transcript = Transcript("s", "", [])

    def client(self, *messages: Any) -> Recorded:
        self.transcript.lines.extend(TranscriptLine(CLIENT, message, None, 0) for message in messages)
        return self

    def server(self, *messages: Any) -> Recorded:
        self.transcript.lines.extend(
            TranscriptLine(SERVER, None, message, 0)
            if isinstance(message, str)
            else TranscriptLine(SERVER, message, None, 0)
            for message in messages
        )
        return self


def sent_by(player: Player, *messages: Any) -> list[Any]:
    """The lines that the player sends in response to each of these."""
    lines = [line for message in messages for line in player.receive(json.dumps(message).encode())]
    assert all(line.endswith(b"\n") for line in lines)
    return [json.loads(line) if line.startswith((b"{", b"[")) else line.decode().rstrip() for line in lines]


def player_of(*recorded: Recorded) -> Player:
    return Player([one.transcript for one in recorded])


def test_a_request_gets_its_recorded_response_with_its_new_id() -> None:
    """Ours: with any `_meta`, in any order of keys; 1 and 1.0 are one number."""
    recorded = Recorded().client(rpc(7, "tools/call", name="add", arguments={"a": 1, "b": 2}, _meta={"x": 1}))
    player = player_of(recorded.server(rpc_result(7, sum=3)))

    question = rpc("q", "tools/call", arguments={"b": 2.0, "a": 1}, name="add", _meta={"progressToken": 1})

    assert sent_by(player, question) == [rpc_result("q", sum=3)]


def test_a_recorded_error_is_replayed() -> None:
    """Ours: an error is a part of the conversation that a client has to handle."""
    failure = {"code": -32000, "message": "no", "data": [1]}
    recorded = Recorded().client(rpc(1, "x")).server({"jsonrpc": "2.0", "id": 1, "error": failure})

    assert sent_by(player_of(recorded), rpc(2, "x")) == [{"jsonrpc": "2.0", "id": 2, "error": failure}]


def test_several_recorded_responses_are_replayed_in_order_and_the_last_repeated() -> None:
    """Ours: a poll gets its recorded progress, and one poll more than recorded gets the final state."""
    recorded = Recorded()
    for number in range(3):
        recorded.client(rpc(number, "next")).server(rpc_result(number, n=number))

    found = sent_by(player_of(recorded), *(rpc(9, "next") for _ in range(5)))

    assert [one["result"]["n"] for one in found] == [0, 1, 2, 2, 2]


def test_a_later_conversation_replaces_an_earlier_one() -> None:
    """Ours: a request that is recorded again replaces the earlier recording; other requests are kept."""
    first = Recorded().client(rpc(1, "a")).server(rpc_result(1, n=1)).client(rpc(2, "b")).server(rpc_result(2, n=2))
    second = Recorded().client(rpc(1, "a")).server(rpc_result(1, n=3))

    found = sent_by(player_of(first, second), rpc(1, "a"), rpc(2, "b"))

    assert [one["result"]["n"] for one in found] == [3, 2]


def test_responses_in_another_order_belong_to_their_requests() -> None:
    """Spec, JSON-RPC: a response has the id of its request."""
    recorded = Recorded().client(rpc(1, "a"), rpc(2, "b")).server(rpc_result(2, n=2), rpc_result(1, n=1))

    assert sent_by(player_of(recorded), rpc(5, "a"), rpc(6, "b")) == [rpc_result(5, n=1), rpc_result(6, n=2)]


def test_progress_is_replayed_with_the_new_token() -> None:
    """Spec, progress: only for a request with a token, and with that token."""
    recorded = Recorded().client(rpc(1, "a", _meta={"progressToken": "t1"}), rpc(2, "b", _meta={"progressToken": "t2"}))
    recorded.server(progress("t1", 1), progress("t2", 5), progress("t1", 2), progress("old", 9))
    player = player_of(recorded.server(rpc_result(2), rpc_result(1)))

    assert sent_by(player, rpc(8, "a", _meta={"progressToken": 80})) == [
        progress(80, 1),
        progress(80, 2),
        rpc_result(8),
    ]
    assert sent_by(player, rpc(9, "b")) == [rpc_result(9)]


def test_a_message_without_a_request_is_replayed_with_the_one_that_was_open() -> None:
    """Ours: log messages, list changes, and lines that are not JSON; before the response or after it."""
    log, change = (
        note("notifications/message", level="info", data="x"),
        note("notifications/tools/list_changed"),
    )
    recorded = Recorded().server("Listening").client(rpc(1, "a")).server(log, "oops", rpc_result(1), change)
    player = player_of(recorded)

    assert player.prologue() == [b"Listening\n"]
    assert sent_by(player, rpc(2, "a")) == [log, "oops", rpc_result(2), change]


def test_a_text_that_cannot_be_encoded_is_escaped() -> None:
    """Ours: a file that was edited by hand may hold one."""
    assert player_of(Recorded().server("a \ud800")).prologue() == [b"a \\ud800\n"]


def test_a_request_of_the_server_is_sent_again_and_its_response_awaited() -> None:
    """Spec 2025-11-25, elicitation: the ids are the server's own; the response may differ."""
    recorded = Recorded().client(rpc(1, "a")).server(rpc(1, "elicitation/create", message="City?"))
    recorded.client(rpc_result(1, action="accept")).server(rpc_result(1, done=True))
    player = player_of(recorded)

    first = sent_by(player, rpc(5, "a"))
    second = sent_by(player, rpc(6, "a"))

    assert first == [rpc("replay-1", "elicitation/create", message="City?")]
    assert second == [rpc("replay-2", "elicitation/create", message="City?")]
    refusal = {"jsonrpc": "2.0", "id": "replay-2", "error": {"code": -1, "message": "no"}}
    assert sent_by(player, refusal) == [rpc_result(6, done=True)]
    assert sent_by(player, rpc_result("replay-1", action="decline")) == [rpc_result(5, done=True)]
    assert sent_by(player, rpc_result("replay-1"), rpc_result("never")) == []


def test_several_responses_are_awaited_in_any_order() -> None:
    """Ours: clients answer concurrent requests of the server as they finish."""
    recorded = Recorded().client(rpc(1, "a")).server(rpc("x", "roots/list"), rpc("y", "roots/list"))
    recorded.client(rpc_result("x"), rpc_result("y")).server(rpc_result(1))
    player = player_of(recorded)

    sent_by(player, rpc(5, "a"))

    assert sent_by(player, rpc_result("replay-2")) == []
    assert sent_by(player, rpc_result("replay-1")) == [rpc_result(5)]


def test_a_response_that_the_server_did_not_await_delays_nothing() -> None:
    """Ours: the server had continued before it."""
    recorded = Recorded().client(note("notifications/initialized")).client(rpc(1, "tools/list"))
    recorded.server(rpc(0, "roots/list"), rpc_result(1)).client(rpc_result(0))
    player = player_of(recorded)

    assert sent_by(player, note("notifications/initialized")) == []
    assert sent_by(player, rpc(3, "tools/list")) == [
        rpc(
            "replay-1",
            "roots/list",
        ),
        rpc_result(3),
    ]
    assert sent_by(player, rpc_result("replay-1")) == []


def test_messages_after_a_notification_are_replayed() -> None:
    """Spec 2025-11-25, lifecycle: after `initialized` a server may send requests."""
    recorded = Recorded().client(note("notifications/initialized")).server(rpc(0, "roots/list"))

    assert sent_by(player_of(recorded), note("notifications/initialized"), note("notifications/other")) == [
        rpc("replay-1", "roots/list")
    ]


def test_the_server_may_cancel_its_request() -> None:
    """Spec, cancellation: with the new id."""
    recorded = Recorded().client(rpc(1, "a")).server(rpc("x", "roots/list"))
    recorded.server(note("notifications/cancelled", requestId="x"), rpc_result(1))

    assert sent_by(player_of(recorded), rpc(2, "a"))[1:] == [
        note("notifications/cancelled", requestId="replay-1"),
        rpc_result(2),
    ]


def test_a_cancellation_of_an_unknown_request_is_replayed_unchanged() -> None:
    """Ours: a mistake of the server is part of the recording."""

    def check(odd: Any) -> None:
        taken_back = note("notifications/cancelled", requestId=odd)
        recorded = Recorded().client(rpc(1, "a")).server(taken_back, rpc_result(1))

        assert sent_by(player_of(recorded), rpc(2, "a")) == [taken_back, rpc_result(2)]

    check_each(check, [None, [1], {}, 77])


def test_initialize_is_recognised_by_its_version_or_else_by_its_method() -> None:
    """Ours: another client has another name and other capabilities, and may propose another version."""
    recorded = Recorded()
    for number, version in enumerate(("2025-11-25", "2025-06-18")):
        recorded.client(rpc(number, "initialize", protocolVersion=version, clientInfo={"name": "a"}))
        recorded.server(rpc_result(number, protocolVersion=version))
    player = player_of(recorded)

    for proposed, expected in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25")):
        (found,) = sent_by(player, rpc(1, "initialize", protocolVersion=proposed, capabilities={"roots": {}}))
        assert found["result"]["protocolVersion"] == expected


def test_a_stateless_conversation_is_replayed_for_any_client() -> None:
    """Spec 2026-07-28: the client's name and log level are in the `_meta` of every request."""
    mine, yours = ({f"{META}protocolVersion": "2026-07-28", f"{META}clientInfo": {"name": name}} for name in "ab")
    recorded = Recorded().client(rpc("discover-1", "server/discover", _meta=mine))
    recorded.server(rpc_result("discover-1", supportedVersions=["2026-07-28"]))

    found = sent_by(player_of(recorded), rpc(1, "server/discover", _meta=yours))

    assert found == [rpc_result(1, supportedVersions=["2026-07-28"])]


def test_other_input_responses_are_accepted_and_the_recorded_ones_preferred() -> None:
    """Spec 2026-07-28, input required: the request is sent again with the responses."""
    recorded = Recorded().client(rpc(1, "a", x=1)).server(rpc_result(1, resultType="input_required"))
    for number, city in enumerate(("Oslo", "Rome"), 2):
        recorded.client(rpc(number, "a", x=1, inputResponses={"q": city})).server(rpc_result(number, city=city))
    player = player_of(recorded)

    for city, expected in (("Rome", "Rome"), ("Oslo", "Oslo"), ("Bonn", "Oslo")):
        found = sent_by(player, rpc(5, "a", x=1), rpc(6, "a", x=1, inputResponses={"q": city}))
        assert found == [rpc_result(5, resultType="input_required"), rpc_result(6, city=expected)]


def test_a_subscription_has_its_new_id() -> None:
    """Spec 2026-07-28, subscriptions: every message has the id of its subscription, which may stay open."""

    def of(subscription: Any) -> dict[str, Any]:
        return {"_meta": {f"{META}subscriptionId": subscription}}

    recorded = Recorded().client(rpc("sub", "subscriptions/listen", notifications={}), rpc(2, "a"))
    recorded.server(note("notifications/subscriptions/acknowledged", **of("sub")), rpc_result(2))
    recorded.server(note("notifications/tools/list_changed", **of("sub")))
    player = player_of(recorded)

    assert sent_by(player, rpc(9, "subscriptions/listen", notifications={})) == [
        note("notifications/subscriptions/acknowledged", **of(9)),
        note("notifications/tools/list_changed", **of(9)),
    ]
    assert sent_by(player, note("notifications/cancelled", requestId=9)) == []
    ended = player_of(recorded.server(rpc_result("sub", **of("sub"))))
    assert sent_by(ended, rpc(9, "subscriptions/listen", notifications={}))[-1] == rpc_result(9, **of(9))


def test_a_request_that_was_cancelled_gets_no_response() -> None:
    """Spec, cancellation: a response that was sent all the same is not replayed."""
    recorded = Recorded().client(rpc(1, "a", _meta={"progressToken": 1})).server(progress(1, 1))
    recorded.client(note("notifications/cancelled", requestId=1)).server(rpc_result(1))
    player = player_of(recorded)

    assert sent_by(player, rpc(2, "a", _meta={"progressToken": 3})) == [progress(3, 1)]


def test_the_replay_of_a_request_ends_when_it_is_cancelled() -> None:
    """Spec, cancellation."""
    recorded = Recorded().client(rpc(1, "a")).server(rpc(5, "roots/list")).client(rpc_result(5)).server(rpc_result(1))
    player = player_of(recorded)
    sent_by(player, rpc(2, "a"))

    assert sent_by(player, note("notifications/cancelled", requestId=2), rpc_result("replay-1")) == []


def test_a_recording_that_ends_before_the_response_is_an_error() -> None:
    """Ours: the client must not wait for a response that never comes. One error is sent."""
    player = player_of(Recorded().client(rpc(1, "a")).server(rpc(5, "roots/list")))

    _, found = sent_by(player, rpc(2, "a"))

    assert (found["id"], found["error"]["code"]) == (2, INTERNAL_ERROR)
    assert "ends before the response" in found["error"]["message"]
    assert sent_by(player, rpc_result("replay-1")) == []


def test_an_unknown_request_is_rejected_with_the_recorded_ones() -> None:
    """Ours: the methods, or the params of those of its method, a few and shortened."""
    recorded = Recorded()
    for number in range(7):
        recorded.client(rpc(number, "tools/call", name=f"t{number}", x="y" * 500, _meta={})).server(rpc_result(number))
    player = player_of(recorded.client(note("n")))

    other, same = sent_by(player, rpc(1, "prompts/list"), rpc(2, "tools/call", name="t9"))

    assert other["error"] == {
        "code": METHOD_NOT_FOUND, "message": "the recording has no prompts/list; it has tools/call"
    }  # fmt: skip
    assert same["error"]["code"] == INVALID_PARAMS
    assert '; it has {"name": "t0", "x": "yyy' in same["error"]["message"]
    assert same["error"]["message"].endswith("…; and 2 more")
    assert len(same["error"]["message"]) < 1200
    assert [params["name"] for params in same["error"]["data"]["recorded"]] == ["t0", "t1", "t2", "t3", "t4"]
    (empty,) = sent_by(player_of(Recorded()), rpc(1, "a"))
    assert empty["error"]["message"] == "the recording has no a; it has nothing"
    assert Player([]).prologue() == []


def test_an_error_that_lists_all_recordings_mentions_no_more() -> None:
    """Ours: "and 0 more" would be noise."""
    recorded = Recorded()
    for number in range(5):
        recorded.client(rpc(number, "a", n=number)).server(rpc_result(number))

    (found,) = sent_by(player_of(recorded), rpc(1, "a", n=9))

    assert found["error"]["message"].endswith('; {"n": 3}; {"n": 4}')


def test_a_ping_and_a_log_level_need_no_recording() -> None:
    """Spec 2025-11-25: every server answers these alike. A recorded response is preferred."""
    player = player_of(Recorded())
    assert sent_by(player, rpc(1, "ping"), rpc(2, "logging/setLevel", level="debug")) == [
        rpc_result(1),
        rpc_result(2),
    ]

    recorded = (
        Recorded().client(rpc(1, "ping")).server({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}})
    )
    assert "error" in sent_by(player_of(recorded), rpc(1, "ping"))[0]


def test_each_request_of_a_batch_is_answered() -> None:
    """Spec 2025-03-26, batches: each request is recognised by itself."""
    recorded = Recorded().client([rpc(1, "a"), rpc(2, "b")]).server([rpc_result(2, n=2), rpc_result(1, n=1)])
    player = player_of(recorded)

    assert sent_by(player, [rpc(5, "b"), rpc(6, "a")]) == [rpc_result(5, n=2), rpc_result(6, n=1)]


def test_an_invalid_message_is_answered_with_an_error() -> None:
    """Spec, JSON-RPC: with an error, if it has an id or cannot be parsed."""
    cases = [(b"{", PARSE_ERROR), (b'{"id": 1}', INVALID_REQUEST), (b'{"jsonrpc": "2.0", "method": 7}', 0), (b"7", 0)]

    def check(record: bytes, code: int) -> None:
        found = player_of(Recorded()).receive(record)

        assert [json.loads(line)["error"]["code"] for line in found] == ([code] if code else [])

    check_rows(check, cases)


def test_a_recorded_server_line_that_is_not_a_message_is_replayed() -> None:
    """Ours: the server's is part of the recording; the client's has no response."""
    odd, lost = {"id": 1, "result": {}}, {"jsonrpc": "2.0", "error": {"code": 1, "message": "who?"}}
    recorded = Recorded().client(7, {"id": 1}, rpc_result("unknown"), rpc(1, "a"), note("notifications/cancelled"))
    recorded.transcript.lines.append(TranscriptLine(CLIENT, None, "rubbish", 0))
    player = player_of(recorded.server(odd, rpc_result(77), lost))

    assert sent_by(player, rpc(2, "a")) == [odd, lost]
