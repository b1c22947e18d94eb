"""Output on a narrow terminal, 20 or 40 columns wide, and on a wide one."""

from __future__ import annotations

import re
import sys
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

LONG_NAME = "a-server-with-a-very-long-name"
AGENT = """
import json
from gaia_mcp import MCPAgent

class Agent(MCPAgent):
    def get_mcp_tool_definitions(self):
        def tool(name, description, *names):
            schema = {"type": "object", "properties": {each: {"type": "string"} for each in names}, "required": names}
            return {"name": name, "description": description, "inputSchema": schema}
        return [
            tool("list_directory_entries", "List what is in a folder, " + "and more " * 9, "path"),
            tool("move_file", "Move a file", "source", "destination", "reason"),
        ]
    def execute_mcp_tool(self, tool, arguments):
        return "done"
"""
COMMANDS = [
    ("list",),
    ("list", "--check"),
    ("tools",),
    ("search", "file"),
    ("show", "files", "--check"),
    ("test-client", "files", "gone"),
    ("call", "files", "move"),
    ("call", "files", "move_file", "source=1"),
    ("call", "nobody", "move_file"),
    ("nonsense",),
    ("remove", "gone"),
    ("--help",),
    ("call", "--help"),
    ("test-client", "--help"),
    ("call", "files", "move_file", "--help"),
]


@pytest.fixture
def files(gaia: Gaia) -> Gaia:
    """The program, with a server that works, also under a long name, and one that ends at its start."""
    (gaia.cwd / "agent.py").write_text(AGENT)
    serving = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "agent.py:Agent"]}
    gone = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    gaia.write({"files": serving, "gone": gone, LONG_NAME: serving})
    assert gaia("tools", "files").code == 0
    return gaia


def shown(gaia: Gaia, *words: str, width: int) -> list[str]:
    """The lines on a terminal of that width, without what moves on it."""
    gaia.environ["TERM"] = "dumb"
    return run_on_terminal(gaia, *words, width=width)[0].splitlines()


def broken_badly(lines: list[str], width: int) -> list[str]:
    """The lines that the terminal breaks within a word, though not a single word and not a command to be copied."""
    return [line for line in lines if len(line) > width and not re.match(r" *\S+$|(Example: )?gaia mcp ", line)]


def test_no_line_is_broken_by_a_narrow_terminal(files: Gaia) -> None:
    """Ours: but for names, which are never cut, and what is to be copied."""
    broken = {}
    configured = files.config.read_bytes()
    for words, width in product(COMMANDS, (20, 40)):
        lines = shown(files, *words, width=width)
        files.config.write_bytes(configured)
        if not lines or broken_badly(lines, width):
            broken[words, width] = lines

    assert broken == {}


def test_a_narrow_list_shows_names_and_states(files: Gaia) -> None:
    """Ours: the command is what it does without first, after the transport."""
    assert shown(files, "list", width=20) == [
        "files  enabled",
        "gone   enabled",
        LONG_NAME,
        "       enabled",
    ]
    lines = shown(files, "list", width=40)
    assert [line.split()[:3] for line in lines[:2]] == [["files", "stdio", "enabled"], ["gone", "stdio", "enabled"]]
    assert lines[2] == LONG_NAME
    assert lines[3].startswith("       stdio  enabled  ")


def test_a_narrow_list_of_tools_has_a_line_for_each_parameter(files: Gaia) -> None:
    """Ours: nothing of a signature is lost."""
    lines = [line.strip() for line in shown(files, "tools", "files", width=20)]

    start = lines.index("move_file(")
    assert lines[start : start + 5] == ["move_file(", "source: string,", "destination:", "string,", "reason: string)"]
    assert "list_directory_entries(" in lines


def test_narrow_search_results_keep_the_names(files: Gaia) -> None:
    """Ours: they are what is typed next."""
    text = " ".join(" ".join(shown(files, "search", "file", width=20)).split())

    assert "files move_file(" in text
    assert f"{LONG_NAME} move_file" in text


def test_a_narrow_test_shows_outcomes_and_names(files: Gaia) -> None:
    """Ours: seconds and details have no room; the failure is reported in full."""
    lines = shown(files, "test-client", "files", "gone", width=20)
    text = " ".join(" ".join(lines).split())

    assert "  ok    negotiation" in lines
    assert "  FAIL  negotiation" in lines
    assert not any("…" in line for line in lines)
    assert "error: server 'gone' exited with status 3" in text
    detailed = shown(files, "test-client", "files", width=40)
    assert [line for line in detailed if re.match(r"  ok    tools           \S", line)]


def test_a_form_shows_the_signature_of_the_tool_line_by_line(files: Gaia) -> None:
    """Ours: as the list of tools does."""
    files.environ["TERM"] = "dumb"
    words = ("call", "files", "move_file", "-i")

    seen, _ = run_on_terminal(files, *words, typed=b"\x04", after=b"source [string]", width=20)

    assert "move_file(\r\n  source: string,\r\n  destination:\r\n" in seen


def test_the_command_in_a_hint_stays_whole(files: Gaia) -> None:
    """Ours: it begins a line, and the terminal breaks it, so that it can be copied."""
    assert "gaia mcp show gone" in shown(files, "call", "gone", "echo", width=20)
    assert f"gaia mcp tools {LONG_NAME}" in shown(files, "call", LONG_NAME, "xyz", width=20)


def test_help_follows_the_width_of_the_terminal(files: Gaia) -> None:
    """Ours: at 40 columns explanations stand under their options, at 200 no line is broken that fits."""
    narrow = shown(files, "call", "--help", width=40)
    assert "  --args JSON" in narrow
    assert "    Take all arguments from a JSON" in narrow
    wide = shown(files, "call", "--help", width=200)
    assert 150 < max(map(len, wide)) <= 200
    assert [line for line in wide if "--timeout SECONDS" in line and "per request" in line]
    commands = shown(files, "--help", width=200)
    assert [line for line in commands if line.endswith("Complete commands, servers, tools and arguments with TAB.")]


def test_no_summary_of_a_command_is_cut_on_a_narrow_terminal(files: Gaia) -> None:
    """Ours: neither of ours, nor that of the group of all of them."""
    for words in (("--help",), ("help",)):
        assert not any("..." in line.removesuffix("[ARGS]...") for line in shown(files, *words, width=40))
    ran = files.command(BIN / "gaia", "--help", env={**files.environ, "COLUMNS": "40"})
    assert "call and test MCP servers, and serve agents." in " ".join(ran.stdout.decode().split())


def test_an_example_stays_whole_on_a_narrow_terminal(files: Gaia) -> None:
    """Ours: so that it can be copied."""
    for words in ((), ("add",)):
        assert "gaia mcp add time -- uvx mcp-server-time" in shown(files, *words, "--help", width=40)
    example = "Example: gaia mcp call files list_directory_entries path=VALUE"
    assert example in shown(files, "call", "files", "list_directory_entries", "--help", width=40)
