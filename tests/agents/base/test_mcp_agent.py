from __future__ import annotations

import inspect
from typing import Any

import pytest

from gaia_mcp import prompt, resource, tool
from gaia_mcp.agents.base import MCPAgent
from gaia_mcp.server.provider import Change


class Shouting(MCPAgent):
    """The least that an agent has to be."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "shout", "description": "Say it loudly", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name != "shout":
            raise ValueError(f"Unknown tool: {tool_name}")
        return {"result": arguments["text"].upper()}


class Notes(MCPAgent):
    """Marked methods of each kind, one of which is named like a method of its base."""

    @tool(scopes=["notes:read"])
    def kind(self) -> str:
        return type(self).__name__

    @tool
    def opened(self, connection: type[int]) -> str:
        return "a tool"

    @prompt
    def summarise(self) -> str:
        return "summary"

    @resource("notes://all")
    def everything(self) -> str:
        return "milk"

    @resource("notes://{number}")
    def note(self, number: int, style: type[int]) -> str:
        return "bread"

    @resource("notes://first/{word}")
    def word(self, word: str) -> str:
        return word


def test_the_class_has_the_documented_import_paths() -> None:
    """GAIA's documents, with the prefix changed; and from the package itself."""
    import gaia_mcp
    from gaia_mcp.agents.base.mcp_agent import MCPAgent as Original

    assert MCPAgent is Original
    assert gaia_mcp.MCPAgent is Original


@pytest.mark.parametrize("forgotten", ["get_mcp_tool_definitions", "execute_mcp_tool"])
def test_an_agent_without_a_required_method_is_abstract(forgotten: str) -> None:
    """GAIA's documents: a TypeError that says "abstract"."""
    methods = {"get_mcp_tool_definitions": lambda self: [], "execute_mcp_tool": lambda self, name, arguments: None}
    del methods[forgotten]
    incomplete = type("Incomplete", (MCPAgent,), methods)

    with pytest.raises(TypeError, match="abstract") as caught:
        incomplete()

    assert forgotten in str(caught.value)


def test_a_complete_agent_lists_and_runs_its_tools() -> None:
    """GAIA's documents."""
    agent = Shouting()

    assert [tool["name"] for tool in agent.get_mcp_tool_definitions()] == ["shout"]
    assert agent.execute_mcp_tool("shout", {"text": "hello"}) == {"result": "HELLO"}
    with pytest.raises(ValueError, match="Unknown tool"):
        agent.execute_mcp_tool("whisper", {})


def test_prompts_and_resources_are_empty_by_default() -> None:
    """GAIA's documents: both are optional, and empty lists by default, a fresh one each time."""
    agent = Shouting()

    assert agent.get_mcp_prompts() == []
    assert agent.get_mcp_resources() == []
    assert agent.get_mcp_prompts() is not agent.get_mcp_prompts()


def test_the_server_info_names_the_class() -> None:
    """GAIA's documents: "GAIA " and the class, version 2.0.0."""
    assert Shouting().get_mcp_server_info() == {"name": "GAIA Shouting", "version": "2.0.0"}


def test_everything_optional_can_be_overridden() -> None:
    """GAIA's documents."""

    class Custom(Shouting):
        def get_mcp_prompts(self) -> list[dict[str, Any]]:
            return [{"name": "p"}]

        def get_mcp_resources(self) -> list[dict[str, Any]]:
            return [{"uri": "x://a"}]

        def get_mcp_server_info(self) -> dict[str, Any]:
            return {"name": "Custom", "version": "3.0.0"}

    agent = Custom()

    assert agent.get_mcp_prompts() == [{"name": "p"}]
    assert agent.get_mcp_resources() == [{"uri": "x://a"}]
    assert agent.get_mcp_server_info()["name"] == "Custom"


def test_the_class_supports_multiple_inheritance() -> None:
    """GAIA's documents: `class X(MCPAgent, Other)`; what it does not know itself goes on to the others."""

    class Base:
        def __init__(self, colour: str = "") -> None:
            self.colour = colour

    class Both(Shouting, Base):
        pass

    agent = Both(silent_mode=True, colour="red")

    assert (agent.silent_mode, agent.colour) == (True, "red")


