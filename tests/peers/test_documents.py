"""The examples of GAIA's documents about the client, changed in nothing but the prefix of their imports, and in the
servers: those that the documents have `npx` fetch are installed and started as they are.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPClientMixin
from gaia_mcp.agents.base.agent import Agent
from gaia_mcp.agents.base.tools import _TOOL_REGISTRY
from gaia_mcp.client import MCPClient, MCPClientManager
from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.transports.base import MCPTransport
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A cold node on a busy machine.
TIMEOUT_SECONDS = 60


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of the documents' `~/.gaia`; afterwards no server is left and no tool registered."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GAIA_HOME", raising=False)
    before = dict(_TOOL_REGISTRY)
    yield home
    gc.collect()
    wait_until(lambda: not living_with(str(tmp_path)))
    assert before == _TOOL_REGISTRY


@pytest.fixture
def filesystem(npm_servers: dict[str, list[str]], tmp_path: Path) -> dict[str, Any]:
    """The entry of the file server, for a folder with one file in it."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "example.txt").write_text("what is in it")
    command, *arguments = npm_servers["filesystem"]
    return {"command": command, "args": [*arguments, str(folder)], "timeout": TIMEOUT_SECONDS}


@pytest.fixture
def memory(npm_servers: dict[str, list[str]], tmp_path: Path) -> dict[str, Any]:
    """The entry of a second server, with a variable of its own."""
    command, *arguments = npm_servers["memory"]
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    return {"command": command, "args": arguments, "env": env, "timeout": TIMEOUT_SECONDS}


def example_in(entry: dict[str, Any]) -> str:
    return f"{entry['args'][-1]}/example.txt"


def test_an_agent_connects_a_server(filesystem: dict[str, Any]) -> None:
    """GAIA's documents: its tools are there at once, and answer in GAIA's manner."""

    class MyAgent(Agent, MCPClientMixin):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.connect_mcp_server("filesystem", filesystem)

    agent = MyAgent(silent_mode=True)

    entry = _TOOL_REGISTRY["mcp_filesystem_read_text_file"]
    assert entry["description"].startswith("[MCP:filesystem] ")
    assert entry["parameters"]["path"]["type"] == "string"
    assert entry["parameters"]["path"]["required"] is True
    assert (entry["_mcp_server"], entry["_mcp_tool_name"], entry["atomic"]) == ("filesystem", "read_text_file", True)
    answer = entry["function"](path=example_in(filesystem))
    assert answer["status"] == "success"
    assert answer["data"]["content"][0]["text"] == "what is in it"
    assert {"message", "instruction"} <= set(answer)
    failure = entry["function"](path="/nonexistent")
    assert failure["status"] == "error"
    assert failure["error"]
    assert "mcp_filesystem_read_text_file(" in agent.system_prompt
    assert agent.run("List all files")["status"] == "error"  # There is no model here, and it says so.


def test_an_agent_with_a_model_uses_the_tools_of_its_server(filesystem: dict[str, Any]) -> None:
    """GAIA's documents: `agent.run`; ours: with a model that is a function."""

    class MyAgent(Agent, MCPClientMixin):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.connect_mcp_server("filesystem", filesystem)

    path = example_in(filesystem)

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if "what is in it" in messages[-1]["content"]:
            return {"answer": "It says: what is in it."}
        return {"tool": "read_text_file", "tool_args": {"path": path}}

    result = MyAgent(silent_mode=True, model=model).run("Read the example")

    assert (result["status"], result["result"], result["steps_taken"]) == ("success", "It says: what is in it.", 2)


