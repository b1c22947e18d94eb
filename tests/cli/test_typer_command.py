"""`cli.typer_command`: each thing in Typer that we rely on without its promise, so that a new version cannot move it
unnoticed.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Annotated

import pytest
import typer

from gaia_mcp.cli import typer_command as internals
from gaia_mcp.cli.app import PageContext
from gaia_mcp.cli.options import COMMON_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

program = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Keep count.")


@program.command()
def count(
    number: Annotated[float, typer.Option("--number", max=2)] = 1,
    times: Annotated[int, typer.Option("--times", "-t", min=1)] = 1,
    name: Annotated[list[str] | None, typer.Option("--name")] = None,
    loud: Annotated[bool, typer.Option("--loud")] = False,
    agent: Annotated[str | None, typer.Option("--agent")] = None,
    colour: Annotated[str | None, typer.Option("--colour", metavar="[=WHEN]")] = None,
) -> tuple[float, int]:
    """Count."""
    return number, times


@program.command()
def greet(name: str) -> None:
    """Greet."""


command = typer.main.get_command(program)
internals.read_numbers(command.commands["count"])  # type: ignore[attr-defined]
internals.refuse_repeated_options(command.commands["count"])  # type: ignore[attr-defined]
internals.accept_former_names(command.commands["count"])  # type: ignore[attr-defined]
internals.accept_missing_values(command.commands["count"])  # type: ignore[attr-defined]


def refusal(*words: str) -> Exception:
    """The error that Typer raises for a wrong command line."""
    try:
        command(list(words), prog_name="tool", standalone_mode=False)
    except internals.CommandLineError as error:
        return error
    pytest.fail(f"accepted: {words}")


def test_a_former_name_of_an_option_is_accepted_and_in_no_help() -> None:
    """Ours: the parser's table of options has no public name."""
    assert command(["count", "--as", "x"], prog_name="tool", standalone_mode=False) == (1, 1)
    assert "'--agent' is given twice" in str(refusal("count", "--as", "x", "--agent=y"))


def test_an_option_with_an_optional_value_takes_no_word_after_it() -> None:
    """Ours: the method of Typer's parser that reads a long option has no public name."""
    assert command(["count", "--colour", "--times", "2"], prog_name="tool", standalone_mode=False) == (1, 2)
    assert command(["count", "--colour=always"], prog_name="tool", standalone_mode=False) == (1, 1)
    assert "unexpected extra argument" in str(refusal("count", "--colour", "always"))
    assert "'--colour' is given twice" in str(refusal("count", "--colour", "--colour=always"))


def test_every_invalid_command_line_raises_a_command_line_error_with_a_message() -> None:
    """Ours: one `except` prints them all in two lines."""
    for line in (
        "lose",
        "count --missing",
        "count --number",
        "count --number x",
        "count --number 3",
        "count --number 1 --number 1",
        "count -t 1 --times 2",
        "count more",
        "greet",
        "--missing",
        "",
    ):
        assert refusal(*line.split()).format_message(), line  # type: ignore[attr-defined]


def test_bad_parameter_is_a_command_line_error_and_other_exceptions_are_not() -> None:
    """Ours: the limits of a number are checked by us."""
    assert issubclass(typer.BadParameter, internals.CommandLineError)
    for other in (typer.Exit, typer.Abort, OSError):
        assert not issubclass(other, internals.CommandLineError)


def test_a_missing_command_carries_the_help_page() -> None:
    """Ours: it is printed unchanged."""
    error = refusal()

    assert internals.is_missing_command(error)
    assert "greet" in error.format_message()  # type: ignore[attr-defined]
    assert not internals.is_missing_command(refusal("greet"))


def test_an_error_names_the_command_that_reports_it() -> None:
    """Ours: the hint refers to that command's help page."""
    assert internals.command_path_of(refusal("count", "--missing")) == "tool count"
    assert internals.command_path_of(refusal("lose")) == "tool"
    assert internals.command_path_of(typer.BadParameter("x")) is None


def test_invalid_numbers_are_refused() -> None:
    """Ours: Python's own conversion accepts digits of other scripts, underscores and nan."""
    problems: list[tuple[tuple[str, str], str]] = [
        (("--number", "\u0663"), "'\u0663' is not a number."),
        (("--number", "1_0"), "'1_0' is not a number."),
        (("--number", "nan"), "'nan' is not a number."),
        (("--number", "x"), "'x' is not a number."),
        (("--number", "3"), "3.0 is not in the range x<=2."),
        (("--number", "9" * 400), "inf is not in the range x<=2."),
        (("--times", "\u0661"), "'\u0661' is not an integer."),
        (("--times", "1.0"), "'1.0' is not an integer."),
        (("--times", "0"), "0 is not in the range x>=1."),
    ]

    for words, problem in problems:
        assert refusal("count", *words).format_message().endswith(problem), words  # type: ignore[attr-defined]


