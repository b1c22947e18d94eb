"""A connection that judges what arrives on it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError, MCPError
from gaia_mcp.requirements.conversation import Conversation
from gaia_mcp.requirements.listed import Judgement, SilentError
from tests.requirements.breaking import breaker
from tests.requirements.breaking_site import breaking_site
from tests.requirements.talking import error, result, saying
from tests.waiting import ENOUGH_SECONDS, wait_until

pytestmark = pytest.mark.story

HANDSHAKE, BATCHING, STATELESS = "2025-11-25", "2025-03-26", "2026-07-28"
PING: dict[str, Any] = {}


def breaks(answer: Any, revision: str = HANDSHAKE, method: str = "ping") -> dict[str, list[str]]:
    """What a server breaks that answers a request so, and then one as it should."""
    judgement = Judgement()
    with Conversation(saying(answer, result(PING)), revision, judgement, ENOUGH_SECONDS) as conversation:
        conversation.is_initialized = True
        conversation.request(method)
        conversation.request("ping")
    return {number: [one.detail for one in found] for number, found in judgement.seen.items() if found}


def of_wire(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without what a stateless result lacks."""
    return {number: told for number, told in found.items() if not number.startswith("MS-5")}


def test_a_message_that_is_not_json_rpc_is_found() -> None:
    """B-1, IO-2."""
    ping = result(PING)
    cases: dict[str, tuple[Any, dict[str, list[str]]]] = {
        "no version": ({"id": "ID", "result": {}}, {"B-1": ['a message lacks "jsonrpc": "2.0"']}),
        "a text": ([7, ping], {"B-1": ["a message is an object"]}),
        "nothing": ([{"jsonrpc": "2.0"}, ping], {"B-1": ["a message is neither a request nor a response"]}),
        "an array": (
            [[{"jsonrpc": "2.0", "method": "notifications/x"}], ping],
            {"B-1": ["it sent an array of messages"]},
        ),
        "noise": ("hello\n" + '{"jsonrpc":"2.0","id":"ID","result":{}}', {"IO-2": ["it wrote what is not JSON"]}),
        "twice": (
            '{"jsonrpc":"2.0","id":"ID","result":{},"result":{}}',
            {"B-1": ["the member 'result' is given twice"]},
        ),
        "a null id": (
            [{"jsonrpc": "2.0", "id": None, "method": "ping"}, ping],
            {"B-1": ["the id of a request is a string or an integer"]},
        ),
    }

    assert {name: breaks(answer) for name, (answer, _) in cases.items()} == {
        name: expected for name, (_, expected) in cases.items()
    }


def test_a_response_that_is_not_one_is_found() -> None:
    """B-2, B-14."""
    ping = result(PING)
    cases: dict[str, tuple[Any, dict[str, list[str]]]] = {
        "no id": ({"jsonrpc": "2.0", "result": {}}, {"B-2": ["a response has no id"]}),
        "as a text": ({**ping, "id": "1"}, {"B-2": ["the id of a response is not that of the request"]}),
        "another": ([{**ping, "id": 99}, ping], {"B-2": ["a response has an id that was never sent"]}),
        "twice": ([ping, ping], {"B-2": ["a request was answered twice"]}),
        "both": (
            {**ping, "error": {"code": 1, "message": ""}}, {"B-2": ["a response has both a result and an error"]},
        ),
        "a list": ({**ping, "result": []}, {"B-2": ["a result is an object"]}),
        "no code": (error("no"), {"B-2": ["the code of an error is an integer"]}),
        "no text": (error(-32601, 7), {"B-14": ["the message of an error is a text"]}),
        "no error": ({"jsonrpc": "2.0", "id": "ID", "error": "no"},
                     {"B-2": ["the code of an error is an integer"], "B-14": ["the message of an error is a text"]}),
    }  # fmt: skip

    assert {name: breaks(answer) for name, (answer, _) in cases.items()} == {
        name: expected for name, (_, expected) in cases.items()
    }


def test_an_array_is_allowed_in_its_revision() -> None:
    """LC-9."""
    assert breaks([[result(PING)]], BATCHING) == {}
    assert breaks([[], result(PING)], BATCHING) == {"LC-9": ["it sent an array of messages"]}


def test_a_server_uses_what_was_negotiated() -> None:
    """LC-3, B-7, MS-13, MS-14: before a handshake is complete nothing is said of notifications."""
    ping = result(PING)
    logged = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    asked = {"jsonrpc": "2.0", "id": "mine", "method": "ping"}

    assert breaks([logged, ping]) == {"LC-3": ["notifications/message was sent without logging"]}
    assert breaks([changed, ping]) == {"LC-3": ["notifications/tools/list_changed was sent without tools.listChanged"]}
    assert breaks([asked, ping]) == {}
    stateless = of_wire(breaks([changed, logged, ping], STATELESS))
    assert stateless == {
        "MS-13": ["notifications/tools/list_changed was sent to a client without a subscription"],
        "MS-14": ["a log message was sent for a request that asks for none"],
    }


