from __future__ import annotations

import datetime
import math
import sys
from base64 import urlsafe_b64encode
from types import ModuleType
from typing import Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.definitions import (
    PAGE_ITEMS,
    check_task,
    described_agent,
    json_problem,
    listed_item,
    listed_resource,
    listed_template,
    member_problem,
    page_of,
    prompt_definitions,
    resource_definitions,
    task_support,
    template_definitions,
    tool_definition,
)
from gaia_mcp.server.provider import RequestError
from tests.server.talk import WithoutTask

# The schema of no arguments.
NOTHING = {"type": "object", "properties": {}}


class Bare:
    pass


def test_a_tool_gets_a_description_and_the_schema_of_an_object() -> None:
    """Spec, Tool: `inputSchema` has `"type": "object"` at its root."""
    assert tool_definition({"name": "a"}) == {"name": "a", "description": "", "inputSchema": NOTHING}


def test_an_input_schema_without_the_type_object_is_replaced() -> None:
    """Spec, B-4."""
    invalid: list[Any] = [None, "text", [], {"type": "string"}, {"type": ["object", "null"]}]

    assert [
        each for each in invalid if tool_definition({"name": "a", "inputSchema": each})["inputSchema"] != NOTHING
    ] == []


def test_a_tool_definition_is_copied_with_its_members() -> None:
    """Ours: None means that the agent left the member out."""
    schema = {"properties": {"a": {"type": "string"}}}
    given = {"name": "a", "description": "d", "title": "A", "icons": None, "inputSchema": schema}

    assert tool_definition(given) == {
        "name": "a", "description": "d", "title": "A", "inputSchema": {"type": "object", **schema},
    }  # fmt: skip
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}}
    assert tool_definition({"name": "a", "inputSchema": {"type": "object", "x": 1}})["inputSchema"]["x"] == 1


def test_every_input_schema_has_properties() -> None:
    """Ours: smolagents reads them of every tool, and without them ends the whole connection."""
    schemas: list[dict[str, Any]] = [
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "properties": None},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ]
    given = [dict(schema) for schema in schemas]

    shown = [tool_definition({"name": "a", "inputSchema": schema})["inputSchema"] for schema in schemas]

    assert [schema["properties"] for schema in shown] == [{}] * len(schemas)
    assert schemas == given


def test_an_invalid_member_of_a_tool_is_reported_and_left_out() -> None:
    """Spec, Tool: clients validate the whole list, and drop it for one such member."""
    members: list[tuple[str, Any, str]] = [
        ("title", 7, "title is not a text"),
        ("description", ["d"], "description is not a text"),
        ("outputSchema", "object", "outputSchema is not an object"),
        ("annotations", "read-only", "annotations is not an object"),
        ("icons", {"src": "x"}, "icons is not a list"),
        ("execution", True, "execution is not an object"),
        ("_meta", 1, "_meta is not an object"),
    ]
    noted: list[str] = []

    shown = [tool_definition({"name": "a", member: value}, noted.append) for member, value, _ in members]

    assert shown == [{"name": "a", "description": "", "inputSchema": NOTHING}] * len(members)
    assert noted == [f"tool 'a': {problem}, and is left out" for _, _, problem in members]


def test_invalid_members_of_annotations_and_icons_are_left_out() -> None:
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


def test_an_invalid_task_support_is_left_out() -> None:
    """Spec 2025-11-25, ToolExecution: one of three words."""
    noted: list[str] = []

    assert tool_definition({"name": "a", "execution": {"taskSupport": "maybe"}}, noted.append)["execution"] == {}
    assert noted == ["tool 'a': taskSupport is not 'forbidden', 'optional' or 'required', and is left out"]


def test_the_schemas_of_a_tool_are_repaired() -> None:
    """Ours: an agent that is written by hand has the mistakes that strict clients drop the whole list for."""
    noted: list[str] = []
    invalid = {"type": "object", "properties": [], "required": "a"}
    expected = {"type": "object", "properties": {}, "required": ["a"]}

    shown = tool_definition({"name": "a", "inputSchema": invalid, "outputSchema": invalid}, noted.append)

    assert (shown["inputSchema"], shown["outputSchema"]) == (expected, expected)
    assert noted == [
        f"tool 'a': {member}.{problem}"
        for member in ("inputSchema", "outputSchema")
        for problem in ("properties is [], and is read as {}", 'required is "a", and is read as ["a"]')
    ]


