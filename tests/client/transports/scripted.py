"""A transport of a program's own."""

from __future__ import annotations

from typing import Any

from gaia_mcp.client.transports.base import MCPTransport


class Scripted(MCPTransport):
    """A program's own, which answers each method with the same result."""

    def __init__(self, **results: Any) -> None:
        self.results = {name.replace("_", "/"): result for name, result in results.items()}
        self.connected = False

    def connect(self) -> bool:
        self.connected = True
        return True

    def disconnect(self) -> None:
        self.connected = False

    def is_connected(self) -> bool:
        return self.connected

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"result": self.results.get(method, {})}
