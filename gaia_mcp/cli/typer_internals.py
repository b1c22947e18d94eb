"""What we rely on in Typer beyond its documented interface, all in one place.

Typer carries a private copy of Click, whose exceptions have no public names in the older of the versions that we run
on. `tests/cli/test_typer_internals.py` fails when a new version moves one of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import typer

# The ancestor that all errors about a wrong command line share, among them the public `BadParameter`.
CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

# What writes a help page.
HelpFormatter: Any = typer.Context.formatter_class


def is_missing_command(error: Exception) -> bool:
    """Whether no command was given at all. The message of such an error is the help page."""
    return type(error).__name__ == "NoArgsIsHelpError"


def command_path_of(error: Any) -> str | None:
    """The command that reports `error`, such as `gaia mcp call`; None for an error of no command in particular."""
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else None


def wrong_line(message: str, context: Any) -> Exception:
    """An error about the line of the command that `context` is of, which may be about no parameter in particular."""
    usage_error: Any = typer.BadParameter.__mro__[1]
    error: Exception = usage_error(message, context)
    return error


def read_numbers(command: Any) -> None:
    """Have the options of a command that take a number within a range read it as `number_in` does: Python's own types
    also read the digits of other scripts, `1_000` and `nan`.
    """
    for parameter in command.params:
        if parameter.type.name.endswith(" range"):
            # Each has a type of its own, since the range is a part of it.
            parameter.type.convert = partial(_read_number, parameter.type, parameter.type.convert)


def _read_number(kind: Any, convert: Any, value: Any, parameter: Any, context: Any) -> Any:
    from gaia_mcp.toolspec.typed_numbers import number_in

    is_integer = kind.name.startswith("int")
    if isinstance(value, str) and not isinstance(number_in(value), int if is_integer else (int, float)):
        kind.fail(f"{value!r} is not {'an integer' if is_integer else 'a number'}.", parameter, context)
    return convert(value, parameter, context)


def is_closed_pipe(ended: SystemExit) -> bool:
    """Whether Typer ends the program because the reader of stdout has gone while it printed a help page."""
    return isinstance(ended.__context__, BrokenPipeError)
