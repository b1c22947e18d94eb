"""The implementation of `gaia mcp call`, independent of the parser that read the command line.

Does not load Typer: a plain line is parsed with the table of `cli/grammar`. Typer handles invalid lines and all lines
that are not plain. What the line says is read and checked first; then the server starts, while the modules for the call
are loaded.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls import locked_tools_of, planned, seen_schema
from gaia_mcp.cli.calls.answering import Answering
from gaia_mcp.cli.grammar import with_group
from gaia_mcp.cli.grammar.parsing import plain_line
from gaia_mcp.cli.invocation import Invocation, refused, status_of_run
from gaia_mcp.cli.keeping import held
from gaia_mcp.cli.lines import CommandLine, program_name
from gaia_mcp.cli.screen.output import STDOUT
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.fleet.server_process import prestarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.cli.calls import Plan
    from gaia_mcp.cli.checks.locked import LockedTools, Locking
    from gaia_mcp.cli.grammar.parsing import ParsedLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.screen.session_view import SessionView as View
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session


# The line is written before the result, so that it only has to be read; a tool may also fail without one.
PLACE_SECONDS = 0.2
# A line with any other parameter goes to Typer: `--debug`; `--interactive`, which needs a terminal; `--locked` and
# those that imply it; `--unchecked`.
_PARAMETERS = frozenset((
    "target", "words", "args", "output", "output_dir", "raw", "read_only", "stage", "agent", "config", "as_json",
    "timeout", "fresh", "quiet", "answer", "answers", "decline", "root", "sample", "header", "token_env", "env",
))  # fmt: skip


def make_call(
    invocation: Invocation,
    words: Sequence[str],
    args: str | None,
    *,
    interactive: bool = False,
    locking: Locking | None = None,
    read_only: bool = False,
    unchecked: bool = False,
) -> ExitStatus:
    """Call the tool that `words` name, print its result, and return the exit code.

    Raises any error of the call.
    """
    screen, deadline = invocation.screen, invocation.deadline()
    invocation.destination()
    answering, typed = Answering.of(invocation), invocation.typed(words)
    plan = planned(screen.line, invocation.open_store_for(typed, has_item=True), typed, args, deadline)
    plan = plan._replace(entry=held(screen, invocation.using(plan.entry)))
    locked_tools = locked_tools_of(screen, plan.entry.name, locking)
    if interactive:
        from gaia_mcp.cli.calls.elicitation import check_terminal

        check_terminal()

    # Everything above needs only files, so that a mistake there is reported before a server starts.
    return called_with(
        invocation,
        answering,
        plan,
        deadline,
        locked_tools,
        interactive=interactive,
        read_only=read_only,
        unchecked=unchecked,
    )


def called_with(
    invocation: Invocation,
    answering: Answering,
    plan: Plan,
    deadline: Deadline | None,
    locked_tools: LockedTools | None = None,
    *,
    interactive: bool = False,
    read_only: bool = False,
    unchecked: bool = False,
    view_of: Callable[[Screen, str], View] | None = None,
) -> ExitStatus:
    """Make the call that is planned, print its result, and return the exit code; `view_of` makes what a person sees
    meanwhile. Raises any error of the call.
    """
    screen, destination = invocation.screen, invocation.destination()
    server, tool_name = plan.entry.name, plan.tool
    with ExitStack() as running:
        running.enter_context(answering)
        is_early = not (plan.entry.is_remote or plan.entry.held is not None or screen.debug)
        started = running.enter_context(prestarted(plan.entry, screen.line.command)) if is_early else None
        # Imported late, while the server is starting.
        from gaia_mcp.cli.calls.tool_call import called, check_allowed, check_structure, find_tool, typed_arguments
        from gaia_mcp.cli.screen.render import show_result
        from gaia_mcp.cli.screen.session_view import SessionView
        from gaia_mcp.core.errors import PeerError
        from gaia_mcp.fleet.session import connected
        from gaia_mcp.toolspec.validation import load_validator, plain_members

        # While the server is starting; one that is held is not.
        is_idle = plan.entry.held is None
        if is_idle and (plan.words or plan.base) and plain_members(seen_schema(plan.entry, tool_name)) is None:
            load_validator()
        view = running.enter_context((view_of or SessionView)(screen, f"starting {server}"))
        answerers = answering.answerers(server, view)
        session = running.enter_context(
            connected(plan.entry, view, deadline=deadline, answerers=answerers, prestarted=started)
        )
        tool = find_tool(session, tool_name)
        check_allowed(session, tool, locked_tools, read_only=read_only)
        if interactive:
            from gaia_mcp.cli.calls.elicitation import ask_arguments

            plan = ask_arguments(plan, tool, view)
        arguments = typed_arguments(screen, session, tool, plan, deadline, unchecked=unchecked)
        if screen.debug:
            with suppress(PeerError):  # The call does not depend on it.
                session.set_log_level("debug")
        view.rename(f"calling {server} {tool_name}")
        result = called(screen.line, session, tool, arguments, view.progressed)
        view.hide()
        if tool.output_schema is not None:
            check_structure(screen, server, tool, result, deadline)
        # Printed before the server is stopped: the result need not wait for that.

        def hint_for(said: str) -> str:
            from gaia_mcp.cli.refusals import about_tasks, after_failure, is_internal

            is_agent = plan.entry.target.transport in ("agent", "handler")
            if tasks := about_tasks(tool.definition, said):
                return tasks
            place = _raised_at(session, tool_name) if is_agent else ""
            return after_failure(
                screen.line,
                server,
                tool_name,
                said,
                tool.input_schema,
                is_agent=is_agent,
                place=place,
                is_logged=is_internal(said) and bool(_written(session, "")),
            )

        show_result(screen, server, tool_name, result, destination, session.masker, hint_for)
    if _can_lose_state(invocation, plan.entry):
        from gaia_mcp.core.paths import cache_folder
        from gaia_mcp.storage.server_cache import ServerCache

        # The session has cached which tools keep state.
        if ServerCache(cache_folder(), plan.entry).record_call(tool_name):
            from gaia_mcp.cli.entries.remarks import remark_on_lost_state

            remark_on_lost_state(screen, server)
    return ExitStatus.TOOL_FAILED if result.get("isError") else ExitStatus.DONE


def _can_lose_state(invocation: Invocation, entry: ServerEntry) -> bool:
    """Whether a person should know what a call loses with its server: one who can keep it running, by its name. A
    server behind a URL goes on by itself, and a build can do nothing about it.
    """
    is_shown = not (invocation.screen.quiet or invocation.screen.as_json or os.environ.get("CI") == "true")
    is_alone = entry.held is None and not invocation.line.is_fresh
    return is_shown and is_alone and entry.source is not None and not entry.is_remote


def _raised_at(session: Session, tool: str) -> str:
    """The file and the line that raised the exception of a local agent's tool, from its stderr; empty if unknown."""
    return _written(session, f"error: tool {tool!r} raised ", ", at ").rpartition(", at ")[2]


