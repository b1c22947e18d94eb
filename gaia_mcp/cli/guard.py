"""Runs a command, and converts its outcome to an exit code and its exceptions to two lines on stderr.

Does not load Typer, because a `call` runs without it.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.screen.output import STDOUT, Form, choose_form, fail, to_stderr
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.shortage import shortage_in
from gaia_mcp.cli.signals import Terminated, listen_to_signals
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.cli.invocation import Invocation


def status_of_run(
    name: str,
    invocation: Invocation,
    command: Callable[[], int | None],
    passed: tuple[type[Exception], ...] = (),
) -> int:
    """Run `command` under `name`, and return the exit code; `command` may return one, or None.

    Raises exceptions of the classes `passed` and, with `--debug`, unexpected exceptions.
    """
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
        status = command()
        invocation.tell_how_to_keep()
        return status or ExitStatus.DONE
    except MCPError as error:
        return fail(error)
    except KeyboardInterrupt:
        if on_terminal(sys.stderr):
            to_stderr("")  # The shell's prompt then begins on a new line.
        return ExitStatus.INTERRUPTED
    except Terminated as terminated:
        return 128 + terminated.number
    except passed:
        raise
    except OSError as error:
        return fail(refused(error))
    except Exception as error:
        if (shortage := shortage_in(error)) is not None:
            return fail(MCPError(shortage.message, hint=shortage.hint))
        if Form.debug:
            raise
        # A bug is reported in two lines rather than with a traceback.
        bug = MCPError(
            f"{type(error).__name__}: {error}", hint="this is a bug in gaia mcp; please report it with --debug"
        )
        return fail(bug)


def refused(error: OSError) -> MCPError:
    """The message for an error of the operating system, for example a full disk behind stdout."""
    if (shortage := shortage_in(error)) is not None:
        return MCPError(shortage.message, hint=shortage.hint)
    if error.filename == STDOUT:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        return MCPError(f"{STDOUT} cannot be written: {reason}", hint="write the answer elsewhere: > FILE")
    if not error.filename and not _has_folder():
        return MCPError("the working folder no longer exists", hint="change to a folder that exists, and try again")
    where = f" ({error.filename})" if error.filename else ""
    # A help page accepts no options.
    hint = "more with --debug" if Typed.command else "check where its output goes"
    return MCPError(f"{error.strerror or error}{where}", hint=hint)


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