def test_a_stateless_result_is_judged_by_its_kind() -> None:
    """MS-5, MS-8, MS-11."""
    info = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}}

    def found(**members: Any) -> dict[str, list[str]]:
        answer = breaks(result({**info, **members}), STATELESS, "tools/list")
        # The ping after it is none of this era.
        return {number: told for number, told in answer.items() if told != ["a result of ping has no resultType"]}

    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": []}
    for changed, number in (
        ({"resultType": 7}, "MS-5"), ({"resultType": "half"}, "MS-5"), ({"ttlMs": -1}, "MS-11"),
        ({"ttlMs": True}, "MS-11"), ({"cacheScope": "all"}, "MS-11"), ({"resultType": "input_required"}, "MS-8"),
    ):  # fmt: skip
        assert number in found(**{**whole, **changed}), changed
    assert "MS-11" not in found(**whole)


def test_a_server_that_ends_or_is_silent_is_not_asked_any_more() -> None:
    """B-2."""
    for server, seconds in ((saying("bye"), 0.2), (saying(), 0.2)):
        judgement = Judgement()
        with Conversation(server, HANDSHAKE, judgement, seconds) as conversation, pytest.raises(SilentError):
            conversation.request("ping")
        assert [one.detail for one in judgement.seen["B-2"]] == ["ping was not answered within 0.2 s"]


def test_what_a_server_makes_may_take_long() -> None:
    """B-2: a resource of the network, for example; a response that comes later is none too many."""
    late = {"jsonrpc": "2.0", "id": 1, "result": {}}
    program = "import sys; sys.stdin.readline(); sys.stdin.readline(); print('%s\\n%s', flush=True); sys.stdin.read()"
    lines = tuple(map(json.dumps, (late, {**late, "id": "2"})))
    entry = saying()
    entry = entry._replace(target=entry.target._replace(args=["-S", "-E", "-c", program % lines]))  # type: ignore[call-arg]
    judgement = Judgement()

    with Conversation(entry, HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
        conversation.try_request("resources/read", {"uri": "x://a"}, 0.1)
        assert conversation.request("ping").result == {}
    assert [number for number, found in judgement.seen.items() if found] == []
    entry = entry._replace(target=entry.target._replace(args=["-S", "-E", "-c", "input()"]))  # type: ignore[call-arg]
    with Conversation(entry, HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation, pytest.raises(SilentError):
        conversation.try_request("resources/read", {"uri": "x://a"})
    assert "exited" in judgement.seen["B-2"][0].detail


def test_arrays_of_requests_are_answered_or_not() -> None:
    """LC-9: also in single messages."""
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": "2", "method": "ping"}]
    program = "import sys; sys.stdin.readline(); print('%s', flush=True); sys.stdin.read()"
    complaint = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "an array"}}
    answers = {
        '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"2","result":{}}]': True,
        '{"jsonrpc":"2.0","id":1,"result":{}}': False,
        json.dumps(complaint): False,
    }
    for line, is_answered in answers.items():
        entry, judgement = saying(), Judgement()
        entry = entry._replace(target=entry.target._replace(args=["-S", "-E", "-c", program % line]))  # type: ignore[call-arg]
        with Conversation(entry, BATCHING, judgement, ENOUGH_SECONDS if is_answered else 0.2) as conversation:
            conversation.is_initialized = True
            assert conversation.say_together(batch) is is_answered
        assert not judgement.seen.get("LC-3")


def test_a_subscription_is_sent_and_ended() -> None:
    """MS-13: its messages are heard, also the response that ends it."""
    acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}}
    ended = {"jsonrpc": "2.0", "id": "ID", "result": {"resultType": "complete"}}
    judgement = Judgement()
    with Conversation(saying([acknowledged, ended]), STATELESS, judgement, ENOUGH_SECONDS) as conversation:
        request_id = conversation.listen({"toolsListChanged": True})
        for _ in range(100):
            conversation.lull()
            if len(conversation.heard) == 2:
                break
        conversation.stop_listening(request_id)

    assert [message.get("method") for message in conversation.heard] == [acknowledged["method"], None]
    assert not [number for number, found in judgement.seen.items() if found]


