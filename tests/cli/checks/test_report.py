"""The report on a server, as an exit code and an error."""

from __future__ import annotations

from gaia_mcp.cli.checks.report import FAIL, OK, SKIP, WARN, Check, Report, summary_line
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.core.errors import DeadlineError

PASSED = [Check("start", OK, 0.1, ""), Check("names", WARN, 0.1, ""), Check("later", SKIP, 0.0, "not today")]
LATE = DeadlineError("s", "tools/list", 1)


def test_the_exit_code_is_that_of_the_first_failure() -> None:
    """Ours: a tool that has failed, or has answered otherwise than expected, is no fault of the protocol."""
    for failures, status in [
        ([], ExitStatus.DONE),
        ([Check("tools", FAIL, 0.1, "two of one name")], ExitStatus.PROTOCOL),
        ([Check("tools", FAIL, 0.1, LATE.message, LATE), Check("call", FAIL, 0.1, "")], ExitStatus.TIMEOUT),
        ([Check("call greet", FAIL, 0.1, "it failed")], ExitStatus.TOOL_FAILED),
        ([Check("two cups", FAIL, 0.1, "5, not 6", request="gaia mcp call s t")], ExitStatus.TOOL_FAILED),
        ([Check("caller", FAIL, 0.1, "")], ExitStatus.PROTOCOL),
    ]:
        report = Report("s", [*PASSED, *failures])
        assert (report.status, bool(report.failures)) == (status, bool(failures))


def test_the_error_names_the_line_to_type() -> None:
    """Ours: that of the case; of other calls the tool is left to the person."""
    line = CommandLine()
    case = Check("two cups", FAIL, 0.1, "5, not 6", request="gaia mcp call s price count:=2")
    errors = [Report("s", checks).error(line) for checks in ([case, case], [Check("call", FAIL, 0.1, "no")], PASSED)]

    assert [error and (error.message, error.hint) for error in errors] == [
        (
            "server 's' failed the check 'two cups': 5, not 6 (and 1 more)",
            "try it by hand: gaia mcp call s price count:=2",
        ),
        ("server 's' failed the check 'call': no", "try it by hand: gaia mcp call s TOOL"),
        None,
    ]
    of_revision = Report("s", [Check("tools", FAIL, 0.1, "none")], revision="2025-11-25").error(line)
    assert of_revision is not None
    assert of_revision.message == "server 's' failed the check 'tools' with revision 2025-11-25: none"


def test_the_summary_counts_servers_and_warnings() -> None:
    """Ours."""
    failed = Report("t", [Check("tools", FAIL, 0.1, "")])

    runs = [Report("s", PASSED, revision=revision) for revision in ("2026-07-28", "2025-11-25")]

    assert summary_line([Report("s", PASSED), failed], 1.26) == "1 of 2 servers passed, 1.3 s, 1 warning"
    assert summary_line(runs, 1) == "2 of 2 runs passed, 1.0 s, 2 warnings"
