"""Command lines that hints advise: for the same file and program, quoted, or the typed line with one more option."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.config.command import Command

if TYPE_CHECKING:
    import pytest


def test_a_hint_repeats_the_typed_line_with_one_more_option() -> None:
    """Ours: before the server's own command, and never where it may hold a secret or is too long to be read."""
    for words, how in (
        (["mcp", "add", "my fs", "--", "npx", "-y"], "with: gaia mcp add 'my fs' --force -- npx -y"),
        (["mcp", "lock", "--update"], "with: gaia mcp lock --update --force"),
        (["mcp", "add", "fs", "--env=TOKEN=1", "npx"], "with --force"),
        (["mcp", "add", "fs", "-H", "X: 1", "npx"], "with --force"),
        (["mcp", "add", "fs", "x" * 200], "with --force"),
        ([], "with --force"),
    ):
        assert CommandLine(words).again("do it", "--force") == f"do it {how}"
    assert CommandLine().again("save it", "-o", "a b") == "save it with -o 'a b'"


def test_a_repeated_line_that_read_standard_input_asks_for_it_again() -> None:
    """Ours: the piped input is consumed, and the line alone would read the terminal."""
    assert (
        CommandLine(["mcp", "add", "-"]).again("replace it", "--force")
        == "replace it, with the same input: gaia mcp add - --force"
    )
    line = CommandLine(["mcp", "add", "x", "--", "cat", "-"])
    assert line.again("replace it", "--force") == "replace it with: gaia mcp add x --force -- cat -"


def test_an_option_of_one_of_several_servers_needs_its_name() -> None:
    """Ours: `--env` for servers that are pasted together would be refused."""
    for words, how in (
        (["mcp", "add", "@two.json"], "with: gaia mcp add b @two.json --env A=VALUE"),
        (["mcp", "add", "--env", "X=secret", "@two.json"], "with the name b and --env A=VALUE"),
    ):
        line = CommandLine(words)
        assert "b" not in line.again("try again", "--env", "A=VALUE", server="b").split()
        line.has_several = True
        assert line.again("try again", "--env", "A=VALUE", server="b") == f"try again {how}"


def test_a_line_names_the_program_as_it_was_typed() -> None:
    """Ours: `gaia` may be the program of AMD."""
    line = CommandLine(["mcp", "lock"], program="gmcp")

    assert line.to_type("list") == "gmcp list"
    assert line.again("lock all", "--all") == "lock all with: gmcp lock --all"


def test_an_advised_line_repeats_the_config_option() -> None:
    """Ours: without it the line would change another file."""
    line = CommandLine(config=Path("my servers.json"))

    assert line.how_to_add() == "add one with: gaia mcp add --config 'my servers.json' NAME -- COMMAND"


def test_a_target_of_one_word_stays_after_two_dashes() -> None:
    """Ours: without them it would be read as a server's name."""
    line = CommandLine()
    line.uses(TypedEntry("srv", Command("srv", [])))
    line.uses(TypedEntry("./srv", Command("./srv", [])))
    line.uses(TypedEntry("srv -x", Command("srv", ["-x"])))

    assert line.to_type("call", "srv", "greet", more="--help") == "gaia mcp call greet --help -- srv"
    assert line.to_type("tools", "./srv") == "gaia mcp tools ./srv"
    assert line.to_type("tools", "srv -x") == "gaia mcp tools 'srv -x'"
    assert line.to_type("tools", "saved") == "gaia mcp tools saved"


def test_init_is_advised_with_an_unused_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the hint may be about `agent.py` itself, which `init` must not overwrite."""
    monkeypatch.chdir(tmp_path)
    for advised, taken in (("init", "agent.py"), ("init example.py", "example.py"), ("init example2.py", "x")):
        assert CommandLine().how_to_begin() == f"gaia mcp {advised}"
        (tmp_path / taken).touch()
