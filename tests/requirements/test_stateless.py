"""What is asked in the stateless era."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.requirements.conversation import Conversation
from gaia_mcp.requirements.listed import Judgement
from gaia_mcp.requirements.stateless import ask, ask_first
from tests.requirements.breaking import assert_each_is_found
from tests.requirements.breaking_site import breaking_site
from tests.requirements.talking import error, result, saying
from tests.waiting import ENOUGH_SECONDS

pytestmark = pytest.mark.story

REVISION = "2026-07-28"
META = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}


def discovered(**capabilities: Any) -> dict[str, Any]:
    """The answer to `server/discover`."""
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "_meta": META}
    return result({**cached, "supportedVersions": [REVISION], "capabilities": capabilities})


def unsupported(**data: Any) -> dict[str, Any]:
    """The refusal of a revision."""
    refused = error(-32022)
    return {**refused, "error": {**refused["error"], "data": data}}


SUPPORTED = unsupported(supported=[REVISION], requested="1999-12-31")


def asked(*answers: Any, ask: Any = ask) -> dict[str, list[str]]:
    """What a server breaks that gives these answers."""
    judgement = Judgement()
    with Conversation(saying(*answers), REVISION, judgement, ENOUGH_SECONDS) as conversation:
        ask(conversation)
    return {number: [one.detail for one in found] for number, found in judgement.seen.items() if found}


def test_a_server_without_features_is_asked_for_none() -> None:
    """MS-1, MS-2, MS-3, MS-21."""
    assert asked(discovered(), error(-32602), SUPPORTED, error(-32601), discovered()) == {}


def test_a_server_that_is_not_stateless_is_asked_no_more() -> None:
    """MS-1."""
    assert asked(error(-32601)) == {"MS-1": ["server/discover is answered with error -32601"]}


def test_the_refusal_of_a_revision_names_the_supported_ones() -> None:
    """MS-3."""
    for data in ({}, {"supported": [REVISION]}, {"supported": "all", "requested": "x"}):
        found = asked(discovered(), error(-32602), unsupported(**data), error(-32601), discovered())

        assert found == {"MS-3": ["its data does not name the supported and the requested ones"]}
    found = asked(discovered(), error(-32602), error(-32600), error(-32601), discovered())
    assert found == {"MS-3": ["the revision 1999-12-31 is answered with error -32600"]}


def test_a_first_request_is_answered_as_a_later_one() -> None:
    """MS-6: also with an error."""
    assert asked(error(-32601), error(-32601), ask=ask_first) == {}
    assert asked(error(-32600), error(-32601), ask=ask_first) == {
        "MS-6": ["tools/list is answered with error -32600 first, error -32601 later"]
    }


def test_a_subscription_is_acknowledged_with_its_id_and_what_was_asked_for() -> None:
    """MS-13."""
    key = "io.modelcontextprotocol/subscriptionId"
    tools = result({"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "_meta": META, "tools": []})

    def found(**params: Any) -> list[str]:
        acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        declared = discovered(tools={"listChanged": True})
        answers = [declared, tools, tools, tools, error(-32602), SUPPORTED, error(-32601), acknowledged, declared]
        return asked(*answers).get("MS-13", [])

    asked_for = {"toolsListChanged": True}
    assert found(notifications=asked_for, _meta={key: "ID"}) == []
    assert found(notifications=asked_for, _meta={key: "x"}) == [
        "an acknowledgement does not have the id of its subscription"
    ]
    assert found(notifications={**asked_for, "promptsListChanged": True}, _meta={key: "ID"}) == [
        "more is acknowledged than was asked for: promptsListChanged"
    ]


def test_a_server_that_breaks_one_rule_is_found_and_breaks_no_other() -> None:
    """MS-1, MS-2, MS-3, MS-5, MS-6, MS-7, MS-8, MS-11, MS-12, MS-13, MS-14, MS-15, MS-17, MS-21: each has a server."""
    assert_each_is_found(REVISION)


def test_a_subscription_that_is_not_acknowledged_is_found() -> None:
    """MS-13."""
    declared = discovered(prompts={"listChanged": True})
    prompts = result({"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "_meta": META, "prompts": []})

    found = asked(
        declared,
        prompts,
        error(-32602),
        SUPPORTED,
        error(-32601),
        "",
        declared,
        ask=partial(ask, acknowledged_seconds=0.1),
    )

    assert found["MS-13"] == ["a subscription was not acknowledged within 0.1 s"]


def test_over_http_a_subscription_ends_with_its_stream() -> None:
    """B-9: nothing else is cancelled there."""
    judgement = Judgement()
    with breaking_site("none") as url:
        entry = read_entry("site", {"url": url}, Path("/s.json"))
        with Conversation(entry, REVISION, judgement, ENOUGH_SECONDS) as conversation:
            ask(conversation)

    assert "B-9" not in judgement.seen
    assert not [number for number, found in judgement.seen.items() if found]
