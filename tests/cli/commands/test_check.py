"""`gaia mcp test-client`: the smoke check of a build."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import entry_of, run_on_terminal

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
    """Ours: a line per check, and one for all."""
    ran = demo("test-client", "demo", "--call", "greet", "name=Ada")

    first, *lines, last = ran.stdout.splitlines()
    assert first == "demo"
    assert all(line.startswith("  ok   ") for line in lines)
    assert len(lines) == len(ALL_CHECKS)
    assert re.fullmatch(r"1 of 1 server passed, \d+\.\d s", last)
    assert ran.code == 0
    assert list(outcomes(demo("test-client", "demo", "--call", "greet", "name=Ada", "--json"))) == ALL_CHECKS


def test_a_server_behind_a_url_has_no_process_to_check(gaia: Gaia) -> None:
    """Ours: neither its exit nor a stdout."""
    served = gaia.popen("serve", "demo", "--http", "127.0.0.1:0", "--json")
    assert served.stdout is not None
    url = json.loads(served.stdout.readline())["url"]

    ran = gaia("test-client", url, "--call", "greet", "name=Ada", "--json")

    assert list(outcomes(ran)) == [*ALL_CHECKS[:-2], "messages"]
    assert ran.code == 0
    served.terminate()
    served.communicate(timeout=20)


def test_a_server_that_has_printed_and_ended_had_a_stdout(gaia: Gaia) -> None:
    """Ours: it is not taken for one behind a URL."""
    ran = gaia("test-client", "--json", "--", sys.executable, "-c", "print('hello'); raise SystemExit(1)")

    assert (ran.code, outcomes(ran)["stdout"]) == (4, "fail")
    assert "it wrote 1 line to stdout that is not MCP: 'hello'" in ran.stdout


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
    assert "does not match its output schema" in ran.errors[0]


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
    assert [line.split()[1] for line in ran.stdout.splitlines()[-4:-1]] == ["call", "shutdown", "stdout"]
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
    assert ran.stdout.splitlines()[-1].startswith("1 of 3 servers passed, ")
    assert lines.count(["FAIL", "entry"]) == 2
    assert len(ran.errors) == 4
    assert ran.code == 3
    assert [suite.get("failures") for suite in ElementTree.parse(demo.cwd / "report.xml").getroot()] == ["1", "0", "1"]


@pytest.mark.parametrize("entry", [{"args": "nonsense"}, {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]}])
def test_an_entry_that_cannot_be_used_is_reported_alone_too(gaia: Gaia, entry: dict[str, Any]) -> None:
    """Ours: the same lines and the same report, however many there are."""
    gaia.write({"x": entry})

    ran = gaia("test-client", "x", "--junit", "report.xml")

    assert [line.split()[:2] for line in ran.stdout.splitlines()[:2]] == [["x"], ["FAIL", "entry"]]
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


def test_a_server_that_was_waited_for_in_vain_is_not_asked_again(gaia: Gaia) -> None:
    """Ours: what was never asked has not been left without a response."""
    gaia.use("declares-and-hangs")

    ran = gaia("test-client", "declares-and-hangs", "--timeout", "1.5")

    assert ran.code == 5
    assert "FAIL  prompts" in ran.stdout
    assert "  skip  resources, templates\n" in ran.stdout


def test_checks_that_a_failure_makes_pointless_are_reported_as_skipped(gaia: Gaia) -> None:
    """Ours: a build must see that they were not done, rather than believe that they do not exist."""
    gaia.use("exits-at-once")

    ran = gaia("test-client", "exits-at-once", "--junit", "report.xml", "--call", "echo")

    skipped = ["answer", "tools", "input schemas", "output schemas", "names", "texts", "call"]
    assert f"  skip  {', '.join(skipped)}\n" in ran.stdout
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    cases = [case for case in suite.findall("testcase") if case.find("skipped") is not None]
    assert [case.get("name") for case in cases] == skipped
    assert (suite.get("skipped"), suite.get("tests")) == ("7", str(len(suite.findall("testcase"))))
    assert gaia("test-client", "exits-at-once", "--json", "--call", "x").json["servers"][0]["skipped"] == skipped


def test_junit_holds_the_last_lines_of_the_server(gaia: Gaia) -> None:
    """Ours: the reason of a failure is often there, and a build server keeps nothing else."""
    gaia.use("dies-in-call")

    gaia("test-client", "dies-in-call", "--call", "echo", "text=x", "--junit", "report.xml")

    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert (suite.findtext("system-err") or "").splitlines()[-1] == "fatal: out of memory"


def test_quiet_prints_failures_alone(demo: Gaia) -> None:
    """Ours: a build that passes has nothing to say."""
    assert demo("test-client", "demo", "--quiet").stdout == ""

    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "bad": entry_of("exits-at-once")})
    ran = demo("test-client", "--all", "--quiet")

    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [["bad"], ["FAIL", "negotiation"]]
    assert ran.code == 4


def test_github_gets_a_table(demo: Gaia) -> None:
    """GitHub, workflow commands: what a step appends to the file is shown as Markdown. A server's text is no markup."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "b|d": {"command": "no-such<img>"}})
    summary = demo.cwd / "summary.md"
    summary.write_text("before\n")

    ran = demo("test-client", "--all", GITHUB_STEP_SUMMARY=str(summary))

    before, heading, _, _, _, good, bad, _ = summary.read_text().splitlines()
    assert before == "before"
    assert heading.startswith("### gaia mcp test-client: 1 of 2 servers passed, ")
    assert good.startswith("| demo | passed | ")
    assert bad.startswith(
        "| b&#124;d | failed | 0.0 | start: server 'b&#124;d' could not be started: 'no-such&#60;img&#62;'"
    )
    assert ran.code == 4

    ran = demo("test-client", "demo", GITHUB_STEP_SUMMARY=str(demo.cwd / "no" / "folder"))
    assert (ran.code, ran.stderr) == (0, "note: GITHUB_STEP_SUMMARY cannot be written: No such file or directory\n")


@pytest.mark.parametrize("args", ['{"name": "Ada"}', "@args.json"])
def test_the_arguments_may_be_one_object(demo: Gaia, args: str) -> None:
    """Ours: `--args`, as with `call`."""
    (demo.cwd / "args.json").write_text('{"name": "Grace"}')

    ran = demo("test-client", "demo", "--call", "greet", "--args", args, "style=formal")

    assert ran.code == 0
    assert ("Good day, Ada" in ran.stdout) != ("Good day, Grace" in ran.stdout)
    assert demo("test-client", "demo", "--args", args).code == 2


def test_the_arguments_may_be_one_object_among_the_words(demo: Gaia) -> None:
    """Ours: as with `call`."""
    ran = demo("test-client", "demo", "--call", "greet", '{"name": "x=y"}')

    assert ran.code == 0
    assert "Hello, x=y!" in ran.stdout
    assert demo("test-client", "demo", "{}").code == 2


def test_outcomes_have_colours_on_a_terminal(demo: Gaia) -> None:
    """Ours."""
    shown, _ = run_on_terminal(demo, "test-client", "demo")
    assert "\x1b[32mok\x1b[0m" in shown
    assert "\x1b[32m1\x1b[0m of 1 server passed" in shown

    shown, _ = run_on_terminal(demo, "test-client", "demo", "--call", "fail")
    assert "\x1b[31mFAIL\x1b[0m" in shown
