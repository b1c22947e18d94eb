"""The formats that build servers read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.checks.build_reports import code_quality, junit_xml, tap
from gaia_mcp.cli.checks.report import FAIL, OK, SKIP, WARN, Check, Report
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.core.errors import MCPError
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_a_report_with_any_characters_is_well_formed_xml() -> None:
    """XML 1.0: it cannot carry control characters, surrogates, U+FFFE and U+FFFF."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    checks = [Check(text, outcome, 0.5, text, MCPError(text, hint=text)) for outcome in (OK, WARN, FAIL)]

    root = ElementTree.fromstring(junit_xml(CommandLine(), [Report(text, checks, [text], text)]))

    (suite,) = root
    name = suite.get("name")
    assert name is not None
    assert r"\x01" in name
    assert r"\ufffe\uffff" in name
    assert "\ufffd" in name
    assert all(element.text for element in suite.iter() if element.tag in ("failure", "system-out", "system-err"))


def test_a_server_with_any_name_has_a_report(gaia: Gaia) -> None:
    """Ours: a configuration may have been written by hand, and a server prints anything."""
    name = "a\x01\ufffe\ud800"
    gaia.write({name: entry_of("exits-at-once")})

    ran = gaia("test-client", "--all", "--junit", "report.xml")

    assert ran.code == 4
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert suite.get("name") == "a\\x01\\ufffe\ufffd"
    assert suite.get("failures") == "1"


def test_a_report_is_printed_in_the_test_anything_protocol() -> None:
    """TAP 14: in a description `#` and a backslash are escaped; what has been skipped is ok."""
    checks = [
        Check("start", OK, 0.1, "runs"),
        Check(r"a #1 \ b", FAIL, 0.1, 'it is "x"', request="gaia mcp call s t"),
        Check("slow", WARN, 0.1, "it did not exit"),
        Check("later", SKIP, 0.0, "not\ntoday"),
    ]

    lines = list(tap([Report("s", checks, ["tools"]), Report("t", checks[:1])]))

    assert lines == [
        "TAP version 14",
        "1..6",
        "ok 1 - s: start",
        r"not ok 2 - s: a \#1 \\ b",
        "  ---",
        r'  message: "it is \"x\""',
        '  severity: "fail"',
        '  request: "gaia mcp call s t"',
        "  ...",
        "ok 3 - s: slow",
        "  ---",
        '  message: "it did not exit"',
        '  severity: "warn"',
        "  ...",
        "ok 4 - s: later # SKIP not today",
        "ok 5 - s: tools # SKIP an earlier check failed",
        "ok 6 - t: start",
    ]


def test_the_failures_are_written_for_code_quality() -> None:
    """GitLab, Code Quality report format: these members are required, the path is relative to the repository. A
    fingerprint is that of the check, whatever it has seen.
    """
    place = (Path.cwd() / "ci" / "checks.yaml", 12)
    one = Report("s", [Check("start", OK, 0.1, ""), Check("a", FAIL, 0.1, "5, not 6", place=place)])
    again = Report("s", [Check("a", FAIL, 0.2, "7, not 6", place=(place[0], 0))])
    server = Report("s", [Check("tools", FAIL, 0.1, "none")])

    found, other, unplaced = (json.loads(code_quality([each]))[0] for each in (one, again, server))

    assert len(json.loads(code_quality([one, again]))) == 2
    assert found == {
        "description": "s: a: 5, not 6",
        "check_name": "gaia mcp test-client",
        "fingerprint": other["fingerprint"],
        "severity": "major",
        "location": {"path": "ci/checks.yaml", "lines": {"begin": 12}},
    }
    assert other["location"] == {"path": "ci/checks.yaml", "lines": {"begin": 1}}
    assert unplaced["location"] == {"path": "s", "lines": {"begin": 1}}
    assert unplaced["fingerprint"] != found["fingerprint"]


def test_a_report_that_cannot_be_written_is_an_error_after_the_checks(demo: Gaia) -> None:
    """Ours: both files are tried, and what was checked is printed."""
    (demo.cwd / "file").touch()

    ran = demo("test-client", "demo", "--junit", "file/j.xml", "--code-quality", "q.json")
    other = demo("test-client", "demo", "--tap", "--code-quality", "file/q.json")
    both = demo("test-client", "demo", "--tap", "--json")

    assert (ran.code, other.code, both.code) == (1, 1, 2)
    assert ran.stderr.endswith("hint: choose another file with --junit FILE\n")
    assert json.loads((demo.cwd / "q.json").read_text()) == []
    assert other.stderr.endswith("hint: choose another file with --code-quality FILE\n")
    assert other.stdout.startswith("TAP version 14\n1..13\nok 1 - demo: start\n")
    assert both.stderr == "error: --tap and --json cannot be used together\nhint: leave out one of the two\n"
