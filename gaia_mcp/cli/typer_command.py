"""What connects a command's function to Typer: the common options and the handling of exceptions around it, `--
COMMAND` for a server that is not saved, and all uses of Typer beyond its documented interface.

Typer contains a private copy of Click, whose exceptions have no public names in the oldest supported versions;
`tests/cli/test_typer_command.py` fails when a new version moves one of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.grammar import FORMER_NAMES, IMPLIED, OPTIONAL
from gaia_mcp.cli.invocation import Invocation, status_of_run
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.options import COMMON_OPTIONS, with_implied
from gaia_mcp.cli.screen import INDENT_CELLS, NARROW_COLUMNS, cell_width, width_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
# Some terminals wrap the line when the last column is written.
MARGIN_CELLS = 2
# The least width for an explanation next to its option.
LEAST_CELLS = 20
# The explanation of an option whose name is longer begins below it.
NAME_CELLS = 30
EXAMPLE = "Example: "
# The key in a command's context for the arguments after two dashes.
AFTER_DASHES = "gaia_mcp.after_dashes"


def guarded(
    command: Callable[..., int | None], name: str = "", common: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """`command` as a function for Typer, under `name`, with the `common` options and with every exception handled."""
    signature = inspect.signature(command, eval_str=True)
    own, shared = dict(signature.parameters), with_implied(common)
    wants_invocation = own.pop("invocation", None) is not None
    wants_context = own.pop("context", None) is not None

    @wraps(command)
    def run(context: typer.Context, **options: Any) -> None:
        values = {option.name: options.pop(option.name) for option in shared}
        invocation = Invocation.of(line_of(context), name, values, after=context.meta.get(AFTER_DASHES, ()))
        if wants_invocation:
            options["invocation"] = invocation
        if wants_context:
            options["context"] = context
        passed = (typer.Exit, typer.Abort, CommandLineError)
        if status := status_of_run(invocation, lambda: command(**options), passed):
            raise typer.Exit(status)

    # Typer derives the command line from this signature.
    run.__signature__ = signature.replace(parameters=[*own.values(), *shared, _CONTEXT])  # type: ignore[attr-defined]
    return run


def line_of(context: Any) -> CommandLine:
    """The line that the program runs; another program that has mounted the commands may have none."""
    return context.find_object(CommandLine) or CommandLine()


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


def accept_missing_values(command: Any) -> None:
    """Accept options without their values if these are optional; see `cli/grammar`. Typer has no such options."""
    make_parser = command.make_parser
    optional = {
        name
        for parameter in command.params
        if parameter.param_type_name == "option" and (parameter.metavar or "").startswith(OPTIONAL)
        for name in parameter.opts
    }

    def make(context: Any) -> Any:
        parser = make_parser(context)
        match = parser._match_long_opt

        def match_long_opt(name: str, value: str | None, state: Any) -> None:
            match(name, IMPLIED if value is None and name in optional else value, state)

        parser._match_long_opt = match_long_opt
        return parser

    if optional:
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


def group_of(parameter: Any) -> str:
    """The group of an option, which is its heading on a help page; empty if it has none."""
    # Typer adds `--help` to each command by itself.
    return COMMON_OPTIONS if parameter.name == "help" else parameter.rich_help_panel or ""


def in_groups(options: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    """Options, each given with its group, by groups in the order of a help page: first those without a group, last the
    common ones. These have a group only where a command's own options have.
    """
    groups: dict[str, list[_T]] = {"": []}
    for group, option in options:
        groups.setdefault(group, []).append(option)
    common = groups.pop(COMMON_OPTIONS, [])
    groups.setdefault(COMMON_OPTIONS if len(groups) > 1 else "", []).extend(common)
    return {group: held for group, held in groups.items() if held}


def group_options(command: Any) -> None:
    """Print the options of a help page in their groups, each below its heading: without Rich, Typer prints one list."""

    def format_options(context: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, tuple[str, str]]] = []
        for parameter in command.get_params(context):
            if (row := parameter.get_help_record(context)) is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append(row)
            else:
                name, text = row
                options.append((group_of(parameter), (name.replace(f" {OPTIONAL}", OPTIONAL), text)))
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        # The explanations of all groups begin in one column.
        width = min(max(len(name) for _, (name, _) in options), NAME_CELLS)
        for group, rows in in_groups(options).items():
            with formatter.section(group or "Options"):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    command.format_options = format_options


def is_closed_pipe(ended: SystemExit) -> bool:
    """Whether Typer ends the program because the reader of stdout was closed while a help page was printed."""
    return isinstance(ended.__context__, BrokenPipeError)


class HelpPage(HelpFormatter):  # type: ignore[misc]
    """Formats the help pages that Typer writes."""

    def __init__(self, width: int | None = None, **_: object) -> None:
        super().__init__(width=width or width_of(sys.stdout) - MARGIN_CELLS)

    def write_heading(self, heading: str) -> None:
        self._write(wrapped(" " * self.current_indent + f"{heading}:", self.width))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        if self.width >= NARROW_COLUMNS:
            super().write_usage(prog, args, prefix)
        else:
            self._write(wrapped(f"Usage: {prog} {args}", self.width, INDENT_CELLS))

    def write_text(self, text: str) -> None:
        if self.width >= NARROW_COLUMNS:
            super().write_text(text)
            return
        before, example, command = text.rpartition(EXAMPLE)
        if before or not example:
            super().write_text(before.rstrip() or command)
        if example:
            if before:
                self.write_paragraph()
            self.write_text(example.rstrip())
            self._write([command])

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = NAME_CELLS, col_spacing: int = 2) -> None:
        rows = list(rows)
        widest = min(max((cell_width(first) for first, _ in rows), default=0), col_max)
        if self.width - self.current_indent - widest - col_spacing >= LEAST_CELLS:
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        for first, second in rows:
            self._write(wrapped(indent + first.rstrip(), self.width, INDENT_CELLS))
            if second:
                self._write(wrapped(indent + " " * col_spacing + second, self.width))

    def _write(self, lines: Sequence[str]) -> None:
        self.write("".join(f"{line}\n" for line in lines))


def takes_server(error: Any) -> bool:
    """Whether `error` is about the line of a `ServerCommand`."""
    return isinstance(getattr(getattr(error, "ctx", None), "command", None), ServerCommand)


class ServerCommand(TyperCommand):
    """A command whose arguments may end with the command of a server."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            from gaia_mcp.cli.grammar.parsing import parse_line

            # Typer does not report which arguments followed the dashes.
            ctx.meta[AFTER_DASHES] = parse_line(["mcp", self.name or "", *args]).after
        return super().parse_args(ctx, args)


class ArgumentsCommand(ServerCommand):
    """A command that takes arguments for an item of the server. An unknown option is passed on as a word, since it may
    be one of these arguments.
    """

    ignore_unknown_options = True
