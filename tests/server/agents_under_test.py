"""Agents that are served in the tests, and what a provider answers about them."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError


class Plain:
    """An agent with only the two methods."""

    def __init__(self, *tools: Any, run: Any = None) -> None:
        self.tools: Any = list(tools)
        self.run = run
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def get_mcp_tool_definitions(self) -> Any:
        return self.tools

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.ran.append((name, arguments))
        return self.run(arguments) if self.run is not None else "done"


class Full(Plain):
    """An agent that has everything."""

    info: Any = None
    prompts: Any = ()
    resources: Any = ()

    def get_mcp_server_info(self) -> Any:
        return self.info

    def get_mcp_prompts(self) -> Any:
        return self.prompts

    def get_mcp_resources(self) -> Any:
        return self.resources


def answer(provider: AgentProvider, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What it answers outside of a connection."""
    return provider.answer(method, params, Call())


def tools_of(agent: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = answer(AgentProvider(agent), "tools/list", {})["tools"]
    return tools


def refusal(agent: Any, method: str, params: dict[str, Any]) -> RequestError:
    with pytest.raises(RequestError) as caught:
        answer(AgentProvider(agent), method, params)
    return caught.value
