from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp import MCPAgent, prompt, tool
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError
from tests.server.agents_under_test import Full, Plain, answer, refusal

# Prompts.


@pytest.fixture
def prompter() -> Full:
    """Describes prompts, and has no method to get one."""
    agent = Full()
    agent.prompts = [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}, "z", {}]},
        {"name": "q", "arguments": "none"},
        {"description": "no name"},
    ]
    return agent


def test_prompts_are_listed_with_valid_arguments(prompter: Full) -> None:
    """Spec, PromptArgument: an object with a name. Ours: others are left out."""
    prompts = answer(AgentProvider(prompter), "prompts/list", {})["prompts"]

    assert prompts == [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}]},
        {"name": "q", "arguments": []},
    ]


def test_a_prompt_without_a_method_returns_its_description_and_arguments(prompter: Full) -> None:
    """Ours: GAIA's agents describe prompts and have no method to get one."""
    served = AgentProvider(prompter)

    result = answer(served, "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["description"] == "About"
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "About\nx: 1"}}]
    assert answer(served, "prompts/get", {"name": "q"})["messages"][0]["content"]["text"] == "q"


def test_get_mcp_prompt_returns_the_prompt(prompter: Full) -> None:
    """Ours: `get_mcp_prompt(name, arguments)`."""
    prompter.get_mcp_prompt = lambda name, arguments: f"{name} {arguments['x']}"  # type: ignore[attr-defined]

    result = answer(AgentProvider(prompter), "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["messages"][0]["content"]["text"] == "p 1"


def test_an_invalid_request_for_a_prompt_is_refused(prompter: Full) -> None:
    """Spec, prompts: unknown names and missing arguments are -32602."""
    requests: list[tuple[dict[str, Any], str]] = [
        ({"name": "nope"}, "Unknown prompt: nope"),
        ({}, "Unknown prompt: None"),
        ({"name": "p", "arguments": ["x"]}, "an object"),
        ({"name": "p"}, "needs the argument 'x'"),
    ]

    for params, problem in requests:
        refused = refusal(prompter, "prompts/get", params)
        assert (refused.code, problem in str(refused)) == (INVALID_PARAMS, True), (params, refused)


def test_an_agent_without_prompts_returns_an_empty_list() -> None:
    """Ours: asked before its description is known, an agent answers with an empty list."""
    assert answer(AgentProvider(Plain()), "prompts/list", {}) == {"prompts": []}


def test_a_marked_prompt_overrides_a_described_one() -> None:
    """Ours: its arguments are converted from the texts that arrive."""

    class Marked(MCPAgent):
        @tool
        def nothing(self) -> None:
            """A tool."""

        @prompt
        def p(self, x: int) -> str:
            return str(x + 1)

        def get_mcp_prompts(self) -> list[dict[str, Any]]:
            return [{"name": "p"}, {"name": "q"}]

    provider = AgentProvider(Marked())

    assert [one["name"] for one in answer(provider, "prompts/list", {})["prompts"]] == ["p", "q"]
    assert provider.describe().capabilities["prompts"] == {"listChanged": True}
    assert provider.problems == ["prompt 'p' is defined twice; the marked method is used"]
    got = answer(provider, "prompts/get", {"name": "p", "arguments": {"x": "1"}})
    assert got["messages"][0]["content"]["text"] == "2"
    for arguments, words in (({"x": "a"}, "prompt 'p': x: 'a'"), ({"x": 1}, "'x' is not a text")):
        with pytest.raises(RequestError, match=words):
            answer(provider, "prompts/get", {"name": "p", "arguments": arguments})