def test_a_schema_that_is_a_reference_keeps_its_properties() -> None:
    """Ours: empty properties beside a reference would hide its own from a reader of them."""
    schema = {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"properties": {"n": {"type": "integer"}}}}}
    item = {"name": "a", "inputSchema": schema}

    assert tool_definition(item)["inputSchema"]["properties"] == {"n": {"type": "integer"}}
    assert listed_item("tools", item) is item


def test_the_properties_of_a_tool_are_objects() -> None:
    """Spec up to 2025-11-25, Tool: true and false are schemas, but not there."""
    shown = tool_definition({"name": "a", "inputSchema": {"properties": {"a": True, "b": False, "c": {"not": True}}}})

    assert shown["inputSchema"]["properties"] == {"a": {}, "b": {"not": {}}, "c": {"not": True}}


def test_a_valid_item_of_another_server_is_listed_unchanged() -> None:
    """Ours: a gateway adds nothing to what is valid, and removes nothing."""
    noted: list[str] = []
    valid: list[tuple[str, dict[str, Any]]] = [
        ("tools", {"name": "a", "inputSchema": {"type": "object", "x": [1]}, "_meta": {"own": None}}),
        ("prompts", {"name": "a", "own": [None]}),
        ("resources", {"name": "n", "uri": "x:a", "size": 3}),
        ("resourceTemplates", {"name": "n", "uriTemplate": "{a}"}),
    ]

    assert [item for kind, item in valid if listed_item(kind, item, noted.append) is not item] == []
    assert noted == []


def test_an_invalid_item_of_another_server_is_repaired_or_left_out() -> None:
    """Ours: one of them would hide every item of every server from a strict client."""
    noted: list[str] = []
    given: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = [
        ("tools", {"name": "a"}, {"name": "a", "description": "", "inputSchema": NOTHING}),
        ("tools", {"name": "a", "inputSchema": NOTHING, "title": None}, tool_definition({"name": "a"})),
        ("tools", {"name": "", "inputSchema": NOTHING}, None),
        ("prompts", {"name": "a", "arguments": None}, {"name": "a", "arguments": []}),
        ("prompts", {"name": ""}, None),
        ("resources", {"uri": "x:a", "annotations": []}, {"uri": "x:a", "name": "x:a"}),
        ("resources", {"uri": "a", "name": "n"}, None),
        ("resources", {"uri": "x:a", "name": "n", "size": "12"}, {"uri": "x:a", "name": "n"}),
        ("resourceTemplates", {"uriTemplate": "x:{a}"}, {"uriTemplate": "x:{a}", "name": "x:{a}"}),
        ("resourceTemplates", {"uriTemplate": "", "name": "n"}, None),
    ]

    assert [listed_item(kind, item, noted.append) for kind, item, _ in given] == [shown for _, _, shown in given]
    assert noted == [
        "one of its tools has an empty name, and is left out",
        "one of its prompts has an empty name, and is left out",
        "resource 'x:a': annotations is not an object, and is left out",
        "resource 'a' is left out: its URI has no scheme, as notes://1 has",
        "resource 'x:a': size is not a whole number, and is left out",
        "one of its resourceTemplates has an empty uriTemplate, and is left out",
    ]


def test_a_tool_that_does_not_require_a_task_runs_without_one() -> None:
    """Spec 2025-11-25, ToolExecution."""
    for execution in (None, 5, {}, {"taskSupport": "optional"}, {"taskSupport": "forbidden"}):
        check_task("a", {"execution": execution}, WithoutTask())


