"""`gaia mcp test-client`: the smoke check of a build."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia, Ran

ALL_CHECKS = [
    "start",
    "negotiation",
    "answer",
    "tools",
    "input schemas",
    "output schemas",
    "names",
    "prompts",
    "resources",
    "templates",
    "call",
    "shutdown",
    "stdout",
]


def outcomes(ran: Ran) -> dict[str, Any]:
    (server,) = ran.json["servers"]
    return {check["name"]: check["outcome"] for check in server["checks"]}


def test_a_good_server_passes_every_check(demo: Gaia) -> None:
    """Ours: a line per check."""
    ran = demo("test-client", "demo", "--call", "greet", "name=Ada")

    lines = ran.stdout.splitlines()
    assert lines[0] == "demo"
    assert all(line.startswith("  ok   ") for line in lines[1:])
    assert len(lines) == 1 + len(ALL_CHECKS)
    assert ran.code == 0
    assert list(outcomes(demo("test-client", "demo", "--call", "greet", "name=Ada", "--json"))) == ALL_CHECKS


def test_junit_is_written_for_build_servers(demo: Gaia) -> None:
    """Ours."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "bad": entry_of("exits-at-once")})

    ran = demo("test-client", "--all", "--junit", "out/report.xml")

    root = ElementTree.parse(demo.cwd / "out/report.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert suites["demo"].get("failures") == "0"
    assert suites["bad"].get("failures") == "1"
    assert suites["bad"].find("testcase/failure") is not None
    assert ran.code == 4


@pytest.mark.parametrize(
    ("server", "failed", "code"),
    [
        ("exits-at-once", "negotiation", 4),
        ("prints-banner", "stdout", 6),
        ("bad-tools", "tools", 6),
        ("wrong-version", "negotiation", 6),
        ("content-length", "negotiation", 6),
        ("leaves-grandchild", "shutdown", 6),
    ],
)
def test_a_bad_server_fails_the_check_it_should(gaia: Gaia, server: str, failed: str, code: int) -> None:
    """Ours: each misbehaviour has its line."""
    gaia.use(server)

    ran = gaia("test-client", server, "--json", "--timeout", "10")

    assert outcomes(ran)[failed] == "fail"
    assert ran.code == code
    assert len(ran.errors) == 2


def test_a_program_that_does_not_exist_fails_at_the_start(gaia: Gaia) -> None:
    """Ours, bad input."""
    gaia.write({"x": {"command": "no-such-program-anywhere"}})

    ran = gaia("test-client", "x")

    assert ran.code == 4
    assert ran.stdout.splitlines()[1].split()[:2] == ["FAIL", "start"]


def test_a_server_that_must_be_killed_gets_a_warning(gaia: Gaia) -> None:
    """Ours: it works, so the build goes on, but it is told."""
    gaia.use("ignores-eof")

    ran = gaia("test-client", "ignores-eof", "--json")

    assert outcomes(ran)["shutdown"] == "warn"
    assert ran.code == 0


def test_a_call_that_fails_ends_in_nine(demo: Gaia) -> None:
    """Ours."""
    assert demo("test-client", "demo", "--call", "fail").code == 9
    assert demo("test-client", "demo", "--call", "greet").code == 7
    assert demo("test-client", "demo", "--call", "gret").code == 7


def test_wrong_command_lines_end_in_two(demo: Gaia) -> None:
    """Ours."""
    assert demo("test-client").code == 2
    assert demo("test-client", "demo", "name=Ada").code == 2
    assert demo("test-client", "nobody").code == 3


def test_a_report_that_cannot_be_written_is_an_error(demo: Gaia) -> None:
    """Ours: a build must not believe in a report that is not there."""
    (demo.cwd / "out").write_text("a file")

    assert demo("test-client", "demo", "--junit", "out/report.xml").code == 1
