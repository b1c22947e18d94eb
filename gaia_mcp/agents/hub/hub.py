"""The built-in agent `agents`: three tools over the agents that are installed here or configured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.hub.definitions import EXECUTE, LIST, REGISTER, TOOLS
from gaia_mcp.agents.hub.drivers.base import Answer
from gaia_mcp.agents.hub.entries import AgentEntry, read_agents
from gaia_mcp.agents.hub.executing import execute, result
from gaia_mcp.agents.hub.limits import Limits
from gaia_mcp.agents.hub.status import statuses
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import ConfigError
from gaia_mcp.names import did_you_mean
from gaia_mcp.toolcall import current_call

# Each is a process of several hundred megabytes.
DEFAULT_CONCURRENT = 16
# So many more calls may run: they are answered with an error at once, rather than wait for those that run.
SPARE_CALLS = 32


class AgentsHub(MCPAgent):
    """Claude, Codex, Gemini and OpenAI-compatible endpoints.

    `config` is the file with the agents and servers, by default the user's own; `max_concurrent` is how many agents run
    at once. Raises `ConfigFileError` for an invalid file.
    """

    def __init__(self, config: str = "", max_concurrent: int = DEFAULT_CONCURRENT) -> None:
        super().__init__()
        if type(max_concurrent) is not int or not 1 <= max_concurrent <= 1000:
            raise ValueError(f"max_concurrent must be a number from 1 to 1000, not {max_concurrent!r}")
        self._config = Path(config) if config else None
        self._limits = Limits(max_concurrent)
        self.max_calls = max_concurrent + SPARE_CALLS
        self._agents()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return TOOLS

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name == LIST:
            return self._list(arguments)
        if tool_name == EXECUTE:
            return self._execute(arguments)
        if tool_name == REGISTER:
            return {"status": "error", "registered_with": [], "error": "not yet"}
        raise ValueError(f"Unknown tool: {tool_name}")

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {
            "name": "agents",
            "title": "GAIA agents hub",
            "version": __version__,
            "instructions": "List the agents first; then send one a prompt. Each request is a run of its own.",
        }

    def _agents(self) -> dict[str, AgentEntry]:
        return read_agents(ConfigStore.locate(self._config))

    def _list(self, arguments: dict[str, Any]) -> dict[str, Any]:
        wanted = arguments.get("capability_filter")
        found = [agent for agent in self._agents().values() if wanted is None or wanted in agent.capabilities]
        shown: list[dict[str, Any]] = [
            {"name": agent.name, "capabilities": list(agent.capabilities), "description": agent.description}
            for agent in found
        ]
        if arguments.get("include_status"):
            for each, status in zip(shown, statuses(found, os.environ), strict=True):
                each["status"] = status
        return {"agents": shown, "total_count": len(shown)}

    def _execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        name = arguments["agent_name"]
        try:
            agents = self._agents()
        except ConfigError as problem:
            return result(Answer("", str(problem)), 0.0, {"agent": name})
        if name not in agents:
            known = ", ".join(agents) or "none"
            text = f"there is no agent {name!r}; available: {known}"
            if close := did_you_mean(name, agents):
                text += f" ({close})"
            return result(Answer("", text), 0.0, {"agent": name})
        return execute(agents[name], arguments, self._limits, current_call())
