"""`gaia mcp tools`: a line for each of many tools, or a single one in full."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

GREET = '  greet(name: string (not empty), [style: "plain" | "warm" | "formal" = "plain"]) (read-only)'


@pytest.fixture
def two(demo: Gaia) -> Gaia:
    """The program, with `demo`, and a server that is called like one of its tools."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "add": entry_of("good-handshake")})
    return demo


@pytest.mark.parametrize("words", [("demo.greet",), ("demo", "greet")])
def test_a_named_tool_is_shown_in_full(demo: Gaia, words: tuple[str, ...]) -> None:
    """Ours: with its whole description and those of its arguments."""
    ran = demo("tools", *words)

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "demo (demo 0.1.0)",
        GREET,
        "      Say hello to a person.",
        "      name: Name of the person",
        "      style: Tone of the greeting",
    ]
    (server,) = demo("tools", *words, "--json").json["servers"]
    assert [tool["name"] for tool in server["tools"]] == ["greet"]


def test_the_name_of_a_server_takes_precedence_over_a_tool(two: Gaia) -> None:
    """Ours: any other argument is a tool of the server before it."""
    both = two("tools", "demo", "add", "--json").json["servers"]
    assert [(server["name"], len(server["tools"])) for server in both] == [("demo", 10), ("add", 10)]

    dotted = two("tools", "demo.add", "greet", "add", "echo", "--names")
    assert dotted.stdout.splitlines() == ["demo.add", "demo.greet", "add.echo"]


def test_an_unknown_server_or_tool_is_an_error(two: Gaia) -> None:
    """Ours: after a known server it is a tool, otherwise a server."""
    ran = two("tools", "demo", "gret")
    assert (ran.code, ran.errors) == (7, ["error: server 'demo' has no tool 'gret'", "hint: did you mean 'greet'?"])
    ran = two("tools", "dmeo", "greet")
    assert (ran.code, ran.errors[1]) == (3, "hint: did you mean 'demo'?")


def test_the_names_option_prints_arguments_of_call(two: Gaia) -> None:
    """Ours: of a named server its tools alone, of several servers both names."""
    assert two("tools", "add", "--names").stdout.splitlines()[:2] == ["echo", "slow"]
    names = two("tools", "--names").stdout.splitlines()
    assert len(names) == 20
    assert {"demo.greet", "add.echo"} <= set(names)
    assert two("call", "demo.greet", "name=Ada").code == 0
    (server,) = two("tools", "add", "--names", "--json").json["servers"]
    assert server["tools"][0] == {"name": "echo"}


LONG = """
class Agent:
    def get_mcp_tool_definitions(self):
        return [
            {"name": "wipe", "description": "First line, " + "long " * 40 + "end.\\n\\nSecond.", "inputSchema": {},
             "annotations": {"destructiveHint": True}},
            {"name": "both", "annotations": {"readOnlyHint": True, "destructiveHint": True}, "inputSchema": {}},
            {"name": "odd", "annotations": {"readOnlyHint": "yes", "destructiveHint": 1}, "inputSchema": {}},
        ]
    def execute_mcp_tool(self, name, arguments):
        return name
"""


@pytest.fixture
def long(gaia: Gaia) -> Gaia:
    """The program, with a server that has hints and a long description."""
    (gaia.cwd / "long.py").write_text(LONG)
    gaia.write({"long": {"command": "gaia", "args": ["mcp", "serve", "long.py:Agent"]}})
    return gaia


def test_only_the_first_line_of_a_description_is_listed(long: Gaia) -> None:
    """Ours: whole in a pipe, cut to the width of a terminal; of a named tool all of it."""
    piped = long("tools", "long").stdout
    assert "end.\n" in piped
    assert "Second." not in piped
    assert "Second." in long("tools", "long.wipe").stdout
    assert "Second." in long("tools", "long", "--schema").stdout

    long.environ["COLUMNS"] = "60"
    seen, _ = run_on_terminal(long, "tools", "long")
    assert "First line, long" in seen
    assert max(map(len, seen.splitlines())) <= 60


def test_annotations_are_shown_as_words(long: Gaia) -> None:
    """Spec, ToolAnnotations: only if they are literally true; destructiveHint means nothing for a read-only tool."""
    signatures = [line.strip() for line in long("tools", "long").stdout.splitlines() if "(" in line][1:]

    assert signatures == ["wipe() (destructive)", "both() (read-only)", "odd()"]


@pytest.mark.peer
def test_annotations_of_a_real_server_are_shown(gaia: Gaia, npm_servers: dict[str, list[str]]) -> None:
    """Ours: the file server from npm has both hints."""
    command, *args = npm_servers["filesystem"]
    gaia.write({"fs": {"command": command, "args": [*args, str(gaia.cwd)]}})

    shown = gaia("tools", "fs").stdout.splitlines()

    assert "  read_text_file(path: string, [tail: number], [head: number]) (read-only)" in shown
    assert "  write_file(path: string, content: string) (destructive)" in shown
    one = gaia("tools", "fs.write_file").stdout.splitlines()
    assert one[1] == "  write_file(path: string, content: string) (destructive)"
    assert len(one) >= 3


def test_the_token_cost_of_the_definitions_is_shown_for_each_server(demo: Gaia) -> None:
    """Ours: four bytes of the name, the description and the input schema count as a token."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "hand": entry_of("good-handshake")})
    definitions = [tool for server in demo("tools", "--json").json["servers"] for tool in server["tools"]]
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in definitions]
    tokens = [
        math.ceil(len(json.dumps(tool, separators=(",", ":"), ensure_ascii=False).encode()) / 4) for tool in shown
    ]

    ran = demo("tools", "--cost")

    rows = [re.split(r"  +", line) for line in ran.stdout.splitlines()]
    assert rows == [
        ["demo", "10 tools", f"about {sum(tokens[:10])} tokens"],
        ["hand", f"{len(tokens) - 10} tools", f"about {sum(tokens[10:])} tokens"],
        ["in all", f"{len(tokens)} tools", f"about {sum(tokens)} tokens"],
    ]
    (server,) = demo("tools", "demo", "--cost", "--json").json["servers"]
    assert [tool["tokens"] for tool in server["tools"]] == tokens[:10]


def test_tools_are_shown_as_signatures(demo: Gaia) -> None:
    """Ours: required parameters first."""
    shown = demo("tools", "demo").stdout.splitlines()

    assert '  greet(name: string (not empty), [style: "plain" | "warm" | "formal" = "plain"]) (read-only)' in shown
    assert '"minLength": 1' in demo("tools", "demo", "--schema").stdout
