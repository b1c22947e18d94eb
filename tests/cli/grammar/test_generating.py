"""The generated table of commands."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import typer

from gaia_mcp.cli.app import COMMANDS, UNLISTED
from gaia_mcp.cli.commands.generate import read_completers, table_text
from gaia_mcp.cli.grammar import Argument
from gaia_mcp.cli.grammar.parsing import FILE, PROGRAM


def test_the_generated_table_is_up_to_date() -> None:
    """Ours: after a change of a command, run `gaia mcp generate` and commit the table, too."""
    assert FILE.read_text("utf-8") == table_text(), "write the table with: gaia mcp generate"


def test_the_table_has_every_command_and_marks_the_listed_ones() -> None:
    """Ours: completion knows commands only from this table."""
    commands = PROGRAM.commands["mcp"].commands

    assert list(commands) == [*COMMANDS, *UNLISTED]
    assert [name for name, command in commands.items() if command.is_listed] == list(COMMANDS)


def test_an_option_has_its_bounds_flags_and_completers() -> None:
    """Ours: the parser and completion read the table instead of loading Typer."""
    commands = PROGRAM.commands["mcp"].commands
    options = {each.parameter: each for name in ("call", "serve", "record") for each in commands[name].options}

    assert options["timeout"].bounds == [0.01, 86_400.0]
    assert options["help"].is_eager
    assert options["kwarg"].is_repeatable
    assert options["to"].is_required
    assert (options["as_json"].metavar, options["config"].metavar) == ("", "PATH")
    assert options["output"].completers == ["file_names.files"]
    assert commands["call"].arguments[0] == Argument("target", ["completers.call_targets"], is_required=True)


def outside(ctx: Any) -> list[str]:
    """A completer that is not in the room of completion."""
    return []


def test_a_completer_of_another_module_is_refused() -> None:
    """Ours: a TAB would load whatever that module loads."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def run(name: Annotated[str, typer.Argument(autocompletion=outside)]) -> None: ...

    with pytest.raises(ValueError, match="outside"):
        read_completers(typer.main.get_command(alone))
