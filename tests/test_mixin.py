"""`MCPClientMixin`: in every shape of class, and with nothing of it left when the agent goes away."""

from __future__ import annotations

import gc
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPClientManager, MCPClientMixin
from gaia_mcp.agents.base import _TOOL_REGISTRY, Agent, MCPAgent, SilentConsole
from gaia_mcp.client import MCPClient, MCPConfig
from gaia_mcp.errors import EntryError
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = Path(__file__).parent / "servers"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, and the proof that afterwards no server is left and no tool registered."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / ".gaia"))
    before = dict(_TOOL_REGISTRY)
    yield tmp_path
    gc.collect()
    wait_until(lambda: not living_with(str(tmp_path)))
    assert before == _TOOL_REGISTRY


def entry(home: Path, server: str = "good_stateless", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / f"{server}.py")], "env": {"MARK": str(home)}, **more}


def mcp_tools() -> set[str]:
    return {name for name in _TOOL_REGISTRY if name.startswith("mcp_")}


class Recording(SilentConsole):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def print_info(self, message: str) -> None:
        self.said.append(("info", message))

    def print_warning(self, message: str) -> None:
        self.said.append(("warning", message))

    def print_error(self, message: str) -> None:
        self.said.append(("error", message))


class AgentFirst(Agent, MCPClientMixin):
    """The order of the documents. Counts how often its prompt is composed."""

    composed = 0

    def _create_console(self) -> Recording:
        return Recording()

    def _compose_system_prompt(self) -> str:
        self.composed += 1
        return super()._compose_system_prompt()


class MixinFirst(MCPClientMixin, Agent):
    """The other order."""


class Alone(MCPClientMixin):
    """No agent at all."""


class ByHand(Agent, MCPClientMixin):
    """Calls both constructors itself."""

    def __init__(self) -> None:
        Agent.__init__(self, silent_mode=True)
        MCPClientMixin.__init__(self)


class ByHandReversed(MCPClientMixin, Agent):
    """The same, in the other order of bases."""

    def __init__(self) -> None:
        Agent.__init__(self, silent_mode=True)
        MCPClientMixin.__init__(self)


class Served(MCPAgent, Agent, MCPClientMixin):
    """An agent that is a server as well."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return []

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        raise ValueError(f"Unknown tool: {tool_name}")


class NeverConstructed(MCPClientMixin):
    """As under GAIA's own `Agent`, whose constructor does not go on to the mixin's."""

    def __init__(self) -> None:
        self.console = Recording()


class ConnectsEarly(MCPClientMixin, Agent):
    """Connects while the constructor of its agent runs."""

    def _register_tools(self) -> None:
        self.load_mcp_servers_from_config()


SHAPES = [AgentFirst, MixinFirst, Alone, ByHand, ByHandReversed, Served, NeverConstructed]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_agent_connects_calls_and_disconnects(shape: type[Any], home: Path) -> None:
    """GAIA's documents, and ours: however the constructors are called, or not called at all."""
    agent = shape()

    assert agent.connect_mcp_server("one", entry(home)) is True
    assert agent.list_mcp_servers() == ["one"]
    assert isinstance(agent.get_mcp_client("one"), MCPClient)
    assert mcp_tools() == {"mcp_one_echo", "mcp_one_fail"} or "mcp_one_echo" in mcp_tools()
    answer = _TOOL_REGISTRY["mcp_one_echo"]["function"](text="hello")
    assert answer["status"] == "success"

    agent.disconnect_mcp_server("one")

    assert agent.list_mcp_servers() == []
    assert agent.get_mcp_client("one") is None
    assert mcp_tools() == set()
    assert living_with(str(home)) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_when_the_agent_goes_away_nothing_of_it_is_left(shape: type[Any], home: Path) -> None:
    """Ours: its tools leave the registry, its servers are ended, without a word from it."""
    agent = shape()
    assert agent.connect_mcp_server("one", entry(home, "ignores_eof")) is True

    del agent
    gc.collect()

    assert mcp_tools() == set()
    wait_until(lambda: not living_with(str(home)))