def test_an_agent_connects_several_servers(filesystem: dict[str, Any], memory: dict[str, Any]) -> None:
    """GAIA's documents: the tools of both are there, and an entry's `env` reaches its server."""

    class MultiToolAgent(Agent, MCPClientMixin):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.connect_mcp_server("filesystem", filesystem)
            self.connect_mcp_server("memory", memory)

    agent = MultiToolAgent(silent_mode=True)

    assert agent.list_mcp_servers() == ["filesystem", "memory"]
    assert "mcp_filesystem_read_text_file" in _TOOL_REGISTRY
    answer = _TOOL_REGISTRY["mcp_memory_read_graph"]["function"]()
    assert answer["status"] == "success"


def test_an_agent_loads_servers_from_the_configuration(
    home: Path, filesystem: dict[str, Any], memory: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """GAIA's documents: `~/.gaia/mcp_servers.json`, in Claude Desktop's format."""
    (home / ".gaia").mkdir()
    servers = {"mcpServers": {"filesystem": filesystem, "memory": memory}}
    (home / ".gaia" / "mcp_servers.json").write_text(json.dumps(servers))

    class ConfigAgent(Agent, MCPClientMixin):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            count = self.load_mcp_servers_from_config()
            print(f"Loaded {count} MCP servers")

    agent = ConfigAgent()

    assert "Loaded 2 MCP servers\n" in capsys.readouterr().out
    assert sorted(agent.list_mcp_servers()) == ["filesystem", "memory"]


def test_a_client_is_used_without_an_agent(filesystem: dict[str, Any]) -> None:
    """GAIA's documents: connect, list, call, disconnect."""
    client = MCPClient.from_config(name="filesystem", config=filesystem, timeout=TIMEOUT_SECONDS, debug=False)

    assert client.connect() is True
    tools = client.list_tools()
    assert "read_text_file" in [tool.name for tool in tools]
    assert all(isinstance(tool.description, str) for tool in tools)
    result = client.call_tool("read_text_file", {"path": example_in(filesystem)})
    assert result["content"][0]["text"] == "what is in it"
    client.disconnect()
    assert client.is_connected() is False


def test_a_manager_adds_loads_and_disconnects_servers(
    filesystem: dict[str, Any], memory: dict[str, Any], home: Path
) -> None:
    """GAIA's documents: add, list, get, load the rest from the file, disconnect from all. `~` is expanded."""
    config = MCPConfig("~/.gaia/mcp_servers.json")
    config.add_server("memory", memory)
    manager = MCPClientManager(config=config)

    manager.add_server("filesystem", filesystem)
    assert manager.list_servers() == ["filesystem"]
    client = manager.get_client("filesystem")
    assert client is not None
    assert client.is_connected()
    assert client.list_tools()

    manager.load_from_config()
    assert manager.list_servers() == ["memory", "filesystem"]
    assert set(json.loads((home / ".gaia" / "mcp_servers.json").read_text())["mcpServers"]) == {"filesystem", "memory"}
    manager.disconnect_all()
    assert manager.list_servers() == []


def test_a_failed_connection_is_false_and_a_failed_call_a_result(filesystem: dict[str, Any]) -> None:
    """GAIA's documents: a failed connection is False; a failed call is in its result."""

    class SafeAgent(Agent, MCPClientMixin):
        def __init__(self, config: dict[str, Any], **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.success = self.connect_mcp_server("filesystem", config)

    assert SafeAgent({"command": "surely-not-installed"}, silent_mode=True).success is False
    agent = SafeAgent(filesystem, silent_mode=True)
    assert agent.success is True
    client = agent.get_mcp_client("filesystem")
    assert client is not None

    result = client.call_tool("read_text_file", {"path": "/nonexistent"})

    assert "error" in result or result["isError"] is True


@pytest.fixture
def debug_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged, with the package's own level put back afterwards."""
    logger = logging.getLogger("gaia_mcp")
    level = logger.level
    yield caplog
    logger.setLevel(level)


def test_debug_is_set_by_the_client_the_manager_or_the_agent(
    filesystem: dict[str, Any], debug_log: pytest.LogCaptureFixture
) -> None:
    """GAIA's documents: by the client, the manager, or the agent."""
    assert MCPClient.from_config("server", filesystem, debug=True).debug is True
    assert MCPClientManager(debug=True).debug is True

    class DebugAgent(Agent, MCPClientMixin):
        def __init__(self, **kwargs: Any) -> None:
            kwargs["debug"] = True
            super().__init__(**kwargs)
            self.connect_mcp_server("server", filesystem)

    client = DebugAgent(silent_mode=True).get_mcp_client("server")

    assert client is not None
    assert client.debug is True


class StoredTransport(MCPTransport):
    """A transport of a program's own: the four methods of the documents, and answers that are stored."""

    def __init__(self, url: str, timeout: int = 30) -> None:
        self.url = url
        self.timeout = timeout
        self.asked: list[str] = []
        self._connected = False

    def connect(self) -> bool:
        self._connected = True
        return True

    def disconnect(self) -> None:
        self._connected = False

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.asked.append(method)
        tools = [{"name": "test_tool", "description": "Test", "inputSchema": {}}]
        return {"result": {"tools": tools} if method == "tools/list" else {"content": [{"type": "text", "text": "hi"}]}}

    def is_connected(self) -> bool:
        return self._connected


def test_a_client_uses_a_custom_transport() -> None:
    """GAIA's documents: an initialize result without a single member of what it should have, and tools all the same."""
    transport = StoredTransport("https://example.com")
    client = MCPClient("test", transport)

    assert client.connect() is True
    (tool,) = client.list_tools()
    assert tool.name == "test_tool"
    assert client.call_tool("test_tool", {})["content"][0]["text"] == "hi"
    assert transport.asked == ["initialize", "tools/list", "tools/call"]
    client.disconnect()


def test_a_client_uses_a_mocked_transport() -> None:
    """GAIA's documents: their own tests do this to the interface, so programs written for them do too."""
    from unittest.mock import Mock

    transport = Mock(spec=MCPTransport)
    transport.connect.return_value = True
    transport.is_connected.return_value = True
    transport.send_request.return_value = {
        "result": {"tools": [{"name": "test_tool", "description": "Test", "inputSchema": {}}]}
    }
    client = MCPClient("test", transport)

    client.connect()
    tools = client.list_tools()

    assert [tool.name for tool in tools] == ["test_tool"]
    client.call_tool("test_tool", {"a": 1})
    transport.send_request.assert_called_with("tools/call", {"name": "test_tool", "arguments": {"a": 1}})


def test_an_agent_registers_tools_with_its_own_wrapper(filesystem: dict[str, Any]) -> None:
    """GAIA's documents: an agent registers its tools in its own way."""

    class CustomAgent(Agent, MCPClientMixin):
        def _register_mcp_tools(self, client: MCPClient) -> None:
            for tool in client.list_tools():
                gaia_tool = tool.to_gaia_format(client.name)

                def custom_wrapper(tool: Any = tool, **kwargs: Any) -> Any:
                    return {"custom": client.call_tool(tool.name, kwargs)}

                gaia_tool["function"] = custom_wrapper
                _TOOL_REGISTRY[gaia_tool["name"]] = gaia_tool

    agent = CustomAgent(silent_mode=True)
    agent.connect_mcp_server("filesystem", filesystem)

    result = _TOOL_REGISTRY["mcp_filesystem_read_text_file"]["function"](path=example_in(filesystem))

    assert result["custom"]["content"][0]["text"] == "what is in it"
    agent.disconnect_mcp_server("filesystem")
    assert not [name for name in _TOOL_REGISTRY if name.startswith("mcp_filesystem_")]


def test_from_command_splits_a_command_line_without_a_shell(home: Path) -> None:
    """GAIA's documents: `from_command`, split into words without a shell."""
    client = MCPClient.from_command("demo", f"{sys.executable} -m gaia_mcp mcp serve demo", timeout=TIMEOUT_SECONDS)

    assert client.connect() is True
    assert client.server_info["name"]
    client.disconnect()
