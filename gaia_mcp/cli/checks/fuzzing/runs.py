"""A run: the tools of one server, each called many times with generated arguments, and a check for each.

Of each kind of problem the first one is reported, once the call to blame is known and its arguments are as small as
they get. What costs time is bounded for each tool: restarts, calls that hang, drawing arguments, making them smaller.
"""

from __future__ import annotations

import glob
import json
import re
import shlex
import time
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.checks.fuzzing.callers import Callers
from gaia_mcp.cli.checks.fuzzing.judging import (
    FATAL,
    GROWS,
    HANGS,
    MEASURED_CALLS,
    NOISE,
    PARTS,
    Case,
    Judge,
    Problem,
    as_seen,
    growth,
)
from gaia_mcp.cli.checks.report import FAIL, OK, SKIP, WARN, Check, Report
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import MCPError, NotConnectedError, OutcomeUnknownError, RemoteProtocolError
from gaia_mcp.text import one_line
from gaia_mcp.toolspec.tool_filter import claims_to_only_read, is_match
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from types import ModuleType

    from gaia_mcp.cli.checks.fuzzing import FuzzWanted
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session

# As many calls at once keep a server busy; more only wait.
AT_ONCE = 4
# Arguments are drawn together, since each example of the engine costs time of its own.
TOGETHER = 20
# As many more arguments are mixed from those, once there have been so many calls.
MIXED, MIXED_AFTER = 200, 100
# After so many examples without new arguments, there are hardly any, and the same ones are sent again.
MAX_STALE = 5
# A call that takes longer hangs, unless the entry has a timeout: people wait, and thousands of calls are to be made.
CALL_SECONDS = 10.0
# After so many lost connections, or calls that hang, the rest of the calls of a tool would only take time.
MAX_LOST, MAX_HANGS = 20, 3
# For making the arguments of one problem smaller: time, calls, and the time of a call that hangs.
SMALLER_SECONDS, SMALLER_CALLS, SMALLER_HANG_SECONDS = 15.0, 300, 1.0
# For drawing one example. Many attempts may fail, since the engine has a limit for its size.
EXAMPLE_SECONDS = 2.0
# For drawing the arguments of one tool, apart from the calls; and for each call beyond the first thousands.
DRAW_SECONDS, DRAW_SECONDS_PER_CALL = 20.0, 0.01
# A longer line is not repeated by hand; the kernel takes 128 KB for a word.
REQUEST_CHARS = 2_000
DETAIL_CHARS = 500
# A name, or a value, that is written as it is.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


class _TimeIsUpError(Exception):
    """The deadline of the command, or the time for one tool, has passed."""


class _Finding(NamedTuple):
    """A problem, the arguments that cause it, and whether they have caused it alone, a second time. `number` is that of
    the call in which it was seen.
    """

    problem: Problem
    case: Case | None
    number: int
    is_repeated: bool


class _Seen(NamedTuple):
    """A finding, and the place of its arguments among those that were drawn together."""

    place: int
    finding: _Finding


def fuzz(
    line: CommandLine,
    session: Session,
    tools: Sequence[MCPTool],
    wanted: FuzzWanted,
    report: Report,
    deadline: Deadline | None,
) -> None:
    """Call the tools that are `wanted`, and add a check for each of them to the report."""
    chosen = [tool for tool in tools if is_chosen(tool, wanted)]
    left_out = [tool.name for tool in tools if tool not in chosen]
    if not chosen:
        report.add(_nothing(line, session.entry.name, tools, wanted))
        return
    why = "not chosen" if wanted.patterns else "not read-only"
    left = f"; {why}, so left out: {', '.join(left_out)}" if left_out else ""
    what = f"seed {wanted.seed}, {counted(wanted.calls, 'call')} of {counted(len(chosen), 'tool')} each{left}"
    report.add(Check("fuzz", OK, 0.0, one_line(what, DETAIL_CHARS)))
    names = [f"fuzz {tool.name}" for tool in chosen]
    for place, tool in enumerate(chosen):
        run = _ToolRun(line, session, tool, wanted, deadline)
        try:
            checks = run.checks()
        except NotConnectedError:
            raise  # The session is closed: the command was interrupted.
        except MCPError as error:
            told = session.explained(error)
            checks = [Check(names[place], FAIL, 0.0, one_line(told.message, DETAIL_CHARS), told)]
            report.skipped += names[place + 1 :]
            names = []
        for check in checks:
            report.add(check)
        if not names or (deadline is not None and deadline.expired):
            report.skipped += names[place + 1 :]
            return