def test_changes_are_announced_to_listeners() -> None:
    """Ours: an agent that is not served has no listeners; it may not even have called its base class."""

    class Careless(Shouting):
        def __init__(self) -> None:
            """Without the constructor of its base."""

    agent = Careless()
    agent.tools_changed()
    changes: list[Change] = []
    stop = agent.on_mcp_change(changes.append)

    agent.tools_changed()
    agent.prompts_changed()
    agent.resources_changed()
    agent.resource_updated("a://a")
    stop()
    agent.tools_changed()

    lists = [Change((kind,)) for kind in ("tools", "prompts", "resources")]
    assert changes == [*lists, Change(uris=("a://a",))]


def test_a_resource_is_announced_by_its_uri() -> None:
    """Ours: anything else is a mistake of the author's, also without a listener."""
    with pytest.raises(TypeError, match=r"resource_updated\(\) needs the URI of the resource, not 7"):
        Shouting().resource_updated(7)  # type: ignore[arg-type]


def test_an_overridden_method_declares_a_changing_list() -> None:
    """Ours: such a list may be empty now, and is declared all the same."""

    class Templates(Shouting):
        def get_mcp_resource_templates(self) -> list[dict[str, Any]]:
            return []

    class Both(Templates):
        def get_mcp_prompts(self) -> list[dict[str, Any]]:
            return []

    assert Shouting().get_mcp_changing_lists() == []
    assert Templates().get_mcp_changing_lists() == ["resources"]
    assert Both().get_mcp_changing_lists() == ["prompts", "resources"]


class Written(Notes):
    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "extra"}, *super().get_mcp_tool_definitions()]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name == "extra":
            return "more"
        return super().execute_mcp_tool(tool_name, arguments)


def test_overridden_methods_take_precedence_over_marked_ones() -> None:
    """GAIA's documents: they describe and run the tools; here they may use the marked methods."""
    agent = Written()

    assert [one["name"] for one in agent.get_mcp_tool_definitions()] == ["extra", "kind"]
    assert agent.execute_mcp_tool("extra", {}) == "more"
    assert agent.execute_mcp_tool("kind", {}) == "Written"


def test_overridden_methods_may_call_the_base_class() -> None:
    """Ours: an agent that writes both methods itself may pass on to them."""

    class Passing(MCPAgent):
        @tool
        def own(self) -> str:
            return "own"

        def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
            return super().get_mcp_tool_definitions()

        def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
            return super().execute_mcp_tool(tool_name, arguments)

    assert [one["name"] for one in Passing().get_mcp_tool_definitions()] == ["own"]
    assert Passing().execute_mcp_tool("own", {}) == "own"


def test_an_agent_with_marked_methods_is_not_abstract() -> None:
    """Ours: an agent with marked methods is complete, one with neither is not."""
    assert not inspect.isabstract(Notes)

    class Nothing(MCPAgent):
        pass

    assert inspect.isabstract(Nothing)


def test_marked_methods_are_described_to_the_agents_own_program() -> None:
    """Ours: whoever changes a definition changes a copy; a method whose hints have no schema is a problem."""
    agent = Notes()

    for definitions in (
        agent.get_mcp_tool_definitions,
        agent.get_mcp_prompts,
        agent.get_mcp_resources,
        agent.get_mcp_resource_templates,
    ):
        definitions()[0]["name"] = "changed"
    agent.get_mcp_tool_definitions()[0]["inputSchema"].clear()

    (kind,) = agent.get_mcp_tool_definitions()
    assert (kind["name"], kind["inputSchema"]["type"]) == ("kind", "object")
    assert [one["name"] for one in agent.get_mcp_prompts()] == ["summarise"]
    assert [one["uri"] for one in agent.get_mcp_resources()] == ["notes://all"]
    assert [one["name"] for one in agent.get_mcp_resource_templates()] == ["word"]
    assert [problem.partition(" ")[0] for problem in agent.get_mcp_tool_problems()] == [
        "Notes.opened(connection):",
        "Notes.note(style):",
    ]
    assert agent.get_mcp_tool_scopes() == {"kind": ("notes:read",)}
    with pytest.raises(ValueError, match="Unknown tool: opened"):
        agent.execute_mcp_tool("opened", {})


def test_a_server_opens_and_closes_its_agent() -> None:
    """Ours: a tool of the same name is not called."""
    happened: list[str] = []

    class Opened(Shouting):
        def opened(self) -> None:
            happened.append("opened")

        def closed(self) -> None:
            happened.append("closed")

    for agent in (Opened(), Notes(), Shouting()):
        agent.begin_mcp()
        agent.end_mcp()

    assert happened == ["opened", "closed"]
