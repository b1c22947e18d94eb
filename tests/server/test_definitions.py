from __future__ import annotations

import sys
from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.server.definitions import (
    check_task,
    described_agent,
    listed_resource,
    listed_template,
    prompt_definitions,
    resource_definitions,
    task_support,
    template_definitions,
    tool_definition,
)
from gaia_mcp.server.provider import RequestError
from gaia_mcp.toolcall import Call
from tests.server.talk import WithoutTask

# The schema of no arguments.
NOTHING = {"type": "object", "properties": {}}


class Bare:
    pass


def test_a_tool_gets_a_description_and_the_schema_of_an_object() -> None:
    """Spec, Tool: `inputSchema` has `"type": "object"` at its root."""
    assert tool_definition({"name": "a"}) == {"name": "a", "description": "", "inputSchema": NOTHING}


@pytest.mark.parametrize("schema", [None, "text", [], {"type": "string"}, {"type": ["object", "null"]}])
def test_an_input_schema_for_something_else_becomes_one_for_an_object(schema: Any) -> None:
    """Spec, B-4."""
    assert tool_definition({"name": "a", "inputSchema": schema})["inputSchema"] == NOTHING


def test_a_tools_own_members_are_kept_and_the_agents_definition_is_not_changed() -> None:
    """Ours: None means that the agent left the member out."""
    schema = {"properties": {"a": {"type": "string"}}}
    given = {"name": "a", "description": "d", "title": "A", "icons": None, "inputSchema": schema}

    assert tool_definition(given) == {
        "name": "a", "description": "d", "title": "A", "inputSchema": {"type": "object", **schema},
    }  # fmt: skip
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}}
    assert tool_definition({"name": "a", "inputSchema": {"type": "object", "x": 1}})["inputSchema"]["x"] == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "properties": None},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
)
def test_every_input_schema_has_properties(schema: dict[str, Any]) -> None:
    """Ours: smolagents reads them of every tool, and without them ends the whole connection."""
    given = dict(schema)

    assert tool_definition({"name": "a", "inputSchema": schema})["inputSchema"]["properties"] == {}
    assert schema == given


@pytest.mark.parametrize(
    ("member", "value", "described"),
    [
        ("title", 7, "title is not a text"),
        ("description", ["d"], "description is not a text"),
        ("outputSchema", "object", "outputSchema is not an object"),
        ("annotations", "read-only", "annotations is not an object"),
        ("icons", {"src": "x"}, "icons is not a list"),
        ("execution", True, "execution is not an object"),
        ("_meta", 1, "_meta is not an object"),
    ],
)
def test_a_tools_member_of_a_wrong_type_is_noted_and_left_out(member: str, value: Any, described: str) -> None:
    """Spec, Tool: clients validate the whole list, and drop it for one such member."""
    noted: list[str] = []

    shown = tool_definition({"name": "a", member: value}, noted.append)

    assert shown == {"name": "a", "description": "", "inputSchema": NOTHING}
    assert noted == [f"tool 'a': {described}, and is left out"]


def test_members_of_annotations_and_icons_have_their_types_too() -> None:
    """Spec, ToolAnnotations, Icon."""
    noted: list[str] = []
    icon = {"src": "data:,x", "sizes": ["48x48"]}

    shown = tool_definition(
        {
            "name": "a",
            "annotations": {"readOnlyHint": True, "destructiveHint": "no", "idempotentHint": None, "own": 1},
            "icons": [icon, {**icon, "mimeType": 5}, {"sizes": []}, "x"],
        },
        noted.append,
    )

    assert shown["annotations"] == {"readOnlyHint": True, "own": 1}
    assert shown["icons"] == [icon, icon]
    assert noted == [
        "tool 'a': destructiveHint is not true or false, and is left out",
        "tool 'a': mimeType is not a text, and is left out",
    ]


@pytest.mark.parametrize("execution", [None, 5, {}, {"taskSupport": "optional"}, {"taskSupport": "forbidden"}])
def test_a_tool_runs_without_a_task_unless_it_must(execution: Any) -> None:
    """Spec 2025-11-25, ToolExecution."""
    check_task("a", {"execution": execution}, WithoutTask())


def test_a_tool_that_must_run_as_a_task_is_not_there_for_a_call_without_one() -> None:
    """Spec 2025-11-25, LS-8: -32601, where the client could have asked for a task."""
    definition = {"execution": {"taskSupport": "required"}}

    check_task("a", definition, Call())
    with pytest.raises(RequestError, match="'a' must run as a task") as caught:
        check_task("a", definition, WithoutTask())
    assert caught.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize("defined", [None, [], [{"description": "no name"}, "text", {"name": ""}, {"name": 7}]])
def test_prompts_without_a_name_are_left_out(defined: Any) -> None:
    """Spec, Prompt: `name` is required."""
    assert prompt_definitions(defined) == []


