from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.tool import MCPTool, mcp_tool_requires_confirmation, read_tools

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


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [
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
    ],
)
def test_an_odd_schema_still_becomes_an_entry(schema: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Ours: servers send all of these; union types survive."""
    assert MCPTool("t", "", schema).to_gaia_format("s")["parameters"] == parameters


@pytest.mark.parametrize(
    ("schema", "parameter"),
    [
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": ["integer", "null"]}),
        ({"oneOf": [{"type": ["string", "number"]}, {"type": "string"}]}, {"type": ["string", "number"]}),
        ({"$ref": "#/$defs/colour"}, {"type": "string", "enum": ["red"], "description": "A colour"}),
        ({"$ref": "#"}, {"type": "object"}),
        (True, {"type": "string"}),
        ({"type": None}, {"type": "string"}),
        ({"type": [{}, "integer"]}, {"type": "integer"}),
    ],
)
def test_unions_choices_and_references_survive(schema: Any, parameter: dict[str, Any]) -> None:
    """Ours: a model must not be told less than the server said."""
    root = {
        "type": "object",
        "properties": {"p": schema},
        "$defs": {"colour": {"type": "string", "enum": ["red"], "description": "A colour"}},
    }

    entry = MCPTool("t", "", root).to_gaia_format("s")

    assert entry["parameters"]["p"] == {"required": False, "description": "", **parameter}


@pytest.mark.parametrize(
    ("name", "hint", "only_reads"),
    [
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
    ],
)
def test_a_tool_only_reads_if_its_server_says_so_and_its_name_does_not_deny_it(
    name: str, hint: Any, only_reads: bool
) -> None:
    """GAIA: everything else is to be confirmed by a person."""
    tool = MCPTool(name, "", {}, {"readOnlyHint": hint})

    assert tool.only_reads is only_reads
    assert tool.to_gaia_format("s")["requires_confirmation"] is not only_reads


@pytest.mark.parametrize("trusts_hints", [True, False])
def test_a_hint_counts_only_where_the_person_trusts_its_server(trusts_hints: bool) -> None:
    """B-10: annotations are untrusted."""
    (tool,), _ = read_tools(
        [{"name": "read", "inputSchema": {}, "annotations": {"readOnlyHint": True}}], trusts_hints=trusts_hints
    )

    assert not mcp_tool_requires_confirmation("read", {"readOnlyHint": True})  # GAIA's function knows no server.
    assert tool.only_reads is trusts_hints
    assert tool.to_gaia_format("s")["requires_confirmation"] is not trusts_hints


@pytest.mark.parametrize(
    ("definition", "annotations", "title"),
    [
        ({"title": "Read"}, {"title": "Other"}, "Read"),
        ({}, {"title": "Other"}, "Other"),
        ({}, {}, "read"),
        ({"title": 7}, {}, "read"),
    ],
)
def test_a_title_is_the_tools_own_or_its_annotations_or_its_name(
    definition: dict[str, Any], annotations: dict[str, Any], title: str
) -> None:
    """Spec 2025-06-18, tools: the order in which a label is chosen."""
    assert MCPTool("read", "", {}, annotations, definition).title == title


def test_a_tool_made_by_hand_has_neither_annotations_nor_an_output_schema() -> None:
    """GAIA's documents: MCPTool(name, description, input_schema)."""
    tool = MCPTool("t", "d", SCHEMA)

    assert tool.annotations == {}
    assert tool.output_schema is None
    assert MCPTool("t", "d", {}, definition={"outputSchema": {"type": "object"}}).output_schema == {"type": "object"}


def test_a_definition_is_read_with_all_that_it_says() -> None:
    """Spec, tools/list."""
    definition = {
        "name": "t", "description": "d", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}, "icons": [],
    }  # fmt: skip

    (tool,), problems = read_tools([definition])

    assert (tool.name, tool.description, tool.input_schema) == ("t", "d", SCHEMA)
    assert tool.annotations == {"readOnlyHint": True}
    assert tool.definition is definition
    assert problems == []


def test_missing_and_mistyped_parts_become_empty_ones() -> None:
    """Ours: one sloppy tool must not hide the others."""
    (tool,), problems = read_tools([{"name": "t", "description": None, "inputSchema": {}, "annotations": "none"}])

    assert (tool.description, tool.input_schema, tool.annotations) == ("", {}, {})
    assert problems == []


def test_a_tool_without_a_schema_is_kept_and_reported() -> None:
    """Ours: it may well work without arguments."""
    (tool,), problems = read_tools([{"name": "t", "inputSchema": None}])

    assert tool.input_schema == {}
    assert problems == ["tool 't' has no inputSchema object"]


@pytest.mark.parametrize("definition", [{}, {"name": ""}, {"name": 7}, "t", None, ["name"]])
def test_what_has_no_name_is_left_out_and_reported(definition: Any) -> None:
    """Ours: it could not be called; its number tells the author which."""
    tools, problems = read_tools([{"name": "good", "inputSchema": {}}, definition])

    assert [tool.name for tool in tools] == ["good"]
    assert problems == ["tool 2 has no name"]


def test_of_two_tools_of_one_name_the_first_counts() -> None:
    """Spec, tools: names are unique within a server. Ours: it could not be said which of two is meant."""
    tools, problems = read_tools(
        [{"name": "t", "description": "one", "inputSchema": {}}, {"name": "t", "description": "two"}]
    )

    assert [tool.description for tool in tools] == ["one"]
    assert problems == ["tool 't' is listed twice"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
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
    ],
)  # fmt: skip
def test_choices_and_items_are_told_and_nothing_that_the_schema_does_not_say(schema: Any, told: dict[str, Any]) -> None:
    """Ours: the choices of one member of a union are not those of the whole."""
    root = {"properties": {"p": schema}, "$defs": {"x": {"type": "integer"}}}

    entry = MCPTool("t", "", root).to_gaia_format("s")

    assert entry["parameters"]["p"] == {"required": False, "description": "", **told}


def test_what_is_required_but_not_described_is_told_too() -> None:
    """Ours: without it no call would succeed."""
    entry = MCPTool("t", "", {"required": ["a"], "properties": {"b": {}}}).to_gaia_format("s")

    assert entry["parameters"] == {
        "b": {"type": "string", "required": False, "description": ""},
        "a": {"type": "string", "required": True, "description": ""},
    }


def test_a_tool_needs_no_confirmation_only_if_it_says_that_it_reads() -> None:
    """GAIA, from 0.23 on: neither a missing hint nor one that the name denies is believed."""
    assert mcp_tool_requires_confirmation("read_file", {"readOnlyHint": True}) is False
    assert mcp_tool_requires_confirmation("delete_file", {"readOnlyHint": True}) is True
    assert mcp_tool_requires_confirmation("read_file", {}) is True
    assert mcp_tool_requires_confirmation("read_file", None) is True
