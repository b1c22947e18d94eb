"""Two tools with the same result: one asks its client for it."""

from __future__ import annotations

from gaia_mcp import MCPAgent, current_call, tool


class Asking(MCPAgent):
    """Knows a folder, or asks for it."""

    @tool
    def plain(self) -> str:
        """The folder."""
        return "file:///here"

    @tool
    def ask(self) -> str:
        """The folder that the client works in."""
        return current_call().roots()[0].uri
