"""What a client returns."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.tools import (
    Completion,
    MCPTool,
    failure_of,
    mcp_tool_requires_confirmation,
    read_completion,
    read_items,
    read_tools,
    sanitise_server_name,
)
from gaia_mcp.core.errors import (
    RemoteProtocolError,
)
from tests.client.conftest import noted

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "File path"}, "encoding": {"type": "string"}},
    "required": ["path"],
}


def test_a_tool_becomes_an_entry_of_gaias_registry() -> None:
    """GAIA's documents, Tool Registration Pattern."""
    entry = MCPTool("read_file", "Read file contents", SCHEMA).to_gaia_format("filesystem")

    assert entry == {
        "name": "mcp_filesystem_read_file",
        "display_name": "read_file (filesystem)",
        "description": "[MCP:filesystem] Read file contents",
        "parameters": {
            "path": {"type": "string", "required": True, "description": "File path"},
            "encoding": {"type": "string", "required": False, "description": ""},
        },
        "atomic": True,
        "requires_confirmation": True,
        "_mcp_server": "filesystem",
        "_mcp_tool_name": "read_file",
    }


def parameters_of(schema: dict[str, Any]) -> Any:
    return MCPTool("t", "", schema).to_gaia_format("s")["parameters"]


def wrong_parameters(rows: list[tuple[Any, dict[str, Any]]], **definitions: Any) -> list[tuple[Any, Any]]:
    """The schemas of a parameter that do not become what their row expects, and what they become."""
    wrong = []
    for schema, expected in rows:
        with noted(schema):
            found = parameters_of({"type": "object", "properties": {"p": schema}, "$defs": definitions})["p"]
        if found != {"required": False, "description": "", **expected}:
            wrong.append((schema, found))
    return wrong


def test_an_invalid_schema_still_becomes_an_entry() -> None:
    """Ours: servers send all of these; union types are preserved."""
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"properties": None, "required": "path"}, {}),
        ({"properties": ["path"]}, {}),
        (
            {"properties": {"a": True, "b": {"type": ["string", "null"]}}, "required": None},
            {
                "a": {"type": "string", "required": False, "description": ""},
                "b": {"type": ["string", "null"], "required": False, "description": ""},
            },
        ),
    ]

    assert [(schema, parameters_of(schema)) for schema, _ in rows] == rows


def test_unions_enums_and_references_are_preserved() -> None:
    """Ours: a model needs all that the server's schema states."""
    rows: list[tuple[Any, dict[str, Any]]] = [
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": ["integer", "null"]}),
        ({"oneOf": [{"type": ["string", "number"]}, {"type": "string"}]}, {"type": ["string", "number"]}),
        ({"$ref": "#/$defs/colour"}, {"type": "string", "enum": ["red"], "description": "A colour"}),
        ({"$ref": "#"}, {"type": "object"}),
        (True, {"type": "string"}),
        ({"type": None}, {"type": "string"}),
        ({"type": [{}, "integer"]}, {"type": "integer"}),
    ]

    assert not wrong_parameters(rows, colour={"type": "string", "enum": ["red"], "description": "A colour"})


def test_a_tool_is_read_only_if_its_hint_and_its_name_agree() -> None:
    """GAIA: every other tool requires a confirmation by the user."""
    rows: list[tuple[str, Any, bool]] = [
        ("read_file", True, True),
        ("listAll", True, True),
        ("address-book", True, True),
        ("read_file", False, False),
        ("read_file", "true", False),
        ("read_file", None, False),
        ("delete_file", True, False),
        ("deleteFile", True, False),
        ("file-write", True, False),
        ("PUTObject", True, False),
        ("chmod", True, False),
        ("sign_transaction", True, False),
    ]
    tools = [(name, hint, MCPTool(name, "", {}, {"readOnlyHint": hint})) for name, hint, _ in rows]

    assert [(name, hint, tool.only_reads) for name, hint, tool in tools] == rows
    assert [(name, hint, not tool.to_gaia_format("s")["requires_confirmation"]) for name, hint, tool in tools] == rows


