"""The other example that the document about handlers describes: an MCP server that is sent JSON-RPC by HTTP."""

import threading

import requests
from azext_prototype.mcp.base import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult


class BrowserHandler(MCPHandler):
    name = "browser"
    description = "A browser without a screen"

    def __init__(self, config: MCPHandlerConfig, **kwargs):
        super().__init__(config, **kwargs)
        self._session: requests.Session | None = None
        self._tools: list[MCPToolDefinition] = []
        self._last_id = 0
        self._lock = threading.Lock()

    def connect(self) -> None:
        self._bubble_message("connecting")
        self._session = requests.Session()
        self._session.headers["Content-Type"] = "application/json"
        if key := self.config.settings.get("api_key"):
            self._session.headers["Authorization"] = f"Bearer {key}"
        began = self._ask(
            "initialize",
            {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": self.client_info.to_dict()},
        )
        if began is None:
            self._bubble_warning("initialize failed")
            return
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})
        self._tools = [
            MCPToolDefinition(
                name=tool["name"],
                description=tool.get("description", ""),
                input_schema=tool.get("inputSchema", {}),
                handler_name=self.name,
            )
            for tool in (self._ask("tools/list", {}) or {}).get("tools", [])
        ]
        self._connected = True
        self._bubble_message(f"connected, {len(self._tools)} tools")

    def list_tools(self) -> list[MCPToolDefinition]:
        return list(self._tools)

    def call_tool(self, name: str, arguments: dict) -> MCPToolResult:
        if not self._connected:
            return MCPToolResult(content="", is_error=True, error_message="Not connected")
        for attempt in range(1, self.config.max_retries + 2):
            result = self._ask("tools/call", {"name": name, "arguments": arguments})
            if result is not None:
                texts = [part.get("text", "") for part in result.get("content", []) if part.get("type") == "text"]
                return MCPToolResult(content="\n".join(texts), metadata={"handler": self.name, "attempt": attempt})
            self.logger.warning("attempt %d failed", attempt)
        return MCPToolResult(content="", is_error=True, error_message=f"Failed after {attempt} attempts")

    def disconnect(self) -> None:
        if self._session:
            self._session.close()
            self._session = None
        self._connected = False
        self._tools = []

    def _ask(self, method: str, params: dict) -> dict | None:
        with self._lock:
            self._last_id += 1
            try:
                answer = self._post({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
                answer.raise_for_status()
                return answer.json().get("result")
            except (requests.RequestException, ValueError) as exc:
                self.logger.warning("%s failed: %s", method, exc)
                return None

    def _post(self, message: dict) -> requests.Response:
        return self._session.post(self.config.settings["url"], json=message, timeout=self.config.timeout)


MCP_HANDLER_CLASS = BrowserHandler