def test_a_server_that_stays_or_cannot_be_started_is_told() -> None:
    """IO-6: it is stopped; one that cannot be started is an error."""
    judgement = Judgement()
    with Conversation(breaker("IO-6"), HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
        conversation.notify("notifications/cancelled", {"requestId": 1})
        conversation.notify("notifications/x")
    (stayed,) = judgement.seen["IO-6"]
    assert stayed.detail == "it did not exit when its stdin was closed, and was stopped on SIGTERM"
    entry = read_entry("s", {"command": "/nonexistent/server"}, Path("/s.json"))
    with pytest.raises(MCPError), Conversation(entry, HANDSHAKE, judgement, ENOUGH_SECONDS):
        pass


def test_what_the_server_asks_is_answered() -> None:
    """LS-2, LC-3, MS-7, MS-17, B-3, B-7."""
    ping = result(PING)
    asked = {"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    unasked = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "no"}}

    assert breaks([asked, ping]) == {"LC-3": ["the server sent roots/list, which the client did not declare"]}
    assert breaks([progress, ping]) == {"B-7": ["progress was sent to a client that has named no token"]}
    assert "MS-7" in breaks([asked, ping], STATELESS)
    assert breaks([error(-32050), ping], STATELESS)["MS-17"] == ["ping: the code -32050"]
    for is_initialized, number in ((False, "LS-2"), (True, "LC-3")):
        judgement = Judgement()
        with Conversation(saying([asked, unasked, ping]), HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
            conversation.is_initialized = is_initialized
            conversation.notify("notifications/x")
            conversation.request("ping")
        assert sorted(judgement.seen.keys() - {"B-1", "B-2", "B-14", "IO-2", "IO-6"}) == ["B-3", number]


def test_a_list_that_is_asked_for_is_judged() -> None:
    """B-14, MS-8: of a method whose result may ask for input."""
    judgement = Judgement()
    wanted = {"resultType": "input_required", "_meta": {}}
    with Conversation(saying(result({"tools": [{}]})), HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
        conversation.request("tools/list")
    assert len(judgement.seen["B-14"]) == 2
    with Conversation(saying(result(wanted)), STATELESS, judgement, ENOUGH_SECONDS) as conversation:
        conversation.request("prompts/get", {"name": "p"})
    assert "with neither requests nor a state" in judgement.seen["MS-8"][0].detail


def test_a_server_behind_a_url_is_talked_with_as_well() -> None:
    """B-2: a response of another type is none."""
    judgement = Judgement()
    with breaking_site("none") as url:
        entry = read_entry("site", {"url": url}, Path("/s.json"))
        with Conversation(entry, STATELESS, judgement, ENOUGH_SECONDS) as conversation:
            assert conversation.request("server/discover").shown == "a result"
            conversation.request_failed(99, MCPError("of nobody"))
    with breaking_site("HS-3") as url:
        entry = read_entry("site", {"url": url}, Path("/s.json"))
        with Conversation(entry, STATELESS, judgement, ENOUGH_SECONDS) as conversation, pytest.raises(SilentError):
            conversation.request("server/discover")


def test_what_a_server_makes_is_judged_and_may_be_an_error() -> None:
    """B-14."""
    judgement = Judgement()
    answers = (result({"contents": [{}]}), error(-32603))
    with Conversation(saying(*answers), HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
        conversation.try_request("resources/read", {"uri": "x://a"})
        conversation.try_request("resources/read", {"uri": "x://a"})
    assert len(judgement.seen["B-14"]) == 1


def test_a_change_is_sent_to_a_client_with_a_subscription() -> None:
    """MS-13."""
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    judgement = Judgement()
    with Conversation(saying([changed]), STATELESS, judgement, ENOUGH_SECONDS) as conversation:
        conversation.listen({"toolsListChanged": True})
        wait_until(lambda: conversation.lull() or conversation.heard)
    assert not [number for number, found in judgement.seen.items() if found]


def test_at_the_deadline_of_a_command_nothing_is_judged() -> None:
    """Ours: a server that had no time has not broken anything."""
    judgement = Judgement()
    deadline = Deadline(0.2)
    with (
        pytest.raises(DeadlineError, match="did not answer ping"),
        Conversation(saying(), HANDSHAKE, judgement, ENOUGH_SECONDS, deadline) as conversation,
    ):
        conversation.request("ping")
    assert "B-2" not in judgement.seen


def test_a_server_that_has_ended_cannot_be_asked() -> None:
    """B-2."""
    entry = saying()
    entry = entry._replace(target=entry.target._replace(args=["-S", "-E", "-c", ""]))  # type: ignore[call-arg]
    judgement = Judgement()
    with Conversation(entry, HANDSHAKE, judgement, ENOUGH_SECONDS) as conversation:
        # Its input stays open a moment longer than it runs.
        with suppress(SilentError):
            while True:
                conversation.notify("notifications/x")
                conversation.lull()
        with pytest.raises(SilentError):
            conversation.request("ping")
    assert judgement.seen["B-2"]
