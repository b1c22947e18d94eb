from __future__ import annotations

from gaia_mcp.cli.lines import may_start_server


def test_launchers_and_names_with_mcp_may_start_a_server() -> None:
    """Ours: an unknown server's name may also be that of any other program."""
    assert [name for name in ("npx", "mcp-server-time", "My-MCP", "time", "cat") if may_start_server(name)] == [
        "npx", "mcp-server-time", "My-MCP"
    ]  # fmt: skip
