"""Marked methods as prompts, resources and templates: definitions, calls, completion and problems."""

from __future__ import annotations

import enum
from datetime import date
from typing import Annotated, Any, Literal

import pytest

from gaia_mcp import MCPAgent, MCPClient, prompt, resource, tool
from gaia_mcp.core.errors.requests import PeerError
from gaia_mcp.testing import client_for

ERAS = pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
ICON = {"src": "https://example.com/icon.png"}


class Style(enum.Enum):
    """How it reads."""

    SHORT = "short"
    LONG = "long"
    SHOUTED = "shouted"


class Notes(MCPAgent):
    """Keeps notes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.notes = {1: "milk", 2: "bread"}

    def _ids(self, typed: str, given: dict[str, str]) -> list[str]:
        return [f"{number}{given.get('kind', '')}" for number in self.notes if str(number).startswith(typed)]

    @tool
    def count(self) -> int:
        """How many there are."""
        return len(self.notes)

    @prompt
    def summarise(self, style: Style, due: date | None = None, loud: bool = False) -> str:
        """Summarise the notes.

        Args:
            style: How it reads.
        """
        return f"{style.name} {due} {loud}"

    @prompt(name="chat", title="Chat", description="A conversation.", icons=[ICON], meta={"a/b": 1})
    async def conversation(self, word: Annotated[str, "A word."] = "hi") -> list[dict[str, Any]]:
        """Not this."""
        return [{"role": "user", "content": word}, {"role": "assistant", "content": "ho"}]

    @resource(
        "notes://all", name="all", title="All notes", mime_type="text/plain", size=9, audience=["user"], priority=0.0,
        last_modified="2026-01-02T03:04:05Z", icons=[ICON], meta={"a/b": 1}, ttl_ms=0, cache_scope="public",
    )  # fmt: skip
    def everything(self) -> str:
        """Every note."""
        return "\n".join(self.notes.values())

    @resource("notes://{number}{?upper}", mime_type="text/plain", ttl_ms=5000, complete={"number": _ids})
    def note(self, number: int, *, upper: bool = False) -> str:
        """One note."""
        text = self.notes[number]
        return text.upper() if upper else text

    @resource("notes://first/{word}")
    async def word(self, word: Literal["one", "two", "twelve"]) -> dict[str, str] | None:
        """More specific than the notes."""
        return {"word": word} if word != "two" else None


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def client(request: pytest.FixtureRequest) -> Any:
    """A client of each era."""
    with client_for(Notes(), revision=request.param) as client:
        yield client


def refused(client: MCPClient, method: str, params: dict[str, Any]) -> PeerError | None:
    """The error response to a request, if it gets one."""
    try:
        client.request(method, params)
    except PeerError as error:
        return error
    return None


def completed(client: MCPClient, ref: dict[str, Any], name: str, typed: str, **given: str) -> dict[str, Any]:
    """The values that complete an argument."""
    params = {"ref": ref, "argument": {"name": name, "value": typed}, "context": {"arguments": given}}
    found: dict[str, Any] = client.request("completion/complete", params)["completion"]
    return found


def test_prompts_are_described_by_hints_and_docstring(client: MCPClient) -> None:
    """Ours: as tools are. Spec, Prompt: title, icons and _meta are the author's."""
    first, second = client.request("prompts/list", {})["prompts"]

    assert first == {
        "name": "summarise",
        "description": "Summarise the notes.",
        "arguments": [
            {"name": "style", "description": "How it reads.", "required": True},
            {"name": "due", "required": False},
            {"name": "loud", "required": False},
        ],
    }
    assert second == {
        "name": "chat", "title": "Chat", "description": "A conversation.", "icons": [ICON], "_meta": {"a/b": 1},
        "arguments": [{"name": "word", "description": "A word.", "required": False}],
    }  # fmt: skip


def test_prompt_arguments_are_converted_by_their_hints(client: MCPClient) -> None:
    """Spec: the values are strings. Ours: as a person would write them."""

    def text(**arguments: str) -> str:
        got: str = client.request("prompts/get", {"name": "summarise", "arguments": arguments})["messages"][0][
            "content"
        ]["text"]
        return got

    assert text(style="long") == "LONG None False"
    assert text(style="short", due="2026-01-02", loud="true") == f"SHORT {date(2026, 1, 2)} True"
    messages = client.request("prompts/get", {"name": "chat"})["messages"]
    assert [(message["role"], message["content"]["text"]) for message in messages] == [
        ("user", "hi"),
        ("assistant", "ho"),
    ]


