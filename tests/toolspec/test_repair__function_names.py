"""Names of functions for the APIs of models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gaia_mcp.toolspec.repair import FunctionNames, function_name, openai_function

if TYPE_CHECKING:
    import random


def named(*tools: str) -> dict[str, str]:
    names = FunctionNames()
    names.add((tool, tool) for tool in tools)
    return {tool: names.function_of(tool) for tool in tools}


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), unique=True), st.randoms(use_true_random=False))
def test_function_names_are_valid_unique_and_reversible(tools: list[str], chance: random.Random) -> None:
    """A10: whatever the tools are called, and in however many portions they are met."""
    names = FunctionNames()
    rest = list(tools)
    while rest:
        portion = chance.randint(1, len(rest))
        names.add((tool, tool) for tool in rest[:portion])
        rest = rest[portion:]

    functions = [names.function_of(tool) for tool in tools]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function) for function in functions)
    assert len(set(functions)) == len(tools)
    assert [names.tool_of(function) for function in functions] == tools
    assert all(function == tool for tool, function in zip(tools, functions, strict=True) if allowed(tool))


def allowed(tool: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool))


def test_a_name_stays_readable() -> None:
    """A10: what is not allowed becomes an underscore."""
    assert named("filesystem.readFile", "a b/c", "x" * 64) == {
        "filesystem.readFile": "filesystem_readFile",
        "a b/c": "a_b_c",
        "x" * 64: "x" * 64,
    }


def test_colliding_names_get_a_digest() -> None:
    """A10: the tool whose own name it is keeps it, whichever comes first."""
    found = named("a.b", "a/b", "a_b")

    assert found["a_b"] == "a_b"
    assert re.fullmatch("a_b_[0-9a-f]{8}", found["a.b"])
    assert re.fullmatch("a_b_[0-9a-f]{8}", found["a/b"])


def test_a_tool_that_is_added_later_gets_its_own_name() -> None:
    """A10: the other one gets a new name, and the old one leads to the tool that it is the name of."""
    names = FunctionNames()
    names.add([("a.b", "a.b")])
    assert names.function_of("a.b") == "a_b"

    names.add([("a_b", "a_b")])

    assert names.function_of("a_b") == "a_b"
    assert names.tool_of("a_b") == "a_b"
    assert names.tool_of(names.function_of("a.b")) == "a.b"


def test_two_tools_with_the_same_wanted_name_get_different_names() -> None:
    """A10: `mcp_a_b_c` may be the tool c of the server a_b, or b_c of a."""
    names = FunctionNames()

    names.add([("a.b_c", "mcp_a_b_c"), ("a_b.c", "mcp_a_b_c")])

    assert names.function_of("a.b_c") == "mcp_a_b_c"
    assert names.tool_of(names.function_of("a_b.c")) == "a_b.c"
    assert names.tool_of("none") is None


def test_long_names_and_other_scripts_end_with_a_digest() -> None:
    """A10: the same one in every process."""
    assert function_name("y" * 200) == f"{'y' * 55}_{function_name('y' * 200)[-8:]}"
    assert function_name("y" * 200) != function_name("y" * 201)
    assert function_name("查询") == "tool_bcd6771e"


def parameters(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The parameters of a function for a tool with this schema, and what was noted."""
    noted: list[str] = []
    return openai_function("f", "d", schema, noted.append)["function"]["parameters"], noted


def test_a_valid_schema_is_the_parameters_of_a_function() -> None:
    """OpenAI's API requires an object, its properties, and the items of every list."""
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [[]]}}}, "$defs": {"b": True}}

    assert openai_function("f", "d", schema) == {
        "type": "function", "function": {"name": "f", "description": "d", "parameters": schema},
    }  # fmt: skip
    assert parameters({}) == ({"type": "object", "properties": {}}, [])
    lists = {"properties": {"a": {"type": "array"}, "b": {"anyOf": [{"type": ["array", "null"]}, {"not": True}]}}}
    assert parameters(lists)[0]["properties"] == {
        "a": {"type": "array", "items": {}},
        "b": {"anyOf": [{"type": ["array", "null"], "items": {}}, {"not": True}]},
    }


def test_a_schema_that_the_api_refuses_is_repaired() -> None:
    """OpenAI's API refuses the whole request for one of them."""
    assert parameters({"type": "object", "properties": []}) == (
        {"type": "object", "properties": {}},
        ["inputSchema.properties is [], and is read as {}"],
    )
    assert parameters({"type": "string"}) == (
        {"type": "object", "properties": {}},
        ["inputSchema.type is 'string', and is read as 'object'"],
    )
    assert parameters({"properties": {"n": {"type": "int"}, "required": ["n"]}})[0] == {
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
    }  # fmt: skip


def test_parameters_of_a_union_at_the_root_become_optional() -> None:
    """OpenAI's API allows no union there. Ours: the model sees the parameters, and the server checks them."""
    app, window = {"type": "string"}, {"type": "integer"}
    union = [
        {"properties": {"kind": {"const": "a"}, "app": app}, "required": ["kind", "app"]},
        {"properties": {"kind": {"const": "b"}, "window": window}, "required": ["kind"]},
    ]

    found, (note,) = parameters({"oneOf": union, "not": {"required": ["x"]}, "$defs": {}})

    assert found == {
        "type": "object",
        "properties": {"kind": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "app": app, "window": window},
        "required": ["kind"],
        "$defs": {},
    }
    assert note.startswith("inputSchema has oneOf and not at its root, which is left out")
    assert "required" not in parameters({"anyOf": [union[0], {"properties": {"app": app}}]})[0]
    defined = {"A": {"type": "object", "properties": {"app": app}, "required": ["app"]}}
    referred = {"$ref": "#/$defs/A", "$defs": defined}
    assert parameters(referred)[0] == {
        "type": "object", "properties": {"app": app}, "required": ["app"], "$defs": defined,
    }  # fmt: skip
