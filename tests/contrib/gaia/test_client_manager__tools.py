"""The tools of all servers of an `MCPClientManager`, by name."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp import MCPClientManager, MCPConfig
from tests.contrib.handlers.handlers_under_test import at_once, names
from tests.processes import living_with
from tests.waiting import wait_until

pytestmark = pytest.mark.story

SERVERS = Path(__file__).parents[2] / "servers"
GAIA = str(Path(sys.executable).parent / "gaia")


def demo(mark: str, **more: Any) -> dict[str, Any]:
    return {"command": GAIA, "args": ["mcp", "serve", "demo"], "env": {"MARK": mark}, **more}


def script(mark: str, name: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / f"{name}.py")], "env": {"MARK": mark}, **more}


def test_a_hub_serves_the_agents_of_its_own_file(manager: MCPClientManager, mark: str) -> None:
    """Ours: as with the commands."""
    manager.config.add_server("hub", {"agent": "agents", "env": {"MARK": mark}})
    document = json.loads(manager.config.config_file.read_text())
    document["agents"] = {"local": {"endpoint": "http://127.0.0.1:1/v1"}}
    manager.config.config_file.write_text(json.dumps(document))

    listed = manager.call_tool("hub.list_available_agents", {"capability_filter": "text_completion"})

    assert "local" in [agent["name"] for agent in listed.metadata["structuredContent"]["agents"]]


def test_a_tool_is_called_by_name(manager: MCPClientManager, mark: str) -> None:
    """Ours: as `call` writes it and as GAIA does; a configured server is connected then, and no other."""
    manager.config.add_server("calc", demo(mark))
    manager.config.add_server("other", demo(mark))

    for name in ("calc.add", "mcp_calc_add"):
        assert manager.call_tool(name, {"a": 2, "b": 3}).metadata == {"structuredContent": {"sum": 5}}

    assert manager.list_servers() == ["calc"]
    client = manager.get_client("calc")
    assert client is not None
    assert client.is_connected()
    assert manager.call_tool("calc.none", {}).error_message == "Unknown tool: calc.none"
    assert manager.call_tool("none.add", {}).is_error


def test_an_added_server_is_called_through_its_client(manager: MCPClientManager, mark: str) -> None:
    """Ours: there is one client of a server."""
    client = manager.add_server("calc", demo(mark))

    assert manager.call_tool("calc.greet", {"name": "Ada"}).content == "Hello, Ada!"

    assert manager.get_client("calc") is client
    assert len(living_with(mark)) == 1


def test_all_tools_of_all_servers_can_be_listed_and_called(manager: MCPClientManager, mark: str) -> None:
    """A10, and MC-17: servers may have tools of the same name, present themselves alike, or differ by a character."""
    for name in ("a-b", "a_b", "a.b"):
        manager.config.add_server(name, demo(mark, env={"MARK": mark, "NAME": name}))
    manager.config.add_server("disabled", demo(mark, disabled=True))

    tools = manager.get_tools_for_scope()
    functions = [tool["function"]["name"] for tool in manager.get_tools_as_openai_schema()]

    assert [name for name in names(tools) if name.endswith(".add")] == ["a-b.add", "a_b.add", "a.b.add"]
    assert len(set(functions)) == len(functions) == len(tools)
    assert functions[0] == "mcp_a-b_greet"
    assert "mcp_a_b_greet" in functions
    by_function = dict(zip(functions, tools, strict=True))
    for function, tool in by_function.items():
        found = manager.find_tool(function)
        assert found == tool
        assert manager.find_tool(tool.name) == tool


def test_the_entry_restricts_who_may_use_a_server(manager: MCPClientManager, mark: str) -> None:
    """A3: `stages` and `agents` of an entry, in listing and in calling; what is out of scope is not connected."""
    manager.config.add_server("build", demo(mark, stages=["build"], agents=["coder"]))
    manager.config.add_server("free", demo(mark))

    assert {tool.handler_name for tool in manager.get_tools_for_scope("deploy")} == {"free"}
    assert manager.list_servers() == ["free"]
    assert manager.call_tool("build.greet", {"name": "Ada"}, agent="cook").is_error
    assert manager.list_servers() == ["free"]
    assert not manager.call_tool("build.greet", {"name": "Ada"}, stage="build", agent="coder").is_error
    assert manager.call_tool("build.greet", {"name": "Ada"}, stage="deploy").error_message.endswith("at stage 'deploy'")


def test_results_are_truncated_to_the_limit_of_the_entry(manager: MCPClientManager, mark: str) -> None:
    """A9: for results of any server; by default 8192 bytes."""
    manager.config.add_server("short", demo(mark, max_result_bytes=5))
    manager.config.add_server("usual", demo(mark))

    assert manager.call_tool("short.greet", {"name": "Ada"}).content == "Hello...(truncated)"
    assert manager.call_tool("usual.greet", {"name": "x" * 9000}).content.startswith("Hello, xxx")
    assert len(manager.call_tool("usual.greet", {"name": "x" * 9000}).content) == 8192 + len("...(truncated)")


def test_a_server_that_fails_is_left_out_and_reported(manager: MCPClientManager, mark: str) -> None:
    """A5, A8: the others go on; it is not tried again before `disconnect_all`, `load_from_config` or `add_server`."""
    manager.config.add_server("broken", script(mark, "exits_at_once"))
    manager.config.add_server("invalid", {"command": "server", "env": {"KEY": "${NOT_SET_ANYWHERE}"}})
    manager.config.add_server("sound", demo(mark))

    assert {tool.handler_name for tool in manager.get_tools_for_scope()} == {"sound"}

    report = {line["name"]: line for line in manager.get_status_report()}
    assert "broken" in report["broken"]["error"]
    assert "NOT_SET_ANYWHERE" in report["invalid"]["error"]
    assert report["sound"]["connected"]
    assert manager.call_tool("broken.echo", {}).error_message == "Handler 'broken' is unavailable"

    manager.remove_server("broken")
    manager.add_server("broken", demo(mark))
    assert not manager.call_tool("broken.greet", {"name": "Ada"}).is_error


def test_a_removed_server_cannot_be_called(manager: MCPClientManager, mark: str) -> None:
    """Ours: by this manager, or by another program that changes the file."""
    manager.add_server("one", demo(mark))
    manager.config.add_server("two", demo(mark))
    assert not manager.call_tool("one.greet", {"name": "Ada"}).is_error

    manager.remove_server("one")
    Path(manager.config.config_file).write_text(json.dumps({"mcpServers": {}}))

    assert manager.call_tool("one.greet", {"name": "Ada"}).error_message == "Unknown tool: one.greet"
    assert manager.call_tool("two.greet", {"name": "Ada"}).is_error
    assert manager.get_tools_for_scope() == []


def test_an_unreadable_file_does_not_keep_connected_servers_from_working(
    manager: MCPClientManager, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: as `load_from_config`, it is logged."""
    manager.add_server("one", demo(mark))
    Path(manager.config.config_file).write_text("{")

    assert {tool.handler_name for tool in manager.get_tools_for_scope()} == {"one"}
    assert not manager.call_tool("one.greet", {"name": "Ada"}).is_error
    assert "servers.json:1:2: ends too early" in caplog.text


