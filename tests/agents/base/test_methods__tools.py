"""Marked methods as tools: their definitions, calls, and problems."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import Field

from gaia_mcp import Audio, File, Image, MCPAgent, tool
from gaia_mcp.agents.base import _TOOL_REGISTRY
from gaia_mcp.asking import Call, current_call, enter_call
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.toolspec.validation import InvalidArgumentsError

ICON = {"src": "https://example.com/clock.png", "mimeType": "image/png"}


@dataclass
class Note:
    text: str
    due: date | None = None


class Notes(MCPAgent):
    """Keeps notes."""

    class Filter(dict[str, Any]):
        """Nested, and found by its name alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.kept: list[Note] = []

    @tool
    def add(self, note: Note, tags: list[str] = [], *, pinned: bool = False) -> int:  # noqa: B006
        """Add a note.

        Args:
            note: What to keep.
            tags: Words to find it by.
        """
        self.kept.append(note)
        return len(self.kept)

    @tool(name="find.all", title="Find notes", read_only=True, open_world=False)
    def find(self, words: Annotated[str, "What to look for."], /, limit: int = 10) -> list[Note]:
        """Find notes."""
        return [note for note in self.kept if words in note.text][:limit]

    @tool(description="How late it is.", idempotent=True, destructive=False, icons=[ICON], meta={"a/b": 1})
    async def clock(self) -> str:
        """Not this."""
        await asyncio.sleep(0)
        return "late"

    @tool
    @staticmethod
    def double(number: float) -> float:
        """Twice as much."""
        return 2 * number

    @staticmethod
    @tool
    def half(number: float) -> float:
        """Half as much."""
        return number / 2

    @tool
    @classmethod
    def kind(cls) -> str:
        """What this is."""
        return cls.__name__

    @tool
    def label(self, **labels: int) -> dict[str, int]:
        """Whatever is given."""
        return labels

    @tool
    def free(self, value, other=None):  # type: ignore[no-untyped-def]
        """Anything."""
        return value

    def hidden(self) -> None:
        """Not marked, so not a tool."""


def definition(kind: type[MCPAgent], name: str) -> dict[str, Any]:
    """One of the definitions of a class's tools."""
    return next(one for one in kind().get_mcp_tool_definitions() if one["name"] == name)


def test_marked_methods_are_listed_as_tools_in_order() -> None:
    """Ours: nothing else has to be written."""
    names = [one["name"] for one in Notes().get_mcp_tool_definitions()]

    assert names == ["add", "find.all", "clock", "double", "half", "kind", "label", "free"]
    assert Notes().get_mcp_tool_problems() == []


def test_a_definition_comes_from_hints_and_docstring() -> None:
    """Ours: the author writes an ordinary method, and no schema."""
    assert definition(Notes, "add") == {
        "name": "add",
        "description": "Add a note.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "note": {
                    "type": "object",
                    "description": "What to keep.",
                    "properties": {
                        "text": {"type": "string"},
                        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
                    },
                    "required": ["text"],
                },
                "tags": {
                    "type": "array", "items": {"type": "string"}, "description": "Words to find it by.", "default": []
                },
                "pinned": {"type": "boolean", "default": False},
            },
            "required": ["note"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    }  # fmt: skip


def test_the_decorator_sets_the_name_and_the_annotations() -> None:
    """Spec, ToolAnnotations: only what was said is sent."""
    found, clock = definition(Notes, "find.all"), definition(Notes, "clock")

    assert (found["title"], found["annotations"]) == ("Find notes", {"readOnlyHint": True, "openWorldHint": False})
    assert found["inputSchema"]["properties"]["words"]["description"] == "What to look for."
    assert (clock["description"], clock["annotations"]) == (
        "How late it is.", {"destructiveHint": False, "idempotentHint": True}
    )  # fmt: skip
    assert (clock["icons"], clock["_meta"]) == ([ICON], {"a/b": 1})
    assert not {"icons", "_meta"} & set(found)