def _written(session: Session, begun: str, within: str = "") -> str:
    """The last line of stderr that begins with this text, and has another in it; empty if there is none. The server has
    written it before its result, but it may be read later.
    """
    from gaia_mcp.core.deadline import Deadline

    deadline = Deadline(PLACE_SECONDS)
    while True:
        lines = [line for line in session.stderr_tail().splitlines() if line.startswith(begun) and within in line]
        if lines or deadline.expired:
            return lines[-1] if lines else ""
        deadline.sleep(PLACE_SECONDS / 20)


def run_if_plain(words: Sequence[str]) -> int | None:
    """Run the command line `words` if it is a plain `call`. Returns the exit code, or None for any other line."""
    words = with_group(words)
    if (line := call_of(words)) is None:
        return None
    given = dict(line.values)
    typed = [given.pop("target"), *given.pop("words", [])]
    args, read_only = given.pop("args", None), given.pop("read_only", False)
    for name, kind in (("config", Path), ("output_dir", Path), ("timeout", float)):
        if name in given:
            given[name] = kind(given[name])
    invocation = Invocation.of(CommandLine(words, program=program_name()), "call", given, line.after)
    return status_of_run(invocation, lambda: make_call(invocation, typed, args, read_only=read_only))


def fail_without_keeper(words: Sequence[str]) -> int:
    """Report that the keeper has ended while it ran the line `words`. Returns the exit code."""
    from gaia_mcp.core.errors import ConnectionLostError, outcome_unknown

    server, tool = tool_in(words)
    lost = f"the keeper, which held server {server!r}, ended while answering tools/call {tool!r}"
    return screen_of(words).fail(outcome_unknown(ConnectionLostError(lost, server=server), tool))


def fail_without_output(words: Sequence[str], error: OSError) -> int:
    """Report that what the keeper has printed for the line `words` cannot be written. Returns the exit code."""
    error.filename = STDOUT
    screen = screen_of(words)
    return screen.fail(refused(screen.line, error))


def tool_in(words: Sequence[str]) -> tuple[str, str]:
    """The server and the tool of the plain line `words`."""
    line = call_of(with_group(words))
    assert line is not None  # noqa: S101 (it is plain)
    target, given = str(line.values["target"]), list(line.values.get("words", ()))
    if given:
        return target, str(given[0])
    server, _, tool = target.rpartition(".")
    return server, tool


def screen_of(words: Sequence[str]) -> Screen:
    """What the plain line `words` prints."""
    words = with_group(words)
    line = call_of(words)
    assert line is not None  # noqa: S101 (it is plain)
    form: dict[str, Any] = {name: line.values[name] for name in ("as_json", "quiet") if name in line.values}
    return Invocation.of(CommandLine(words, program=program_name()), "call", form).screen


def call_of(words: Sequence[str]) -> ParsedLine | None:
    """The `call` in the command line `words`; None if Typer must report an error in it or parse it."""
    line = plain_line(words, ("mcp", "call"), _PARAMETERS)
    if line is None:
        return None
    if "timeout" in line.values and not line.options["--timeout"].accepts(line.values["timeout"]):
        return None
    return line
