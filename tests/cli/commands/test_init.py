"""`gaia mcp init`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize("words", [(), ("my notes",)])
def test_what_it_writes_runs_by_the_commands_that_it_prints(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: a person's own agent is called from the shell, and saved, in three commands."""
    written = gaia("init", *words)
    assert written.code == 0

    printed = {words[0]: gaia(*words) for words in (shlex.split(line)[2:] for line in written.stdout.splitlines()[1:])}

    assert (printed["add"].code, printed["call"].stdout) == (0, "Hello, Ada!\n")


def test_the_tool_is_described_and_without_problems(gaia: Gaia) -> None:
    """Ours: what people copy is right."""
    assert gaia("init", "my_notes.py").code == 0

    checked = gaia("serve", "my_notes.py", "--check", "--json")

    (tool,) = checked.json["tools"]
    assert (checked.code, checked.json["problems"], checked.json["server"]["name"]) == (0, [], "MyNotes")
    assert (tool["name"], tool["description"], tool["annotations"]) == (
        "greet", "Greet a person.", {"readOnlyHint": True}
    )  # fmt: skip
    assert tool["inputSchema"]["properties"] == {
        "name": {"type": "string", "description": "Whom to greet."},
        "times": {"type": "integer", "description": "How often.", "default": 1},
    }


def test_a_file_that_exists_is_replaced_only_by_force(gaia: Gaia) -> None:
    """Ours: somebody wrote it."""
    (gaia.cwd / "agent.py").write_text("mine")

    refused = gaia("init")

    assert (refused.code, refused.errors) == (
        3,
        [
            "error: agent.py: exists already",
            "hint: choose another name, or replace it: gaia mcp init agent.py --force",
        ],
    )
    assert (gaia.cwd / "agent.py").read_text() == "mine"
    assert gaia("init", "agent.py", "--force").code == 0
    assert "class MyAgent(MCPAgent)" in (gaia.cwd / "agent.py").read_text()


def test_a_file_of_another_kind_is_refused(gaia: Gaia) -> None:
    """Ours: `notes.txt.py` is not what was typed."""
    refused = gaia("init", "notes.txt")

    assert (refused.code, refused.errors) == (
        2,
        [
            "error: 'notes.txt' is not the name of a Python file",
            "hint: name a Python file: gaia mcp init notes.py",
        ],
    )
    assert list(gaia.cwd.iterdir()) == []


def test_a_folder_must_exist(gaia: Gaia) -> None:
    """Ours: a typing error makes no folders."""
    refused = gaia("init", "some where/agent.py")

    assert refused.code == 3
    assert refused.errors[1] == "hint: make the folder first: mkdir -p 'some where'"
    (gaia.cwd / "some where").mkdir()
    assert gaia("init", "some where").code == 0
    assert (gaia.cwd / "some where" / "agent.py").exists()


@pytest.mark.parametrize(
    ("file", "name"), [("2day", "MyAgent"), ("none.py", "MyAgent"), ("agent.py", "MyAgent"), ("a-b.c.py", "ABC")]
)
def test_the_class_has_the_name_of_the_file_where_it_can(gaia: Gaia, file: str, name: str) -> None:
    """Ours: it is the name that the server is announced by."""
    path = gaia("init", file, "--json").json["path"]

    with open(path) as opened:  # noqa: PTH123
        assert f"class {name}(MCPAgent):" in opened.read()