def test_other_arguments_are_refused_unless_the_method_takes_them() -> None:
    """Ours: a model's slip is reported, not ignored."""
    assert definition(Notes, "kind")["inputSchema"] == {
        "type": "object", "properties": {}, "additionalProperties": False
    }  # fmt: skip
    assert definition(Notes, "label")["inputSchema"]["additionalProperties"] == {"type": "integer"}
    assert definition(Notes, "free")["inputSchema"]["properties"] == {"value": {}, "other": {"default": None}}


def test_a_schema_may_be_written_by_hand() -> None:
    """Spec 2026-07-28, B-4: any keyword; it is sent as it is, and arguments reach the method as they came."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/date"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "$defs": {"date": {"type": "string", "format": "date"}},
    }

    class Custom(MCPAgent):
        @tool(input_schema=schema)
        def echo(self, **arguments: Any) -> Any:
            """Return the arguments."""
            return arguments

        @tool(input_schema=schema)
        def wrong(self, a: str) -> None:
            """Take something else."""

    assert definition(Custom, "echo")["inputSchema"] == schema
    assert Custom().execute_mcp_tool("echo", {"a": "2026-01-02"}) == {"a": "2026-01-02"}
    assert [one["name"] for one in Custom().get_mcp_tool_definitions()] == ["echo"]
    assert Custom().get_mcp_tool_problems() == ["Custom.wrong: with input_schema, a method takes **arguments"]


def test_a_method_is_called_with_converted_arguments() -> None:
    """Ours: what the hints say is what the method gets."""
    agent = Notes()

    assert agent.execute_mcp_tool("add", {"note": {"text": "buy milk", "due": "2026-01-02"}}) == 1
    assert agent.kept == [Note("buy milk", date(2026, 1, 2))]
    assert agent.execute_mcp_tool("find.all", {"words": "milk", "limit": 1}) == agent.kept
    assert agent.execute_mcp_tool("double", {"number": 2}) == 4.0
    assert agent.execute_mcp_tool("half", {"number": 2}) == 1.0
    assert agent.execute_mcp_tool("kind", {}) == "Notes"
    assert agent.execute_mcp_tool("label", {"a": 1}) == {"a": 1}
    assert agent.execute_mcp_tool("free", {"value": [1]}) == [1]
    assert asyncio.run(agent.execute_mcp_tool("clock", {})) == "late"
    assert agent.double(1) == 2


def test_a_marked_method_is_not_registered_for_models() -> None:
    """Ours: a model of this process could not call it without its object."""
    assert not {"add", "find", "half"} & set(_TOOL_REGISTRY)


def test_all_invalid_arguments_are_reported_with_their_paths() -> None:
    """Ours: a model corrects all of them in its next call."""
    with pytest.raises(InvalidArgumentsError) as caught:
        Notes().execute_mcp_tool("add", {"tags": ["a", 1], "pinned": "yes", "colour": "red"})

    assert caught.value.problems == (
        "tags[1]: 1 is not of type 'string'",
        "pinned: 'yes' is not of type 'boolean'",
        "there is no 'colour'",
        "'note' is missing",
    )
    with pytest.raises(ValueError, match="a: 'x' is not"):
        Notes().execute_mcp_tool("label", {"a": "x"})
    with pytest.raises(ValueError, match="Unknown tool: nothing"):
        Notes().execute_mcp_tool("nothing", {})


def test_a_string_that_is_not_a_date_is_an_invalid_argument() -> None:
    """Ours: a tool error in the words of every invalid argument, through the server."""
    arguments = {"note": {"text": "x", "due": "tomorrow"}}

    result = AgentProvider(Notes()).answer("tools/call", {"name": "add", "arguments": arguments}, Call())

    assert result["isError"] is True
    assert "- note.due: 'tomorrow' is not a date" in result["content"][0]["text"]
    assert "Your arguments:" in result["content"][0]["text"]


class Derived(Notes):
    def double(self, number: int) -> int:  # type: ignore[override]
        """Overridden."""
        return number * 20

    @tool
    def own(self) -> None:
        """Its own."""

    clock = None  # type: ignore[assignment]


def test_a_subclass_has_the_tools_of_its_bases() -> None:
    """Ours: an overriding method has the mark of the one that it overrides; None removes it."""
    names = [one["name"] for one in Derived().get_mcp_tool_definitions()]

    assert names == ["add", "find.all", "double", "half", "kind", "label", "free", "own"]
    assert definition(Derived, "double")["description"] == "Overridden."
    assert definition(Derived, "double")["inputSchema"]["properties"] == {"number": {"type": "integer"}}
    assert Derived().execute_mcp_tool("double", {"number": 2}) == 40
    assert "outputSchema" not in definition(Derived, "own")
    assert len(Notes().get_mcp_tool_definitions()) == 8


class Broken(MCPAgent):
    @tool
    def fine(self) -> str:
        return "fine"

    @tool
    def odd(self, connection: socket.socket, other: Nowhere, *rest: int) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    @tool
    def listed(self, numbers: [int]) -> str:  # type: ignore[valid-type]
        return ""

    @tool
    def bare():  # type: ignore[no-untyped-def, misc]
        return ""

    @tool
    def stream(self) -> Any:
        yield 1

    @tool
    def opened(self) -> socket.socket:
        return socket.socket()

    @tool(name="fine")
    def again(self) -> str:
        return ""


def test_hints_without_a_schema_are_reported_with_their_parameter() -> None:
    """Ours: class, method and parameter; only their tools are missing."""
    agent = Broken()

    assert [one["name"] for one in agent.get_mcp_tool_definitions()] == ["fine", "opened"]
    assert agent.get_mcp_tool_problems() == [
        "Broken.odd(other): name 'Nowhere' is not defined",
        "Broken.odd(connection): socket is not a type that has a JSON Schema",
        "Broken.odd(rest): arguments have names; take a list instead of *rest",
        "Broken.listed(numbers): [<class 'int'>] is not a type that has a JSON Schema",
        "Broken.bare: a method has a parameter for its object, usually self",
        "Broken.stream: a generator cannot be served; return one value",
        "Broken.opened(return): socket is not a type that has a JSON Schema; the tool has no output schema",
        "Broken.again: there is another tool 'fine'",
    ]


def test_an_import_under_type_checking_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: linters move imports there that only hints use."""
    monkeypatch.setitem(globals(), "TYPE_CHECKING", False)

    class Agent(MCPAgent):
        @tool
        def run(self, day: Elsewhere) -> str:  # type: ignore[name-defined]  # noqa: F821
            return ""

    assert Agent().get_mcp_tool_problems() == [
        "Agent.run(day): name 'Elsewhere' is not defined; import it outside of TYPE_CHECKING"
    ]


