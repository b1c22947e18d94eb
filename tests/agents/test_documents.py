"""The agents of GAIA's documents, written for them and changed in nothing but the prefix of their imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_mcp import AgentConsole, SilentConsole
from gaia_mcp.agents.base import Agent, ApiAgent, MCPAgent


class UpperAgent(MCPAgent, Agent):
    """One tool, which says things in capitals."""

    def _get_system_prompt(self) -> str:
        return "You say things in capitals."

    def _create_console(self) -> Any:
        return SilentConsole()

    def _register_tools(self) -> None:
        pass

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"param": {"type": "string"}}, "required": ["param"]}
        return [{"name": "upper", "description": "In capitals", "inputSchema": schema}]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name == "upper":
            return {"result": arguments["param"].upper()}
        raise ValueError(f"Unknown tool: {tool_name}")


class FileAgent(MCPAgent, Agent):
    """Reads and writes files."""

    def _create_console(self) -> Any:
        return AgentConsole()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        path = {"path": {"type": "string"}}
        content = {"content": {"type": "string"}}
        return [
            {"name": "read-file", "inputSchema": {"type": "object", "properties": path, "required": ["path"]}},
            {
                "name": "write-file",
                "inputSchema": {"type": "object", "properties": path | content, "required": ["path", "content"]},
            },
        ]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name == "read-file":
            return {"content": Path(arguments["path"]).read_text()}
        if tool_name == "write-file":
            Path(arguments["path"]).write_text(arguments["content"])
            return {"status": "written"}
        raise ValueError(f"Unknown tool: {tool_name}")


class ProjectAgent(UpperAgent):
    """Has prompts and resources too."""

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [{"name": "daily-standup", "description": "What was done", "arguments": []}]

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [{"uri": "project://dashboard", "name": "Dashboard", "mimeType": "application/json"}]

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "Project", "version": "3.0.0", "description": "All about one project"}


class CodeAgent(MCPAgent, ApiAgent, Agent):
    """Speaks both protocols."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "analyze-code", "inputSchema": {}}]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        return {"quality_score": 85}


def test_the_base_classes_have_the_documented_import_paths() -> None:
    """GAIA's documents: from `agents.base`, and from the package itself."""
    import gaia_mcp
    from gaia_mcp.agents.base.agent import Agent as FromModule

    assert FromModule is Agent is gaia_mcp.Agent
    assert MCPAgent is gaia_mcp.MCPAgent
    assert ApiAgent is gaia_mcp.ApiAgent


def test_an_agent_without_the_two_methods_is_abstract() -> None:
    """GAIA's documents: a TypeError."""

    class Incomplete(MCPAgent, Agent):
        def _get_system_prompt(self) -> str:
            return "Test"

    with pytest.raises(TypeError, match="abstract"):
        Incomplete(silent_mode=True)  # type: ignore[abstract]


def test_an_agent_lists_the_tools_it_defines() -> None:
    """GAIA's documents."""
    (definition,) = UpperAgent(silent_mode=True).get_mcp_tool_definitions()

    assert definition["name"] == "upper"
    assert definition["inputSchema"]["required"] == ["param"]


def test_a_defined_tool_is_executed() -> None:
    """GAIA's documents."""
    assert UpperAgent(silent_mode=True).execute_mcp_tool("upper", {"param": "hello"}) == {"result": "HELLO"}


def test_an_unknown_tool_is_a_value_error() -> None:
    """GAIA's documents."""
    with pytest.raises(ValueError, match="Unknown tool"):
        UpperAgent(silent_mode=True).execute_mcp_tool("lower", {})


def test_an_agent_has_no_prompts_by_default() -> None:
    """GAIA's documents."""
    assert UpperAgent(silent_mode=True).get_mcp_prompts() == []


def test_prompts_can_be_added() -> None:
    """GAIA's documents."""
    assert ProjectAgent(silent_mode=True).get_mcp_prompts()[0]["name"] == "daily-standup"


def test_an_agent_has_no_resources_by_default() -> None:
    """GAIA's documents."""
    assert UpperAgent(silent_mode=True).get_mcp_resources() == []


def test_resources_can_be_added() -> None:
    """GAIA's documents."""
    assert ProjectAgent(silent_mode=True).get_mcp_resources()[0]["uri"] == "project://dashboard"


def test_the_default_server_info_names_the_class() -> None:
    """GAIA's documents: the class's name, and version 2.0.0."""
    assert UpperAgent(silent_mode=True).get_mcp_server_info() == {"name": "GAIA UpperAgent", "version": "2.0.0"}


def test_the_server_info_can_be_overridden() -> None:
    """GAIA's documents."""
    assert ProjectAgent(silent_mode=True).get_mcp_server_info()["description"] == "All about one project"


def test_an_agent_may_have_several_tools(tmp_path: Path) -> None:
    """GAIA's documents: the agent for files, as it is there."""
    agent = FileAgent(silent_mode=True)
    path = str(tmp_path / "note.txt")

    assert [tool["name"] for tool in agent.get_mcp_tool_definitions()] == ["read-file", "write-file"]
    assert agent.execute_mcp_tool("write-file", {"path": path, "content": "hello"}) == {"status": "written"}
    assert agent.execute_mcp_tool("read-file", {"path": path}) == {"content": "hello"}


def test_an_agent_may_be_an_api_agent_as_well() -> None:
    """GAIA's documents: the order is MCPAgent, ApiAgent, Agent."""
    agent = CodeAgent(silent_mode=True)

    assert isinstance(agent, MCPAgent)
    assert isinstance(agent, ApiAgent)
    assert isinstance(agent, Agent)
    assert agent.get_mcp_tool_definitions()
    assert agent.get_model_id() == "gaia-code"


@pytest.mark.parametrize(
    ("agent", "tool", "arguments", "answer"),
    [
        ("FileAgent", "write-file", ["path=note.txt", "content=hello"], '{"status":"written"}'),
        ("ProjectAgent", "upper", ["param=hello"], '{"result":"HELLO"}'),
        ("CodeAgent", "analyze-code", [], '{"quality_score":85}'),
    ],
)
@pytest.mark.story
def test_the_examples_can_be_served_and_called(
    tmp_path: Path, agent: str, tool: str, arguments: list[str], answer: str
) -> None:
    """GAIA's documents: each works with an MCP client. Ours: with the installed program at both ends."""
    import json
    import subprocess
    import sys

    gaia = str(Path(sys.executable).parent / "gaia")
    entry = {"command": gaia, "args": ["mcp", "serve", f"{__file__}:{agent}"]}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"agent": entry}}))

    done = subprocess.run(
        [gaia, "mcp", "call", "--config", "servers.json", "agent", tool, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(answer)
