from __future__ import annotations

from gaia_mcp.cli.launchers import may_start_server


def test_few_programs_start_servers() -> None:
    """Ours: the name of a server that is not there may be that of any program."""
    assert [name for name in ("npx", "mcp-server-time", "My-MCP", "time", "cat") if may_start_server(name)] == [
        "npx", "mcp-server-time", "My-MCP"
    ]  # fmt: skip
