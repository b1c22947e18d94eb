"""The report on a server: a line for each check, and their result as an error, an exit code and JSON.

Several reports become a summary line; what build servers read of them is in `build_reports`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaia_mcp.cli.screen import LEAST_CELLS, broken, fitted, fitting, on_terminal, width_of
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.core.errors import ConfigError, MCPError, RemoteProtocolError
from gaia_mcp.toolspec.contract import as_lines

if TYPE_CHECKING:
    from gaia_mcp.cli.checks.load import Load
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.requirements.listed import Requirement

# The widths of a check's outcome, name and seconds, and the least width of its detail.
WIDTHS = (6, 14, 9, LEAST_CELLS)
# The indentation of what is below the line of a check.
BELOW = " " * 8
OK, WARN, ADVICE, FAIL, SKIP = "ok", "warn", "advice", "FAIL", "skip"
# The name of the check that calls a tool.
CALL = "call"
# The name of the check that calls it many times.
LOAD = "load"
_COLOURS: dict[str, Literal["", "red", "green", "yellow"]] = {
    OK: "green",
    WARN: "yellow",
    ADVICE: "",
    FAIL: "red",
    SKIP: "",
}


@dataclass
class Check:
    """One check: `outcome` is "ok", "warn", "advice", "FAIL" or "skip". That of a case has its `request`, a command
    line, and the `differences` between what was expected and seen, as lines; if it has failed, its `place`, a file and
    the number of a line, which is 0 if it is unknown. A check of a `requirement` of the specification has the `message`
    of the server that does not fulfil it, and that of a `load` what was measured.
    """

    name: str
    outcome: str
    seconds: float
    detail: str
    error: MCPError | None = None
    request: str = ""
    differences: Sequence[str] = ()
    place: tuple[Path, int] | None = None
    requirement: Requirement | None = None
    message: str = ""
    load: Load | None = None

    @property
    def is_call(self) -> bool:
        """Whether a tool was called; with several calls, each check is named `call TOOL`."""
        return bool(self.request) or self.name.partition(" ")[0] == CALL


@dataclass
class Report:
    """The checks done with one server, and the names of the checks that were skipped after a failure. `revision` is
    that of MCP if the server is tested with several.

    `stderr_tail` is the end of the server's stderr, with secrets masked. `on_check` is called with each check that is
    added.
    """

    server: str
    checks: list[Check] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    stderr_tail: str = ""
    on_check: Callable[[Check], None] | None = None
    revision: str | None = None

    @property
    def title(self) -> str:
        """The name of the server, with the revision if there are several."""
        return f"{self.server} ({self.revision})" if self.revision is not None else self.server

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == FAIL]

    @property
    def warnings(self) -> list[Check]:
        """The checks that passed with a warning."""
        return [check for check in self.checks if check.outcome == WARN]

    @property
    def status(self) -> ExitStatus:
        """The exit code of the first failure."""
        if not self.failures:
            return ExitStatus.DONE
        first = self.failures[0]
        if first.is_call and first.error is None:
            return ExitStatus.TOOL_FAILED
        return ExitStatus.PROTOCOL if first.error is None else status_of(first.error)

    def error(self, line: CommandLine) -> MCPError | None:
        """The failures as one error, or None."""
        if not self.failures:
            return None
        first = self.failures[0]
        if first.error is not None:
            return first.error
        count = len(self.failures)
        more = f" (and {count - 1} more)" if count > 1 else ""
        # A failure reported by a tool may be caused by the arguments.
        by_hand = f"try it by hand: {first.request or line.to_type('call', self.server, more='TOOL')}"
        hint = by_hand if first.is_call else "report it to its author"
        which = f"{first.name!r} with revision {self.revision}" if self.revision is not None else repr(first.name)
        return RemoteProtocolError(self.server, f"failed the check {which}: {first.detail}{more}", hint=hint)

    def add(self, check: Check) -> None:
        """Add a check that was done."""
        self.checks.append(check)
        if self.on_check is not None:
            self.on_check(check)

    def as_object(self, screen: Screen) -> dict[str, Any]:
        """The report in its JSON form."""
        shown = []
        for check in self.checks:
            row: dict[str, Any] = {
                "name": check.name,
                "outcome": check.outcome.lower(),
                "seconds": round(check.seconds, 4),
                "detail": check.detail,
            }
            if check.request:
                row["request"] = check.request
                row["differences"] = list(check.differences)
            if check.requirement is not None:
                row["requirement"] = {**check.requirement._asdict(), "url": check.requirement.url}
                row["message"] = check.message
            if check.load is not None:
                row["load"] = check.load.as_object()
            if check.error is not None:
                row["error"] = screen.error_object(check.error)
            shown.append(row)
        revision = {"protocolVersion": self.revision} if self.revision is not None else {}
        return {"name": self.server, **revision, "ok": not self.failures, "checks": shown, "skipped": self.skipped}


def untried(error: MCPError) -> Check:
    """The only check of a server whose process could not be started."""
    return Check("entry" if isinstance(error, ConfigError) else "start", FAIL, 0.0, error.message, error)


def print_report(screen: Screen, report: Report, *, only_failures: bool = False) -> None:
    """Print the checks of a server under its name; with `only_failures` nothing for a server that passed."""
    shown = report.failures if only_failures else report.checks
    if shown or not only_failures:
        screen.print_line(report.title)
    for item in shown:
        print_check(screen, item)
    if not only_failures:
        print_skipped(screen, report)


def print_skipped(screen: Screen, report: Report) -> None:
    """Print a line with the checks that were skipped, if there are any."""
    if report.skipped:
        for line in broken(f"  skip  {', '.join(report.skipped)}", sys.stdout):
            screen.print_line(fitted(line))


def print_check(screen: Screen, item: Check) -> None:
    """Print a line for a check, and below it the details that do not fit."""
    row = [
        item.outcome if item.outcome == ADVICE else f"  {item.outcome:<4}",
        item.name,
        f"{item.seconds:7.3f} s",
        item.detail,
    ]
    line, *rest = fitting(WIDTHS, names=2, spare=(2, 3)).lines(row)
    screen.print_line(line, _COLOURS[item.outcome])
    for more in rest:
        screen.print_line(more)
    below = as_lines(item.error.facts.get("changes", ())) if item.error is not None else []
    # Failures are reported in full at the end. Warnings appear only here, so they are complete even on a narrow
    # terminal.
    if item.outcome in (WARN, ADVICE) and item.detail not in line:
        below = item.detail.split("; ")
    if item.outcome in (WARN, FAIL) and item.requirement is not None:
        below += [*([item.message] if item.message else []), item.requirement.stated, item.requirement.url]
    if item.request and item.outcome in (FAIL, WARN) and not (item.outcome == WARN and item.load is not None):
        below = [*(below if item.outcome == WARN else []), item.request, *item.differences]
    if item.load is not None and on_terminal(sys.stdout) and not screen.quiet:
        if not below and item.detail not in line:
            below = item.load.parts()
        below = [*below, *item.load.latencies.picture(width_of(sys.stdout) - len(BELOW))]
    for more in below:
        screen.print_line(f"{BELOW}{more}")


def summary_line(reports: Sequence[Report], seconds: float) -> str:
    """The number of servers that passed, or of their runs with several revisions, of those that were not skipped; the
    seconds that it took, and the number of warnings.
    """
    run = [report for report in reports if any(check.outcome != SKIP for check in report.checks)]
    passed = sum(not report.failures for report in run)
    warnings = sum(len(report.warnings) for report in reports)
    advice = sum(check.outcome == ADVICE for report in reports for check in report.checks)
    noted = f", {counted(warnings, 'warning')}" if warnings else ""
    noted += f", {counted(advice, 'piece')} of advice" if advice else ""
    what = "server" if all(report.revision is None for report in reports) else "run"
    return f"{passed} of {counted(len(run), what)} passed, {seconds:.1f} s{noted}"
