"""Lines of other programs, in the words of `add`."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.entries.habits import own_words


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["claude", "mcp", "add", "time", "--", "uvx", "x"], ["time", "--", "uvx", "x"]),
        (["claude", "mcp", "add-json", "time", "{}"], ["time", "{}"]),
        (["--force", "codex mcp add time -- uvx x"], ["--force", "time", "--", "uvx", "x"]),
        (["claude mcp add time -- uvx x", "--force"], ["--force", "time", "--", "uvx", "x"]),
        (["$ claude mcp add time \\\n  -e A='b c' \\\n  -- uvx x"], ["time", "-e", "A=b c", "--", "uvx", "x"]),
        (["""code --add-mcp '{"name": "x"}'"""], ['{"name": "x"}']),
        (["gemini", "mcp", "add", "-s", "user", "x", "y"], ["-s", "user", "x", "y"]),
    ],
)
def test_another_program_and_its_verb_are_left_out(args: list[str], words: list[str]) -> None:
    """Ours: as one word, or as many."""
    assert own_words(args) == words


@pytest.mark.parametrize(
    "args",
    [
        ["time", "--", "uvx", "mcp-server-time"],
        ["time", "--", "claude", "mcp", "add", "x"],
        ["claude", "--", "claude", "mcp", "serve"],
        ["npx -y foo"],
        ["claude mcp list"],
        ["echo claude mcp add x"],
        ["it's"],
        ["--force"],
        [],
    ],
)
def test_other_words_stay_as_they_are(args: list[str]) -> None:
    """Ours: a command of a server may be any program."""
    assert own_words(args) == args