def test_a_tool_that_requires_a_task_is_not_found_without_one() -> None:
    """Spec 2025-11-25, LS-8: -32601, where the client could have asked for a task."""
    definition = {"execution": {"taskSupport": "required"}}

    check_task("a", definition, Call())
    with pytest.raises(RequestError, match="'a' must run as a task") as caught:
        check_task("a", definition, WithoutTask())
    assert caught.value.code == METHOD_NOT_FOUND


def test_prompts_without_a_name_are_left_out() -> None:
    """Spec, Prompt: `name` is required."""
    for defined in (None, [], [{"description": "no name"}, "text", {"name": ""}, {"name": 7}]):
        assert prompt_definitions(defined) == []


def test_arguments_of_a_prompt_without_a_name_are_left_out() -> None:
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


def test_resources_without_a_uri_are_left_out() -> None:
    """Spec, Resource: `uri` is required."""
    for defined in (None, [], [{"name": "no uri"}, "text", {"uri": ""}]):
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


def test_invalid_members_of_a_resource_are_left_out() -> None:
    """Spec, Resource."""
    noted: list[str] = []

    shown = listed_resource({"uri": "x://a", "name": 7, "size": "big", "mimeType": None}, noted.append)

    assert shown == {"uri": "x://a", "name": "x://a"}
    assert noted == ["resource 'x://a': size is not a whole number, and is left out"]


def test_invalid_members_of_the_server_info_are_left_out() -> None:
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


def test_an_agent_is_named_after_its_class() -> None:
    """GAIA's documents: its default goes on the wire as it is, and so does what the author chose."""
    agents: list[tuple[type, dict[str, Any], dict[str, Any]]] = [
        (Bare, {}, {"name": "Bare", "version": ""}),
        (Versioned, {}, {"name": "Versioned", "version": "1.2"}),
        (Bare, {"name": "GAIA Bare", "version": "2.0.0"}, {"name": "GAIA Bare", "version": "2.0.0"}),
        (Versioned, {"name": "GAIA Versioned", "version": "2.0.0"}, {"name": "GAIA Versioned", "version": "1.2"}),
        (Bare, {"name": "GAIA Bare", "version": "3"}, {"name": "GAIA Bare", "version": "3"}),
        (Versioned, {"name": "n", "version": 4}, {"name": "n", "version": "4"}),
        (Versioned, {"name": "", "version": None}, {"name": "Versioned", "version": "1.2"}),
        (Derived, {}, {"name": "GAIA Derived", "version": "2.0.0"}),
        (Derived, {"name": "GAIA Derived", "version": "2.0.0"}, {"name": "GAIA Derived", "version": "2.0.0"}),
    ]

    assert [described_agent(kind, info) for kind, info, _ in agents] == [described for _, _, described in agents]


