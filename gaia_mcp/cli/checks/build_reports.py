"""The reports in the formats that build servers read: JUnit XML, GitLab's code quality, SARIF, the Test Anything
Protocol, and for GitHub a table on the page of a build, and annotations.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from gaia_mcp._version import __version__
from gaia_mcp.cli.checks.report import ADVICE, FAIL, SKIP, WARN, Check, Report, summary_line
from gaia_mcp.cli.hints import hint_for
from gaia_mcp.core.errors import MCPError
from gaia_mcp.storage.output_files import append_to_file, put_file
from gaia_mcp.text import clean, encodable, escape, one_line
from gaia_mcp.toolspec.contract import as_lines

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen

# The only characters that remain invalid at this point: the noncharacters U+FFFE and U+FFFF.
_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
# GitHub names the file in this variable, and displays what each step of a build appends to it.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
# A cell of the table must stay readable; the log of the build has the whole failure.
CELL_CHARS = 300
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {FAIL: "error", WARN: "warning", ADVICE: "note"}


def write_all(
    screen: Screen,
    reports: Sequence[Report],
    seconds: float,
    *,
    junit: Path | None,
    quality: Path | None,
    sarif: Path | None,
) -> MCPError | None:
    """Write the files that were asked for, and what GitHub reads in a workflow. Returns an error about a file rather
    than raising it, because the checks must still be printed.
    """
    append_step_summary(screen, reports, seconds)
    for annotation in annotations_of(reports):
        screen.to_stderr(annotation)
    problems = []
    if junit is not None:
        problems.append(_written(junit, junit_xml(screen.line, reports), "--junit"))
    if quality is not None:
        problems.append(_written(quality, code_quality(reports), "--code-quality"))
    if sarif is not None:
        problems.append(_written(sarif, sarif_log(reports), "--sarif"))
    return next((problem for problem in problems if problem is not None), None)


def junit_xml(line: CommandLine, reports: Sequence[Report]) -> bytes:
    """A `testsuites` document: a suite for each server, a case for each check, times in seconds."""
    root = ElementTree.Element("testsuites", name="gaia mcp test-client")
    for report in reports:
        seconds = sum(check.seconds for check in report.checks)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=report.title,
            tests=str(len(report.checks) + len(report.skipped)),
            failures=str(len(report.failures)),
            errors="0",
            skipped=str(len(report.skipped) + sum(check.outcome == SKIP for check in report.checks)),
            time=f"{seconds:.3f}",
        )
        for check in report.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"mcp.{report.title}", name=check.name, time=f"{check.seconds:.3f}"
            )
            if check in report.failures:
                failure = ElementTree.SubElement(case, "failure", message=check.detail)
                failure.text = "\n".join(_explained(line, check))
            elif check.outcome == SKIP:
                ElementTree.SubElement(case, "skipped", message=check.detail)
            elif check.detail or check.request:
                shown = [*([check.request] if check.request else []), f"{check.outcome}: {check.detail}"]
                ElementTree.SubElement(case, "system-out").text = "\n".join(shown)
        for name in report.skipped:
            case = ElementTree.SubElement(suite, "testcase", classname=f"mcp.{report.title}", name=name, time="0.000")
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


def _explained(line: CommandLine, check: Check) -> list[str]:
    """The lines below a failure: the request of a case and its differences, the changes of locked tools, the hint."""
    if check.error is None:
        return [*([check.request] if check.request else []), *(check.differences or [check.detail])]
    return [
        *([check.request] if check.request else []),
        *as_lines(check.error.facts.get("changes", ())),
        hint_for(line, check.error),
    ]


def _written(path: Path, content: bytes, option: str) -> MCPError | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put_file(path, content)
    except OSError as problem:
        hint = f"choose another file with {option} FILE"
        return MCPError(f"{str(path)!r} cannot be written: {problem.strerror}", hint=hint)
    return None


def code_quality(reports: Sequence[Report]) -> bytes:
    """The failures in GitLab's format for code quality: a list of objects, each at a line of a file."""
    found = []
    for report in reports:
        for check in report.failures:
            path, number = check.place or (Path(report.server), 0)
            name = f"{report.title}: {check.name}"
            found.append(
                {
                    "description": f"{name}: {check.detail}",
                    "check_name": "gaia mcp test-client",
                    "fingerprint": _fingerprint(name),
                    "severity": "major",
                    "location": {"path": os.path.relpath(path), "lines": {"begin": number or 1}},
                }
            )
    return (json.dumps(found, indent=2) + "\n").encode()


