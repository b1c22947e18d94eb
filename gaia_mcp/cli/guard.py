"""Around every command: exceptions become two lines and an exit code, and `--quiet` means the same in all."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.options import QuietOption
from gaia_mcp.cli.screen.output import Form, fail, to_stderr
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.signals import Terminated, listen_to_signals
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable


# What Typer raises for a wrong command line: the ancestor of its public `BadParameter` that all such errors share. It
# has no public name in the older of the versions that we run on.
CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]


def guarded(command: Callable[..., None], name: str = "") -> Callable[..., None]:
    """`command`, which people call `name`, with every way out of it covered. If it has `--json`, it gets `--quiet`."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        Form.command = name
        Form.quiet = options.pop("quiet", False)
        listen_to_signals()
        try:
            command(*arguments, **options)
        except MCPError as error:
            raise typer.Exit(fail(error)) from None
        except KeyboardInterrupt:
            if on_terminal(sys.stderr):
                to_stderr("")  # What is said next, by the shell, begins a line of its own.
            raise typer.Exit(ExitStatus.INTERRUPTED) from None
        except Terminated as terminated:
            raise typer.Exit(128 + terminated.number) from None
        except (typer.Exit, typer.Abort, CommandLineError):
            raise
        except OSError as error:
            raise typer.Exit(fail(refused(error))) from None
        except Exception as error:
            if Form.debug:
                raise
            # A bug of ours; the person still gets two lines rather than a page.
            bug = MCPError(
                f"{type(error).__name__}: {error}", hint="this is a bug of ours; please report it with --debug"
            )
            raise typer.Exit(fail(bug)) from error

    # What Typer makes the command line of.
    run.__signature__ = _with_quiet(inspect.signature(command, eval_str=True))  # type: ignore[attr-defined]
    return run


def _with_quiet(signature: inspect.Signature) -> inspect.Signature:
    options = list(signature.parameters.values())
    if "as_json" not in signature.parameters:
        return signature
    at = list(signature.parameters).index("as_json") + 1
    options.insert(at, options[at - 1].replace(name="quiet", annotation=QuietOption))
    return signature.replace(parameters=options)


def refused(error: OSError) -> MCPError:
    """What the operating system refuses, told in its words: a full disk behind stdout, for instance."""
    if not error.filename and not _has_folder():
        return MCPError("the working folder is no longer there", hint="change to one that is, and do it again")
    where = f" ({error.filename})" if error.filename else ""
    return MCPError(f"{error.strerror or error}{where}", hint="more with --debug")


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
