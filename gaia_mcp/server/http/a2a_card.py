"""The agent card of the A2A proxy: its URL, authentication and skills, for AgentVault's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gaia_mcp._version import __version__
from gaia_mcp.protocol.jsonrpc import encode
from gaia_mcp.server.http.received import Received, RefusalError, send_body, send_refusal
from gaia_mcp.server.http.security import LOOPBACK_NAMES

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.security import Authorizer, Hosts
    from gaia_mcp.server.http.workers import Limits

CARD_PATH = "/agent-card.json"
A2A_PATH = "/a2a"
# AgentVault's clients look up their key by this name, first in the variable AGENTVAULT_KEY_GAIA_MCP. By default they
# would use the card's id, which is not a valid variable name.
KEY_NAME = "gaia_mcp"
_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_INPUT = {
    "type": "object",
    "properties": {
        "target_mcp_server_id": {**_TEXT, "description": "The name of the server that has the tool"},
        "tool_name": {**_TEXT, "description": "The name of the tool, such as filesystem.readFile"},
        "arguments": {**_OBJECT, "description": "The tool's arguments"},
    },
    "required": ["target_mcp_server_id", "tool_name", "arguments"],
}
_OUTPUT = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "mcp_result": {"type": ["object", "null"], "description": "The tool's result, if it has succeeded"},
        "error": {
            "type": ["object", "null"],
            "properties": {
                "source": {"type": "string", "enum": ["A2A_PROXY", "MCP_PROTOCOL", "MCP_TOOL"]},
                "code": _TEXT,
                "message": _TEXT,
                "details": {"type": ["object", "null"]},
            },
            "required": ["source", "code", "message"],
        },
    },
    "required": ["success", "mcp_result", "error"],
}


class AgentCard:
    """An ASGI app for the card. It requires an allowed host but no token: only the proxy itself requires the token."""

    def __init__(self, skill: str, limits: Limits, hosts: Hosts, authorizer: Authorizer | None) -> None:
        self._limits = limits
        self._hosts = hosts
        scheme = {"scheme": "none", "description": "No credentials are needed."}
        if authorizer is not None:
            described = "The token of the server, as X-Api-Key."
            scheme = {"scheme": "apiKey", "description": described, "service_identifier": KEY_NAME}
        self._card: dict[str, Any] = {
            "schemaVersion": "1.0",
            "humanReadableId": "gaia-mcp/proxy",
            "agentVersion": __version__,
            "name": "gaia-mcp",
            "description": "Calls tools of MCP servers for agents of A2A.",
            "provider": {"name": "gaia-mcp"},
            "capabilities": {"a2aVersion": "1.0", "supportedMessageParts": ["data"]},
            "authSchemes": [scheme],
            "skills": [
                {
                    "id": skill,
                    "name": "Execute an MCP tool",
                    "description": "Executes a tool of an MCP server.",
                    "input_schema": _INPUT,
                    "output_schema": _OUTPUT,
                }
            ],
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Received(scope, receive)
        try:
            request.check_head(self._limits)
            self._hosts.check(request)
        except RefusalError as refusal:
            await send_refusal(send, refusal)
            return
        url = f"{scope['scheme']}://{_named(request.headers['host'])}{scope.get('root_path', '')}{A2A_PATH}"
        await send_body(send, 200, encode({**self._card, "url": url}))


def _named(host: str) -> str:
    """The host in a form that AgentVault's client accepts: `localhost` is the only loopback name that it supports."""
    parts = urlsplit(f"//{host}")
    if parts.hostname not in LOOPBACK_NAMES:
        return host
    return "localhost" if parts.port is None else f"localhost:{parts.port}"
