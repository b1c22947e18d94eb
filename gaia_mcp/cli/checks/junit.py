"""Examinations as JUnit XML, which every build server reads."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.hints import hint_for
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.checks.report import Examination


def junit_xml(results: Sequence[Examination]) -> bytes:
    """A `testsuites` document: a suite for each server, a case for each check, times in seconds."""
    root = ElementTree.Element("testsuites", name="gaia mcp test-client")
    for result in results:
        seconds = sum(check.seconds for check in result.checks)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=result.server,
            tests=str(len(result.checks)),
            failures=str(len(result.failures)),
            errors="0",
            skipped="0",
            time=f"{seconds:.3f}",
        )
        for check in result.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"mcp.{result.server}", name=check.name, time=f"{check.seconds:.3f}"
            )
            # XML cannot carry control characters; `clean` writes them as escapes.
            detail = clean(check.detail)
            if check in result.failures:
                failure = ElementTree.SubElement(case, "failure", message=detail)
                failure.text = clean(hint_for(check.error)) if check.error is not None else detail
            elif detail:
                ElementTree.SubElement(case, "system-out").text = f"{check.outcome}: {detail}"
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
