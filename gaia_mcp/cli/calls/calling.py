"""The implementation of `gaia mcp call`, independent of the parser that read the command line. Does not load Typer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.session.prestart import Prestarted
    from gaia_mcp.session.session import Session


# The line is written before the result, so that it only has to be read; a tool may also fail without one.
PLACE_SECONDS = 0.2


def make_call(
    invocation: Invocation,
    words: Sequence[str],
    args: str | None,
    *,
    interactive: bool = False,
    locked: bool = False,
    lock_file: Path | None = None,
    read_only: bool = False,
    prestarted: Prestarted | None = None,
) -> ExitStatus:
    """Call the tool that `words` name, print its result, and return the exit code. `prestarted` is used as the server
    if it was started for the same entry.

    Raises any error of the call.
    """
    from contextlib import suppress

    from gaia_mcp.cli.calls.answering import Answering
    from gaia_mcp.cli.calls.plan import planned
    from gaia_mcp.cli.calls.tool_call import called, check_allowed, check_structure, find_tool, typed_arguments
    from gaia_mcp.cli.screen.render import show_result
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.errors import PeerError
    from gaia_mcp.session.session import connected
    from gaia_mcp.toolspec.validation import load_validator

    deadline, destination = invocation.deadline(), invocation.destination()
    answering = Answering.of(invocation)
    typed = invocation.typed(words)
    plan = planned(
        invocation.open_store_for(typed, has_item=True), typed, args, debug=invocation.debug, deadline=deadline
    )
    plan = plan._replace(entry=invocation.using(plan.entry))
    server, tool_name = plan.entry.name, plan.tool
    locked_tools = None
    if locked or lock_file is not None:
        from gaia_mcp.cli.checks.locked import LockedTools

        locked_tools = LockedTools.wanted(locked, lock_file)
    if locked_tools is not None:
        locked_tools.contract(server)

    if interactive:
        from gaia_mcp.cli.calls.interactive import ask_arguments, check_terminal

        check_terminal()

    # Everything above needs only files, so that a mistake there is reported before a server starts.
    if plan.words or plan.base:
        load_validator()
    with (
        answering,
        SessionView(f"starting {server}") as view,
        connected(
            plan.entry,
            view,
            deadline=deadline,
            answerers=answering.answerers(server, view),
            prestarted=prestarted,
        ) as session,
    ):
        tool = find_tool(session, tool_name)
        check_allowed(session, tool, locked_tools, read_only=read_only)
        if interactive:
            plan = ask_arguments(plan, tool, view)
        arguments = typed_arguments(session, tool, plan, deadline)
        if invocation.debug:
            with suppress(PeerError):  # The call does not depend on it.
                session.set_log_level("debug")
        view.rename(f"calling {server} {tool_name}")
        result = called(session, tool, arguments, view.progressed)
        view.hide()
        check_structure(server, tool, result, deadline)
        # Printed before the server is stopped: the result need not wait for that.

        def hint_for(said: str) -> str:
            from gaia_mcp.cli.refusals import about_tasks, after_failure, is_internal

            is_agent = plan.entry.target.transport in ("agent", "handler")
            if tasks := about_tasks(tool.definition, said):
                return tasks
            place = _raised_at(session, tool_name) if is_agent else ""
            return after_failure(
                server,
                tool_name,
                said,
                tool.input_schema,
                is_agent=is_agent,
                place=place,
                is_logged=is_internal(said) and bool(_written(session, "")),
            )

        show_result(server, tool_name, result, destination, session.masker, hint_for)
    return ExitStatus.TOOL_FAILED if result.get("isError") else ExitStatus.DONE


def _raised_at(session: Session, tool: str) -> str:
    """The file and the line that raised the exception of a local agent's tool, from its stderr; empty if unknown."""
    return _written(session, f"error: tool {tool!r} raised ", ", at ").rpartition(", at ")[2]


def _written(session: Session, begun: str, within: str = "") -> str:
    """The last line of stderr that begins with this text, and has another in it; empty if there is none. The server has
    written it before its result, but it may be read later.
    """
    from gaia_mcp.deadline import Deadline

    deadline = Deadline(PLACE_SECONDS)
    while True:
        lines = [line for line in session.stderr_tail().splitlines() if line.startswith(begun) and within in line]
        if lines or deadline.expired:
            return lines[-1] if lines else ""
        deadline.sleep(PLACE_SECONDS / 20)
