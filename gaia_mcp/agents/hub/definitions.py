"""The three tools of the hub, with their input and output schemas, by `spec/agents-tools.md`."""

from __future__ import annotations

from typing import Any

from gaia_mcp.agents.hub.drivers.base import CAPABILITIES
from gaia_mcp.agents.hub.entries import MAX_TIMEOUT_SECONDS

LIST, EXECUTE, REGISTER = "list_available_agents", "execute_agent_request", "register_tool_with_agent"

_STATUS = {"enum": ["success", "error"]}
_STRINGS = {"type": "array", "items": {"type": "string"}}

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
