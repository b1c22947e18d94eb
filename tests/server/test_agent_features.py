from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, prompt, resource, tool
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError
from tests.server.agents_under_test import Full, Plain, answer, refusal
from tests.server.test_agent_features__skills import TEXT, skill_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Prompts.


@pytest.fixture
def prompter() -> Full:
    """Describes prompts, and has no method to get one."""
    agent = Full()
    agent.prompts = [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}, "z", {}]},
        {"name": "q", "arguments": "none"},
        {"description": "no name"},
    ]
    return agent


def test_prompts_are_listed_with_valid_arguments(prompter: Full) -> None:
    """Spec, PromptArgument: an object with a name. Ours: others are left out."""
    prompts = answer(AgentProvider(prompter), "prompts/list", {})["prompts"]

    assert prompts == [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}]},
        {"name": "q", "arguments": []},
    ]


def test_a_prompt_without_a_method_returns_its_description_and_arguments(prompter: Full) -> None:
    """Ours: GAIA's agents describe prompts and have no method to get one."""
    served = AgentProvider(prompter)

    result = answer(served, "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["description"] == "About"
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "About\nx: 1"}}]
    assert answer(served, "prompts/get", {"name": "q"})["messages"][0]["content"]["text"] == "q"


def test_get_mcp_prompt_returns_the_prompt(prompter: Full) -> None:
    """Ours: `get_mcp_prompt(name, arguments)`."""
    prompter.get_mcp_prompt = lambda name, arguments: f"{name} {arguments['x']}"  # type: ignore[attr-defined]

    result = answer(AgentProvider(prompter), "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["messages"][0]["content"]["text"] == "p 1"


def test_an_invalid_request_for_a_prompt_is_refused(prompter: Full) -> None:
    """Spec, prompts: unknown names and missing arguments are -32602."""
    requests: list[tuple[dict[str, Any], str]] = [
        ({"name": "nope"}, "Unknown prompt: nope"),
        ({}, "Unknown prompt: None"),
        ({"name": "p", "arguments": ["x"]}, "an object"),
        ({"name": "p"}, "needs the argument 'x'"),
    ]

    for params, problem in requests:
        refused = refusal(prompter, "prompts/get", params)
        assert (refused.code, problem in str(refused)) == (INVALID_PARAMS, True), (params, refused)


def test_an_agent_without_prompts_returns_an_empty_list() -> None:
    """Ours: asked before its description is known, an agent answers with an empty list."""
    assert answer(AgentProvider(Plain()), "prompts/list", {}) == {"prompts": []}


def test_a_marked_prompt_overrides_a_described_one() -> None:
    """Ours: its arguments are converted from the texts that arrive."""

    class Marked(MCPAgent):
        @tool
        def nothing(self) -> None:
            """A tool."""

        @prompt
        def p(self, x: int) -> str:
            return str(x + 1)

        def get_mcp_prompts(self) -> list[dict[str, Any]]:
            return [{"name": "p"}, {"name": "q"}]

    provider = AgentProvider(Marked())

    assert [one["name"] for one in answer(provider, "prompts/list", {})["prompts"]] == ["p", "q"]
    assert provider.describe().capabilities["prompts"] == {"listChanged": True}
    assert provider.problems == ["prompt 'p' is defined twice; the marked method is used"]
    got = answer(provider, "prompts/get", {"name": "p", "arguments": {"x": "1"}})
    assert got["messages"][0]["content"]["text"] == "2"
    for arguments, words in (({"x": "a"}, "prompt 'p': x: 'a'"), ({"x": 1}, "'x' is not a text")):
        with pytest.raises(RequestError, match=words):
            answer(provider, "prompts/get", {"name": "p", "arguments": arguments})


@pytest.fixture
def librarian() -> Full:
    """Describes resources, some with their content."""
    agent = Full()
    agent.resources = [
        {"uri": "x://text", "name": "t", "mimeType": "text/plain", "text": "hi"},
        {"uri": "x://bytes", "blob": b"\x00\x01"},
        {"uri": "x://base64", "mimeType": "a/b", "blob": "AAE="},
        {"uri": "x://bare"},
        {"name": "no uri"},
    ]
    return agent


def test_resources_are_listed_with_a_name_and_without_their_content(librarian: Full) -> None:
    """Spec, Resource: `name` is required. Ours: the uri is one."""
    assert answer(AgentProvider(librarian), "resources/list", {})["resources"] == [
        {"uri": "x://text", "name": "t", "mimeType": "text/plain"},
        {"uri": "x://bytes", "name": "x://bytes"},
        {"uri": "x://base64", "name": "x://base64", "mimeType": "a/b"},
        {"uri": "x://bare", "name": "x://bare"},
    ]


def test_skills_are_resources_beside_the_others(librarian: Full, tmp_path: Path) -> None:
    """Extension: the file that describes each is listed."""
    (tmp_path / "SKILL.md").write_text("---\nname: a\ndescription: b\n---\n")
    librarian.get_mcp_skills = lambda: [tmp_path]  # type: ignore[attr-defined]
    provider = AgentProvider(librarian)

    assert len(answer(provider, "resources/list", {})["resources"]) == 5
    (contents,) = answer(provider, "resources/read", {"uri": "skill://a/SKILL.md"})["contents"]
    assert "name: a" in contents["text"]
    assert answer(provider, "resources/read", {"uri": "x://text"})["contents"][0]["text"] == "hi"


def test_an_agent_without_templates_returns_an_empty_list(librarian: Full) -> None:
    """Ours: as long as an agent describes none."""
    assert answer(AgentProvider(librarian), "resources/templates/list", {}) == {"resourceTemplates": []}


def test_contents_in_the_definition_of_a_resource_are_read(librarian: Full) -> None:
    """Ours: text is text, bytes become base64, and a blob that is a string is base64 already."""
    contents = [
        {"uri": "x://text", "mimeType": "text/plain", "text": "hi"},
        {"uri": "x://bytes", "blob": "AAE="},
        {"uri": "x://base64", "mimeType": "a/b", "blob": "AAE="},
    ]
    provider = AgentProvider(librarian)

    assert [answer(provider, "resources/read", {"uri": each["uri"]}) for each in contents] == [
        {"contents": [each]} for each in contents
    ]


def test_a_resource_that_cannot_be_read_is_refused(librarian: Full) -> None:
    """Spec, MS-15 and its forerunners: an unknown resource is named in the error; the revision decides on the code."""
    refused = {uri: refusal(librarian, "resources/read", {"uri": uri}) for uri in ("x://bare", "x://nope")}

    assert {uri: (each.code, each.data) for uri, each in refused.items()} == {
        "x://bare": (INVALID_PARAMS, {"uri": "x://bare"}),
        "x://nope": (RESOURCE_NOT_FOUND, {"uri": "x://nope"}),
    }


def test_a_uri_that_is_not_a_string_is_refused(librarian: Full) -> None:
    """Spec, ReadResourceRequest. The error does not contain it, for it may not be JSON."""
    refused = [refusal(librarian, "resources/read", {"uri": uri}) for uri in (None, 7, math.nan)]

    assert [(each.code, each.data) for each in refused] == [(INVALID_PARAMS, None)] * 3


def test_read_mcp_resource_is_called_for_unlisted_resources_too(librarian: Full) -> None:
    """Ours: `read_mcp_resource(uri)`; the type is the one it announced."""
    librarian.read_mcp_resource = lambda uri: f"read {uri}"  # type: ignore[attr-defined]
    served = AgentProvider(librarian)

    assert answer(served, "resources/read", {"uri": "x://text"})["contents"] == [
        {"uri": "x://text", "mimeType": "text/plain", "text": "read x://text"}
    ]
    assert answer(served, "resources/read", {"uri": "x://new"})["contents"][0]["text"] == "read x://new"


@pytest.mark.parametrize("value", [None, {"contents": []}])
def test_an_unlisted_resource_without_contents_is_not_found(librarian: Full, value: Any) -> None:
    """Spec, MS-15: never empty contents instead."""
    librarian.read_mcp_resource = lambda uri: value  # type: ignore[attr-defined]

    refused = refusal(librarian, "resources/read", {"uri": "x://new"})

    assert (refused.code, refused.data) == (RESOURCE_NOT_FOUND, {"uri": "x://new"})


def test_a_listed_resource_may_be_null(librarian: Full) -> None:
    """Ours: that is a JSON value too."""
    librarian.read_mcp_resource = lambda uri: None  # type: ignore[attr-defined]

    (contents,) = answer(AgentProvider(librarian), "resources/read", {"uri": "x://bare"})["contents"]

    assert contents["text"] == "null"


@pytest.mark.parametrize("error", [ValueError, KeyError, FileNotFoundError])
def test_an_unlisted_resource_that_raises_is_not_found(librarian: Full, error: type[Exception]) -> None:
    """Spec, MS-15: never an empty answer instead."""

    def read(uri: str) -> str:
        raise error(uri)

    librarian.read_mcp_resource = read  # type: ignore[attr-defined]

    assert refusal(librarian, "resources/read", {"uri": "x://gone"}).data == {"uri": "x://gone"}


@pytest.mark.parametrize("error", [KeyError("x"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")])
def test_an_exception_in_reading_a_listed_resource_is_raised(librarian: Full, error: Exception) -> None:
    """Ours: the resource exists, so that "not found" would hide the reason."""

    def read(_: str) -> str:
        raise error

    librarian.read_mcp_resource = read  # type: ignore[attr-defined]

    with pytest.raises(type(error)):
        answer(AgentProvider(librarian), "resources/read", {"uri": "x://text"})


def test_contents_that_are_not_json_raise_an_error(librarian: Full) -> None:
    """Ours: "not found" would hide the problem from the author of the agent."""
    librarian.read_mcp_resource = lambda _: {"n": float("nan")}  # type: ignore[attr-defined]

    with pytest.raises(ValueError, match="JSON"):
        answer(AgentProvider(librarian), "resources/read", {"uri": "x://new"})


def test_an_agent_without_resources_returns_an_empty_list() -> None:
    """Ours: a client may ask before it knows the capabilities."""
    assert answer(AgentProvider(Plain()), "resources/list", {}) == {"resources": []}


class Marked(MCPAgent):
    """Two templates of which one is more specific, and a resource."""

    @tool
    def nothing(self) -> None:
        """A tool."""

    @resource("a://all", mime_type="text/plain", ttl_ms=5)
    def everything(self) -> Any:
        return "all"

    @resource("a://{x}")
    def one(self, x: int) -> Any:
        return {0: None, 1: "one", 2: {"contents": []}}[x]

    @resource("a://{x}/b")
    def other(self, x: str) -> Any:
        return {"contents": [{"uri": f"a://{x}", "text": x}], "ttlMs": 7}

    @resource("{+x}", ttl_ms=6)
    def rest(self, x: str) -> Any:
        return x


def test_marked_resources_and_templates_are_read() -> None:
    """RFC 6570: a resource, else the most specific template. The `ttlMs` of the author is sent with the contents."""
    provider = AgentProvider(Marked())

    assert provider.describe().capabilities["resources"] == {"subscribe": True, "listChanged": True}
    assert answer(provider, "resources/list", {})["resources"][0]["uri"] == "a://all"
    assert len(answer(provider, "resources/templates/list", {})["resourceTemplates"]) == 3
    assert answer(provider, "resources/read", {"uri": "a://all"}) == {
        "ttlMs": 5,
        "contents": [{"uri": "a://all", "mimeType": "text/plain", "text": "all"}],
    }
    assert answer(provider, "resources/read", {"uri": "a://1"})["contents"][0]["text"] == "one"
    assert answer(provider, "resources/read", {"uri": "a://1/b"})["ttlMs"] == 7
    assert answer(provider, "resources/read", {"uri": "b:c"})["ttlMs"] == 6


def test_a_uri_without_contents_from_its_template_is_not_found() -> None:
    """Spec, MS-15: None, empty contents, a `LookupError`, a value that does not fit the hint."""
    uris = ("a://0", "a://2", "a://3", "a://x")
    codes = {uri: refusal(Marked(), "resources/read", {"uri": uri}).code for uri in uris}

    assert codes == dict.fromkeys(uris, RESOURCE_NOT_FOUND)


def test_a_template_reads_listed_resources() -> None:
    """Ours: the agent lists what there is, and has one method that reads it."""

    class Notes(MCPAgent):
        """Keeps notes."""

        @resource("note://{number}")
        def note(self, number: int) -> str:
            """One note."""
            return f"note {number}"

        def get_mcp_resources(self) -> list[dict[str, Any]]:
            """The notes, of which one has its contents here."""
            return [{"uri": "note://1"}, {"uri": "note://2", "text": "itself"}, {"uri": "other://1"}]

    provider = AgentProvider(Notes())
    read = [answer(provider, "resources/read", {"uri": f"note://{number}"})["contents"][0] for number in (1, 2, 3)]

    assert [contents["text"] for contents in read] == ["note 1", "itself", "note 3"]
    assert refusal(Notes(), "resources/read", {"uri": "other://1"}).code == INVALID_PARAMS


def test_an_agent_may_describe_templates_itself() -> None:
    """Ours: then it reads their URIs itself, too."""
    agent = Full()
    agent.get_mcp_resource_templates = lambda: [{"uriTemplate": "a://{x}"}, {"name": "none"}]  # type: ignore[attr-defined]

    provider = AgentProvider(agent)

    assert answer(provider, "resources/templates/list", {})["resourceTemplates"] == [
        {"uriTemplate": "a://{x}", "name": "a://{x}"}
    ]
    assert "resources" in provider.describe().capabilities


SKILLS = "io.modelcontextprotocol/skills"

URI = "skill://brewing/SKILL.md"


class Skilled(Full):
    """An agent with the skills in these folders."""

    def __init__(self, *folders: Any) -> None:
        super().__init__()
        self.folders: Any = folders

    def get_mcp_skills(self) -> Any:
        return self.folders


@pytest.fixture
def agent(tmp_path: Path) -> Skilled:
    """One with a skill of several files."""
    folder = skill_in(tmp_path / "x", references__grind="fine")
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    (folder / "LICENSE").write_text("free")
    return Skilled(folder)


def test_an_agent_with_skills_declares_them_and_resources(agent: Skilled) -> None:
    """Extension: which its files are read by."""
    capabilities = AgentProvider(agent).describe().capabilities
    assert capabilities["extensions"][SKILLS] == {"directoryRead": True}
    assert "resources" in capabilities

    without = AgentProvider(Skilled()).describe().capabilities
    assert (SKILLS in without["extensions"], "resources" in without) == (False, False)
    assert SKILLS not in AgentProvider(Plain()).describe().capabilities["extensions"]


def test_a_skill_is_listed_and_returned_by_its_uri(agent: Skilled) -> None:
    """Extension: the same entry."""
    provider = AgentProvider(agent)
    (entry,) = answer(provider, "skills/list", {})["skills"]

    assert (entry["uri"], len(entry["resources"])) == (URI, 4)
    assert answer(provider, "skills/get", {"uri": URI}) == {"skill": entry}
    for unknown in ("skill://other/SKILL.md", "skill://brewing", 7, None):
        assert refusal(agent, "skills/get", {"uri": unknown}).code == INVALID_PARAMS
    assert answer(AgentProvider(Plain()), "skills/list", {}) == {"skills": []}


def test_the_files_of_a_skill_are_resources(agent: Skilled) -> None:
    """Extension: SKILL.md is listed, all of them are read, and nothing beside them."""
    provider = AgentProvider(agent)
    (listed,) = answer(provider, "resources/list", {})["resources"]
    assert listed == {"uri": URI, "name": "brewing", "description": "Brew coffee", "mimeType": "text/markdown"}

    def read(name: str) -> Any:
        (contents,) = answer(provider, "resources/read", {"uri": f"skill://brewing/{name}"})["contents"]
        return contents

    assert (read("SKILL.md")["text"], read("SKILL.md")["mimeType"]) == (TEXT, "text/markdown")
    assert read("references/grind.md")["text"] == "fine"
    assert (base64.b64decode(read("logo.png")["blob"]), read("logo.png")["mimeType"]) == (b"\x89PNG\xff", "image/png")
    assert read("LICENSE") == {
        "uri": "skill://brewing/LICENSE", "mimeType": "application/octet-stream", "text": "free"
    }  # fmt: skip
    for uri in (
        "other://x",
        "skill://brewing/../x/SKILL.md",
        "skill://brewing/references",
        "skill://other/SKILL.md",
        "skill://",
    ):
        assert refusal(agent, "resources/read", {"uri": uri}).code == RESOURCE_NOT_FOUND


def test_a_file_of_a_skill_that_was_just_deleted_is_not_found(agent: Skilled) -> None:
    """Ours: after its folder was listed, and before it was read. The reason is reported."""
    noted: list[str] = []
    provider = AgentProvider(agent, report=noted.append)
    (folder,) = agent.folders

    def deleting() -> Iterator[Path]:
        yield folder
        (folder / "LICENSE").unlink()  # The next folder is asked for when this one has been listed.

    agent.folders = deleting()
    with pytest.raises(RequestError):
        answer(provider, "resources/read", {"uri": "skill://brewing/LICENSE"})
    assert "cannot be read: No such file" in noted[0]


def test_a_directory_of_a_skill_is_listed(agent: Skilled) -> None:
    """Extension: its direct children, folders among them."""
    provider = AgentProvider(agent)
    root = answer(provider, "resources/directory/read", {"uri": "skill://brewing"})["resources"]

    assert {one["name"]: one["mimeType"] for one in root} == {
        "SKILL.md": "text/markdown",
        "LICENSE": "application/octet-stream",
        "logo.png": "image/png",
        "references": "inode/directory",
    }
    (folder,) = [one["uri"] for one in root if one["mimeType"] == "inode/directory"]
    (child,) = answer(provider, "resources/directory/read", {"uri": folder})["resources"]
    assert child["uri"] == "skill://brewing/references/grind.md"
    for uri in (URI, "skill://other", 7, None):
        assert refusal(agent, "resources/directory/read", {"uri": uri}).code == INVALID_PARAMS


def test_an_invalid_skill_is_reported_and_the_others_are_served(agent: Skilled, tmp_path: Path) -> None:
    """Ours: once, as with any definition."""
    broken = skill_in(tmp_path / "broken", "nothing")
    agent.folders = (broken, *agent.folders, skill_in(tmp_path / "again"))
    noted: list[str] = []
    provider = AgentProvider(agent, report=noted.append)

    for _ in range(2):
        assert [entry["uri"] for entry in answer(provider, "skills/list", {})["skills"]] == [URI]
    assert noted == [
        f"{broken / 'SKILL.md'} does not begin with YAML between two lines of ---; it is left out",
        "skill 'brewing' is there twice; the first one is used",
    ]
