"""All uses of Typer beyond its documented interface.

Typer contains a private copy of Click, whose exceptions have no public names in the oldest supported versions.
`tests/cli/test_typer_internals.py` fails when a new version moves one of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import typer

from gaia_mcp.cli.grammar.model import FORMER_NAMES

# The base class of all errors about an invalid command line, including the public `BadParameter`.
CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

# The class that formats help pages.
HelpFormatter: Any = typer.Context.formatter_class


def is_missing_command(error: Exception) -> bool:
    """Whether no command was given. The message of such an error is the help page."""
    return type(error).__name__ == "NoArgsIsHelpError"


def command_path_of(error: Any) -> str | None:
    """The command that reports `error`, such as `gaia mcp call`; None if the error is not about a command."""
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else None


def wrong_line(message: str, context: Any) -> Exception:
    """An error about the command line of `context`, not necessarily about a single parameter."""
    usage_error: Any = typer.BadParameter.__mro__[1]
    error: Exception = usage_error(message, context)
    return error


def read_numbers(command: Any) -> None:
    """Parse numeric options that have a range with `number_in`: Python's own types also accept digits of other scripts,
    `1_000` and `nan`.
    """
    for parameter in command.params:
        if parameter.type.name.endswith(" range"):
            # Each option has its own type object, which contains the range.
            parameter.type.convert = partial(_read_number, parameter.type, parameter.type.convert)


def _read_number(kind: Any, convert: Any, value: Any, parameter: Any, context: Any) -> Any:
    from gaia_mcp.toolspec.arguments import number_in

    is_integer = kind.name.startswith("int")
    if isinstance(value, str) and not isinstance(number_in(value), int if is_integer else (int, float)):
        kind.fail(f"{value!r} is not {'an integer' if is_integer else 'a number'}.", parameter, context)
    return convert(value, parameter, context)


def accept_former_names(command: Any) -> None:
    """Accept the former names of options, which no help page shows."""
    make_parser = command.make_parser

    def make(context: Any) -> Any:
        parser = make_parser(context)
        for name, former in FORMER_NAMES.items():
            if name in parser._long_opt:
                parser._long_opt.setdefault(former, parser._long_opt[name])
        return parser

    command.make_parser = make


def refuse_repeated_options(command: Any) -> None:
    """Report an option that takes one value and is given twice as an error: Click uses the last one, and says nothing.

    An option that takes several values is declared as a list.
    """
    make_parser = command.make_parser

    def make(context: Any) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            parsed = parse(args=args)
            seen: set[str] = set()
            for parameter in parsed[2]:
                is_single = parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag)
                if is_single and parameter.name in seen:
                    option = max(parameter.opts, key=len)
                    raise wrong_line(f"Option '{option}' is given twice, and takes one value", context)
                seen.add(parameter.name)
            return parsed

        parser.parse_args = parse_args
        return parser

    command.make_parser = make


def is_closed_pipe(ended: SystemExit) -> bool:
    """Whether Typer ends the program because the reader of stdout was closed while a help page was printed."""
    return isinstance(ended.__context__, BrokenPipeError)