def test_the_version_of_an_agent_may_be_that_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: `__version__` is where Python modules have it."""
    module = ModuleType("versioned_module")
    module.__version__ = "7"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)

    assert described_agent(type("Agent", (), {"__module__": module.__name__}), {})["version"] == "7"


def test_a_template_has_a_name() -> None:
    """Spec, ResourceTemplate: `name` is required. Ours: by default the template; invalid members are left out."""
    noted: list[str] = []

    (template,) = template_definitions([{"uriTemplate": "a://{x}", "title": 1}, {"uri": "a://"}, None])

    assert listed_template(template, noted.append) == {"uriTemplate": "a://{x}", "name": "a://{x}"}
    assert listed_template({"uriTemplate": "a:", "name": "n"})["name"] == "n"
    assert noted == ["template 'a://{x}': title is not a text, and is left out"]


def test_the_task_support_of_a_tool_is_read_from_its_definition() -> None:
    """Ours: from the member that 2025-11-25 has for it."""
    supports: list[tuple[Any, str | None]] = [
        ({"taskSupport": "optional"}, "optional"),
        ({"taskSupport": "required"}, "required"),
        ({"taskSupport": "forbidden"}, None),
        ({"taskSupport": ["optional"]}, None),
        ({}, None),
        (5, None),
    ]

    found = [(execution, task_support({"execution": execution})) for execution, _ in supports]

    assert found == supports
    assert task_support({}) is None


def test_a_member_of_a_wrong_type_has_a_problem() -> None:
    """Spec, schema: a member of one name has one type in all objects."""
    wrong: dict[str, tuple[Any, str]] = {
        "title": (5, "is not a text"),
        "_meta": ([], "is not an object"),
        "icons": ({}, "is not a list"),
        "readOnlyHint": ("yes", "is not true or false"),
        "audience": (["robot"], "is not a list of 'user' and 'assistant'"),
        "priority": (True, "is not a number from 0 to 1"),
        "size": ("12", "is not a whole number"),
        "taskSupport": ("maybe", "is not 'forbidden', 'optional' or 'required'"),
    }

    assert {name: (value, member_problem(name, value)) for name, (value, _) in wrong.items()} == wrong


def test_a_valid_member_has_no_problem() -> None:
    """Spec, schema; members that MCP does not know may be anything."""
    members: list[tuple[str, Any]] = [
        ("title", "x"), ("_meta", {}), ("audience", []), ("audience", ["user"]), ("priority", 0.5), ("size", 0),
        ("size", 2.0), ("own", 5),
    ]  # fmt: skip

    assert [(name, problem) for name, value in members if (problem := member_problem(name, value)) is not None] == []


def within_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def test_a_value_that_is_not_json_is_a_problem_in_every_member() -> None:
    """Ours: the whole message could not be written."""
    values: list[Any] = [{1}, b"x", math.nan, datetime.date.min, {(1, 2): 3}, within_itself()]

    assert [value for value in values if json_problem(value) is None] == []
    assert [value for value in values if not (member_problem("own", value) or "").startswith("is not JSON: ")] == []


def test_a_name_that_is_not_json_is_a_problem() -> None:
    """Ours: also of a member that is a text."""
    assert member_problem((1, 2), "x") is not None


def items(count: int) -> list[dict[str, Any]]:
    """So many items, with names."""
    return [{"name": f"tool \N{GRINNING FACE} {number}"} for number in range(count)]


def test_the_pages_of_a_list_contain_all_items_in_order() -> None:
    """Spec, pagination: the last page has no cursor."""
    for count in (0, 1, PAGE_ITEMS, PAGE_ITEMS + 1, 3 * PAGE_ITEMS):
        read: list[dict[str, Any]] = []
        pages, params = 0, {}
        while True:
            page = page_of("tools", items(count), "name", params)
            pages += 1
            read += page["tools"]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}

        assert read == items(count), count
        assert pages == max(1, -(-count // PAGE_ITEMS)), count


def test_an_invalid_cursor_is_refused() -> None:
    """Spec, pagination: -32602."""

    def error_of(cursor: Any) -> tuple[int, str]:
        try:
            page_of("tools", items(PAGE_ITEMS + 1), "name", {"cursor": cursor})
        except RequestError as error:
            return error.code, str(error)
        return 0, ""

    cursors: list[Any] = ["", "x", "é", 7, [], urlsafe_b64encode(b"0 ").decode(), "LTEgeA=="]
    errors = [(cursor, *error_of(cursor)) for cursor in cursors]

    assert [each for each in errors if each[1] != INVALID_PARAMS or "invalid cursor" not in each[2]] == []


def test_a_cursor_is_refused_once_the_list_has_changed() -> None:
    """Spec: an expired cursor has the client read the list from its beginning, instead of missing an item."""
    listed = items(PAGE_ITEMS + 2)
    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    for changed in (listed[1:], listed[: PAGE_ITEMS - 1]):
        with pytest.raises(RequestError):
            page_of("tools", changed, "name", {"cursor": cursor})

    assert page_of("tools", [*listed, *items(1)], "name", {"cursor": cursor})["tools"] == [*listed[-2:], *items(1)]


def test_a_lone_surrogate_may_name_the_last_item() -> None:
    """Ours: a string of an agent may have no UTF-8 encoding."""
    listed = [{"name": "\ud800"}] * (PAGE_ITEMS + 1)

    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    assert page_of("tools", listed, "name", {"cursor": cursor}) == {"tools": listed[:1]}
