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
    "texts",
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
    ran = demo("test-client", "demo", "--call", "fail")
    assert (ran.code, ran.errors[1]) == (9, "hint: try it by hand: gaia mcp call demo TOOL")
    assert demo("test-client", "demo", "--call", "greet").code == 7
    assert demo("test-client", "demo", "--call", "gret").code == 7


def test_only_what_the_specification_asks_for_is_asked_for(gaia: Gaia) -> None:
    """Spec, server/tools: only an input schema has to be of an object. Ours: what fails is told, and where."""
    gaia.use("no-output-type")

    ran = gaia("test-client", "no-output-type", "--json")

    found = outcomes(ran)
    assert (ran.code, found["output schemas"], found["resources"], found["templates"]) == (6, "ok", "fail", "fail")


def test_a_call_of_our_own_mistake_is_not_held_against_the_server(demo: Gaia) -> None:
    """Ours: it has done nothing but what it was asked, and has all the time to end that it always has."""
    ran = demo("test-client", "demo", "--call", "greet", "--json")

    assert (ran.code, outcomes(ran)["call"], outcomes(ran)["shutdown"]) == (7, "fail", "ok")


def test_a_result_that_breaks_the_tools_own_promise_ends_in_six(gaia: Gaia) -> None:
    """Ours: the tool did not say that it failed; what it said is wrong."""
    gaia.use("breaks-promise")

    ran = gaia("test-client", "breaks-promise", "--call", "count")

    assert ran.code == 6
    assert "does not fit its own schema" in ran.errors[0]


def test_a_server_that_says_no_more_is_waited_for_once(gaia: Gaia) -> None:
    """Ours: not once for each of its lists; and that it had to be hurried is no fault of its own."""
    gaia.use("only-handshakes", timeout=1)

    ran = gaia("test-client", "only-handshakes", "--json")

    assert ran.code == 5
    assert list(outcomes(ran)) == ["start", "negotiation", "answer", "shutdown", "stdout"]
    assert outcomes(ran)["shutdown"] == "warn"


def test_a_report_holds_no_secret(gaia: Gaia) -> None:
    """Ours: builds keep it, and many may read it."""
    gaia.use("blurts-secrets", env={"TOKEN": "xyzzy-plugh"})

    ran = gaia("test-client", "blurts-secrets", "--call", "echo", "--junit", "report.xml")

    assert ran.code == 9
    assert "no entry with ****" in (gaia.cwd / "report.xml").read_text()
    assert "xyzzy" not in ran.stdout + ran.stderr + (gaia.cwd / "report.xml").read_text()


@pytest.mark.parametrize(
    "arguments", [("name:=oops",), ("name=a", "name=b"), ("name=@nowhere",), ('name:={"a": NaN}',)]
)
def test_arguments_are_read_as_call_reads_them(demo: Gaia, arguments: tuple[str, ...]) -> None:
    """Ours: the same mistakes are told in the same words, and the server's other checks are done all the same."""
    told = demo("call", "demo", "greet", *arguments)

    ran = demo("test-client", "demo", "--call", "greet", *arguments, "--junit", "report.xml")

    assert ran.code == told.code == 2
    assert ran.errors == told.errors
    assert [line.split()[1] for line in ran.stdout.splitlines()[-3:]] == ["call", "shutdown", "stdout"]
    assert (demo.cwd / "report.xml").exists()


def test_a_file_gives_an_argument_here_too(demo: Gaia) -> None:
    """Ours: key=@FILE."""
    (demo.cwd / "name").write_text("Grace")

    ran = demo("test-client", "demo", "--call", "greet", "name=@name")

    assert ran.code == 0
    assert "Hello, Grace!" in ran.stdout


def test_a_schema_that_cannot_be_used_does_not_keep_from_calling(gaia: Gaia) -> None:
    """Ours: it has failed its own check; `call` calls as well."""
    gaia.use("unusable-schema")

    ran = gaia("test-client", "unusable-schema", "--call", "echo", "text=x", "--json")

    found = outcomes(ran)
    assert (found["input schemas"], found["output schemas"]) == ("fail", "fail")
    assert (found["call"], found["shutdown"]) == ("ok", "ok")
    assert ran.code == 6


