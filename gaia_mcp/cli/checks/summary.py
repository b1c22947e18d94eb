"""A summary of all reports: a line for people, and a table for GitHub's page of a build."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import counted, remark
from gaia_mcp.safetext import one_line
from gaia_mcp.storage.output_files import append_to_file

if TYPE_CHECKING:
    from gaia_mcp.cli.checks.report import Report

# GitHub names the file in this variable, and displays what each step of a build appends to it.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
# A cell of the table must stay readable; the log of the build has the whole failure.
CELL_CHARS = 300


def summary_line(reports: Sequence[Report], seconds: float) -> str:
    """The number of servers that passed, the seconds that it took, and the number of warnings."""
    passed = sum(not report.failures for report in reports)
    warnings = sum(len(report.warnings) for report in reports)
    noted = f", {counted(warnings, 'warning')}" if warnings else ""
    return f"{passed} of {counted(len(reports), 'server')} passed, {seconds:.1f} s{noted}"


def append_step_summary(reports: Sequence[Report], seconds: float, environ: Mapping[str, str] = os.environ) -> None:
    """Append the reports to GitHub's step summary, if there is one. A failure is only a remark, because the checks
    count.
    """
    name = environ.get(STEP_SUMMARY)
    if not name:
        return
    try:
        append_to_file(Path(name), as_markdown(reports, seconds).encode("utf-8", "backslashreplace"))
    except OSError as problem:
        remark(f"{STEP_SUMMARY} cannot be written: {problem.strerror}")


def as_markdown(reports: Sequence[Report], seconds: float) -> str:
    """A table with a row for each server, under the summary line."""
    rows = [
        "| server | result | seconds | what failed, and warnings |",
        "| --- | --- | ---: | --- |",
        *(_row(report) for report in reports),
    ]
    return f"### gaia mcp test-client: {summary_line(reports, seconds)}\n\n" + "\n".join(rows) + "\n\n"


def _row(report: Report) -> str:
    result = "failed" if report.failures else "passed"
    noted = [f"{check.name}: {check.detail}" for check in (*report.failures, *report.warnings)]
    took = sum(check.seconds for check in report.checks)
    cells = (report.server, result, f"{took:.1f}", "; ".join(noted))
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """`text` as the content of a cell, escaped so that a server's text cannot become markup."""
    return re.sub(r"[\\`*_\[\]<>|&#~]", lambda found: f"&#{ord(found[0])};", one_line(text, CELL_CHARS))
