"""Reports as JUnit XML, which most build servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.hints import hint_for
from gaia_mcp.errors import MCPError
from gaia_mcp.safetext import clean, encodable, escape
from gaia_mcp.storage.output_files import put_file
from gaia_mcp.toolspec.contract import as_lines

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.cli.checks.report import Check, Report


# The only characters that remain invalid at this point: the noncharacters U+FFFE and U+FFFF.
_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def junit_xml(reports: Sequence[Report]) -> bytes:
    """A `testsuites` document: a suite for each server, a case for each check, times in seconds."""
    root = ElementTree.Element("testsuites", name="gaia mcp test-client")
    for report in reports:
        seconds = sum(check.seconds for check in report.checks)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=report.server,
            tests=str(len(report.checks) + len(report.skipped)),
            failures=str(len(report.failures)),
            errors="0",
            skipped=str(len(report.skipped)),
            time=f"{seconds:.3f}",
        )
        for check in report.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"mcp.{report.server}", name=check.name, time=f"{check.seconds:.3f}"
            )
            if check in report.failures:
                failure = ElementTree.SubElement(case, "failure", message=check.detail)
                failure.text = "\n".join(_explained(check))
            elif check.detail:
                ElementTree.SubElement(case, "system-out").text = f"{check.outcome}: {check.detail}"
        for name in report.skipped:
            case = ElementTree.SubElement(suite, "testcase", classname=f"mcp.{report.server}", name=name, time="0.000")
            ElementTree.SubElement(case, "skipped", message=f"skipped, since {report.failures[0].name!r} failed")
        if report.stderr_tail:
            ElementTree.SubElement(suite, "system-err").text = report.stderr_tail
    for element in root.iter():
        element.text = _xml_text(element.text or "") or None
        element.attrib = {name: _xml_text(value) for name, value in element.attrib.items()}
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _xml_text(text: str) -> str:
    """`text` with characters escaped that XML cannot represent, not even as a character reference."""
    return re.sub(_NOT_XML, lambda found: escape(found[0]), encodable(clean(text)))


def _explained(check: Check) -> list[str]:
    """The lines below a failure: the changes of locked tools, and the hint."""
    if check.error is None:
        return [check.detail]
    return [*as_lines(check.error.facts.get("changes", ())), hint_for(check.error)]


def write_junit(path: Path, reports: list[Report]) -> MCPError | None:
    """Write the reports to a file. Returns an error about the file rather than raising it, because the checks must
    still be printed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put_file(path, junit_xml(reports))
    except OSError as problem:
        hint = "choose another file with --junit FILE"
        return MCPError(f"{str(path)!r} cannot be written: {problem.strerror}", hint=hint)
    return None