def test_a_server_without_tools_gets_a_warning(gaia: Gaia) -> None:
    """Ours: it may be there for its prompts; and one that forgets to declare its tools is tested with them."""
    gaia.use("declares-no-tools")
    ran = gaia("test-client", "declares-no-tools", "--json")
    assert (outcomes(ran)["tools"], ran.code) == ("warn", 0)

    gaia.write({"x": entry_of("declares-no-tools", "all the same")})
    ran = gaia("test-client", "x", "--call", "echo", "--json")
    assert (outcomes(ran)["tools"], outcomes(ran)["call"], ran.code) == ("warn", "ok", 0)


def test_what_our_own_signal_leaves_of_a_launcher_is_no_fault(gaia: Gaia) -> None:
    """Ours: a wrapper ends at once on SIGTERM, and the server that it has started a moment later."""
    stubborn = entry_of("ignores-sigterm")
    gaia.write(
        {"x": {"command": "/bin/sh", "args": ["-c", '"$@"; true', "sh", stubborn["command"], *stubborn["args"]]}}
    )

    ran = gaia("test-client", "x", "--json")

    assert (outcomes(ran)["shutdown"], ran.code) == ("warn", 0)


def test_an_entry_that_cannot_be_used_is_one_failure_of_several(demo: Gaia) -> None:
    """Ours: one broken entry must not hide the others, nor their report."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    unset = {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]}
    off = {"command": "x", "disabled": True}
    demo.write({"odd": {"args": "nonsense"}, **servers, "unset": unset, "off": off})

    ran = demo("test-client", "--all", "--junit", "report.xml")

    lines = [line.split()[:2] for line in ran.stdout.splitlines()]
    assert [line[0] for line in lines if len(line) == 1] == ["odd", "demo", "unset"]
    assert lines.count(["FAIL", "entry"]) == 2
    assert len(ran.errors) == 4
    assert ran.code == 3
    assert [suite.get("failures") for suite in ElementTree.parse(demo.cwd / "report.xml").getroot()] == ["1", "0", "1"]


@pytest.mark.parametrize("entry", [{"args": "nonsense"}, {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]}])
def test_an_entry_that_cannot_be_used_is_reported_alone_too(gaia: Gaia, entry: dict[str, Any]) -> None:
    """Ours: the same lines and the same report, however many there are."""
    gaia.write({"x": entry})

    ran = gaia("test-client", "x", "--junit", "report.xml")

    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [["x"], ["FAIL", "entry"]]
    assert (len(ran.errors), ran.code) == (2, 3)
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert suite.get("failures") == "1"


def test_all_of_nothing_is_a_mistake(gaia: Gaia) -> None:
    """Ours: a build that tests nothing must not pass."""
    gaia.write({"off": {"command": "x", "disabled": True}})

    ran = gaia("test-client", "--all")

    assert ran.code == 3
    assert "gaia mcp add" in ran.errors[1]


def test_wrong_command_lines_end_in_two(demo: Gaia) -> None:
    """Ours."""
    assert demo("test-client").code == 2
    assert demo("test-client", "demo", "name=Ada").code == 2
    assert demo("test-client", "demo", "--call", "greet", "=Ada").code == 2
    assert demo("test-client", "nobody").code == 3


def test_a_report_that_cannot_be_written_is_an_error(demo: Gaia) -> None:
    """Ours: a build must not believe in a report that is not there. The checks are told all the same."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({"a": servers["demo"], "b": servers["demo"]})
    (demo.cwd / "out").write_text("a file")

    ran = demo("test-client", "--all", "--junit", "out/report.xml")
    assert (ran.code, len(ran.errors)) == (1, 2)
    assert ran.stdout.count("  ok    stdout") == 2

    ran = demo("test-client", "a", "b", "--junit", "out/report.xml", "--json")
    assert [server["ok"] for server in ran.json["servers"]] == [True, True]
    assert (ran.json["ok"], ran.json["exit"], ran.code) == (False, 1, 1)
    assert "report.xml" in ran.json["error"]["message"]

    demo.write({"bad": entry_of("exits-at-once")})
    ran = demo("test-client", "bad", "--junit", "out/report.xml")
    assert (ran.code, len(ran.errors)) == (4, 4)