def test_invalid_prompt_arguments_are_refused(client: MCPClient) -> None:
    """Spec, prompts: -32602."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"style": "odd"}, "prompt 'summarise': style: 'odd' is not one of"),
        ({"style": "long", "due": "soon"}, "prompt 'summarise': due: "),
        ({"style": "long", "more": "1"}, "there is no 'more'"),
        ({"style": 7}, "the argument 'style' is not a text"),
        ({}, "needs the argument 'style'"),
    ]

    wrong = []
    for arguments, words in cases:
        error = refused(client, "prompts/get", {"name": "summarise", "arguments": arguments})
        if error is None or error.code != -32602 or words not in str(error):
            wrong.append((arguments, error))

    assert not wrong


def test_resources_and_templates_are_described(client: MCPClient) -> None:
    """Spec, Resource and ResourceTemplate: all that an author may say about one."""
    assert client.request("resources/list", {})["resources"] == [
        {
            "uri": "notes://all", "name": "all", "title": "All notes", "description": "Every note.",
            "mimeType": "text/plain", "size": 9, "icons": [ICON], "_meta": {"a/b": 1},
            "annotations": {"audience": ["user"], "priority": 0.0, "lastModified": "2026-01-02T03:04:05Z"},
        }
    ]  # fmt: skip
    templates = client.request("resources/templates/list", {})["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["notes://{number}{?upper}", "notes://first/{word}"]
    assert templates[0] == {
        "uriTemplate": "notes://{number}{?upper}",
        "name": "note",
        "description": "One note.",
        "mimeType": "text/plain",
    }


def test_a_resource_is_read_by_the_method_that_matches_its_uri(client: MCPClient) -> None:
    """RFC 6570: the variables come from the URI, in the types of the hints; a resource goes before a template."""
    cases = [
        ("notes://all", {"mimeType": "text/plain", "text": "milk\nbread"}),
        ("notes://2", {"mimeType": "text/plain", "text": "bread"}),
        ("notes://2?upper=yes", {"mimeType": "text/plain", "text": "BREAD"}),
        ("notes://first/one", {"mimeType": "application/json", "text": '{\n  "word": "one"\n}'}),
    ]

    read = {uri: client.request("resources/read", {"uri": uri})["contents"] for uri, _ in cases}
    assert read == {uri: [{"uri": uri, **contents}] for uri, contents in cases}


def test_an_unknown_uri_is_not_found(client: MCPClient) -> None:
    """Spec, MS-15: whether no template matches, a value does not fit, or the method finds nothing."""
    wrong = []
    for uri in ["notes://3", "notes://x", "notes://2?lower=1", "notes://first/two", "other://1"]:
        error = refused(client, "resources/read", {"uri": uri})
        if error is None or error.code not in (-32602, -32002) or error.data != {"uri": uri}:
            wrong.append((uri, error))

    assert not wrong


def test_a_resource_has_a_ttl_and_a_cache_scope() -> None:
    """Spec 2026-07-28, MS-11."""
    with client_for(Notes()) as client:
        kept = [client.request("resources/read", {"uri": uri}) for uri in ("notes://all", "notes://1")]

    assert [(result["ttlMs"], result["cacheScope"]) for result in kept] == [(0, "public"), (5000, "private")]


PROMPT = {"type": "ref/prompt", "name": "summarise"}
NOTE = {"type": "ref/resource", "uri": "notes://{number}{?upper}"}


def test_arguments_and_variables_are_completed(client: MCPClient) -> None:
    """Spec, completion: from `Literal`, `Enum`, bool, or the function that was given."""
    cases: list[tuple[dict[str, Any], str, str, list[str]]] = [
        (PROMPT, "style", "", ["short", "long", "shouted"]),
        (PROMPT, "style", "SH", ["short", "shouted"]),
        (PROMPT, "loud", "t", ["true"]),
        (PROMPT, "due", "2", []),
        (NOTE, "number", "", ["1", "2"]),
        (NOTE, "upper", "", ["true", "false"]),
        ({"type": "ref/resource", "uri": "notes://first/{word}"}, "word", "tw", ["two", "twelve"]),
    ]

    wrong = [
        (ref, name, typed, found)
        for ref, name, typed, values in cases
        if (found := completed(client, ref, name, typed)) != {"values": values, "total": len(values), "hasMore": False}
    ]
    assert not wrong


def test_a_completion_function_gets_the_other_arguments(client: MCPClient) -> None:
    """Spec 2025-06-18, completion: `context.arguments`."""
    assert completed(client, NOTE, "number", "1", kind="!")["values"] == ["1!"]


def test_completion_of_an_unknown_reference_is_refused(client: MCPClient) -> None:
    """Spec, completion: -32602."""
    cases: list[tuple[dict[str, Any], str]] = [
        (PROMPT, "nope"),
        ({"type": "ref/prompt", "name": "nope"}, "x"),
        ({"type": "ref/resource", "uri": "notes://all"}, "x"),
        ({"type": "ref/other", "name": "x"}, "x"),
    ]

    wrong = []
    for ref, name in cases:
        error = refused(client, "completion/complete", {"ref": ref, "argument": {"name": name, "value": ""}})
        if error is None or error.code != -32602:
            wrong.append((ref, name, error))

    assert not wrong


def test_the_capabilities_are_those_of_the_marked_methods(client: MCPClient) -> None:
    """Spec: a capability is declared when the feature is there."""
    assert {"tools", "prompts", "resources", "completions"} <= set(client.peer.capabilities)


class Mixed(Notes):
    """Has methods of GAIA's documents as well."""

    summarise = None  # type: ignore[assignment]

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [*super().get_mcp_prompts(), {"name": "own", "arguments": [{"name": "x"}]}]

    def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return f"own {name}"

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [{"uri": "own://a"}, {"uri": "notes://all", "name": "another"}]

    def get_mcp_resource_templates(self) -> list[dict[str, Any]]:
        return [*super().get_mcp_resource_templates(), {"uriTemplate": "own://{x}"}]

    def read_mcp_resource(self, uri: str) -> str:
        return f"own {uri}"

    def complete_mcp_argument(self, ref: dict[str, Any], argument: str, typed: str, given: dict[str, str]) -> list[str]:
        return [f"{ref['type']} {argument} {typed} {sorted(given)}"]


