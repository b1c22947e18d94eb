"""AMD's GAIA beside us: its agents served as they are, and its own `Agent` with our servers."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.client import MCPClient

TARGET = "gaia.agents.docker.agent:DockerAgent"


def test_a_gaia_agent_lists_its_tools_and_reports_missing_arguments(
    gaia_python: Path, connect: Callable[..., MCPClient]
) -> None:
    """Ours: with its own schema, its errors marked as such, and none of its log lines between the messages."""
    client = connect(gaia_python, "-m", "gaia_mcp", "mcp", "serve", TARGET)

    # The name by which GAIA's own agents are known.
    assert client.server_info["name"].startswith("GAIA ")
    tools = client.fetch_tools()
    assert tools
    assert client.tool_problems == []
    assert all(tool.input_schema["type"] == "object" for tool in tools)
    lacking = next(tool for tool in tools if tool.input_schema.get("required"))
    result = client.call(lacking.name, {})

    assert result["isError"] is True
    assert lacking.input_schema["required"][0] in result["content"][0]["text"]
    assert client.host.strays == []


USES_BOTH = """
import json, sys

from gaia.agents.base.agent import Agent
from gaia.agents.base.tools import _TOOL_REGISTRY as theirs
from gaia_mcp import MCPClientMixin, MCPConfig
from gaia_mcp.agents.base import _TOOL_REGISTRY as ours


def used(*bases):
    class Both(*bases):
        def _get_system_prompt(self):
            return "You are served."

        def _create_console(self):
            from gaia.agents.base.console import SilentConsole
            return SilentConsole()

        def _register_tools(self):
            pass

    agent = Both(silent_mode=True, skip_lemonade=True)
    entry = {"command": sys.executable, "args": ["-m", "gaia_mcp", "mcp", "serve", "demo"], "timeout": 60}
    found = {"connected": agent.connect_mcp_server("demo", entry), "servers": agent.list_mcp_servers()}
    found["in theirs"] = "mcp_demo_greet" in theirs
    found["in ours"] = "mcp_demo_greet" in ours
    found["in the prompt"] = "mcp_demo_greet" in agent.system_prompt
    found["called"] = agent._execute_tool("mcp_demo_greet", {"name": "Ada"})["status"]
    found["called short"] = agent._execute_tool("greet", {"name": "Ada"})["status"]
    agent.disconnect_mcp_server("demo")
    found["left"] = [name for name in theirs if name.startswith("mcp_")]
    return found


orders = {"agent first": used(Agent, MCPClientMixin), "mixin first": used(MCPClientMixin, Agent)}
with open(sys.argv[1], "w") as file:
    json.dump(orders, file)
"""


def test_the_mixin_works_under_gaias_own_agent(gaia_python: Path, tmp_path: Path, mark: dict[str, str]) -> None:
    """Ours: with its registry, its prompt and its way of calling; its constructor does not go on to ours. In either
    order of the base classes, and in one process.
    """
    program, answer = tmp_path / "both.py", tmp_path / "found.json"
    program.write_text(USES_BOTH)
    environment = {**mark, "PATH": os.environ["PATH"], "HOME": str(tmp_path), "GAIA_HOME": str(tmp_path / "gaia")}

    done = subprocess.run(
        [gaia_python, program, answer], env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    expected = {
        "connected": True,
        "servers": ["demo"],
        "in theirs": True,
        "in ours": False,
        "in the prompt": True,
        "called": "success",
        "called short": "success",
        "left": [],
    }
    assert json.loads(answer.read_text()) == {"agent first": expected, "mixin first": expected}
