"""A handler for an MCP server at a URL, to which it sends JSON-RPC by HTTP POST.

Copied into a project, it is added with: gaia mcp add browser ./json_rpc_handler.py --setting url=http://127.0.0.1:8000/mcp

Its settings are `url`, and `api_key` where the server demands one. It shows the steps of a handler that does everything
itself: the handshake, the session of the server, the list of tools, retries, and errors. A server that only needs to be
reached is better added by its URL alone: gaia mcp add NAME URL.
"""

from __future__ import annotations

import itertools
import json
import threading
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult

# The newest revision whose servers answer each POST with plain JSON, as the simple ones do.
PROTOCOL_VERSION = "2024-11-05"
# More than a model reads. The result is cut to `max_result_bytes` afterwards.
MAX_RESPONSE_BYTES = 16 << 20


class NoAnswerError(Exception):
    """The server did not answer a request with a result. The message is the reason."""


class JsonRpcHandler(MCPHandler):
    """The tools of a server at `settings["url"]`."""

    description = "An MCP server that is sent JSON-RPC by HTTP"

    def __init__(self, config: MCPHandlerConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._tools: list[MCPToolDefinition] = []
        self._ids = itertools.count(1)
        # What a server with sessions has sent in its answer to `initialize`.
        self._session_id = ""
        # Tools may be called from several threads, and some servers answer one request at a time.
        self._lock = threading.Lock()

    def connect(self) -> None:
        """Negotiate, and read the tools. Raises `NoAnswerError`: the manager reports it, and tries no further."""
        hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": self.client_info.to_dict()}
        self._request("initialize", hello)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = self._request("tools/list", {}).get("tools", [])
        self._tools = [
            MCPToolDefinition(tool["name"], tool.get("description", ""), tool.get("inputSchema", {}), self.name)
            for tool in listed
        ]
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools that the server listed."""
        return list(self._tools)

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool, up to `max_retries` times more if the server does not answer."""
        problem = ""
        for attempt in range(1, self.config.max_retries + 2):
            try:
                result = self._request("tools/call", {"name": name, "arguments": arguments})
            except NoAnswerError as error:
                problem = str(error)
                self.logger.warning("attempt %d of %s failed: %s", attempt, name, problem)
                continue
            text = "\n".join(part.get("text", "") for part in result.get("content", []) if part.get("type") == "text")
            if result.get("isError"):
                return MCPToolResult("", is_error=True, error_message=text or "the tool failed")
            return MCPToolResult(text, metadata={"attempt": attempt})
        return MCPToolResult("", is_error=True, error_message=problem)

    def disconnect(self) -> None:
        """Forget the tools and the session."""
        self._tools, self._session_id, self._connected = [], "", False

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises `NoAnswerError`."""
        answer = self._post({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})
        if isinstance(answer, dict) and isinstance(result := answer.get("result"), dict):
            return result
        error = answer.get("error") if isinstance(answer, dict) else None
        reason = error.get("message") if isinstance(error, dict) else "it is not a result"
        raise NoAnswerError(f"the server's answer to {method}: {reason}")

    def _post(self, message: dict[str, Any]) -> Any:
        """The JSON of the answer; None if it is empty, as to a notification. Raises `NoAnswerError`."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if key := self.config.settings.get("api_key"):
            headers["Authorization"] = f"Bearer {key}"
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        request = Request(self.config.settings["url"], json.dumps(message).encode(), headers)  # noqa: S310 (a setting)
        try:
            with self._lock, urlopen(request, timeout=self.config.timeout) as response:  # noqa: S310
                self._session_id = response.headers.get("Mcp-Session-Id") or self._session_id
                data = response.read(MAX_RESPONSE_BYTES)
            return json.loads(data) if data else None
        except HTTPError as error:
            error.close()
            raise NoAnswerError(f"the server answered with status {error.code}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise NoAnswerError(f"the server cannot be used: {error}") from error


# The class that the loader creates.
MCP_HANDLER_CLASS = JsonRpcHandler
