"""`gaia mcp call NAME --batch FILE`: many calls on one connection. Each line is a call in JSON, each line of the output
its result.

As many workers as there may be calls at once each take a line, call, and wait for their turn to print. So the results
are in the order of the lines, no line is read before there is a worker for it, and memory does not grow with the number
of lines.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from gaia_mcp.checking import Checker, structure_problem
from gaia_mcp.cli.calls import locked_tools_of
from gaia_mcp.cli.calls.answering import Answering
from gaia_mcp.cli.calls.tool_call import called, check_allowed, find_tool, valid_arguments
from gaia_mcp.cli.status import ExitStatus, UsageError, status_of
from gaia_mcp.core.errors import ConnectionLostError, MCPError
from gaia_mcp.core.files import lines_of, open_typed
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import home_expanded
from gaia_mcp.protocol.events import ListChanged
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.text.strict_json import kind_of
from gaia_mcp.toolspec.arguments import ArgumentSyntaxError, read_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gaia_mcp.cli.checks.locked import LockedTools, Locking
    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.fleet.session import Session
    from gaia_mcp.protocol.events import Change

HOW_TO_WRITE = """write a line for each call: {"tool": "NAME", "arguments": {…}}"""
_MEMBERS = ("tool", "arguments", "id")
# Enough to see what is wrong; each line could have a remark of its own.
MAX_REMARKS = 20


class Call(NamedTuple):
    """A line of a batch. `id` is its number where it has none."""

    id: Any
    tool: str
    arguments: dict[str, Any]


def read_call(number: int, line: bytes) -> Call:
    """The call in a line. Raises `UsageError`."""
    where = f"line {number}"
    try:
        read = read_object(line.decode(errors="surrogateescape"), where)
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=HOW_TO_WRITE) from None
    if unknown := [name for name in read if name not in _MEMBERS]:
        hint = did_you_mean(unknown[0], _MEMBERS) or HOW_TO_WRITE
        raise UsageError(f"{where}: unknown member {unknown[0]!r}", hint=hint)
    tool, arguments = read.get("tool"), read.get("arguments", {})
    if not isinstance(tool, str) or not tool:
        wrong = "is not the name of a tool" if "tool" in read else "is required"
        raise UsageError(f"{where}: 'tool' {wrong}", hint=HOW_TO_WRITE)
    if not isinstance(arguments, dict):
        raise UsageError(f"{where}: 'arguments' is {kind_of(arguments)}, not an object", hint=HOW_TO_WRITE)
    return Call(read.get("id", number), tool, arguments)


class Failure(NamedTuple):
    """A line that failed, as an error for the end of the command."""

    error: MCPError
    status: ExitStatus


def call_all(
    invocation: Invocation,
    words: Sequence[str],
    source: str,
    *,
    jobs: int = 1,
    keeps_going: bool = False,
    locking: Locking | None = None,
    read_only: bool = False,
) -> ExitStatus:
    """Make the calls in `source`, a file or `-` for standard input, at most `jobs` at once; after a failure no more,
    unless it `keeps_going`. Returns the exit code, that of the first failure.

    Raises any error before the first call.
    """
    screen, deadline = invocation.screen, invocation.deadline()
    answering = Answering.of(invocation)
    entry, rest = invocation.server(*words, has_item=False)
    if rest:
        hint = "leave the tool and its arguments out"
        raise UsageError(f"{rest[0]!r} cannot be used with --batch, whose lines name the tools", hint=hint)
    locked_tools = locked_tools_of(screen, entry.name, locking)
    with ExitStack() as running:
        lines = running.enter_context(_opened(source))
        running.enter_context(answering)
        from gaia_mcp.cli.screen.session_view import SessionView
        from gaia_mcp.fleet.session import connected

        view = running.enter_context(SessionView(screen, f"starting {entry.name}"))
        session = running.enter_context(
            connected(entry, view, deadline=deadline, answerers=answering.answerers(entry.name, view))
        )
        view.hide()
        caller = Caller(screen, session, locked_tools, read_only=read_only)
        batch = Batch(screen, caller, lines_of(lines, MAX_RECORD_BYTES), keeps_going=keeps_going)
        batch.run(jobs)
    return _reported(screen, batch)


def _opened(source: str) -> AbstractContextManager[BinaryIO]:
    if source == "-":
        # Closing it would wait for a worker that still reads it.
        return nullcontext(sys.stdin.buffer)
    try:
        return open_typed(home_expanded(Path(source)))
    except OSError as problem:
        hint = f"--batch takes a file, or - for stdin; {HOW_TO_WRITE}"
        raise UsageError(f"{source!r} cannot be read: {problem.strerror}", hint=hint) from None


def _reported(screen: Screen, batch: Batch) -> ExitStatus:
    if batch.failure is None:
        return ExitStatus.DONE
    error, status = batch.failure
    if batch.failures > 1:
        error.message = f"{batch.failures} of {batch.calls} calls failed; the first is that of {error.message}"
    screen.report(error)
    if not batch.keeps_going:
        screen.remark(f"stopped at the failure; {screen.line.again('continue after failures', '--keep-going')}")
    return status


class Caller:
    """Makes the calls of a batch. Prints each remark once, for whichever line it is about first."""

    def __init__(self, screen: Screen, session: Session, locked_tools: LockedTools | None, *, read_only: bool) -> None:
        self._screen = screen
        self._session = session
        self._locked_tools = locked_tools
        self._read_only = read_only
        self._tools: dict[str, tuple[MCPTool, Checker]] = {}
        self._remarked: set[str] = set()
        # Whether the connection ended with the call before.
        self._is_lost = False
        session.watch(self._noticed)

    def result(self, call: Call) -> dict[str, Any]:
        """The result of a call, also of one that reports a failure. Raises any error of it."""
        line, session = self._screen.line, self._session
        if self._is_lost:
            self._is_lost, self._tools = False, {}
            again = "reconnecting to" if session.entry.is_remote else "restarting"
            self._screen.remark(f"{again} {session.entry.name!r}; its state is lost")
        if self._locked_tools is not None or self._read_only:
            # A change may be announced too late, or never: each call is checked against the current list.
            session.fetch_tools(refresh=True, logs_problems=False)
            self._tools = {}
        # Replaced when the list changes: what is read here may be stale then, and is not kept.
        tools = self._tools
        if call.tool not in tools:
            found = find_tool(session, call.tool)
            check_allowed(session, found, self._locked_tools, read_only=self._read_only)
            tools[call.tool] = found, Checker(found.input_schema)
        tool, checker = tools[call.tool]
        arguments = valid_arguments(
            line, session, tool, call.arguments, self._remark, shows_given=True, checker=checker
        )
        result = called(line, session, tool, arguments)
        if problem := structure_problem(session.entry.name, tool.name, tool.output_schema, result, None):
            self._remark(problem)
        return result

    def failure(self, call: Call, result: dict[str, Any]) -> MCPError:
        """The error for a result that reports a failure."""
        from gaia_mcp.cli.refusals import after_failure
        from gaia_mcp.cli.screen.render import ToolFailedError, failed_with
        from gaia_mcp.client.tools import failure_of

        server, said = self._session.entry.name, self._session.masker().text(failure_of(result)).strip()
        known = self._tools.get(call.tool)
        schema = known[0].input_schema if known is not None else {}
        return ToolFailedError(
            failed_with(server, call.tool, said), hint=after_failure(self._screen.line, server, call.tool, said, schema)
        )

    def explained(self, error: MCPError) -> MCPError:
        """The error to report for an error of the server."""
        told = self._session.explained(error)
        if isinstance(told, ConnectionLostError):
            self._is_lost = True
        return told

    def _noticed(self, change: Change) -> None:
        """Request the tools again after a change."""
        if isinstance(change, ListChanged) and change.kind == "tools":
            self._tools = {}

    def _remark(self, text: str) -> None:
        if text not in self._remarked and len(self._remarked) < MAX_REMARKS:
            self._remarked.add(text)
            self._screen.remark(text)


class Batch:
    """The calls in `lines`, and their results. `failure` is the first one, of `failures` among `calls`."""

    def __init__(self, screen: Screen, caller: Caller, lines: Iterable[bytes], *, keeps_going: bool) -> None:
        self.keeps_going = keeps_going
        self.failure: Failure | None = None
        self.failures = self.calls = 0
        self._screen = screen
        self._caller = caller
        self._lines = enumerate(lines, start=1)
        self._reading = threading.Lock()
        # The fields below are its.
        self._changed = threading.Condition()
        self._printed = 0
        self._stops = False
        # Whether the run has ended or was interrupted: workers then print nothing.
        self._is_over = False

    def run(self, jobs: int) -> None:
        """Make all calls, at most `jobs` at once. Raises the errors of reading the lines and printing the results."""
        # The end of the run, which need not be that of every worker: after a failure one may still wait for input.
        ended: SimpleQueue[BaseException | None] = SimpleQueue()
        if jobs == 1:
            self._work(ended)
            return

        def work() -> None:
            try:
                self._work(ended)
            except BaseException as problem:  # noqa: BLE001 (it belongs to the main thread)
                ended.put(problem)

        try:
            for number in range(jobs):
                threading.Thread(target=work, name=f"batch {number + 1}", daemon=True).start()
            problem = ended.get()
        finally:
            self._is_over = True
        if problem is not None:
            raise problem

    def _work(self, ended: SimpleQueue[BaseException | None]) -> None:
        while (taken := self._taken()) is not None:
            turn, number, line = taken
            record, failure = self._outcome(number, line)
            with self._changed:
                if failure is not None and not self.keeps_going:
                    self._stops = True
                while self._printed < turn:
                    self._changed.wait()
                if self._is_over:
                    return
                if failure is not None:
                    self.failures += 1
                    self.failure = self.failure or failure
                self._screen.print_event(record)
                self._printed += 1
                # As a program that SIGPIPE ends.
                self._stops |= not self._screen.is_read()
                self._changed.notify_all()
                self._check_end(ended)
        with self._changed:
            self._check_end(ended)

    def _taken(self) -> tuple[int, int, bytes] | None:
        """The next line to call, with its turn to print and its number; None at the end."""
        with self._reading:
            for number, line in self._lines:
                if self._stops:
                    break
                if line.strip():
                    with self._changed:
                        self.calls += 1
                        return self.calls - 1, number, line
            self._stops = True
            return None

    def _check_end(self, ended: SimpleQueue[BaseException | None]) -> None:
        if self._stops and self._printed == self.calls:
            ended.put(None)

    def _outcome(self, number: int, line: bytes) -> tuple[dict[str, Any], Failure | None]:
        """The line to print for a line, and its failure."""
        record: dict[str, Any] = {"id": number}
        try:
            call = read_call(number, line)
            record["id"] = call.id
            record["result"] = result = self._caller.result(call)
            if not result.get("isError"):
                return record, None
            error, status = self._caller.failure(call, result), ExitStatus.TOOL_FAILED
        except MCPError as problem:
            error = self._caller.explained(problem)
            record["error"], status = self._screen.error_object(error), status_of(error)
        if not isinstance(error, UsageError):
            error.message = f"line {number}: {error.message}"
        return record, Failure(error, status)
