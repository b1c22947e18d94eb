"""An agent with a long text."""

from __future__ import annotations

from typing import Any

from gaia_mcp import MCPAgent, tool

PIECE = "0123456789abcde " * 65536


class Bulk(MCPAgent):
    """Long texts."""

    @tool
    def big(self, megabytes: int) -> Any:
        """A text of so many megabytes, and no structured content, which would be the text once more."""
        return PIECE * megabytes
