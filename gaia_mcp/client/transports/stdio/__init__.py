"""A server as a child process, over its standard input and output.

`StdioTransport` is imported when it is first used: its parts are needed earlier, while a server starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

__all__ = ["StdioTransport"]

__getattr__, __dir__ = lazily(__name__, {"gaia_mcp.client.transports.stdio.transport": ("StdioTransport",)})