@pytest.mark.parametrize("trusts_hints", [True, False])
def test_a_read_only_hint_counts_only_if_the_server_is_trusted(trusts_hints: bool) -> None:
    """B-10: annotations are untrusted."""
    (tool,), _ = read_tools(
        [{"name": "read", "inputSchema": {}, "annotations": {"readOnlyHint": True}}], trusts_hints=trusts_hints
    )

    assert not mcp_tool_requires_confirmation("read", {"readOnlyHint": True})  # GAIA's function knows no server.
    assert tool.only_reads is trusts_hints
    assert tool.to_gaia_format("s")["requires_confirmation"] is not trusts_hints


def test_a_title_is_that_of_the_tool_or_its_annotations_or_its_name() -> None:
    """Spec 2025-06-18, tools: the order in which a display name is chosen."""
    rows: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"title": "Read"}, {"title": "Other"}, "Read"),
        ({}, {"title": "Other"}, "Other"),
        ({}, {}, "read"),
        ({"title": 7}, {}, "read"),
    ]

    assert [(own, other, MCPTool("read", "", {}, other, own).title) for own, other, _ in rows] == rows


def test_a_tool_made_by_hand_has_neither_annotations_nor_an_output_schema() -> None:
    """GAIA's documents: MCPTool(name, description, input_schema)."""
    tool = MCPTool("t", "d", SCHEMA)

    assert tool.annotations == {}
    assert tool.output_schema is None
    assert MCPTool("t", "d", {}, definition={"outputSchema": {"type": "object"}}).output_schema == {"type": "object"}


def test_all_members_of_a_definition_are_read() -> None:
    """Spec, tools/list."""
    definition = {
        "name": "t", "description": "d", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}, "icons": [],
    }  # fmt: skip

    (tool,), problems = read_tools([definition])

    assert (tool.name, tool.description, tool.input_schema) == ("t", "d", SCHEMA)
    assert tool.annotations == {"readOnlyHint": True}
    assert tool.definition is definition
    assert problems == []


def test_missing_and_mistyped_members_become_empty() -> None:
    """Ours: one invalid tool must not hide the others."""
    (tool,), problems = read_tools([{"name": "t", "description": None, "inputSchema": {}, "annotations": "none"}])

    assert (tool.description, tool.input_schema, tool.annotations) == ("", {}, {})
    assert problems == []


def test_a_tool_without_a_schema_is_listed_and_reported() -> None:
    """Ours: it may work without arguments."""
    (tool,), problems = read_tools([{"name": "t", "inputSchema": None}])

    assert tool.input_schema == {}
    assert problems == ["tool 't' has no inputSchema object"]


def test_a_definition_without_a_name_is_left_out_and_reported() -> None:
    """Ours: it could not be called; its number shows the author which one it is."""
    good = {"name": "good", "inputSchema": {}}
    tools, problems = read_tools([good, {}, {"name": ""}, {"name": 7}, "t", None, ["name"]])

    assert [tool.name for tool in tools] == ["good"]
    assert problems == [f"tool {number} has no name" for number in range(2, 8)]


def test_the_first_of_two_tools_with_one_name_is_used() -> None:
    """Spec, tools: names are unique within a server. Ours: a call could not state which of the two it means."""
    tools, problems = read_tools(
        [{"name": "t", "description": "one", "inputSchema": {}}, {"name": "t", "description": "two"}]
    )

    assert [tool.description for tool in tools] == ["one"]
    assert problems == ["tool 't' is listed twice"]


def test_parameters_have_exactly_the_enums_and_items_of_the_schema() -> None:
    """Ours: the enum of one member of a union is not that of the whole."""
    rows: list[tuple[Any, dict[str, Any]]] = [
        ({"enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"enum": ["a", None, True, 1.5]}, {
            "type": ["string", "null", "boolean", "number"], "enum": ["a", None, True, 1.5]
        }),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"anyOf": [{"enum": [True, [1]]}, {"enum": [1, [True]]}]}, {
            "type": ["boolean", "array", "integer"], "enum": [True, [1], 1, [True]]
        }),
        ({"anyOf": [{"enum": ["a"]}, {"const": "b"}, {"enum": ["a"]}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, {"type": ["string", "null"], "enum": ["a"]}),
        ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, {"type": ["string", "integer"]}),
        ({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, {"type": "string", "enum": ["a"]}),
        ({"enum": "a"}, {"type": "string"}),
        ({"type": "array", "items": {"$ref": "#/$defs/x"}}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "array", "items": True}, {"type": "array"}),
    ]  # fmt: skip

    assert not wrong_parameters(rows, x={"type": "integer"})


