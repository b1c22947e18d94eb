"""What the shell is offered at a TAB. From files alone, never by connecting, and never with an error."""

from __future__ import annotations

from gaia_mcp.errors import MCPError


def server_names(incomplete: str) -> list[str]:
    """The configured servers whose names begin so."""
    from gaia_mcp.config.store import ConfigStore

    try:
        names = ConfigStore.locate().names()
    except (MCPError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def agent_names(incomplete: str) -> list[str]:
    """The built-in agents whose names begin so."""
    from gaia_mcp.agents.loader import BUILT_IN

    return [name for name in BUILT_IN if name.startswith(incomplete)]
