"""Reports as JUnit XML, which every build server reads."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.hints import hint_for
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.checks.report import Report


def junit_xml(reports: Sequence[Report]) -> bytes:
    """A `testsuites` document: a suite for each server, a case for each check, times in seconds."""
    root = ElementTree.Element("testsuites", name="gaia mcp test-client")
    for report in reports:
        seconds = sum(check.seconds for check in report.checks)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=report.server,
            tests=str(len(report.checks)),
            failures=str(len(report.failures)),
            errors="0",
            skipped="0",
            time=f"{seconds:.3f}",
        )
        for check in report.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"mcp.{report.server}", name=check.name, time=f"{check.seconds:.3f}"
            )
            # XML cannot carry control characters; `clean` writes them as escapes.
            detail = clean(check.detail)
            if check in report.failures:
                failure = ElementTree.SubElement(case, "failure", message=detail)
                failure.text = clean(hint_for(check.error)) if check.error is not None else detail
            elif detail:
                ElementTree.SubElement(case, "system-out").text = f"{check.outcome}: {detail}"
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