@ERAS
def test_documented_methods_and_marked_ones_work_side_by_side(
    revision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: a marked method serves what it is marked for, and the others all the rest."""
    with client_for(Mixed(), revision=revision) as client:
        assert [one["name"] for one in client.request("prompts/list", {})["prompts"]] == ["chat", "own"]
        assert client.request("prompts/get", {"name": "own"})["messages"][0]["content"]["text"] == "own own"
        assert client.request("prompts/get", {"name": "chat"})["messages"][0]["content"]["text"] == "hi"
        assert [one["uri"] for one in client.request("resources/list", {})["resources"]] == ["notes://all", "own://a"]
        templates = client.request("resources/templates/list", {})["resourceTemplates"]
        assert [one["name"] for one in templates] == ["note", "word", "own://{x}"]
        read = {uri: client.request("resources/read", {"uri": uri}) for uri in ("own://a", "own://b", "notes://1")}
        assert [result["contents"][0]["text"] for result in read.values()] == ["own own://a", "own own://b", "milk"]
        own = {"type": "ref/prompt", "name": "own"}
        assert completed(client, own, "x", "t", y="1")["values"] == ["ref/prompt x t ['y']"]


class Broken(MCPAgent):
    """Each mistake that an author can make."""

    @tool
    def fine(self) -> None:
        """A tool."""

    @prompt
    def unreadable(self, x: NoSuchType) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    @prompt
    def rest(self, **more: str) -> str:
        return ""

    @prompt(name="rest2", complete={"y": lambda agent, typed: []})
    def completes(self, x: str) -> str:
        return ""

    @prompt(name="same")
    def one(self) -> str:
        return ""

    @prompt(name="same")
    def two(self) -> str:
        return ""

    @resource("a://{x}")
    def missing(self) -> str:
        return ""

    @resource("b://{x}")
    def surplus(self, x: str, y: str) -> str:
        return ""

    @resource("c://{?x}")
    def optional(self, x: str) -> str:
        return ""

    @resource("d://{x}")
    def first(self, x: str) -> str:
        return ""

    @resource("d://{y}")
    def second(self, y: str) -> str:
        return ""

    @resource("e://all")
    def unread(self) -> Any:
        yield 1

    @resource("notes/{x}")
    def relative(self, x: str) -> str:
        return x


def test_each_mistake_is_reported_with_its_method() -> None:
    """Ours: `serve` reports them and does not start; what is right is offered."""
    agent = Broken()

    assert agent.get_mcp_tool_problems() == [
        "Broken.unreadable(x): name 'NoSuchType' is not defined",
        "Broken.rest: each argument needs a parameter of its own, instead of **",
        "Broken.completes: there is no parameter 'y' to complete",
        "Broken.two: there is another prompt 'same'",
        "Broken.missing: there is no parameter for {x} of 'a://{x}'",
        "Broken.surplus: the parameter 'y' is not in 'b://{x}' and has no default",
        "Broken.optional: the parameter 'x' may be missing in 'c://{?x}' and has no default",
        "Broken.second: there is another resource with the URI 'd://{x}'",
        "Broken.unread: a generator cannot be served; return one value",
        "Broken.relative: the URI 'notes/{x}' has no scheme, as notes://1 has",
    ]
    assert [one["name"] for one in agent.get_mcp_prompts()] == ["same"]
    assert [one["uriTemplate"] for one in agent.get_mcp_resource_templates()] == ["d://{x}"]


class Documented(MCPAgent):
    """Completes by functions of every form."""

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        raise ValueError(tool_name)

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return []

    @prompt(complete={"a": lambda *given: [str(len(given))], "b": lambda agent, typed: (typed,)})
    def forms(self, a: Annotated[str, {"title": "A"}], b: str) -> str:
        """With a title."""
        return a + b


def test_a_completion_function_may_take_fewer_arguments() -> None:
    """Ours: the agent, the text, and the other arguments."""
    with client_for(Documented()) as client:
        forms = {"type": "ref/prompt", "name": "forms"}
        assert completed(client, forms, "a", "")["values"] == ["3"]
        assert completed(client, forms, "b", "x")["values"] == ["x"]
        (described,) = client.request("prompts/list", {})["prompts"]
        assert described["arguments"][0] == {"name": "a", "title": "A", "required": True}
