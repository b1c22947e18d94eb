"""`cli.typer_internals`: each thing in Typer that we rely on without its promise, so that a new version cannot move it
unnoticed.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import pytest
import typer

from gaia_mcp.cli import typer_command as internals

program = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Keep count.")


@program.command()
def count(
    number: Annotated[float, typer.Option("--number", max=2)] = 1,
    times: Annotated[int, typer.Option("--times", "-t", min=1)] = 1,
    name: Annotated[list[str] | None, typer.Option("--name")] = None,
    loud: Annotated[bool, typer.Option("--loud")] = False,
    agent: Annotated[str | None, typer.Option("--agent")] = None,
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