class Returning(MCPAgent):
    @tool
    def nothing(self): ...  # type: ignore[no-untyped-def]
    @tool
    def anything(self) -> Any: ...
    @tool
    def image(self) -> Image: ...  # type: ignore[empty-body]
    @tool
    def mixed(self) -> list[str | Audio] | None: ...
    @tool
    def described(self) -> Annotated[File, "a file"]: ...  # type: ignore[empty-body]
    @tool
    def data(self) -> bytes: ...  # type: ignore[empty-body]
    @tool
    def awaited(self) -> asyncio.Future[int]: ...  # type: ignore[empty-body]
    @tool
    def promised(self) -> Awaitable[Note]: ...  # type: ignore[empty-body]
    @tool
    def record(self) -> Note: ...  # type: ignore[empty-body]
    @tool
    def table(self) -> dict[str, int]: ...  # type: ignore[empty-body]
    @tool
    def maybe(self) -> Note | None: ...
    @tool
    def literal(self) -> None: ...


def test_an_output_schema_comes_from_the_return_type() -> None:
    """Spec: an output schema describes an object; as in the official SDK, any other value is its member `result`."""
    schemas = {one["name"]: one.get("outputSchema") for one in Returning().get_mcp_tool_definitions()}
    note = schemas["record"]

    assert [name for name, schema in schemas.items() if schema is None] == [
        "nothing", "anything", "image", "mixed", "described", "data", "awaited", "literal"
    ]  # fmt: skip
    assert (note["type"], list(note["properties"])) == ("object", ["text", "due"])
    assert schemas["promised"] == note
    assert schemas["table"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert schemas["maybe"]["properties"] == {"result": {"anyOf": [note, {"type": "null"}]}}
    (problem,) = Returning().get_mcp_tool_problems()
    assert problem.startswith("Returning.awaited(return): ")
    assert problem.endswith("Future[int] is not a type that has a JSON Schema; the tool has no output schema")


class Fields(MCPAgent):
    @tool
    def search(
        self,
        words: str = Field(description="What for.", min_length=1),
        limit: int = Field(5, ge=1),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
    ) -> list[Any]:
        """Search.

        Args:
            limit: At most.
        """
        return [words, limit, tags]


def test_pydantics_fields_may_be_defaults() -> None:
    """The official SDK's way: the limits and the default stand in `Field(…)`."""
    schema = definition(Fields, "search")["inputSchema"]

    assert schema["properties"] == {
        "words": {"type": "string", "description": "What for.", "minLength": 1},
        "limit": {"type": "integer", "description": "At most.", "minimum": 1, "default": 5},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    assert schema["required"] == ["words"]
    assert Fields().execute_mcp_tool("search", {"words": "a"}) == ["a", 5, []]
    assert Fields().execute_mcp_tool("search", {"words": "a", "limit": 2, "tags": ["b"]}) == ["a", 2, ["b"]]


class Calling(MCPAgent):
    """Takes the running call as a parameter."""

    @tool
    def wait(self, seconds: int, call: Call) -> bool:
        """Wait."""
        return call is current_call() and seconds == 1


def test_a_parameter_of_type_call_gets_the_running_call() -> None:
    """Ours: a method that is tested is given a call of the test's own."""
    (definition,) = Calling().get_mcp_tool_definitions()
    running = Call()

    enter_call(running)
    try:
        assert Calling().execute_mcp_tool("wait", {"seconds": 1}) is True
    finally:
        enter_call(None)

    assert list(definition["inputSchema"]["properties"]) == ["seconds"]
    with pytest.raises(InvalidArgumentsError, match="there is no 'call'"):
        Calling().execute_mcp_tool("wait", {"seconds": 1, "call": {}})


def test_a_type_nested_in_the_class_is_resolved() -> None:
    """Ours: as it would be without `from __future__ import annotations`."""

    class Agent(MCPAgent):
        @dataclass
        class Inner:
            number: int

        @tool
        def run(self, inner: Inner) -> Inner:
            return inner

    assert Agent().get_mcp_tool_problems() == []
    assert Agent().execute_mcp_tool("run", {"inner": {"number": 1}}) == Agent.Inner(1)


def test_task_support_is_part_of_a_tool_definition() -> None:
    """Ours: as an agent with definitions of its own does."""

    class Agent(MCPAgent):
        @tool(task="required")
        def work(self) -> None: ...

        @tool
        def small(self) -> None: ...

    definitions = {defined["name"]: defined for defined in Agent().get_mcp_tool_definitions()}

    assert definitions["work"]["execution"] == {"taskSupport": "required"}
    assert "execution" not in definitions["small"]


def test_a_tool_may_be_named_like_an_attribute_of_the_base_class() -> None:
    """Ours: the base class sets `model` and `debug`, which an author need not know."""

    class Agent(MCPAgent):
        @tool
        def model(self) -> str:  # type: ignore[override]
            return "a T"

        @staticmethod
        @tool
        def debug() -> str:  # type: ignore[override]
            return "no"

    assert [Agent().execute_mcp_tool(name, {}) for name in ("model", "debug")] == ["a T", "no"]
