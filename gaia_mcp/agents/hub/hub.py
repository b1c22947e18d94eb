"""The built-in agent `agents`: three tools for the installed and configured agents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.hub.definitions import EXECUTE, LIST, REGISTER, TOOLS
from gaia_mcp.agents.hub.drivers.base import Answer
from gaia_mcp.agents.hub.entries import AgentEntry, Attendant, HubError, Limits, attended, read_agents
from gaia_mcp.agents.hub.executing import execute, own_masker, result
from gaia_mcp.agents.hub.registering import RegisteredTool, Registry, owner_of, read_spec
from gaia_mcp.agents.hub.routing import Routes
from gaia_mcp.agents.hub.status import is_installed, statuses
from gaia_mcp.agents.hub.tool_server import Tools
from gaia_mcp.asking import CallCancelledError, current_call
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS, Deadline
from gaia_mcp.errors import ConfigError, DeadlineError
from gaia_mcp.names import did_you_mean
from gaia_mcp.paths import home_expanded

# Each run of an agent is a process of several hundred megabytes.
DEFAULT_CONCURRENT = 16
# The number of further calls that may run, so that they are rejected at once instead of waiting for running ones.
SPARE_CALLS = 32


class AgentsHub(MCPAgent):
    """Claude, Codex, Gemini and OpenAI-compatible endpoints.

    `config` is the file with the agents and servers, by default the user's own; `max_concurrent` limits how many agents
    run at once. Raises `ConfigFileError` for an invalid file, and `ValueError` for an invalid `max_concurrent`.
    """

    def __init__(self, config: str = "", max_concurrent: int = DEFAULT_CONCURRENT) -> None:
        super().__init__()
        # Not `isinstance`: a bool is an int.
        if type(max_concurrent) is not int or not 1 <= max_concurrent <= 1000:
            raise ValueError(f"max_concurrent must be a number from 1 to 1000, not {max_concurrent!r}")
        self._config = home_expanded(Path(config)).absolute() if config else None
        self._limits = Limits(max_concurrent)
        self._registry = Registry()
        self.max_calls = max_concurrent + SPARE_CALLS
        self._agents()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return TOOLS

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        run = {EXECUTE: self._execute, LIST: self._list, REGISTER: self._register}.get(tool_name)
        if run is None:
            raise ValueError(f"Unknown tool: {tool_name}")
        try:
            return run(arguments)
        except (HubError, ConfigError, DeadlineError) as problem:
            return _failed(tool_name, str(problem))
        except CallCancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 (one request of a server, whose traceback may contain secrets)
            import logging
            import traceback

            logger = logging.getLogger("gaia_mcp")
            text = (
                traceback.format_exc() if logger.isEnabledFor(logging.DEBUG) else f"{type(problem).__name__}: {problem}"
            )
            logger.error("%s failed: %s", tool_name, own_masker(os.environ).text(text))
            return _failed(tool_name, f"{tool_name} failed: {type(problem).__name__}: {problem}")

    def get_mcp_refusal(self, tool_name: str, problem: str) -> dict[str, Any]:
        """The result of a tool for arguments that do not match its schema."""
        return _failed(tool_name, problem)

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
        agents = self._agents()
        found = [agent for agent in agents.values() if wanted is None or wanted in agent.capabilities]
        if not arguments.get("include_status"):
            found = [agent for agent in found if is_installed(agent, os.environ)]
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
        agents = self._agents()
        _check_known(name, agents)
        call = current_call()
        tools = Tools(name, self._registry.of(owner_of(call), name), self._config)
        return execute(agents[name], arguments, tools, self._limits, call)

    def _register(self, arguments: dict[str, Any]) -> dict[str, Any]:
        owner = owner_of(current_call())
        if owner is None:
            raise HubError(
                "a tool can be registered only in a session, over stdio, or with a token that names its user: without "
                "them this client cannot be told from others, whose agents would get the tool too"
            )
        wanted = arguments.get("agent_name")
        warnings: list[str] = []
        store = ConfigStore.locate(self._config)
        agents = read_agents(store)
        if wanted is not None:
            _check_known(wanted, agents)
        asked = list(agents) if wanted is None else [wanted]
        with closing(Routes(store)) as routes:
            tool = _read_spec(arguments["tool_name"], arguments["tool_spec"], routes, warnings)
            chosen = routes.agents_of(tool.route, asked)
        if not chosen:
            raise HubError(f"server {tool.route.server!r} is not for {' or '.join(asked)}: see 'agents' in its entry")
        if left := [agent for agent in asked if agent not in chosen]:
            warnings.append(f"server {tool.route.server!r} is not for {', '.join(left)}")
        before = self._registry.add(owner, tool, chosen)
        if before:
            warnings.append(f"tool {tool.name!r} was registered with {', '.join(before)} before, and is overwritten")
        return {"status": "success", "registered_with": chosen, **({"warnings": warnings} if warnings else {})}


def _failed(tool: str, problem: str) -> dict[str, Any]:
    """The result of a tool that fails before an agent runs, without secrets."""
    masker = own_masker(os.environ)
    if tool == EXECUTE:
        return result(Answer("", problem), 0.0, {}, masker)
    empty: dict[str, Any] = {"agents": [], "total_count": 0} if tool == LIST else {"registered_with": []}
    return {"status": "error", "error": masker.text(problem), **empty}


def _read_spec(name: str, spec: dict[str, Any], routes: Routes, warnings: list[str]) -> RegisteredTool:
    """As `read_spec`, but can be cancelled, since a server may have to be started."""
    attendant = Attendant("looking for the tool", Deadline(MAX_ENTRY_TIMEOUT_SECONDS), current_call())
    return attended(lambda: read_spec(name, spec, routes, warnings), attendant, routes.close)


def _check_known(name: str, agents: Mapping[str, AgentEntry]) -> None:
    """Raise `HubError`, which lists the available agents, for an unknown name."""
    if name not in agents:
        available = [agent.name for agent in agents.values() if is_installed(agent, os.environ)]
        text = f"there is no agent {name!r}; available: {', '.join(available) or 'none'}"
        close = did_you_mean(name, agents)
        raise HubError(f"{text} ({close})" if close else text)
