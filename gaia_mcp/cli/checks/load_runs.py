"""Makes the calls of a load, and measures them: the last check of a server, with the connection of the others.

It is a closed load: the next call is made when one has been answered. So a slow server is called less often, and the
times are those of a server that has no more than so many calls at once. One thread makes them all where one can wait
for all responses, which is the least effort, and takes the least from the processors of the server.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.checks.load import ERROR_CHARS, Load, LoadWanted
from gaia_mcp.cli.checks.report import FAIL, LOAD, OK, SKIP, WARN, Check
from gaia_mcp.cli.screen.session_view import Shapes, Waiting
from gaia_mcp.client.tools import failure_of
from gaia_mcp.core.errors import MCPError, NotConnectedError, PeerError, StatusError
from gaia_mcp.protocol.events import Progressed
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.fleet.session import Pipeline, Session

# A longer command line cannot be read, and would be most of the report.
REQUEST_CHARS = 200


class LoadRun:
    """The calls of `wanted`, made by `pipeline`, or where there is none by `call`, in a thread for each of those at a
    time. Both return results of the tool. `load` is what was measured so far.

    An error response and a refusal by status leave the connection as it is, and are counted, as a failure of the tool
    is. `problem` is the error after which no other call was made; None if there was none.
    """

    def __init__(
        self,
        call: Callable[[], dict[str, Any]],
        pipeline: Pipeline | None,
        wanted: LoadWanted,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        at_once = wanted.concurrency if wanted.calls is None else min(wanted.concurrency, wanted.calls)
        self.load = Load(at_once)
        self.problem: MCPError | None = None
        # The first error that was counted, and the first result that reports a failure.
        self.refusal: MCPError | None = None
        self.failure: dict[str, Any] | None = None
        self._call = call
        self._pipeline = pipeline
        self._wanted = wanted
        self._clock = clock
        self._began = clock()
        self._numbers = itertools.count()
        self._stops = False
        # Guards what is measured.
        self._lock = threading.Lock()

    def run(self) -> None:
        """Make the calls, to the last one. Raises whatever is not an `MCPError`."""
        self._began = self._clock()
        try:
            if self._pipeline is not None:
                self._send_all(self._pipeline)
            elif self.load.concurrency == 1:
                self._work()
            else:
                self._work_at_once()
        finally:
            self._stops = True
            self.load.seconds = self._clock() - self._began

    def share(self) -> float:
        """The part of the calls, or of the time, that is over."""
        wanted = self._wanted
        made = self.load.calls / wanted.calls if wanted.calls else 0.0
        return max(made, (self._clock() - self._began) / wanted.seconds if wanted.seconds else 0.0)

    def _begins_another(self) -> bool:
        wanted = self._wanted
        if self._stops or (wanted.seconds is not None and self._clock() - self._began >= wanted.seconds):
            return False
        return wanted.calls is None or next(self._numbers) < wanted.calls

    def _send_all(self, pipeline: Pipeline) -> None:
        free = self.load.concurrency
        try:
            while True:
                while free and not self._stops:
                    if self._begins_another():
                        pipeline.send()
                        free -= 1
                    else:
                        self._stops = True
                if free == self.load.concurrency:
                    return
                for seconds, result, error in pipeline.answers():
                    self._count(seconds, result, error)
                    free += 1
        except MCPError as error:
            self.problem = error
            pipeline.close()

    def _work_at_once(self) -> None:
        ended: SimpleQueue[BaseException | None] = SimpleQueue()

        def work() -> None:
            problem: BaseException | None = None
            try:
                self._work()
            except BaseException as bug:  # noqa: BLE001 (it belongs to the thread that waits)
                problem = bug
            ended.put(problem)

        for number in range(self.load.concurrency):
            threading.Thread(target=work, name=f"load {number + 1}", daemon=True).start()
        problems = [ended.get() for _ in range(self.load.concurrency)]
        if (bug := next(filter(None, problems), None)) is not None:
            raise bug

    def _work(self) -> None:
        while self._begins_another():
            result: dict[str, Any] = {}
            refusal: MCPError | None = None
            began = self._clock()
            try:
                result = self._call()
            except (PeerError, StatusError) as error:
                refusal = error
            except MCPError as error:
                self._stops = True
                with self._lock:
                    # Once the connection is lost, other callers find none: only the first reason tells why.
                    if self.problem is None or isinstance(self.problem, NotConnectedError):
                        self.problem = error
                return
            seconds = self._clock() - began
            with self._lock:
                self._count(seconds, result, refusal)

    def _count(self, seconds: float, result: dict[str, Any], refusal: MCPError | None) -> None:
        self.load.latencies.add(seconds)
        if refusal is not None:
            self.load.errors += 1
            self.refusal = self.refusal or refusal
        elif result.get("isError"):
            self.load.errors += 1
            self.failure = self.failure or result


class LoadView(Waiting):
    """The progress of a load, on stderr."""

    def __init__(self, screen: Screen, tool: str, run: LoadRun) -> None:
        super().__init__(screen, f"calling {tool}")
        self._load_run = run

    def line(self, seconds: float, width: int, shapes: Shapes) -> str:
        load = self._load_run.load
        text = f"{load.calls:,} calls, {load.errors:,} failed"
        self.progressed(Progressed(0, int(min(self._load_run.share(), 1.0) * 100), 100, text))
        return super().line(seconds, width, shapes)


def load_check(
    screen: Screen,
    session: Session,
    tool: MCPTool,
    arguments: dict[str, Any],
    wanted: LoadWanted,
    *,
    is_watched: bool,
) -> Check:
    """Call `tool` with `arguments` as often as is `wanted`, on the open connection of `session`, and return the check.
    `is_watched` shows the progress.

    The calls are not validated: they are those of a check that has succeeded. Raises nothing of the server's.
    """
    began = time.monotonic()
    try:
        pipeline = session.calls(tool.name, arguments, wanted.concurrency)
    except MCPError as problem:
        # It has exited after the check before, and could not be started again.
        error = session.explained(problem)
        return Check(LOAD, FAIL, time.monotonic() - began, one_line(error.message, 500), error)
    session.stay_disconnected()
    run = LoadRun(lambda: session.call(tool.name, arguments), pipeline, wanted)
    run.load.before = session.usage()
    with LoadView(screen, tool.name, run) if is_watched else nullcontext():
        run.run()
    run.load.after = session.usage()
    _name_first_error(session, run)
    check = _judged(session, run, wanted)
    check.seconds = time.monotonic() - began
    check.load = run.load
    check.request = request_of(screen, session, tool.name, arguments)
    return check


def _name_first_error(session: Session, run: LoadRun) -> None:
    said = failure_of(run.failure) if run.failure is not None else ""
    if (refusal := run.refusal) is not None:
        said = f"error {refusal.code}: {refusal.text}" if isinstance(refusal, PeerError) else refusal.message
    # Masked before it is cut, since a cut could split a secret.
    run.load.first_error = one_line(session.masker().text(said), ERROR_CHARS)


def _judged(session: Session, run: LoadRun, wanted: LoadWanted) -> Check:
    load = run.load
    parts = load.parts()
    if isinstance(run.problem, NotConnectedError) and session.is_closed:
        return Check(LOAD, SKIP, 0.0, "; ".join(["interrupted", *parts]))
    if run.problem is not None:
        error = session.explained(run.problem)
        return Check(LOAD, FAIL, 0.0, one_line(error.message, 500), error, differences=parts)
    problems = [problem for budget in wanted.budgets if (problem := budget.problem(load))]
    has_limit = any(budget.what == "errors" for budget in wanted.budgets)
    if load.errors == load.calls and not has_limit:
        refusal = session.explained(run.refusal) if run.refusal is not None and run.failure is None else None
        detail = f"all calls failed: {load.first_error}"
        return Check(LOAD, FAIL, 0.0, detail, refusal, differences=[*problems, *parts])
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Check(LOAD, FAIL, 0.0, f"over budget: {problems[0]}{more}", differences=[*problems, *parts])
    return Check(LOAD, WARN if load.errors and not has_limit else OK, 0.0, "; ".join(parts))


def request_of(screen: Screen, session: Session, tool: str, arguments: dict[str, Any]) -> str:
    """The command line that makes one of the calls, without secrets, for reports that others read."""
    from gaia_mcp.cli.checks.cases import as_text
    from gaia_mcp.text.redaction import masked_arguments

    words = [f"{key}={held}" if isinstance(held, str) else f"{key}:={as_text(held)}" for key, held in arguments.items()]
    server = session.entry.name
    typed = session.masker().text(screen.line.to_type("call", server, tool, *masked_arguments(words)))
    return typed if len(typed) <= REQUEST_CHARS else screen.line.to_type("call", server, tool, more="--help")
