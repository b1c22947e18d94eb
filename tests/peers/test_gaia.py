"""An agent of AMD's GAIA, served as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.client import MCPClient

TARGET = "gaia.agents.docker.agent:DockerAgent"


def test_a_gaia_agent_is_listed_and_says_what_its_arguments_lack(
    gaia_python: Path, connect: Callable[..., MCPClient]
) -> None:
    """Ours: with its own schema, its errors marked as such, and none of its log lines between the messages."""
    client = connect(gaia_python, "-m", "gaia_mcp", "mcp", "serve", TARGET)

    tools = client.fetch_tools()
    assert tools
    assert client.tool_problems == []
    assert all(tool.input_schema["type"] == "object" for tool in tools)
    lacking = next(tool for tool in tools if tool.input_schema.get("required"))
    result = client.call(lacking.name, {})

    assert result["isError"] is True
    assert lacking.input_schema["required"][0] in result["content"][0]["text"]
    assert client.host.strays == []
