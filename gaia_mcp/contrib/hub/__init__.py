"""The agents hub, for the programs of Claude, Codex and Gemini, and for OpenAI-compatible endpoints: the built-in agent
`agents` has three tools, to list the installed and configured agents with their status, to run a request, and to
register tools.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.asking import CallCancelledError, current_call
from gaia_mcp.client.transports.stdio.launch import command_words, find_program
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.hub.drivers import DRIVERS, endpoint
from gaia_mcp.contrib.hub.drivers.base import CAPABILITIES, Answer
from gaia_mcp.contrib.hub.entries import (
    MAX_TIMEOUT_SECONDS,
    AgentEntry,
    Attendant,
    Endpoint,
    HubError,
    Limits,
    attended,
    read_agents,
)
from gaia_mcp.contrib.hub.executing import MAX_SETTINGS_BYTES, Caller, EndpointError, execute, own_masker, result
from gaia_mcp.contrib.hub.tool_server import RegisteredTool, Registry, Routes, Tools, owner_of, read_spec
from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS, Deadline
from gaia_mcp.core.errors import ConfigError, DeadlineError, EntryError, SpawnError, VariableUnsetError
from gaia_mcp.core.files import read_file
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import home_expanded

if TYPE_CHECKING:
    from gaia_mcp.config.command import Command

# Each run of an agent is a process of several hundred megabytes.
DEFAULT_CONCURRENT = 16
# The number of further calls that may run, so that they are rejected at once instead of waiting for running ones.
SPARE_CALLS = 32
_STATUS = {"enum": ["success", "error"]}
_STRINGS = {"type": "array", "items": {"type": "string"}}
# A running model server lists its models sooner.
REACH_SECONDS = 3.0
AT_ONCE = 16
LIST, EXECUTE, REGISTER = "list_available_agents", "execute_agent_request", "register_tool_with_agent"
TOOLS: list[dict[str, Any]] = [
    {
        "name": EXECUTE,
        "description": "Send a prompt to an AI agent, and return its answer. The agent runs once, and asks no person.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "agent_name": {"type": "string", "description": "Name of the agent, such as claude, codex or gemini"},
                "prompt": {"type": "string", "description": "The prompt or instruction for the agent"},
                "context": {
                    "type": "object",
                    "description": "Additional context, such as a language or the content of files; "
                    "it is added to the prompt as JSON",
                },
                "capabilities": {
                    **_STRINGS,
                    "description": f"Required capabilities, of: {', '.join(CAPABILITIES)}; "
                    "one that the agent does not have is a warning",
                },
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_TIMEOUT_SECONDS,
                    "description": "Seconds after which the agent is ended; by default those of its entry, or 30",
                },
                "config": {
                    "type": "object",
                    "description": "Overrides for this request: model; for gemini and an endpoint also temperature; "
                    "for an endpoint also max_tokens and the like",
                },
            },
            "required": ["agent_name", "prompt"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "status": _STATUS,
                "content": {"type": "string", "description": "The answer of the agent"},
                "error": {"type": ["string", "null"], "description": "The error; null on success"},
                "execution_time": {"type": "number", "minimum": 0, "description": "Seconds"},
                "tokens_used": {
                    "type": ["integer", "null"],
                    "description": "Tokens of input and output; null where the agent does not report them",
                },
                "metadata": {
                    "type": "object",
                    "properties": {
                        "agent": {"type": "string"},
                        "kind": {"type": "string"},
                        "model": {"type": "string"},
                        "warnings": _STRINGS,
                    },
                },
            },
            "required": ["status", "content", "error", "execution_time", "tokens_used", "metadata"],
        },
        "annotations": {
            "title": "Ask an agent",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    },
    {
        "name": LIST,
        "description": "List the agents that requests can be sent to, with what they can do; with include_status also "
        "those that are not installed.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "capability_filter": {"type": "string", "description": "List only agents with this capability"},
                "include_status": {
                    "type": "boolean",
                    "default": False,
                    "description": "Include whether each agent can be used: operative, key_missing, unavailable "
                    "(not installed) or unreachable",
                },
            },
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "status": _STATUS,
                "error": {"type": "string", "description": "The error, if the configuration cannot be read"},
                "agents": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "capabilities": _STRINGS,
                            "status": {"enum": ["operative", "key_missing", "unavailable", "unreachable"]},
                            "description": {"type": "string"},
                        },
                        "required": ["name", "capabilities", "description"],
                    },
                },
                "total_count": {"type": "integer", "minimum": 0},
            },
            "required": ["agents", "total_count"],
        },
        "annotations": {"title": "List agents", "readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    },
    {
        "name": REGISTER,
        "description": "Let agents use a tool of a configured MCP server in all later requests of this client.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string", "description": "Name under which agents see the tool"},
                "tool_spec": {
                    "type": "object",
                    "description": "description (text), schema (JSON Schema of the arguments, an object), and "
                    "function: the name of the tool that is called, such as calc.add or mcp_calc_add",
                },
                "agent_name": {"type": "string", "description": "The agent to register it with; by default all"},
            },
            "required": ["tool_name", "tool_spec"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "status": _STATUS,
                "registered_with": _STRINGS,
                "error": {"type": "string"},
                "warnings": _STRINGS,
            },
            "required": ["status", "registered_with"],
        },
        "annotations": {
            "title": "Register a tool",
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
    },
]
OPERATIVE, KEY_MISSING, UNAVAILABLE, UNREACHABLE = "operative", "key_missing", "unavailable", "unreachable"


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


def is_installed(agent: AgentEntry, environ: Mapping[str, str]) -> bool:
    """Whether the program of an agent is found. True for an endpoint, which is not contacted."""
    try:
        target = agent.target.resolved(agent.name, environ)
    except VariableUnsetError:
        return True  # It is the key that is missing.
    except EntryError:
        return False
    return isinstance(target, Endpoint) or _is_found(agent, target, environ)


def statuses(agents: Collection[AgentEntry], environ: Mapping[str, str]) -> list[str]:
    """The status of each agent, in the same order."""
    if not agents:
        return []
    with ThreadPoolExecutor(min(len(agents), AT_ONCE)) as pool:
        return list(pool.map(lambda agent: status_of(agent, environ), agents))


def status_of(agent: AgentEntry, environ: Mapping[str, str]) -> str:
    """Whether the program is installed and has a key, or whether the endpoint responds to a request for its models."""
    try:
        target = agent.target.resolved(agent.name, environ)
    except VariableUnsetError:
        return KEY_MISSING
    except EntryError:
        return UNAVAILABLE
    return _reached(target) if isinstance(target, Endpoint) else _found(agent, target, environ)


def _found(agent: AgentEntry, command: Command, environ: Mapping[str, str]) -> str:
    if not _is_found(agent, command, environ):
        return UNAVAILABLE

    def read(path: str) -> bytes | None:
        try:
            # Not `Path.expanduser`, which raises for an unknown user.
            return read_file(os.path.expanduser(path), MAX_SETTINGS_BYTES)  # noqa: PTH111
        except OSError:
            return None

    return OPERATIVE if DRIVERS[agent.kind].has_key({**environ, **command.env}, read) else KEY_MISSING


def _is_found(agent: AgentEntry, command: Command, environ: Mapping[str, str]) -> bool:
    try:
        program, _ = command_words(agent.name, command.command, command.args)
        find_program(agent.name, program, {**environ, **command.env}, command.cwd)
    except (EntryError, SpawnError):
        return False
    return True


def _reached(target: Endpoint) -> str:
    try:
        response = Caller(target).request(endpoint.models_url(target.url), None, Deadline(REACH_SECONDS))
    except (EndpointError, DeadlineError):
        return UNREACHABLE
    if response.status in (401, 403):
        return KEY_MISSING
    # Some servers respond with an error, as they do not support this list.
    return UNREACHABLE if response.status >= 500 else OPERATIVE
