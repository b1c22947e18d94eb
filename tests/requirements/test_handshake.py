"""What is asked in the era of the handshake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.requirements import judged
from gaia_mcp.requirements.conversation import Conversation
from gaia_mcp.requirements.handshake import PAGES_READ, ask, ask_first, ignore_notifications, read_lists, use_features
from gaia_mcp.requirements.listed import Judgement, SilentError
from tests.requirements.breaking import BATCHING, HANDSHAKE, assert_each_is_found, breaker, broken
from tests.requirements.talking import error, result, saying
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.story

REVISION = "2025-06-18"


def opened(**capabilities: Any) -> dict[str, Any]:
    """The answer to `initialize`."""
    info = {"name": "s", "version": "1"}
    return result({"protocolVersion": REVISION, "capabilities": capabilities, "serverInfo": info})


def asked(*answers: Any, ask: Callable[[Conversation], Any] = ask, **capabilities: Any) -> dict[str, list[str]]:
    """What a server breaks that gives these answers; of a further request it waits in vain."""
    judgement = Judgement()
    with Conversation(saying(*answers), REVISION, judgement, ENOUGH_SECONDS) as conversation:
        conversation.capabilities = capabilities
        ask(conversation)
    return {number: [one.detail for one in found] for number, found in judgement.seen.items() if found}


def test_a_server_without_features_is_asked_for_none() -> None:
    """LC-3: only what it declares is used: a handshake, a ping, an unknown method, and a ping after notifications."""
    assert asked(opened(), result({}), error(-32601), result({})) == {}


def test_a_server_that_refuses_the_handshake_is_asked_no_more() -> None:
    """LS-1."""
    assert asked(error(-32602)) == {"LS-1": ["initialize is answered with error -32602"]}


def test_an_unknown_revision_may_be_refused_or_replaced() -> None:
    """LS-1."""
    strange = result({"protocolVersion": "2030-01-01", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})

    assert asked(error(-32602), ask=ask_first) == {}
    assert asked(opened(), ask=ask_first) == {}
    assert asked(strange, ask=ask_first) == {"LS-1": ["it was asked for 1999-12-31, and answers with '2030-01-01'"]}


def test_a_declared_list_that_is_refused_is_found() -> None:
    """LC-3: a warning; templates may be left out."""
    refused = error(-32601)

    assert asked(refused, refused, ask=read_lists, tools={}, prompts={}) == {
        "LC-3": [
            "it declares tools, and answers tools/list with error -32601",
            "it declares prompts, and answers prompts/list with error -32601",
        ]
    }
    judgement = Judgement()
    with Conversation(saying(result({"resources": []}), refused), REVISION, judgement, ENOUGH_SECONDS) as conversation:
        conversation.capabilities = {"resources": {}}
        assert read_lists(conversation) == {"resources": []}
    assert [one.is_minor for one in judgement.seen["LC-3"]] == [True]


def test_a_long_list_is_read_to_a_limit() -> None:
    """Ours: what is judged of a page is the same on each."""
    pages = [result({"prompts": [{"name": "p"}], "nextCursor": str(number)}) for number in range(PAGES_READ)]
    judgement = Judgement()
    with Conversation(saying(*pages), REVISION, judgement, ENOUGH_SECONDS) as conversation:
        conversation.capabilities = {"prompts": {}}
        assert len(read_lists(conversation)["prompts"]) == PAGES_READ


def test_a_server_that_falls_silent_ends_the_questions() -> None:
    """B-2."""
    judgement = Judgement()
    with Conversation(saying(opened()), REVISION, judgement, 0.2) as conversation, pytest.raises(SilentError):
        ask(conversation)
    assert "LC-4" not in judgement.seen


def test_levels_are_set_where_they_are_declared() -> None:
    """LC-3, LS-10."""
    ping, refused = result({}), error(-32603)
    found = asked(opened(logging={}), ping, refused, ping, error(-32601), ping)

    assert found == {
        "LC-3": ["it declares logging, and answers logging/setLevel with error -32603"],
        "LS-10": ["an unknown level is answered with a result"],
    }


def test_a_server_that_breaks_one_rule_is_found_and_breaks_no_other() -> None:
    """LS-1, LS-2, LS-10, LC-3, LC-4: for each rule there is a server that breaks it."""
    assert_each_is_found(HANDSHAKE)


def test_an_array_of_messages_is_tested_in_the_revision_that_has_them() -> None:
    """LC-9."""
    assert broken(judged(breaker("none"), BATCHING, ENOUGH_SECONDS)) == set()
    assert broken(judged(breaker("LC-9"), BATCHING, 0.5)) == {"LC-9"}


def test_in_the_stateless_era_the_pages_of_a_list_have_one_scope() -> None:
    """MS-11, B-9: what both eras have in common is judged by the rules of each."""
    cached = {"resultType": "complete", "ttlMs": 0, "_meta": {"io.modelcontextprotocol/serverInfo": {}}, "tools": []}
    pages = [result({**cached, "cacheScope": "public", "nextCursor": "b"}), result({**cached, "cacheScope": "private"})]
    judgement = Judgement()
    with Conversation(saying(*pages, error(-32603)), "2026-07-28", judgement, ENOUGH_SECONDS) as conversation:
        conversation.capabilities = {"tools": {}}
        read_lists(conversation)
        ignore_notifications(conversation)

    assert {number: [one.detail for one in found] for number, found in judgement.seen.items() if found} == {
        "MS-11": ["the pages of tools/list have different scopes"],
        "B-9": ["after a cancellation of nothing it answers with errors"],
    }


def test_a_resource_without_a_uri_is_not_read() -> None:
    """Ours: that it has none is judged already."""
    judgement = Judgement()
    with Conversation(saying(error(-32002)), REVISION, judgement, ENOUGH_SECONDS) as conversation:
        use_features(conversation, {"resources": [{"name": "a"}]}, unknown_resource=("LS-10", (-32002,)))

    assert judgement.seen["LS-10"] == []
