"""`MCPClientMixin`: in every shape of class, and with nothing of it left when the agent goes away."""

from __future__ import annotations

import copy
import gc
import json
import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

import pytest

from gaia_mcp import MCPClientManager, MCPClientMixin
from gaia_mcp.agents.base import _TOOL_REGISTRY, Agent, MCPAgent, SilentConsole
from gaia_mcp.client import MCPClient, MCPConfig, MCPTool
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.core.errors import EntryError
from tests.processes import living_with
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = Path(__file__).parents[2] / "servers"


@pytest.fixture(scope="module", autouse=True)
def clean_slate() -> None:
    """The tests below search for garbage again and again: among what they make, not among what others have made."""
    gc.collect()
    gc.freeze()


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
    """Records the messages that it is given to print."""

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


def test_a_tool_that_its_entry_excludes_is_not_registered(home: Path) -> None:
    """Ours: the model does not learn of it."""
    agent = Alone()

    assert agent.connect_mcp_server("bad", entry(home, "bad_tools", excludeTools=["good"]))
    assert mcp_tools() == {"mcp_bad_bare", "mcp_bad_other"}

    agent.disconnect_mcp_server("bad")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_order_of_constructors_connects_calls_and_disconnects(shape: type[Any], home: Path) -> None:
    """GAIA's documents, and ours: however the constructors are called, or not called at all."""
    agent = shape()

    assert agent.connect_mcp_server("one", entry(home)) is True
    assert agent.list_mcp_servers() == ["one"]
    assert isinstance(agent.get_mcp_client("one"), MCPClient)
    assert mcp_tools() == {f"mcp_one_{tool.name}" for tool in agent.get_mcp_client("one").list_tools()}
    answer = _TOOL_REGISTRY["mcp_one_echo"]["function"](text="hello")
    assert answer["status"] == "success"

    agent.disconnect_mcp_server("one")

    assert agent.list_mcp_servers() == []
    assert agent.get_mcp_client("one") is None
    assert mcp_tools() == set()
    assert living_with(str(home)) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_collected_agent_leaves_no_tools_and_no_servers(shape: type[Any], home: Path) -> None:
    """Ours: its tools leave the registry, its servers are ended, without a word from it."""
    agent = shape()
    assert agent.connect_mcp_server("one", entry(home, "ignores_eof")) is True

    del agent
    gc.collect()

    assert mcp_tools() == set()
    wait_until(lambda: not living_with(str(home)))


@pytest.mark.parametrize("shape", [AgentFirst, MixinFirst])
def test_options_reach_the_constructors_that_take_them(shape: type[Any], home: Path) -> None:
    """Ours: constructors pass on what they do not know, in either order."""
    agent = shape(silent_mode=True, debug=True, max_steps=3, config_file=home / "other.json")

    assert (agent.silent_mode, agent.debug, agent.max_steps) == (True, True, 3)
    assert agent._mcp_manager.debug is True
    assert agent._mcp_manager.config.config_file == home / "other.json"
    with pytest.raises(TypeError):
        shape(nonsense=1)


def test_the_mixin_alone_takes_debug_and_no_other_option() -> None:
    """GAIA's documents: `debug` is for the manager."""
    alone = Alone(debug=True)

    assert alone._mcp_manager is not None
    assert alone._mcp_manager.debug is True
    with pytest.raises(TypeError):
        Alone(nonsense=1)


def test_being_constructed_twice_keeps_the_servers(home: Path) -> None:
    """Ours: an agent that calls both constructors comes by the mixin's twice."""
    agent = MixinFirst(silent_mode=True)
    agent.connect_mcp_server("one", entry(home))

    MCPClientMixin.__init__(agent)

    assert agent.list_mcp_servers() == ["one"]
    agent.disconnect_mcp_server("one")


def test_a_manager_that_was_set_before_is_used(home: Path) -> None:
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
    """GAIA's documents: the number of servers; failures are reported, and delay no other server."""
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


def test_a_server_that_fails_is_reported_on_the_console(home: Path) -> None:
    """GAIA's documents: False, and no exception."""
    agent = AgentFirst()

    assert agent.connect_mcp_server("bad", entry(home, "exits_at_once")) is False

    ((kind, error),) = agent.console.said
    assert kind == "error"
    assert "Failed to connect to MCP server 'bad'" in error
    assert agent.composed == 0