def test_a_prompts_arguments_are_those_with_a_name() -> None:
    """Spec, PromptArgument: `name` is required."""
    noted: list[str] = []
    required = {"name": "x", "required": "yes"}
    given = [{"name": "p", "arguments": [required, "z", {}]}, {"name": "q", "arguments": "none", "title": None}]

    assert prompt_definitions(given, noted.append) == [
        {"name": "p", "arguments": [{"name": "x"}]},
        {"name": "q", "arguments": []},
    ]
    assert given[1]["arguments"] == "none"
    assert noted == [
        "prompt 'p': required is not true or false, and is left out",
        "prompt 'q': arguments is not a list, and is left out",
    ]


@pytest.mark.parametrize("defined", [None, [], [{"name": "no uri"}, "text", {"uri": ""}]])
def test_resources_without_a_uri_are_left_out(defined: Any) -> None:
    """Spec, Resource: `uri` is required."""
    assert resource_definitions(defined) == []


def test_a_resource_with_a_relative_uri_is_left_out() -> None:
    """Spec, Resource: `uri` is a URI. Clients that check it drop the whole list."""
    noted: list[str] = []
    assert resource_definitions([{"uri": "a"}, {"uri": "x:"}, {"uri": "/a"}], noted.append) == [{"uri": "x:"}]
    assert noted == [f"resource {uri!r} is left out: its URI has no scheme, as notes://1 has" for uri in ("a", "/a")]


def test_a_resource_is_listed_with_a_name_and_without_its_contents() -> None:
    """Spec, Resource: `name` is required. Ours: the URI, if it has no name."""
    (resource,) = resource_definitions([{"uri": "x://a", "text": "hi", "blob": b"", "mimeType": "a/b"}])

    assert resource["text"] == "hi"
    assert listed_resource(resource) == {"name": "x://a", "uri": "x://a", "mimeType": "a/b"}
    assert listed_resource({"uri": "x://a", "name": "n"})["name"] == "n"


def test_a_resources_members_have_their_types() -> None:
    """Spec, Resource."""
    noted: list[str] = []

    shown = listed_resource({"uri": "x://a", "name": 7, "size": "big", "mimeType": None}, noted.append)

    assert shown == {"uri": "x://a", "name": "x://a"}
    assert noted == ["resource 'x://a': size is not a number, and is left out"]


def test_what_an_agent_says_about_itself_has_its_types() -> None:
    """Spec, Implementation: a client drops the whole handshake for one wrong member."""
    noted: list[str] = []

    assert described_agent(Bare, {"name": "n", "title": 7}, noted.append) == {"name": "n", "version": ""}
    assert noted == ["server 'n': title is not a text, and is left out"]


class Versioned:
    version = "1.2"


class OfGaia:
    __module__ = "gaia.agents.docker.agent"


class Derived(OfGaia):
    pass


@pytest.mark.parametrize(
    ("kind", "info", "described"),
    [
        (Bare, {}, {"name": "Bare", "version": ""}),
        (Versioned, {}, {"name": "Versioned", "version": "1.2"}),
        (Bare, {"name": "GAIA Bare", "version": "2.0.0", "title": "t"}, {"name": "Bare", "version": "", "title": "t"}),
        (Bare, {"name": "GAIA Bare", "version": "3"}, {"name": "GAIA Bare", "version": "3"}),
        (Versioned, {"name": "n", "version": 4}, {"name": "n", "version": "4"}),
        (Versioned, {"name": "", "version": None}, {"name": "Versioned", "version": "1.2"}),
        (Derived, {}, {"name": "GAIA Derived", "version": "2.0.0"}),
        (Derived, {"name": "GAIA Derived", "version": "2.0.0"}, {"name": "GAIA Derived", "version": "2.0.0"}),
    ],
)
def test_an_agent_is_called_by_its_class(kind: type, info: dict[str, Any], described: dict[str, Any]) -> None:
    """Ours: GAIA's default is the name of its own agents; what an author chose always stays."""
    assert described_agent(kind, info) == described


def test_the_version_of_an_agent_may_be_that_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: `__version__` is where Python modules have it."""
    monkeypatch.setattr(sys.modules[__name__], "__version__", "7", raising=False)

    assert described_agent(Bare, {})["version"] == "7"


def test_a_template_has_a_name() -> None:
    """Spec, ResourceTemplate: `name` is required. Ours: the template is one; what is wrong is left out."""
    noted: list[str] = []

    (template,) = template_definitions([{"uriTemplate": "a://{x}", "title": 1}, {"uri": "a://"}, None])

    assert listed_template(template, noted.append) == {"uriTemplate": "a://{x}", "name": "a://{x}"}
    assert listed_template({"uriTemplate": "a:", "name": "n"})["name"] == "n"
    assert noted == ["template 'a://{x}': title is not a text, and is left out"]


@pytest.mark.parametrize(
    ("execution", "support"),
    [
        ({"taskSupport": "optional"}, "optional"),
        ({"taskSupport": "required"}, "required"),
        ({"taskSupport": "forbidden"}, None),
        ({"taskSupport": ["optional"]}, None),
        ({}, None),
        (5, None),
    ],
)
def test_a_definition_may_have_its_calls_become_tasks(execution: Any, support: str | None) -> None:
    """Ours: by the member that 2025-11-25 has for it."""
    assert task_support({"execution": execution}) == support
    assert task_support({}) is None