@pytest.mark.parametrize("shape", [AgentFirst, MixinFirst])
def test_options_reach_whom_they_are_for(shape: type[Any], home: Path) -> None:
    """Ours: constructors pass on what they do not know, in either order."""
    agent = shape(silent_mode=True, debug=True, max_steps=3, config_file=home / "other.json")

    assert (agent.silent_mode, agent.debug, agent.max_steps) == (True, True, 3)
    assert agent._mcp_manager.debug is True
    assert agent._mcp_manager.config.config_file == home / "other.json"
    with pytest.raises(TypeError):
        shape(nonsense=1)


def test_alone_it_takes_debug_and_nothing_else() -> None:
    """GAIA's documents: `debug` is for the manager."""
    alone = Alone(debug=True)

    assert alone._mcp_manager is not None
    assert alone._mcp_manager.debug is True
    with pytest.raises(TypeError):
        Alone(nonsense=1)


def test_being_constructed_twice_keeps_the_servers(home: Path) -> None:
    """Ours."""
    agent = MixinFirst(silent_mode=True)
    agent.connect_mcp_server("one", entry(home))

    MCPClientMixin.__init__(agent)

    assert agent.list_mcp_servers() == ["one"]
    agent.disconnect_mcp_server("one")


def test_a_manager_that_was_set_before_is_kept(home: Path) -> None:
    """GAIA, newer releases: subclasses set it themselves."""

    class Mine(MCPClientMixin, Agent):
        def __init__(self) -> None:
            self._mcp_manager = MCPClientManager(MCPConfig(home / "mine.json"))
            super().__init__(silent_mode=True)

    agent = Mine()
    agent.connect_mcp_server("one", entry(home))

    assert "one" in json.loads((home / "mine.json").read_text())["mcpServers"]
    agent.disconnect_mcp_server("one")


def test_configured_servers_are_loaded_and_the_prompt_is_rebuilt_once(home: Path) -> None:
    """GAIA's documents: the number of servers; failures are told, and hold nobody up."""
    config = MCPConfig()
    config.add_server("one", entry(home))
    config.add_server("two", entry(home))
    config.add_server("bad", entry(home, "exits_at_once"))
    agent = AgentFirst()

    assert agent.load_mcp_servers_from_config() == 2

    assert agent.composed == 1
    assert "mcp_one_echo(" in agent.system_prompt
    assert "mcp_two_echo(" in agent.system_prompt
    ((kind, warning),) = agent.console.said
    assert kind == "warning"
    assert "'bad'" in warning
    assert "status 3" in warning
    assert {line["name"]: line["connected"] for line in agent.get_mcp_status_report()} == {
        "one": True, "two": True, "bad": False
    }  # fmt: skip
    assert agent.load_mcp_servers_from_config() == 2
    assert agent.composed == 1


@pytest.mark.parametrize("shape", [AgentFirst, MixinFirst, ConnectsEarly])
def test_the_configuration_may_be_loaded_at_construction(shape: type[Any], home: Path) -> None:
    """GAIA: `auto_load_config`; also by an agent that connects while it is being constructed."""
    config = MCPConfig(home / "mine.json")
    config.add_server("one", entry(home))

    agent = shape(auto_load_config=True, config_file=home / "mine.json", silent_mode=True)

    assert agent.list_mcp_servers() == ["one"]
    assert "mcp_one_echo" in mcp_tools()


def test_the_prompt_is_rebuilt_once_for_each_change(home: Path) -> None:
    """GAIA's documents."""
    agent = AgentFirst()
    agent.connect_mcp_server("one", entry(home))
    assert agent.composed == 1
    assert "mcp_one_echo(" in agent.system_prompt

    agent.disconnect_mcp_server("one")

    assert agent.composed == 2
    assert "mcp_one" not in agent.system_prompt


