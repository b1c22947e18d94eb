"""Around every command: exceptions become two lines and an exit code, and the common options mean the same in all."""

from __future__ import annotations

import errno
import inspect
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.options import AFTER_DASHES, Invocation, tell_how_to_keep, with_implied
from gaia_mcp.cli.screen.output import STDOUT, Form, choose_form, fail, to_stderr
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.shortage import shortage_in
from gaia_mcp.cli.signals import Terminated, listen_to_signals
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.cli.typer_internals import CommandLineError
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def guarded(
    command: Callable[..., None], name: str = "", common: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """`command`, called `name` on the command line, with the `common` options and with every way out of it covered."""
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
        Typed.begin(name, invocation.config)
        choose_form(
            as_json=invocation.as_json,
            debug=invocation.debug,
            quiet=invocation.quiet,
            raw=invocation.raw,
            max_chars=invocation.max_chars,
        )
        listen_to_signals()
        try:
            invocation.check()
            if wants_invocation:
                options["invocation"] = invocation
            if wants_context:
                options["context"] = context
            command(**options)
            tell_how_to_keep()
        except MCPError as error:
            raise typer.Exit(fail(error)) from None
        except KeyboardInterrupt:
            if on_terminal(sys.stderr):
                to_stderr("")  # The shell's prompt begins a line of its own.
            raise typer.Exit(ExitStatus.INTERRUPTED) from None
        except Terminated as terminated:
            raise typer.Exit(128 + terminated.number) from None
        except (typer.Exit, typer.Abort, CommandLineError):
            raise
        except OSError as error:
            raise typer.Exit(fail(refused(error))) from None
        except Exception as error:
            if (shortage := shortage_in(error)) is not None:
                raise typer.Exit(fail(MCPError(shortage.message, hint=shortage.hint))) from None
            if Form.debug:
                raise
            # A bug of ours is reported in two lines rather than a page.
            bug = MCPError(
                f"{type(error).__name__}: {error}", hint="this is a bug of ours; please report it with --debug"
            )
            raise typer.Exit(fail(bug)) from error

    # What Typer makes the command line of.
    run.__signature__ = signature.replace(parameters=[*own.values(), *shared, *by_typer])  # type: ignore[attr-defined]
    return run


def refused(error: OSError) -> MCPError:
    """An error of the operating system in its own words, such as a full disk behind stdout."""
    if (shortage := shortage_in(error)) is not None:
        return MCPError(shortage.message, hint=shortage.hint)
    if error.filename == STDOUT:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        return MCPError(f"{STDOUT} cannot be written: {reason}", hint="write the answer elsewhere: > FILE")
    if not error.filename and not _has_folder():
        return MCPError("the working folder no longer exists", hint="change to a folder that exists, and try again")
    where = f" ({error.filename})" if error.filename else ""
    # A help page takes no options.
    hint = "more with --debug" if Typed.command else "look at where its output goes"
    return MCPError(f"{error.strerror or error}{where}", hint=hint)


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
