"""Converts a command's function to one for Typer: adds the common options, and handles exceptions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.invocation import Invocation, status_of_run
from gaia_mcp.cli.options import with_implied
from gaia_mcp.cli.screen.terminal import INDENT_CELLS, NARROW_COLUMNS, cell_width, width_of, wrapped
from gaia_mcp.cli.typer_internals import CommandLineError, HelpFormatter

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def guarded(
    command: Callable[..., int | None], name: str = "", common: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """`command` as a function for Typer, under `name`, with the `common` options and with every exception handled."""
    signature = inspect.signature(command, eval_str=True)
    own, shared = dict(signature.parameters), with_implied(common)
    wants_invocation = own.pop("invocation", None) is not None
    wants_context = own.pop("context", None) is not None
    by_typer = [_CONTEXT] if wants_invocation or wants_context else []

    @wraps(command)
    def run(**options: Any) -> None:
        context = options.pop("context", None)
        after = context.meta.get(AFTER_DASHES, ()) if context is not None else ()
        invocation = Invocation(**{option.name: options.pop(option.name) for option in shared}, after=after)
        if wants_invocation:
            options["invocation"] = invocation
        if wants_context:
            options["context"] = context
        passed = (typer.Exit, typer.Abort, CommandLineError)
        if status := status_of_run(name, invocation, lambda: command(**options), passed):
            raise typer.Exit(status)

    # Typer derives the command line from this signature.
    run.__signature__ = signature.replace(parameters=[*own.values(), *shared, *by_typer])  # type: ignore[attr-defined]
    return run


# Some terminals wrap the line when the last column is written.
MARGIN_CELLS = 2
# The least width for an explanation next to its option.
LEAST_CELLS = 20
EXAMPLE = "Example: "


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

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
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


# The key in a command's context for the arguments after two dashes.
AFTER_DASHES = "gaia_mcp.after_dashes"


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
