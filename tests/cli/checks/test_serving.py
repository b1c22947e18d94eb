"""`gaia mcp serve TARGET --check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.commands.test_serve import AGENT

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


CHECKED = """
print("printed at import")
from datetime import date
from gaia_mcp import MCPAgent, tool

class Notes(MCPAgent):
    version = "1.2"

    @tool
    def add(self, text: str, due: date | None = None) -> int:
        \"""Add a note.\"""
        print("printed in the tool")
        return 1

    @tool
    def {name}(self, {parameters}) -> str:
        return ""

    def get_mcp_prompts(self):
        return [{{"name": "plan", "description": "Plan a day."}}]
"""


def test_check_lists_the_features_of_an_agent_and_exits(gaia: Gaia) -> None:
    """Ours: without a client; what the agent prints is not part of the listing."""
    (gaia.cwd / "agent.py").write_text(CHECKED.format(name="get", parameters="number: int"))

    ran = gaia("serve", "agent.py", "--check")

    assert (ran.code, ran.stderr) == (0, "printed at import\n")
    assert ran.stdout.splitlines() == [
        "GAIA Notes 1.2: 2 tools, 1 prompt",
        "  add(text: string, [due: date | null])",
        "      Add a note.",
        "  get(number: integer)",
        "  prompt plan",
        "      Plan a day.",
    ]


def test_check_lists_templates_and_every_page(gaia: Gaia) -> None:
    """Ours: what a client would get."""
    lines = ["from gaia_mcp import MCPAgent, resource", "class Books(MCPAgent):"]
    for number in range(1001):
        lines += [f"    @resource('books://{number}')", f"    def book{number}(self) -> str: return 'b'"]
    lines += ["    @resource('shelves://{name}')", "    def shelf(self, name: str) -> str: return 's'"]
    (gaia.cwd / "books.py").write_text("\n".join(lines))

    ran = gaia("serve", "books.py", "--check")

    assert ran.stdout.startswith("GAIA Books 2.0.0: 1001 resources, 1 resource template\n")
    assert ran.stdout.splitlines()[-1] == "  resource template shelves://{name}"


UNREADABLE = """
from dataclasses import dataclass

from gaia_mcp import MCPAgent, resource


@dataclass
class Book:
    title: str


class Books(MCPAgent):
    def begin_mcp(self):
        self.shelf = "open"

    @resource("books://first")
    def first(self) -> Book:
        return Book(self.shelf)

    @resource("books://lost")
    def lost(self) -> str:
        return {}["lost"]

    @resource("books://odd")
    def odd(self) -> object:
        return object()
"""


def test_check_reads_every_resource(gaia: Gaia) -> None:
    """Ours: one that cannot be read would fail in use only, and is named with the line of its code."""
    (gaia.cwd / "books.py").write_text(UNREADABLE)

    ran = gaia("serve", "books.py", "--check", "--json")
    read = gaia("read", "./books.py", "books://first")

    line = UNREADABLE.splitlines().index('        return {}["lost"]') + 1
    assert (ran.code, ran.json["problems"]) == (
        3,
        [
            f"resource 'books://lost' cannot be read: KeyError: 'lost', at {gaia.cwd / 'books.py'}:{line}",
            "resource 'books://odd' cannot be read: it returned a value that is not JSON: it is of type object",
        ],
    )
    assert (read.code, json.loads(read.stdout)) == (0, {"title": "open"})


def test_check_names_every_problem_and_exits_with_3(gaia: Gaia) -> None:
    """Ours: for a build, and for an author whose tool is missing."""
    (gaia.cwd / "agent.py").write_text(CHECKED.format(name="get", parameters="where: type, *rest, when: 'Nope'"))

    ran = gaia("serve", "agent.py", "--check", "--json")

    problems = [
        "Notes.get(when): name 'Nope' is not defined",
        "Notes.get(where): type is not a type that has a JSON Schema",
        "Notes.get(rest): arguments have names; take a list instead of *rest",
    ]
    assert (ran.code, ran.json["problems"]) == (3, problems)
    assert [tool["name"] for tool in ran.json["tools"]] == ["add"]
    assert [line for line in ran.stderr.splitlines() if line.startswith("error: ")] == [
        f"error: agent 'agent.py' has a problem: {problem}" for problem in problems
    ]
    assert "hint: correct it, and check again: gaia mcp serve agent.py --check" in ran.stderr


def test_check_reports_invalid_definitions_and_schemas(gaia: Gaia) -> None:
    """Ours: of an agent that writes them itself; serving would use the schema only at a call."""
    tools = [
        {"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}},
        {"name": "b", "outputSchema": {"$ref": "#/nowhere"}},
        {"description": "nameless"},
    ]
    (gaia.cwd / "agent.py").write_text(
        AGENT.format(word="hi", tool="t").replace('[{"name": "t", "inputSchema": {}}]', repr(tools))
    )

    ran = gaia("serve", "agent.py:Agent", "--check", "--json")

    assert ran.code == 3
    nameless, first, second = ran.json["problems"]
    assert nameless == "tool 3 has no name and is left out"
    assert first.startswith("the inputSchema of 'a' cannot be used: ")
    assert second.startswith("the outputSchema of 'b' cannot be used: ")
    assert gaia("serve", "nowhere.py", "--check").code == 3
