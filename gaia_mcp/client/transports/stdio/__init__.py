"""A server as a child process, spoken to over its standard input and output.

`StdioTransport` is imported when it is first used: its parts are needed earlier, while a server starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

__all__ = ["StdioTransport"]


def __getattr__(name: str) -> Any:
    if name == "StdioTransport":
        from gaia_mcp.client.transports.stdio.transport import StdioTransport

        return StdioTransport
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
