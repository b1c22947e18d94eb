"""A connection that judges what arrives on it."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.requirements.conversation import Conversation
from gaia_mcp.requirements.listed import Judgement, SilentError
from tests.requirements.talking import error, result, saying
from tests.waiting import ENOUGH_SECONDS

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


def test_arrays_of_requests_are_answered_or_not() -> None:
    """LC-9: also in single messages."""
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": "2", "method": "ping"}]
    program = "import sys; sys.stdin.readline(); print('%s', flush=True); sys.stdin.read()"
    answers = {
        '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"2","result":{}}]': True,
        '{"jsonrpc":"2.0","id":1,"result":{}}': False,
    }
    for line, is_answered in answers.items():
        entry = saying()
        entry = entry._replace(target=entry.target._replace(args=["-S", "-E", "-c", program % line]))  # type: ignore[call-arg]
        with Conversation(entry, BATCHING, Judgement(), ENOUGH_SECONDS if is_answered else 0.2) as conversation:
            assert conversation.say_together(batch) is is_answered
