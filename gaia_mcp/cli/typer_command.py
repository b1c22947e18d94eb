"""Converts a command's function to one for Typer: adds the common options, and handles exceptions."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.dashes import AFTER_DASHES
from gaia_mcp.cli.guard import status_of_run
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import with_implied
from gaia_mcp.cli.typer_internals import CommandLineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
