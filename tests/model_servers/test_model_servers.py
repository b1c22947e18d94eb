"""The model servers that the tests of agents use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.model_servers.anthropic_messages import AnthropicMessages
from tests.model_servers.gemini import Gemini
from tests.model_servers.openai_responses import OpenAIResponses
from tests.model_servers.script import RESULT, Call, Failure, Reply, Text, next_reply, offered_name
from tests.model_servers.server import ModelServer
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from tests.model_servers.server import Dialect

ITEM = {"type": "message", "role": "user", "content": "hi"}
ASKED: list[tuple[Dialect, str, dict[str, Any]]] = [
    (AnthropicMessages(), "/v1/messages", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    (
        OpenAIResponses(),
        "/v1/responses",
        {"model": "m", "input": [{"type": "message", "role": "user", "content": "hi"}]},
    ),
    (Gemini(), "/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
]
EVERY = pytest.mark.parametrize(("dialect", "path", "body"), ASKED, ids=["anthropic", "openai", "gemini"])


def _post(url: str, body: dict[str, Any]) -> tuple[int, str]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=ENOUGH_SECONDS) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@EVERY
def test_a_turn_gets_the_scripted_reply(dialect: Dialect, path: str, body: dict[str, Any]) -> None:
    """Ours: and a request beside the conversation does not."""
    with ModelServer(dialect, Text("hello there")) as server:
        assert "hello there" in _post(server.url + path, body)[1]
        assert _post(server.url + "/v1/other", body)[0] == 404

    assert server.prompts() == ["hi"]
    assert [request.path for request in server.turns] == [path]


@EVERY
def test_a_scripted_failure_is_an_http_error(dialect: Dialect, path: str, body: dict[str, Any]) -> None:
    """Ours: an agent reads the status of HTTP, and shows the message."""
    with ModelServer(dialect, Failure(401, "no such key")) as server:
        status, text = _post(server.url + path, body)

    assert status == 401
    assert "no such key" in text


@EVERY
def test_a_call_of_an_unknown_tool_is_an_http_error(dialect: Dialect, path: str, body: dict[str, Any]) -> None:
    """Ours: the test fails with the reason, instead of an agent that cannot run the tool."""
    with ModelServer(dialect, Call("calculate")) as server:
        status, text = _post(server.url + path, body)

    assert status == 400
    assert "no tool 'calculate' is offered" in text


@pytest.mark.parametrize(
    ("results", "reply"),
    [([], Call("add")), (["3"], Text("it is 3")), (["3", "4"], Text("it is 4"))],
)
def test_a_turn_is_counted_by_the_tool_results(results: list[str], reply: Reply) -> None:
    """Ours: so that a request which is sent again gets the same reply."""
    assert next_reply((Call("add"), Text(f"it is {RESULT}")), results) == reply


def test_a_tool_is_found_by_the_end_of_its_name() -> None:
    """Ours: each agent writes another word before the names of a server's tools."""
    assert offered_name("add", ["Read", "mcp__gaia__add"]) == "mcp__gaia__add"
    with pytest.raises(LookupError):
        offered_name("add", ["download"])