def test_a_name_that_is_taken_is_reported_on_the_console(home: Path) -> None:
    """GAIA: False, and the server that is there stays."""
    agent = AgentFirst()
    agent.connect_mcp_server("one", entry(home))

    assert agent.connect_mcp_server("one", entry(home)) is False

    assert "already exists" in agent.console.said[-1][1]
    assert agent.list_mcp_servers() == ["one"]
    agent.disconnect_mcp_server("one")


def test_an_invalid_entry_is_an_exception() -> None:
    """GAIA's documents: a ValueError."""
    rows: list[tuple[str, Any, str]] = [
        ("x", "npx server", "config dict"),
        ("x", {}, "command"),
        ("", {"command": "x"}, "name"),
        ("a b", {"command": "x"}, "name"),
    ]

    for name, config, problem in rows:
        with pytest.raises(EntryError, match=problem):
            Alone().connect_mcp_server(name, config)


def test_messages_are_logged_without_a_console(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA: the messages that a console would print."""
    agent = Alone()

    with caplog.at_level(logging.INFO, "gaia_mcp"):
        agent.connect_mcp_server("one", entry(home))
        agent.disconnect_mcp_server("one")
        agent.disconnect_mcp_server("one")

    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("Connected to MCP server 'one'") for line in said)
    assert "MCP server 'one' not found" in said


def test_changed_tools_are_registered_again(home: Path) -> None:
    """Spec, tools: `list_changed`. The registry and the prompt follow, and what is gone is taken out."""
    agent = AgentFirst()
    agent.connect_mcp_server("s", entry(home, "list_changes"))
    assert mcp_tools() == {"mcp_s_echo"}

    _TOOL_REGISTRY["mcp_s_echo"]["function"]()

    wait_until(lambda: mcp_tools() == {"mcp_s_echo", "mcp_s_new1"})
    wait_until(lambda: "mcp_s_new1(" in agent.system_prompt)
    agent.disconnect_mcp_server("s")


def test_invalid_tools_are_reported_and_the_others_registered(home: Path) -> None:
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


def test_an_agent_may_keep_the_tools_of_servers_from_its_model(home: Path) -> None:
    """The document about handlers: `_enable_mcp_tools`, which is true by default; the code still calls them."""

    class ByCode(Agent, MCPClientMixin):
        _enable_mcp_tools = False

    agent = ByCode(silent_mode=True)
    assert agent.connect_mcp_server("one", entry(home))

    client = agent.get_mcp_client("one")
    assert mcp_tools() == set()
    assert client is not None
    assert "x" in str(client.call_tool("echo", {"text": "x"})["content"])
    agent.disconnect_mcp_server("one")


def test_two_agents_have_servers_of_their_own(home: Path) -> None:
    """Ours: one that goes away takes nothing of the other's."""
    first, second = Alone(config_file=home / "a.json"), Alone(config_file=home / "b.json")
    first.connect_mcp_server("one", entry(home))
    second.connect_mcp_server("one", entry(home))

    del second
    gc.collect()

    assert _TOOL_REGISTRY["mcp_one_echo"]["function"](text="x")["status"] == "success"
    first.disconnect_mcp_server("one")


class ByHandWithAFile(Agent, MCPClientMixin):
    """Calls both constructors itself; the first of them goes on to the second, without a file."""

    def __init__(self, path: Path) -> None:
        Agent.__init__(self, silent_mode=True)
        MCPClientMixin.__init__(self, auto_load_config=True, config_file=path)


def test_a_file_given_to_the_mixins_own_constructor_is_loaded(home: Path) -> None:
    """Ours: `Agent.__init__` has called the mixin's constructor already, without it."""
    MCPConfig(home / "mine.json").add_server("one", entry(home))

    agent = ByHandWithAFile(home / "mine.json")

    assert agent.list_mcp_servers() == ["one"]
    assert "mcp_one_echo" in mcp_tools()


class ItsOwnConsole(MCPClientMixin, Agent):
    """Has its console from its class."""

    console = SilentConsole()


def test_an_agent_with_a_console_of_its_class_is_constructed(home: Path) -> None:
    """Ours: an attribute `console` does not prove that a constructor has run."""
    assert ItsOwnConsole(silent_mode=True, max_steps=3).max_steps == 3


class Sharing(MCPClientMixin, Agent):
    """Uses a manager that others use too."""

    def __init__(self, manager: MCPClientManager) -> None:
        self._mcp_manager = manager
        super().__init__(silent_mode=True)


def test_agents_that_share_a_manager_do_not_take_its_servers_from_each_other(home: Path) -> None:
    """Ours: tools go with the last agent that uses them, servers with the manager."""
    manager = MCPClientManager(MCPConfig(home / "shared.json"))
    agents = [Sharing(manager), Sharing(manager)]
    agents[0].connect_mcp_server("s", entry(home, "list_changes"))
    assert agents[1].load_mcp_servers_from_config() == 1
    assert "mcp_s_echo(" in agents[1].system_prompt

    del agents[0]
    gc.collect()

    assert _TOOL_REGISTRY["mcp_s_echo"]["function"]()["status"] == "success"
    wait_until(lambda: "mcp_s_new1(" in agents[0].system_prompt)
    wait_until(lambda: "MCP tools changed" not in {thread.name for thread in threading.enumerate()})
    del agents[0]
    gc.collect()
    assert mcp_tools() == set()
    assert manager.list_servers() == ["s"]


def test_a_copy_of_an_agent_shares_its_servers(home: Path) -> None:
    """Ours: as it shares everything else; the one that goes first takes none with it."""
    agent = MixinFirst(silent_mode=True)
    agent.connect_mcp_server("one", entry(home))
    twin = copy.copy(agent)

    del agent
    gc.collect()

    assert twin.load_mcp_servers_from_config() == 1
    assert _TOOL_REGISTRY["mcp_one_echo"]["function"](text="x")["status"] == "success"


def test_an_agent_in_a_reference_cycle_leaves_no_tools(home: Path) -> None:
    """Ours: it goes when the collector comes by."""
    agent = MixinFirst(silent_mode=True)
    agent.me = agent  # type: ignore[attr-defined]
    agent.connect_mcp_server("one", entry(home))

    del agent
    gc.collect()

    assert mcp_tools() == set()


class Snapshot(Agent, MCPClientMixin):
    """Reads a copy of the registry, as GAIA's agents may since 0.25."""

    def _register_tools(self) -> None:
        self._instance_tools = dict(_TOOL_REGISTRY)


def test_an_agent_with_a_registry_of_its_own_has_the_tools_there_too(home: Path) -> None:
    """GAIA 0.25: it would not see them otherwise."""
    agent = Snapshot(silent_mode=True)

    agent.connect_mcp_server("one", entry(home))
    assert "mcp_one_echo" in agent._instance_tools
    assert "mcp_one_echo" in _TOOL_REGISTRY

    agent.disconnect_mcp_server("one")
    assert not any(name.startswith("mcp_one") for name in agent._instance_tools)


class Terse:
    """A console of a program's own, without most of the methods."""

    def print_final_answer(self, answer: str) -> None:
        pass


def test_messages_are_logged_if_the_console_lacks_the_method(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: no message is lost."""
    agent = MixinFirst(output_handler=Terse())

    assert agent.connect_mcp_server("bad", entry(home, "exits_at_once")) is False

    assert "Failed to connect to MCP server 'bad'" in caplog.text


def test_a_server_that_does_not_list_its_tools_is_reported(home: Path) -> None:
    """Ours: connected, and yet of no use to a model."""
    agent = AgentFirst()

    assert agent.connect_mcp_server("s", entry(home, "refuses_list")) is True

    kind, warning = agent.console.said[0]
    assert kind == "warning"
    assert "does not list its tools: " in warning
    agent.disconnect_mcp_server("s")


def test_a_server_that_has_failed_can_be_removed(home: Path) -> None:
    """Ours: or every load would warn of it."""
    config = MCPConfig()
    config.add_server("bad", entry(home, "exits_at_once"))
    agent = AgentFirst()
    agent.load_mcp_servers_from_config()

    agent.disconnect_mcp_server("bad")

    assert config.get_servers() == {}
    assert agent.console.said[-1] == ("info", "Disconnected from MCP server 'bad'")
    assert agent.composed == 0


def test_an_agent_can_override_the_summary_of_a_load(home: Path) -> None:
    """GAIA from 0.18 on: once for each load, before the tools of its servers are registered."""

    class Quiet(AgentFirst):
        def _print_mcp_load_summary(self) -> None:
            self.printed = [self.list_mcp_servers(), [name for name in _TOOL_REGISTRY if name.startswith("mcp_")]]

    MCPConfig().add_server("good", entry(home))
    MCPConfig().add_server("bad", entry(home, "exits_at_once"))
    agent = Quiet()

    assert agent.load_mcp_servers_from_config() == 1

    assert agent.printed == [["good"], []]
    assert agent.console.said == []
    agent.disconnect_mcp_server("good")


def test_an_invalid_file_is_reported_and_the_server_disconnected(home: Path) -> None:
    """GAIA's documents: disconnecting raises nothing."""
    agent = AgentFirst()
    agent.connect_mcp_server("one", entry(home))
    MCPConfig().config_file.write_text("{")

    agent.disconnect_mcp_server("one")

    assert any(kind == "error" and "mcp_servers.json" in said for kind, said in agent.console.said)
    assert agent.list_mcp_servers() == []
    assert mcp_tools() == set()


class Slow(Agent, MCPClientMixin):
    """Registers when it is let."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.is_registering = threading.Event()
        self.registered = 0
        super().__init__(silent_mode=True)

    def _register_mcp_tools(self, client: MCPClient) -> None:
        self.registered += 1
        self.is_registering.set()
        self.may_go_on.wait(PATIENCE_SECONDS)
        super()._register_mcp_tools(client)


def test_tools_that_change_during_a_disconnect_are_not_registered(home: Path) -> None:
    """Ours: they are entered in another thread, and by then there may be no server."""
    agent = Slow()
    agent.connect_mcp_server("s", entry(home, "list_changes"))
    agent.may_go_on.clear()
    agent.is_registering.clear()
    _TOOL_REGISTRY["mcp_s_echo"]["function"]()
    assert agent.is_registering.wait(PATIENCE_SECONDS)

    agent.disconnect_mcp_server("s")
    agent.may_go_on.set()

    wait_until(lambda: "MCP tools changed" not in {thread.name for thread in threading.enumerate()})
    assert mcp_tools() == set()


def test_a_disconnected_client_has_no_tools_until_it_is_connected_again(home: Path) -> None:
    """Ours: a model must not be offered tools that cannot be called."""
    agent = Slow()
    agent.connect_mcp_server("s", entry(home))
    client = agent.get_mcp_client("s")
    assert client is not None
    registered = mcp_tools()

    client.disconnect()
    left = mcp_tools()
    assert client.connect()
    wait_until(lambda: mcp_tools() == registered)
    assert agent._mcp_manager is not None
    agent._mcp_manager.disconnect_all()

    wait_until(lambda: "MCP tools changed" not in {thread.name for thread in threading.enumerate()})
    assert (bool(registered), left, mcp_tools()) == (True, set(), set())


def test_many_notifications_cause_two_registrations_in_one_thread(home: Path) -> None:
    """Ours: however often a server announces something."""
    agent = Slow()
    agent.connect_mcp_server("s", entry(home, "list_changes"))
    client = agent.get_mcp_client("s")
    assert client is not None
    assert client.on_list_changed is not None
    agent.may_go_on.clear()
    agent.is_registering.clear()
    client.on_list_changed("tools")
    assert agent.is_registering.wait(PATIENCE_SECONDS)

    for _ in range(100):
        client.on_list_changed("tools")
    client.on_list_changed("prompts")

    assert [thread.name for thread in threading.enumerate()].count("MCP tools changed") == 1
    agent.may_go_on.set()
    wait_until(lambda: "MCP tools changed" not in {thread.name for thread in threading.enumerate()})
    assert agent.registered == 3
    agent.disconnect_mcp_server("s")


class Fragile(Agent, MCPClientMixin):
    """Cannot rebuild its prompt every time."""

    rebuilt = 0

    def rebuild_system_prompt(self) -> None:
        self.rebuilt += 1
        if self.rebuilt == 2:
            raise LookupError("no prompt today")


def test_changes_are_followed_after_a_failed_rebuild_of_the_prompt(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: `rebuild_system_prompt` is for subclasses to override, and may fail."""
    agent = Fragile(silent_mode=True)
    agent.connect_mcp_server("s", entry(home, "list_changes"))

    _TOOL_REGISTRY["mcp_s_echo"]["function"]()
    wait_until(lambda: "no prompt today" in caplog.text)
    _TOOL_REGISTRY["mcp_s_echo"]["function"]()

    wait_until(lambda: agent.rebuilt == 3)
    assert "mcp_s_new2" in mcp_tools()
    agent.disconnect_mcp_server("s")


def test_tools_that_cannot_be_listed_again_stay_registered(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: a server that stumbles once has not lost its tools."""
    agent = MixinFirst(silent_mode=True)
    agent.connect_mcp_server("s", entry(home, "list_changes"))
    client = agent.get_mcp_client("s")
    assert client is not None
    assert client.on_list_changed is not None
    assert isinstance(client.transport, StdioTransport)
    client.transport.command = "/nowhere"
    client.transport.disconnect()
    assert client.list_tools(refresh=True) == []

    client.on_list_changed("tools")

    wait_until(lambda: "were not updated" in caplog.text)
    assert mcp_tools() == {"mcp_s_echo"}
    agent.disconnect_mcp_server("s")


def test_a_config_file_is_loaded_without_auto_load_config(home: Path) -> None:
    """GAIA, from 0.17 on: also without `auto_load_config`."""
    file = home / "mine.json"
    file.write_text(json.dumps({"mcpServers": {"mine": entry(home)}}))

    agent = MCPClientMixin(config_file=file)

    assert agent.list_mcp_servers() == ["mine"]
    agent.disconnect_mcp_server("mine")


@pytest.mark.parametrize(
    "config",
    [
        {"type": "sse", "command": "server"},
        {"type": "carrier pigeon", "command": "server"},
    ],
)
def test_an_unsupported_transport_is_a_value_error(home: Path, config: dict[str, Any]) -> None:
    """GAIA: a `ValueError` at once. Ours: of a manager too."""
    agent = MCPClientMixin()

    with pytest.raises(ValueError, match="only supports stdio"):
        agent.connect_mcp_server("far", config)
    with pytest.raises(ValueError, match="only supports stdio"):
        MCPClientManager().add_server("far", config)


def test_any_other_failure_returns_false(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents: a bool. Here the program's own host, and a variable that is not set."""

    def host(_: str) -> Any:
        raise RuntimeError("no host today")

    agent = MCPClientMixin()
    assert agent.connect_mcp_server("unset", {"command": "${SURELY_NOT_SET}"}) is False
    agent._mcp_manager = MCPClientManager(host=host)
    assert agent.connect_mcp_server("hostless", entry(home)) is False

    assert "SURELY_NOT_SET" in caplog.text
    assert "no host today" in caplog.text


def test_a_program_may_test_its_agent_with_a_manager_of_its_own() -> None:
    """GAIA: its documents replace the class of the manager where the mixin takes it from, by an object that has every
    member and no values.
    """
    registered = {"mcp_test_greet"}
    client = Mock(server_info={"name": "Test"}, prefix="test")
    client.name = "test"
    client.list_tools.return_value = [MCPTool("greet", "Greets", {"type": "object"})]
    client.create_tool_wrapper.return_value = Mock(return_value={"content": []})
    with patch("gaia_mcp.mixin.MCPClientManager") as manager_class:
        manager = manager_class.return_value
        manager.add_server.return_value = client
        manager.get_client.return_value = client
        manager.list_servers.return_value = ["test"]

        agent = MCPClientMixin()
        assert agent.connect_mcp_server("test", {"command": "npx"}) is True
        manager.add_server.assert_called_once_with("test", {"command": "npx"})
        assert registered <= set(_TOOL_REGISTRY)
        assert _TOOL_REGISTRY["mcp_test_greet"]["function"]()["status"] == "success"
        assert agent.load_mcp_servers_from_config() == 1
        agent.disconnect_mcp_server("test")
        assert not registered & set(_TOOL_REGISTRY)
        manager.remove_server.assert_called_once_with("test")
        manager.get_client.return_value = None
        agent.disconnect_mcp_server("unknown")
        manager.add_server.side_effect = Exception("Connection failed")
        assert agent.connect_mcp_server("test", {"command": "npx"}) is False
