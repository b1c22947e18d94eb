"""How we present ourselves to servers."""

from __future__ import annotations

from gaia_mcp._version import __version__

CLIENT_INFO = {"name": "gaia-mcp", "title": "GAIA MCP", "version": __version__}