def sarif_log(reports: Sequence[Report]) -> bytes:
    """The failures, warnings and advice as a log of SARIF 2.1.0: a rule is a requirement, or another check."""
    rules: dict[str, Any] = {}
    results = []
    for report in reports:
        for check in report.checks:
            if check.outcome not in _SARIF_LEVELS:
                continue
            level, text = _SARIF_LEVELS[check.outcome], check.detail
            if check.requirement is not None:
                about = {"shortDescription": {"text": check.requirement.stated}, "helpUri": check.requirement.url}
                text = f"{text}: {check.message}" if check.message else text
            else:
                about = {"shortDescription": {"text": f"The check {check.name!r}"}}
            rules.setdefault(check.name, {"id": check.name, **about})
            path, line = check.place or (Path(report.server), 0)
            region = {"region": {"startLine": line}} if line else {}
            location = {"artifactLocation": {"uri": quote(os.path.relpath(path))}, **region}
            name = f"{report.title}: {check.name}"
            results.append(
                {
                    "ruleId": check.name,
                    "level": level,
                    "message": {"text": f"{name}: {text}"},
                    "locations": [{"physicalLocation": location}],
                    "partialFingerprints": {"check/v1": _fingerprint(name)},
                }
            )
    driver = {"name": "gaia mcp test-client", "version": __version__, "rules": list(rules.values())}
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return (json.dumps(log, indent=2) + "\n").encode()


def _fingerprint(name: str) -> str:
    """The same for the same failure in another build, whatever was seen this time."""
    return hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()


def tap(reports: Sequence[Report]) -> Iterator[str]:
    """The lines of the reports in the Test Anything Protocol, version 14."""
    yield "TAP version 14"
    yield f"1..{sum(len(report.checks) + len(report.skipped) for report in reports)}"
    numbers = count(1)
    for report in reports:
        skipped = [Check(name, SKIP, 0.0, "an earlier check failed") for name in report.skipped]
        for check in (*report.checks, *skipped):
            name = re.sub(r"[\\#]", r"\\\g<0>", one_line(f"{report.title}: {check.name}"))
            directive = f" # SKIP {one_line(check.detail)}" if check.outcome == SKIP else ""
            yield f"{'not ok' if check.outcome == FAIL else 'ok'} {next(numbers)} - {name}{directive}"
            if check.outcome in (FAIL, WARN) or check.load is not None:
                facts: dict[str, Any] = {"message": check.detail, "severity": check.outcome.lower()}
                if check.request:
                    facts["request"] = check.request
                if check.load is not None:
                    facts["load"] = check.load.as_object()
                yield "  ---"
                # JSON is YAML.
                yield from (f"  {key}: {json.dumps(held)}" for key, held in facts.items())
                yield "  ..."


def append_step_summary(
    screen: Screen, reports: Sequence[Report], seconds: float, environ: Mapping[str, str] = os.environ
) -> None:
    """Append the reports to GitHub's step summary, if there is one. A failure is only a remark, because the checks
    count.
    """
    name = environ.get(STEP_SUMMARY)
    if not name:
        return
    try:
        append_to_file(Path(name), as_markdown(reports, seconds).encode("utf-8", "backslashreplace"))
    except OSError as problem:
        screen.remark(f"{STEP_SUMMARY} cannot be written: {problem.strerror}")


def annotations_of(reports: Sequence[Report], environ: Mapping[str, str] = os.environ) -> list[str]:
    """A workflow command for each failure, with which GitHub shows it beside the line; none outside of a workflow."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    root = environ.get("GITHUB_WORKSPACE") or "."
    found = []
    for report in reports:
        for check in report.failures:
            facts = {"title": f"{report.title}: {check.name}"}
            if check.place is not None:
                path, number = check.place
                facts["file"] = os.path.relpath(path, root)
                if number:
                    facts["line"] = str(number)
            written = ",".join(f"{name}={_command_text(value, ':,')}" for name, value in facts.items())
            found.append(f"::error {written}::{_command_text(check.detail)}")
    return found


def _command_text(text: str, more: str = "") -> str:
    """`text` as a part of a workflow command. `more` are further characters that end such a part."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


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
    cells = (report.title, result, f"{took:.1f}", "; ".join(noted))
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """`text` as the content of a cell, escaped so that a server's text cannot become markup."""
    return re.sub(r"[\\`*_\[\]<>|&#~]", lambda found: f"&#{ord(found[0])};", one_line(text, CELL_CHARS))