def test_disconnect_all_resets_the_circuit_breakers(manager: MCPClientManager, mark: str) -> None:
    """A7: a server that was left alone is used again."""
    manager.config.add_server("demo", demo(mark))
    for _ in range(3):
        assert manager.call_tool("demo.fail", {}).error_message == "this tool always fails"
    assert manager.call_tool("demo.fail", {}).error_message == "Handler 'demo' is unavailable"

    manager.disconnect_all()
    assert manager.list_servers() == []

    assert manager.call_tool("demo.greet", {"name": "Ada"}).content == "Hello, Ada!"


def test_threads_that_need_a_server_at_once_connect_it_once(manager: MCPClientManager, mark: str) -> None:
    """A5: and each gets its own answer."""
    manager.config.add_server("demo", demo(mark))

    answers = at_once(16, lambda number: manager.call_tool("demo.greet", {"name": str(number)}).content)

    assert answers == [f"Hello, {number}!" for number in range(16)]
    assert len(living_with(mark)) == 1


def test_a_handler_file_is_a_server_too(manager: MCPClientManager, tmp_path: Path, mark: str) -> None:
    """Ours: entries of all kinds are reached alike; a path is relative to the configuration file."""
    code = (
        "from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult\n"
        "class Clock(MCPHandler):\n"
        "    def connect(self): self._connected = True\n"
        "    def list_tools(self): return [MCPToolDefinition('hour', 'The hour.', {}, self.name)]\n"
        "    def call_tool(self, name, arguments): return MCPToolResult(arguments['time'][:2])\n"
        "    def disconnect(self): self._connected = False\n"
    )
    (tmp_path / "clock_handler.py").write_text(code)
    manager.config.add_server("clock", {"handler": "clock_handler.py", "env": {"MARK": mark}})

    assert manager.call_tool("clock.hour", {"time": "08:30"}).content == "08"


def test_a_collected_manager_stops_the_servers_that_it_connected(config: MCPConfig, mark: str) -> None:
    """GAIA's documents: also those that were connected because of a call."""
    manager = MCPClientManager(config)
    config.add_server("demo", demo(mark))
    manager.call_tool("demo.greet", {"name": "Ada"})
    assert living_with(mark)
    reference = weakref.ref(manager)

    del manager
    gc.collect()

    assert reference() is None
    wait_until(lambda: not living_with(mark))
