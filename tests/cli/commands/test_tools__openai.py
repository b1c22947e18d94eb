"""`gaia mcp tools --openai`: the tools of servers as functions of a chat completion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

HANDLER = """
from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult


class Odd(MCPHandler):
    name = "odd"

    def connect(self):
        self._connected = True

    def disconnect(self):
        self._connected = False

    def list_tools(self):
        names = ["filesystem.readFile", "a b", "x" * 80, "greet"]
        return [MCPToolDefinition(name, f"It is {len(name)} long.", {}, "odd") for name in names]

    def call_tool(self, name, arguments):
        return MCPToolResult(name)
"""


@pytest.fixture
def odd(gaia: Gaia) -> Gaia:
    """The program, with a handler whose tools have names that OpenAI refuses, and an agent."""
    (gaia.cwd / "odd_handler.py").write_text(HANDLER)
    gaia.write({"odd": {"handler": str(gaia.cwd / "odd_handler.py"), "stages": ["build"]}, "demo": {"agent": "demo"}})
    return gaia


def functions(tools: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert {tool["type"] for tool in tools} == {"function"}
    found = {tool["function"]["name"]: tool["function"] for tool in tools}
    assert len(found) == len(tools)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in found)
    return found


def test_tools_are_printed_as_functions(odd: Gaia) -> None:
    """A10: allowed names, and an empty schema with what OpenAI requires."""
    found = functions(odd("tools", "odd", "--openai").json)

    assert list(found)[:2] == ["filesystem_readFile", "a_b"]
    assert found["greet"] == {
        "name": "greet",
        "description": "It is 5 long.",
        "parameters": {"type": "object", "properties": {}},
    }


def test_each_function_maps_to_its_tool(odd: Gaia) -> None:
    """A10: names are unique over all servers that are shown; --json has what each stands for."""
    ran = odd("tools", "--openai", "--json")
    found, origins = functions(ran.json["tools"]), ran.json["names"]

    assert found.keys() == origins.keys()
    assert origins["odd_greet"] == {"server": "odd", "tool": "greet"}
    assert origins["demo_greet"] == {"server": "demo", "tool": "greet"}
    for origin in origins.values():
        assert origin["tool"] in odd("tools", origin["server"], "--names").stdout.splitlines()


def test_only_available_and_chosen_tools_become_functions(odd: Gaia) -> None:
    """A3: a model is shown what it may call."""
    assert "greet" in functions(odd("tools", "--openai", "--stage", "design").json)
    assert list(functions(odd("tools", "demo.greet", "--openai").json)) == ["greet"]
    assert odd("tools", "odd", "--openai", "--stage", "design").code == 8


def test_a_server_that_fails_leaves_the_functions_of_the_others(gaia: Gaia) -> None:
    """Ours: as without the option; the exit code reports the failure."""
    gaia.write({"demo": {"agent": "demo"}, "bad": entry_of("exits-at-once")})
    ran = gaia("tools", "--openai")

    assert ran.code == 4
    assert "greet" in functions(ran.json)


def test_a_schema_that_the_api_refuses_is_repaired_with_a_remark(gaia: Gaia) -> None:
    """Ours: for one of them the API refuses the whole request. The remark names the tool."""
    gaia.write({"bad": entry_of("malformed")})
    ran = gaia("tools", "bad", "--openai")

    found = {name: function["parameters"] for name, function in functions(ran.json).items()}
    assert found["empty"] == {"type": "object", "properties": {}}
    assert found["one"] == {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert "note: tool 'empty' of 'bad': inputSchema.properties is [], and is read as {}" in ran.stderr.splitlines()