def test_a_server_that_fails_is_told_on_the_console(home: Path) -> None:
    """GAIA's documents: False, and no exception."""
    agent = AgentFirst()

    assert agent.connect_mcp_server("bad", entry(home, "exits_at_once")) is False

    ((kind, error),) = agent.console.said
    assert kind == "error"
    assert "Failed to connect to MCP server 'bad'" in error
    assert agent.composed == 0


def test_a_name_that_is_taken_is_told_on_the_console(home: Path) -> None:
    """GAIA: False, and the server that is there stays."""
    agent = AgentFirst()
    agent.connect_mcp_server("one", entry(home))

    assert agent.connect_mcp_server("one", entry(home)) is False

    assert "already exists" in agent.console.said[-1][1]
    assert agent.list_mcp_servers() == ["one"]
    agent.disconnect_mcp_server("one")


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("x", "npx server", "config dict"),
        ("x", {}, "command"),
        ("", {"command": "x"}, "name"),
        ("a b", {"command": "x"}, "name"),
    ],
)
def test_an_entry_that_makes_no_sense_is_an_exception(name: str, config: Any, problem: str) -> None:
    """GAIA's documents: a ValueError."""
    with pytest.raises(EntryError, match=problem):
        Alone().connect_mcp_server(name, config)


def test_without_a_console_it_logs(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA: what the console would be told."""
    agent = Alone()

    with caplog.at_level(logging.INFO, "gaia_mcp"):
        agent.connect_mcp_server("one", entry(home))
        agent.disconnect_mcp_server("one")
        agent.disconnect_mcp_server("one")

    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("Connected to MCP server 'one'") for line in said)
    assert "MCP server 'one' not found" in said


def test_tools_that_change_are_followed(home: Path) -> None:
    """Spec, tools: `list_changed`. The registry and the prompt follow, and what is gone is taken out."""
    agent = AgentFirst()
    agent.connect_mcp_server("s", entry(home, "list_changes"))
    assert mcp_tools() == {"mcp_s_echo"}

    _TOOL_REGISTRY["mcp_s_echo"]["function"]()

    wait_until(lambda: mcp_tools() == {"mcp_s_echo", "mcp_s_new1"})
    wait_until(lambda: "mcp_s_new1(" in agent.system_prompt)
    agent.disconnect_mcp_server("s")


def test_unusable_tools_are_told_and_the_others_registered(home: Path) -> None:
    """Ours: a tool without a name must not cost the others."""
    agent = AgentFirst()

    agent.connect_mcp_server("s", entry(home, "bad_tools"))

    assert mcp_tools()
    assert any(kind == "warning" and "'s'" in said for kind, said in agent.console.said)
    agent.disconnect_mcp_server("s")


def test_registering_can_be_overridden(home: Path) -> None:
    """GAIA's documents: an agent's own wrapper around every tool, taken out again as well."""

    class Custom(Agent, MCPClientMixin):
        def _register_mcp_tools(self, client: MCPClient) -> None:
            for tool in client.list_tools():
                entry = tool.to_gaia_format(client.name)

                def call(tool: Any = tool, **arguments: Any) -> Any:
                    return {"mine": client.call_tool(tool.name, arguments)}

                _TOOL_REGISTRY[entry["name"]] = {**entry, "function": call}

    agent = Custom(silent_mode=True)
    agent.connect_mcp_server("one", entry(home))

    assert "mine" in _TOOL_REGISTRY["mcp_one_echo"]["function"](text="x")
    agent.disconnect_mcp_server("one")
    assert mcp_tools() == set()


def test_two_agents_have_servers_of_their_own(home: Path) -> None:
    """Ours: one that goes away takes nothing of the other's."""
    first, second = Alone(config_file=home / "a.json"), Alone(config_file=home / "b.json")
    first.connect_mcp_server("one", entry(home))
    second.connect_mcp_server("one", entry(home))

    del second
    gc.collect()

    assert _TOOL_REGISTRY["mcp_one_echo"]["function"](text="x")["status"] == "success"
    first.disconnect_mcp_server("one")
