"""The questions of servers behind a gateway: four pairs of eras, and what is not passed on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.testing import Answers, client_for
from tests.client.transports.http.web import Answer, Asked, error, result, serving
from tests.fleet.gateway.conftest import ERAS, MakeGateway, asker, script
from tests.protocol_support import discovered

pytestmark = pytest.mark.story
pairs = pytest.mark.parametrize(("front", "behind"), [(front, behind) for front in ERAS for behind in ERAS])


@pairs
def test_server_requests_reach_the_client_and_the_tool_charges_once(
    gateway: MakeGateway, front: str, behind: str
) -> None:
    """Ours: a run that waits for an answer is the same run, in whatever way each side asks. All that the specification
    lets a server ask reaches the client.
    """
    answers = Answers([{"size": "large"}, {"size": "no"}, "accept"])
    roots = [{"uri": "file:///work"}]
    gate = gateway(shop=asker(behind))
    with client_for(gate, revision=front, answers=answers, sample="Hello", roots=roots) as client:
        result = client.call("order", {"cups": 2})
        counted = client.call("counts", {})["structuredContent"]
        opened = client.call("log_in", {})
        answered = client.call("where", {})

    assert result["content"][0]["text"] == "2 large, no sugar, charge 1"
    assert counted["charges"] == 1
    assert [asked["message"] for asked in answers.asked] == ["Which size?", "How much sugar?", "Log in"]
    assert opened["content"][0]["text"] == "accept"
    assert answers.asked[2]["url"] == "https://example.com/login?s=1"
    assert answered["content"][0]["text"] == "Hello in file:///work"


@pytest.mark.parametrize(("front", "behind"), [ERAS, ERAS[::-1]])
def test_sampling_by_a_client_without_that_capability_is_an_error(
    gateway: MakeGateway, front: str, behind: str
) -> None:
    """Ours: the client in front declares no sampling, so neither does the gateway."""
    with client_for(gateway(shop=asker(behind)), revision=front) as client:
        answered = client.call_tool("where", {})

    assert "sampling" in (answered["error"] if "error" in answered else answered["content"][0]["text"])


@pairs
def test_concurrent_calls_each_get_their_own_answer(gateway: MakeGateway, front: str, behind: str) -> None:
    """Ours: a server over stdio does not say which call asks, and no call may ask for all of them."""
    client = client_for(gateway(shop=asker(behind)), revision=front)
    client.host._elicit = lambda _: {"action": "accept", "content": {"size": "s"}}
    with client, ThreadPoolExecutor(12) as at_once:
        results = list(at_once.map(lambda cups: client.call("order", {"cups": cups}), range(12)))

    texts = [result["content"][0]["text"].partition(",")[0] for result in results]
    assert texts == [f"{cups} s" for cups in range(12)]


def test_a_stateless_server_gets_the_capabilities_of_each_client(gateway: MakeGateway) -> None:
    """Spec 2026-07-28, MC-1: with each request, also where several clients share the connection."""
    gate = gateway({"max_instances": 2}, shop=asker())
    with client_for(gate) as client:
        assert client.call("can", {})["structuredContent"] == {"elicit": True, "sample": False}
        sampling = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
        other = client.request("tools/call", {"name": "can", "arguments": {}, "_meta": sampling})

    assert other["structuredContent"] == {"elicit": False, "sample": True}


@pytest.mark.parametrize("front", ERAS)
def test_urls_that_an_error_requires_are_opened_and_the_call_is_repeated(gateway: MakeGateway, front: str) -> None:
    """Spec 2025-11-25, URL elicitation required: by the user of the client."""
    entry = script("requires_url.py")
    entry["args"].append("1")
    answers = Answers(["accept", "accept"])
    with client_for(gateway(url=entry), revision=front, answers=answers) as client:
        called = client.call("echo", {"a": 1})

    assert called["content"][0]["text"] == '{"a": 1}'
    assert [asked["message"] for asked in answers.asked] == ["Sign in", "Agree"]


@pytest.mark.parametrize("front", ERAS)
def test_a_user_who_declines_to_open_a_url_is_not_asked_again(gateway: MakeGateway, front: str) -> None:
    """Ours: the client would ask again if it got the error of the server, and a call that has ended cannot go on."""
    entry = script("requires_url.py")
    entry["args"].append("1")
    answers = Answers(["accept", "decline"])
    with client_for(gateway(url=entry), revision=front, answers=answers) as client:
        called = client.call("echo", {"a": 1})

    assert called["isError"]
    assert (
        "requires that a page is opened first, and the user has declined: sign in first"
        in (called["content"][0]["text"])
    )
    assert [asked["message"] for asked in answers.asked] == ["Sign in", "Agree"]


@pytest.mark.parametrize("front", ERAS)
def test_a_server_that_never_stops_to_require_input_fails(gateway: MakeGateway, front: str) -> None:
    """Ours: as by a client of its own. A state without requests is sent back (spec 2026-07-28, MC-4)."""
    form = {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {}}}
    requests = {"inputRequests": {"q": {"method": "elicitation/create", "params": form}}}
    received: list[Any] = []

    def endless(asked: Asked) -> Answer:
        method = asked.message["method"]
        if method == "server/discover":
            return result(asked, **discovered())
        if method == "tools/list":
            tools = [{"name": "endless", "inputSchema": {"type": "object"}}]
            return result(asked, resultType="complete", tools=tools, ttlMs=0, cacheScope="private")
        if method != "tools/call":
            return error(asked, METHOD_NOT_FOUND, "no")
        received.append(asked.message["params"].get("requestState"))
        more = requests if len(received) > 1 else {}
        return result(asked, resultType="input_required", requestState=str(len(received)), **more)

    answers = Answers([{}] * MAX_ROUND_TRIPS)
    with serving(endless) as web, client_for(gateway(web={"url": web.url}), revision=front, answers=answers) as client:
        ended = client.call("endless", {})

    assert ended["isError"]
    assert "requested more input after 10 round trips" in ended["content"][0]["text"]
    assert received == [None, *map(str, range(1, MAX_ROUND_TRIPS))]


def test_a_task_of_a_server_goes_on_while_a_client_without_tasks_answers(gateway: MakeGateway) -> None:
    """Ours: its call ends with the question, and its retry continues with the same task."""
    elicitation = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    poem = {"name": "poem", "arguments": {}, "_meta": elicitation}
    with client_for(gateway(shop=asker()), answers=[{"size": "large"}]) as client:
        assert client.request("tools/call", poem)["content"][0]["text"] == "large"


@pytest.mark.parametrize("front", ERAS)
def test_a_task_of_a_server_is_followed_to_its_result(gateway: MakeGateway, front: str) -> None:
    """Tasks: a client that has them gets one, and one that has not waits; both are asked."""
    answers = Answers([{"size": "large"}])
    with client_for(gateway(shop=asker()), revision=front, answers=answers) as client:
        assert client.call("poem", {})["content"][0]["text"] == "large"