def is_chosen(tool: MCPTool, wanted: FuzzWanted) -> bool:
    """Whether the tool is to be called."""
    if wanted.patterns:
        return any(is_match(tool.name, pattern) for pattern in wanted.patterns)
    return wanted.is_unsafe or claims_to_only_read(tool.annotations)


def _nothing(line: CommandLine, server: str, tools: Sequence[MCPTool], wanted: FuzzWanted) -> Check:
    if not tools:
        return Check("fuzz", SKIP, 0.0, "it has no tools")
    if wanted.patterns:
        problem = f"no tool of {server!r} matches --tool {' '.join(wanted.patterns)}"
        error = UsageError(problem, hint=f"see its tools with: {line.to_type('tools', server)}")
    else:
        problem = f"no tool of {server!r} is marked as read-only"
        hint = f"name one with --tool, or {line.again('call all, whatever they change,', '--unsafe')}"
        error = UsageError(problem, hint=hint)
    return Check("fuzz", FAIL, 0.0, problem, error)


class _ToolRun:
    """The calls of one tool."""

    def __init__(
        self, line: CommandLine, session: Session, tool: MCPTool, wanted: FuzzWanted, deadline: Deadline | None
    ) -> None:
        self._line = line
        self._session = session
        self._tool = tool
        self._wanted = wanted
        self._deadline = deadline
        self._call_seconds = session.entry.timeout or CALL_SECONDS
        hints = tool.annotations
        # By the specification a tool is neither, unless it says so.
        self._may_repeat = hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
        self._found: dict[str, _Finding] = {}
        self.calls = self._invalid = self._lost = self._hangs = 0
        self._drawing_seconds = 0.0
        self._sent: set[int] = set()
        # The examples since the last one with new arguments.
        self._stale = 0
        self._measured: list[int] = []
        self._stopped = ""
        self._is_restarted = False

    def checks(self) -> list[Check]:
        """Make all calls. The first check is that of the tool, the others are those of further problems. Raises what
        keeps the server from being started again.
        """
        from gaia_mcp.cli.checks.fuzzing.engine import DrawError
        from gaia_mcp.cli.checks.fuzzing.strategies import UnmakeableError

        name, began = f"fuzz {self._tool.name}", time.monotonic()
        try:
            self._judge = Judge(self._session, self._tool)
            self._make_calls()
        except (SchemaError, UnmakeableError, DrawError) as problem:
            why = self._session.masker().text(f"its input schema: {problem}")
            return [Check(name, SKIP, time.monotonic() - began, one_line(why, DETAIL_CHARS))]
        seconds = time.monotonic() - began
        findings = sorted(self._found.values(), key=lambda found: found.problem.is_warning)
        made = f"{counted(self.calls, 'call')}, {self._invalid} of them with invalid arguments"
        if self._judge.unanswered:
            made += f", {self._judge.unanswered} without an answer to its questions"
        if self._stopped:
            made += f", then stopped: {self._stopped}"
        if not findings:
            return [Check(name, WARN if self._stopped else OK, seconds, made)]
        checks = [
            self._check(name if not place else f"{name} ({place + 1})", finding, 0.0 if place else seconds)
            for place, finding in enumerate(findings)
        ]
        checks[0].differences = [*checks[0].differences, made]
        return checks

    def _make_calls(self) -> None:
        self._callers = Callers(self._outcome, AT_ONCE if self._may_repeat else 1)
        try:
            self._draw_all()
        except _TimeIsUpError as up:
            self._stopped = str(up)
        finally:
            self._callers.close()
        self._judge_growth()

    def _draw_all(self) -> None:
        from gaia_mcp.cli.checks.fuzzing import engine, strategies

        schema, number = self._tool.input_schema, 0
        joinable, at_once = strategies.joinable(schema), strategies.drawn_at_once(schema, TOGETHER)
        while not self.is_done:
            salt = f"{self._wanted.seed}:{self._tool.name}:{number}"
            batch = _Batch(self, engine, salt, joinable)
            engine.draw(strategies.together(schema, at_once, batch.drawn), salt, batch.use)
            batch.end()
            number += 1
            if not batch.examples:
                if at_once == 1:
                    raise strategies.UnmakeableError("no arguments could be made for it")
                at_once = max(1, at_once // 4)

    # For a batch.

    @property
    def is_done(self) -> bool:
        """Whether no more calls are to be made."""
        return self.calls >= self._wanted.calls or bool(self._stopped)

    def spent(self, drawing_seconds: float) -> None:
        """Count the time for drawing arguments. Raises `_TimeIsUpError`."""
        self._drawing_seconds += drawing_seconds
        if self._drawing_seconds > DRAW_SECONDS + self.calls * DRAW_SECONDS_PER_CALL:
            raise _TimeIsUpError("drawing arguments for its schema takes too long")
        self._check_time()

    def case(self, arguments: dict[str, Any]) -> Case | None:
        """The arguments as a case; None if they take too long to check."""
        return self._judge.case(arguments)

    def try_all(self, drawn: Sequence[dict[str, Any]], more: Iterable[dict[str, Any]]) -> _Seen | None:
        """Call the tool with the arguments that were `drawn`, and, after the first calls, with some of `more`, as far
        as they are new. Returns a new finding that can be made smaller.
        """
        # Few enough to measure the memory in between.
        mixtures = min(MIXED, self._wanted.calls // (4 * PARTS)) if self.calls >= MIXED_AFTER else 0
        tried = chain(drawn, islice(more, mixtures))
        placed = [(place, case) for place, arguments in enumerate(tried) if (case := self._new_case(arguments))]
        self._stale = 0 if placed else self._stale + 1
        placed = placed[: self._wanted.calls - self.calls]
        written, first = self._session.noise_count, self.calls + 1
        outcomes = self._callers.outcomes([case for _, case in placed])
        self.calls += len(placed)
        self._invalid += sum(not case.is_valid for _, case in placed)
        seen = [
            _Seen(place, _Finding(problem, case, number, is_repeated=False))
            for number, ((place, case), problem) in enumerate(zip(placed, outcomes, strict=True), first)
            if problem is not None
        ]
        if self._session.noise_count > written and self._may_repeat:
            noise = self._noise()
            seen += [_Seen(place, _Finding(noise, case, first, is_repeated=False)) for place, case in placed]
        self._count([problem for problem in outcomes if problem is not None])
        self._renew(outcomes)
        self._measure()
        return self._blamed(seen)

    def _new_case(self, arguments: dict[str, Any]) -> Case | None:
        """The arguments as a case; None if they were sent before, or if they take too long to check."""
        case = self.case(arguments)
        if case is None or self._stale >= MAX_STALE:
            return case
        # A number in place of the text, of which there may be a million.
        known = hash(case.text)
        if known in self._sent:
            return None
        self._sent.add(known)
        return case

    def _blamed(self, seen: Sequence[_Seen]) -> _Seen | None:
        """Record the first finding of each new kind. Returns one that can be made smaller."""
        smallable = None
        for kind in dict.fromkeys(each.finding.problem.kind for each in seen):
            if kind in self._found:
                continue
            suspects = [each for each in seen if each.finding.problem.kind == kind]
            # Those that know how the server has ended are first.
            suspects.sort(key=lambda each: not isinstance(each.finding.problem.error, OutcomeUnknownError))
            self._found[kind] = suspects[0].finding._replace(is_repeated=not self._may_repeat)
            # Of several calls at once, only one may be to blame.
            for place, finding in suspects if self._may_repeat else ():
                if (problem := self.again(finding.case, kind)) is not None:
                    self._found[kind] = finding._replace(problem=problem, is_repeated=True)
                    smallable = smallable or _Seen(place, self._found[kind])
                    break
        return smallable

    def again(self, case: Case | None, kind: str, *, is_smaller: bool = False) -> Problem | None:
        """Call once more, alone. Returns the problem if it is of this kind. A call with smaller arguments hangs sooner:
        many are tried.
        """
        assert case is not None  # noqa: S101 (only growth has none, and is found at the end)
        self._check_time()
        written = self._session.noise_count
        hang_seconds = min(self._call_seconds, SMALLER_HANG_SECONDS)
        problem = self._problem(case, hang_seconds if is_smaller and kind == HANGS else self._call_seconds)
        self._renew([problem])
        if kind == NOISE:
            return self._noise() if self._session.noise_count > written else None
        return problem if problem is not None and problem.kind == kind else None

    def keep_smaller(self, kind: str, case: Case) -> None:
        """Record smaller arguments, if they cause the problem."""
        if (problem := self.again(case, kind)) is not None:
            self._found[kind] = self._found[kind]._replace(problem=problem, case=case)

    # Calls.

    def _outcome(self, case: Case) -> Problem | None:
        written = self._session.noise_count
        problem = self._problem(case, self._call_seconds)
        if problem is None and not self._may_repeat and self._session.noise_count > written:
            return self._noise()
        return problem

    def _problem(self, case: Case, seconds: float) -> Problem | None:
        left = seconds if self._deadline is None else min(seconds, self._deadline.remaining())
        problem = self._judge.problem(case, left)
        if problem is not None and problem.kind == HANGS:
            # It may be our own time that was up.
            self._check_time()
        return problem

    def _check_time(self) -> None:
        if self._deadline is not None and self._deadline.expired:
            raise _TimeIsUpError("the time of --timeout is up")

    def _renew(self, outcomes: Sequence[Problem | None]) -> None:
        """Start the server again if it hangs; one that has ended is started by the next call."""
        fatal = {problem.kind for problem in outcomes if problem is not None} & FATAL
        if fatal:
            # The memory of another process is not to be compared.
            self._is_restarted, self._measured = True, []
        if HANGS in fatal:
            self._session.restart()

    def _count(self, problems: Sequence[Problem]) -> None:
        self._lost += sum(problem.kind in FATAL for problem in problems)
        self._hangs += sum(problem.kind == HANGS for problem in problems)
        if self._hangs >= MAX_HANGS or self._lost >= MAX_LOST:
            self._stopped = "it ends or blocks the server too often"

    def _noise(self) -> Problem:
        return Problem(NOISE, f"wrote {self._session.noise()}")

    # Memory.

    def _measure(self) -> None:
        part = self.calls * PARTS // self._wanted.calls
        if part > len(self._measured) and not self._is_restarted and self._wanted.calls >= MEASURED_CALLS:
            usage = self._session.usage()
            self._measured += [usage.memory_bytes] * (part - len(self._measured)) if usage is not None else []

    def _judge_growth(self) -> None:
        if grown := growth(self._measured):
            server, last = self._session.entry.name, self._measured[-1]
            calls = self.calls * (PARTS - 1) // PARTS
            problem = f"grew by {grown >> 20} MB in {counted(calls, 'call')}, to {last >> 20} MB, and did not stop"
            error = MCPError(f"server {server!r} {problem}", server=server)
            self._found[GROWS] = _Finding(Problem(GROWS, problem, error), None, self.calls, is_repeated=False)

    # The report.

    def _check(self, name: str, finding: _Finding, seconds: float) -> Check:
        problem, case = finding.problem, finding.case
        hidden = self._session.masker().text
        request = self._request(case) if case is not None and finding.is_repeated else ""
        request = hidden(request or self._whole_request())
        error, text = None, problem.text
        if not problem.is_warning:
            error = problem.error or RemoteProtocolError(self._session.entry.name, problem.text)
            error = as_seen(self._session.explained(error))
            error.hint = f"repeat it with: {request}"
            text = error.message
        seen = f"seen in call {finding.number} with seed {self._wanted.seed}"
        if case is not None and not finding.is_repeated:
            seen += "; the same call alone does not show it"
        detail = one_line(hidden(text), DETAIL_CHARS)
        outcome = WARN if problem.is_warning else FAIL
        return Check(name, outcome, seconds, detail, error, request=request, differences=[seen])

    def _request(self, case: Case) -> str:
        """The line that repeats the call; empty if it is too long to be typed."""
        words = [_word(key, held, case) for key, held in case.arguments.items()]
        more = [] if case.is_valid else ["--unchecked"]
        if not all(words):
            words, more = [], ["--args", shlex.quote(case.text), *more]
        typed = self._line.to_type("call", self._session.entry.name, self._tool.name, *words, more=" ".join(more))
        return typed if len(typed) <= REQUEST_CHARS else ""

    def _whole_request(self) -> str:
        """The line that repeats all calls of the tool."""
        pattern = shlex.quote(glob.escape(self._tool.name))
        more = f"--fuzz {self._wanted.calls} --seed {self._wanted.seed} --tool {pattern}"
        if self._session.entry.is_remote:
            more += " --yes"
        return self._line.to_type("test-client", self._session.entry.name, more=more)


class _Batch:
    """The examples of one run of the engine: the calls of `run` with each of them, or, once there is a finding, with
    the arguments in its place of ever smaller ones.
    """

    def __init__(self, run: _ToolRun, engine: ModuleType, salt: str, joinable: Collection[str]) -> None:
        self.examples = 0
        self._run = run
        self._engine = engine
        self._salt = salt
        self._joinable = joinable
        self._drawing_since = time.monotonic()
        self._finding: _Seen | None = None
        self._limit = 0.0
        # Of the arguments that were tried as smaller ones: whether they cause the problem too.
        self._tried: dict[str, bool] = {}
        self._smallest: Case | None = None

    def use(self, drawn: Sequence[dict[str, Any]]) -> None:
        """Make the calls. Raises `FailedExample` for those that cause the problem, and `Enough`."""
        self._run.spent(time.monotonic() - self._drawing_since)
        try:
            if self._finding is None:
                self._use_all(drawn)
            elif not self._is_as_bad(self._at(self._finding.place, drawn)):
                return
        finally:
            self._drawing_since = time.monotonic()
        if self._finding is not None:
            raise self._engine.FailedExample
        if self._run.is_done:
            raise self._engine.Enough

    def drawn(self) -> None:
        """Some arguments of an example have been drawn. Raises `Enough` if it takes too long."""
        if time.monotonic() - self._drawing_since > EXAMPLE_SECONDS:
            raise self._engine.Enough

    def end(self) -> None:
        """Record the smallest arguments that cause the problem."""
        self._run.spent(time.monotonic() - self._drawing_since)
        if self._finding is not None and self._smallest is not None:
            self._run.keep_smaller(self._finding.finding.problem.kind, self._smallest)

    def _at(self, place: int, drawn: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The arguments in a place: of those drawn, or beyond, of a mixture of them."""
        if place < len(drawn):
            return drawn[place]
        mixed: dict[str, Any] = self._engine.mixed(drawn, f"{self._salt}:{self.examples}", place, self._joinable)
        return mixed

    def _use_all(self, drawn: Sequence[dict[str, Any]]) -> None:
        self.examples += 1
        self._finding = self._run.try_all(drawn, (self._at(place, drawn) for place in count(len(drawn))))
        if self._finding is not None:
            assert self._finding.finding.case is not None  # noqa: S101 (it was called with one)
            self._tried[self._finding.finding.case.text] = True
            self._limit = time.monotonic() + SMALLER_SECONDS

    def _is_as_bad(self, arguments: dict[str, Any]) -> bool:
        assert self._finding is not None  # noqa: S101 (a caller has checked it)
        finding = self._finding.finding
        case = self._run.case(arguments)
        if case is None or finding.case is None or case.is_valid is not finding.case.is_valid:
            return False
        text = case.text
        if text not in self._tried:
            if len(self._tried) > SMALLER_CALLS or time.monotonic() > self._limit:
                raise self._engine.Enough
            is_bad = self._run.again(case, finding.problem.kind, is_smaller=True) is not None
            self._tried[text] = is_bad
            smallest = (self._smallest or finding.case).text
            if is_bad and (len(text), text) < (len(smallest), smallest):
                self._smallest = case
        return self._tried[text]


def _word(key: str, held: Any, case: Case) -> str:
    """An argument as it is typed; empty for a name that cannot be typed so."""
    if not _PLAIN.fullmatch(key):
        return ""
    if isinstance(held, str) and case.is_valid and _PLAIN.fullmatch(held):
        return f"{key}={held}"
    return f"{key}:={json.dumps(held)}"