def test_a_number_within_its_range_is_taken() -> None:
    """Ours: with the type of the option."""
    assert command(["count", "--number", " +1.5 ", "--times", "3"], standalone_mode=False) == (1.5, 3)
    assert command(["count"], standalone_mode=False) == (1, 1)


def test_typer_still_begins_its_message_with_no_such_option() -> None:
    """Ours: the hint depends on this text."""
    assert refusal("count", "--missing").format_message().startswith("No such option")  # type: ignore[attr-defined]


def test_a_help_page_into_a_closed_pipe_ends_the_program_as_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: `gaia mcp --help | head` is no error."""
    reading, writing = os.pipe()
    os.close(reading)
    with io.FileIO(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding="utf-8", write_through=True))  # type: ignore[arg-type]
        with pytest.raises(SystemExit) as caught:
            program(["--help"], standalone_mode=False)
        monkeypatch.undo()

    assert internals.is_closed_pipe(caught.value)
    assert not internals.is_closed_pipe(SystemExit(1))


def test_an_error_without_a_parameter_has_its_message_and_command() -> None:
    """Ours: the message is printed as it is, and the command is known."""
    context = typer.Context(typer.main.get_command(program), info_name="tool")
    error = internals.wrong_line("No such option here: -e", context)

    assert isinstance(error, internals.CommandLineError)
    assert error.format_message() == "No such option here: -e"  # type: ignore[attr-defined]
    assert internals.command_path_of(error) == "tool"


def test_a_help_page_is_written_by_the_formatter_of_the_context() -> None:
    """Ours: it follows the width of the terminal, and overrides how each part is written."""
    parts = ("write_usage", "write_heading", "write_text", "write_dl", "write_paragraph", "section", "indentation")
    assert all(hasattr(internals.HelpFormatter, part) for part in parts)

    class Shouting(internals.HelpFormatter):  # type: ignore[misc]
        def write_text(self, text: str) -> None:
            super().write_text(text.upper())

    command = typer.main.get_command(program)
    command.context_class = type("Context", (typer.Context,), {"make_formatter": lambda _: Shouting()})

    assert "KEEP" in command.get_help(command.make_context("tool", ["greet", "x"]))


def page_of(function: Callable[..., None]) -> list[str]:
    """The arguments and options on the help page of a command with this function."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command("tool")(function)
    command = typer.main.get_command(alone)
    command.context_class = PageContext
    internals.group_options(command)
    context = command.context_class(command, info_name="tool", help_option_names=["-h", "--help"])
    return command.get_help(context).splitlines()[2:]


def test_options_are_printed_in_groups_with_those_of_no_group_first_and_the_common_ones_last() -> None:
    """Ours: a page of thirty options is read by its headings; all explanations begin in one column."""

    def tool(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Name it.")],
        near: Annotated[bool, typer.Option("--near", help="Look near.", rich_help_panel="Where")] = False,
        config: Annotated[bool, typer.Option("--config", help="Read it.", rich_help_panel=COMMON_OPTIONS)] = False,
        limit: Annotated[str, typer.Option("--limit", metavar="N", help="Stop.", rich_help_panel="Limits")] = "",
        alone: Annotated[bool, typer.Option("--alone", help="Be alone.")] = False,
        former: Annotated[bool, typer.Option("--former", hidden=True, rich_help_panel="Former")] = False,
        far: Annotated[bool, typer.Option("--far", help="Look far.", rich_help_panel="Where")] = False,
    ) -> None:
        """Use a tool."""

    assert page_of(tool) == [
        "  Use a tool.",
        "",
        "Arguments:",
        "  NAME  Name it.  [required]",
        "",
        "Options:",
        "  --alone     Be alone.",
        "",
        "Where:",
        "  --near      Look near.",
        "  --far       Look far.",
        "",
        "Limits:",
        "  --limit N   Stop.",
        "",
        "Common options:",
        "  --config    Read it.",
        "  -h, --help  Show this message and exit.",
    ]


def test_options_without_groups_are_one_list() -> None:
    """Ours: a short page needs no headings, not for the common options either."""

    def tool(
        alone: Annotated[bool, typer.Option("--alone", help="Be alone.")] = False,
        config: Annotated[bool, typer.Option("--config", help="Read it.", rich_help_panel=COMMON_OPTIONS)] = False,
    ) -> None:
        """Use a tool."""

    assert page_of(tool)[2:] == [
        "Options:",
        "  --alone     Be alone.",
        "  --config    Read it.",
        "  -h, --help  Show this message and exit.",
    ]