def test_a_required_parameter_without_a_schema_is_included() -> None:
    """Ours: without it no call would succeed."""
    entry = MCPTool("t", "", {"required": ["a"], "properties": {"b": {}}}).to_gaia_format("s")

    assert entry["parameters"] == {
        "b": {"type": "string", "required": False, "description": ""},
        "a": {"type": "string", "required": True, "description": ""},
    }


def test_a_tool_without_a_credible_read_only_hint_requires_confirmation() -> None:
    """GAIA, from 0.23 on: a missing hint does not count, nor one that contradicts the name."""
    assert mcp_tool_requires_confirmation("read_file", {"readOnlyHint": True}) is False
    assert mcp_tool_requires_confirmation("delete_file", {"readOnlyHint": True}) is True
    assert mcp_tool_requires_confirmation("read_file", {}) is True
    assert mcp_tool_requires_confirmation("read_file", None) is True


def test_the_text_of_a_failure_is_that_of_its_blocks() -> None:
    """Ours: or says that there is none."""
    text = {"type": "text", "text": "no"}

    assert failure_of({"isError": True, "content": [text, {"type": "image"}, 5, text]}) == "no\nno"
    assert failure_of({"content": None}) == failure_of({}) == "the tool reported an error without a text"


def test_a_shortened_server_name_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    """GAIA, from 0.18 on."""
    for name in ("mcp-once", "mcp-once", "never"):
        sanitise_server_name(name)

    assert [record.args for record in caplog.records] == [("mcp-once", "once")]


def test_a_completion_without_values_is_an_error() -> None:
    """Ours: an empty list would mean that the server has no suggestion."""
    completions: list[Any] = [None, 7, "x", [], {}, {"values": None}, {"values": "abc"}, {"values": {"a": 1}}]
    for completion in completions:
        with noted(completion), pytest.raises(RemoteProtocolError, match="'s' answered completion/complete without"):
            read_completion("s", {"completion": completion})


def test_invalid_members_of_a_completion_are_left_out() -> None:
    """Ours: the other members are valid. The limit of the specification, 100 values, is one for servers."""
    rows: list[tuple[dict[str, Any], Completion]] = [
        ({"values": []}, Completion([], None, has_more=False)),
        ({"values": ["x"] * 5000}, Completion(["x"] * 5000, None, has_more=False)),
        ({"values": ["a", None, 7, ["b"], {}, "c"]}, Completion(["a", "c"], None, has_more=False)),
        ({"values": [], "total": "7", "hasMore": "yes"}, Completion([], None, has_more=False)),
        ({"values": [], "total": True, "hasMore": 1}, Completion([], None, has_more=False)),
        ({"values": [], "total": 2.5, "hasMore": None}, Completion([], None, has_more=False)),
        ({"values": [], "total": 0, "hasMore": True}, Completion([], 0, has_more=True)),
    ]

    assert [(given, read_completion("s", {"completion": given})) for given, _ in rows] == rows


def test_an_item_without_its_key_is_left_out_and_reported() -> None:
    """Ours: one invalid item must not hide the others."""
    good = {"name": "good", "size": "odd", "arguments": 7}
    bad = [None, 7, "x", [], {}, {"name": 7}, {"name": None}]

    found, problems = read_items([*bad, good], "prompts/list", "name")

    assert found == [good]
    assert problems == [f"item {number} of prompts/list has no name" for number in range(1, len(bad) + 1)]


def test_a_server_name_is_sanitised() -> None:
    """GAIA, from 0.18 on: without the redundant "mcp", and never empty."""
    names = {"time": "time", "mcp-server-time": "server_time", "Foo MCP": "foo", "mcp": "server", "": "server"}

    assert {name: sanitise_server_name(name) for name in names} == names
