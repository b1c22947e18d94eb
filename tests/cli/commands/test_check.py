"""`gaia mcp test-client`: the smoke check of a build."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import entry_of, run_on_terminal
from tests.client.transports.http.web import Answer, Asked, as_json, serving

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


def test_a_tool_of_a_server_that_cannot_list_its_tools_is_called(gaia: Gaia) -> None:
    """Seed systems, C1: whether it has the tool, only the call shows."""

    def answer(asked: Asked) -> Answer:
        knows = asked.message["method"] == "code.run"
        error = {"code": -32601, "message": "Method not found"}
        outcome: dict[str, Any] = (
            {"result": {"content": [{"type": "text", "text": "4"}]}} if knows else {"error": error}
        )
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], **outcome})

    with serving(answer) as web:
        found = gaia("test-client", f"{web.origin}/rpc", "--call", "code.run", "--json")
        missing = gaia("test-client", f"{web.origin}/rpc", "--call", "code.walk", "--json")

    assert (found.code, outcomes(found)["call"]) == (0, "ok")
    assert (missing.code, outcomes(missing)["call"]) == (6, "fail")


def test_a_server_that_exits_has_its_stdout_checked(gaia: Gaia) -> None:
    """Ours: it is not mistaken for a server behind a URL."""
    ran = gaia("test-client", "--json", "--", sys.executable, "-c", "print('hello'); raise SystemExit(1)")

    assert (ran.code, outcomes(ran)["stdout"]) == (4, "fail")
    assert "it wrote 1 line to stdout that is not MCP: 'hello'" in ran.stdout


def test_junit_is_written_for_build_servers(demo: Gaia) -> None:
    """Ours: they show which check of which server has failed."""
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
def test_a_bad_server_fails_the_matching_check(gaia: Gaia, server: str, failed: str, code: int) -> None:
    """Ours: each kind of misbehaviour has its line."""
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
    """Ours: it works, so the build passes."""
    gaia.use("ignores-eof")

    ran = gaia("test-client", "ignores-eof", "--json")

    assert outcomes(ran)["shutdown"] == "warn"
    assert ran.code == 0


def test_a_failing_call_exits_with_9_or_7(demo: Gaia) -> None:
    """Ours: as by `call`: a failure of the tool is not a mistake in the build."""
    ran = demo("test-client", "demo", "--call", "fail")
    assert (ran.code, ran.errors[1]) == (9, "hint: try it by hand: gaia mcp call demo TOOL")
    assert demo("test-client", "demo", "--call", "greet").code == 7
    assert demo("test-client", "demo", "--call", "gret").code == 7


def test_each_of_several_calls_takes_the_arguments_behind_it(demo: Gaia) -> None:
    """Ours: all are tested, in order; one that fails does not prevent the next one."""
    line = ["--call", "greet", "name=Ada", "--call=fail", "--call", "greet", '{"name": "Bob"}', "--timeout", "60"]

    ran = demo("test-client", "demo", *line, "--json")

    (server,) = ran.json["servers"]
    found = {check["name"]: check["detail"] for check in server["checks"] if check["name"].startswith("call")}
    assert list(found) == ["call greet", "call fail", "call greet (2)"]
    assert ("Ada" in found["call greet"], "Bob" in found["call greet (2)"]) == (True, True)
    assert (ran.code, outcomes(ran)["call fail"], outcomes(ran)["call greet (2)"]) == (9, "fail", "ok")


def test_the_arguments_of_several_calls_must_follow_their_calls(demo: Gaia) -> None:
    """Ours: an argument that belongs to none of them must not be left out without a word."""
    early = demo("test-client", "demo", "name=Ada", "--call", "greet", "--call", "fail")
    args = demo("test-client", "demo", "--call", "greet", "--args", '{"name": "Ada"}', "--call", "fail")
    behind = demo("test-client", "demo", "--call", "fail", "--call", "greet", "--", "name=Ada")

    assert (early.code, early.errors[0]) == (2, "error: 'name=Ada' is before the first --call")
    assert (args.code, args.errors[0]) == (2, "error: --args is for a single --call")
    assert (behind.code, "Ada" in behind.stdout) == (9, True)


def test_a_call_that_ends_the_server_is_the_last(gaia: Gaia) -> None:
    """Ours: the calls behind it are reported as skipped, not as failed."""
    gaia.use("dies-in-call")

    ran = gaia("test-client", "dies-in-call", "--call", "echo", "--call", "echo", "--json")

    assert (ran.code, outcomes(ran)["call echo"]) == (4, "fail")
    assert ran.json["servers"][0]["skipped"] == ["call echo (2)"]


def test_an_output_schema_need_not_be_of_an_object(gaia: Gaia) -> None:
    """Spec, server/tools: only an input schema has to be. Ours: lists that fail have checks of their own."""
    gaia.use("no-output-type")

    ran = gaia("test-client", "no-output-type", "--json")

    found = outcomes(ran)
    assert (ran.code, found["output schemas"], found["resources"], found["templates"]) == (6, "ok", "fail", "fail")


def test_invalid_arguments_fail_only_the_check_of_the_call(demo: Gaia) -> None:
    """Ours: the server has done nothing wrong, and gets its usual time to exit."""
    ran = demo("test-client", "demo", "--call", "greet", "--json")

    assert (ran.code, outcomes(ran)["call"], outcomes(ran)["shutdown"]) == (7, "fail", "ok")


def test_a_result_that_violates_its_output_schema_exits_with_6(gaia: Gaia) -> None:
    """Ours: the tool did not report a failure, but returned an invalid result."""
    gaia.use("breaks-promise")

    ran = gaia("test-client", "breaks-promise", "--call", "count")

    assert ran.code == 6
    assert "does not match its output schema" in ran.errors[0]


def test_a_server_that_stops_responding_is_waited_for_once(gaia: Gaia) -> None:
    """Ours: not once for each of its lists; its forced end is then only a warning."""
    gaia.use("only-handshakes", timeout=5)

    ran = gaia("test-client", "only-handshakes", "--json")

    assert ran.code == 5
    assert list(outcomes(ran)) == ["start", "negotiation", "answer", "shutdown", "stdout"]
    assert outcomes(ran)["shutdown"] == "warn"


def test_a_report_masks_secrets(gaia: Gaia) -> None:
    """Ours: a build server stores it, and many people may read it."""
    gaia.use("blurts-secrets", env={"TOKEN": "xyzzy-plugh"})

    ran = gaia("test-client", "blurts-secrets", "--call", "echo", "--junit", "report.xml")

    assert ran.code == 9
    assert "no entry with ****" in (gaia.cwd / "report.xml").read_text()
    assert "xyzzy" not in ran.stdout + ran.stderr + (gaia.cwd / "report.xml").read_text()


@pytest.mark.parametrize(
    "arguments", [("name:=oops",), ("name=a", "name=b"), ("name=@nowhere",), ('name:={"a": NaN}',)]
)
def test_arguments_are_parsed_as_by_call(demo: Gaia, arguments: tuple[str, ...]) -> None:
    """Ours: mistakes have the same errors, and the other checks are made all the same."""
    told = demo("call", "demo", "greet", *arguments)

    ran = demo("test-client", "demo", "--call", "greet", *arguments, "--junit", "report.xml")

    assert ran.code == told.code == 2
    assert ran.errors == told.errors
    assert [line.split()[1] for line in ran.stdout.splitlines()[-4:-1]] == ["call", "shutdown", "stdout"]
    assert (demo.cwd / "report.xml").exists()


def test_the_value_of_an_argument_is_read_from_a_file(demo: Gaia) -> None:
    """Ours: key=@FILE, as with `call`."""
    (demo.cwd / "name").write_text("Grace")

    ran = demo("test-client", "demo", "--call", "greet", "name=@name")

    assert ran.code == 0
    assert "Hello, Grace!" in ran.stdout


def test_an_unusable_schema_does_not_prevent_the_call(gaia: Gaia) -> None:
    """Ours: it has failed its own check; `call` calls as well."""
    gaia.use("unusable-schema")

    ran = gaia("test-client", "unusable-schema", "--call", "echo", "text=x", "--json")

    found = outcomes(ran)
    assert (found["input schemas"], found["output schemas"]) == ("fail", "fail")
    assert (found["call"], found["shutdown"]) == ("ok", "ok")
    assert ran.code == 6


def test_a_server_without_tools_gets_a_warning(gaia: Gaia) -> None:
    """Ours: it may exist for its prompts; undeclared tools are tested all the same."""
    gaia.use("declares-no-tools")
    ran = gaia("test-client", "declares-no-tools", "--json")
    assert (outcomes(ran)["tools"], ran.code) == ("warn", 0)

    gaia.write({"x": entry_of("declares-no-tools", "all the same")})
    ran = gaia("test-client", "x", "--call", "echo", "--json")
    assert (outcomes(ran)["tools"], outcomes(ran)["call"], ran.code) == ("warn", "ok", 0)


def test_a_server_that_outlives_its_launcher_at_our_signal_is_a_warning(gaia: Gaia) -> None:
    """Ours: a wrapper ends at once on SIGTERM, and the server that it has started a moment later."""
    stubborn = entry_of("ignores-sigterm")
    gaia.write(
        {"x": {"command": "/bin/sh", "args": ["-c", '"$@"; true', "sh", stubborn["command"], *stubborn["args"]]}}
    )

    ran = gaia("test-client", "x", "--json")

    assert (outcomes(ran)["shutdown"], ran.code) == ("warn", 0)


def test_an_unusable_entry_hides_no_other_server(demo: Gaia) -> None:
    """Ours: the others are checked and are in the report."""
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
def test_a_single_unusable_entry_is_reported(gaia: Gaia, entry: dict[str, Any]) -> None:
    """Ours: with the same lines and the same report as one of several."""
    gaia.write({"x": entry})

    ran = gaia("test-client", "x", "--junit", "report.xml")

    assert [line.split()[:2] for line in ran.stdout.splitlines()[:2]] == [["x"], ["FAIL", "entry"]]
    assert (len(ran.errors), ran.code) == (2, 3)
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert suite.get("failures") == "1"


def test_all_without_enabled_servers_is_an_error(gaia: Gaia) -> None:
    """Ours: a build that tests nothing must not pass."""
    gaia.write({"off": {"command": "x", "disabled": True}})

    ran = gaia("test-client", "--all")

    assert ran.code == 3
    assert "gaia mcp add" in ran.errors[1]


def test_wrong_command_lines_exit_with_2(demo: Gaia) -> None:
    """Ours: a mistake in a build is not a failure of the server."""
    assert demo("test-client").code == 2
    assert demo("test-client", "demo", "name=Ada").code == 2
    assert demo("test-client", "demo", "--call", "greet", "=Ada").code == 2
    assert demo("test-client", "nobody").code == 3


def test_an_unwritable_report_is_an_error(demo: Gaia) -> None:
    """Ours: a build must not rely on a report that does not exist. The checks are printed all the same."""
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


def test_checks_after_a_timeout_are_skipped(gaia: Gaia) -> None:
    """Ours: a request that was not sent has not been left without a response."""
    gaia.use("declares-and-hangs")

    ran = gaia("test-client", "declares-and-hangs", "--timeout", "6")

    assert ran.code == 5
    assert "FAIL  prompts" in ran.stdout
    assert "  skip  resources, templates\n" in ran.stdout


def test_checks_after_a_failed_negotiation_are_reported_as_skipped(gaia: Gaia) -> None:
    """Ours: a build must see that they were not made."""
    gaia.use("exits-at-once")

    ran = gaia("test-client", "exits-at-once", "--junit", "report.xml", "--call", "echo")

    skipped = ["answer", "tools", "input schemas", "output schemas", "names", "texts", "call"]
    assert f"  skip  {', '.join(skipped)}\n" in ran.stdout
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    cases = [case for case in suite.findall("testcase") if case.find("skipped") is not None]
    assert [case.get("name") for case in cases] == skipped
    assert (suite.get("skipped"), suite.get("tests")) == ("7", str(len(suite.findall("testcase"))))
    assert gaia("test-client", "exits-at-once", "--json", "--call", "x").json["servers"][0]["skipped"] == skipped


def test_junit_has_the_end_of_the_stderr_of_the_server(gaia: Gaia) -> None:
    """Ours: the reason of a failure is often there, and a build server stores nothing else."""
    gaia.use("dies-in-call")

    gaia("test-client", "dies-in-call", "--call", "echo", "text=x", "--junit", "report.xml")

    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert (suite.findtext("system-err") or "").splitlines()[-1] == "fatal: out of memory"


def test_quiet_prints_only_failures(demo: Gaia) -> None:
    """Ours: the log of a build that passes stays empty."""
    assert demo("test-client", "demo", "--quiet").stdout == ""

    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "bad": entry_of("exits-at-once")})
    ran = demo("test-client", "--all", "--quiet")

    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [["bad"], ["FAIL", "negotiation"]]
    assert ran.code == 4


def test_the_github_step_summary_is_a_table(demo: Gaia) -> None:
    """GitHub, workflow commands: what a step appends to the file is shown as Markdown. The text of a server is
    escaped.
    """
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "b|d": {"command": "no-such<img>"}})
    summary = demo.cwd / "summary.md"
    summary.write_text("before\n")

    ran = demo("test-client", "--all", GITHUB_STEP_SUMMARY=str(summary))

    before, heading, _, _, _, good, bad, _ = summary.read_text().splitlines()
    assert before == "before"
    assert heading.startswith("### gaia mcp test-client: 1 of 2 servers passed, ")
    assert good.startswith("| demo | passed | ")
    assert re.sub(r"\d+\.\d", "0.0", bad).startswith(
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


def test_a_json_object_may_give_the_arguments(demo: Gaia) -> None:
    """Ours: as with `call`."""
    ran = demo("test-client", "demo", "--call", "greet", '{"name": "x=y"}')

    assert ran.code == 0
    assert "Hello, x=y!" in ran.stdout
    assert demo("test-client", "demo", "{}").code == 2


def test_outcomes_have_colours_on_a_terminal(demo: Gaia) -> None:
    """Ours: a failure is seen at a glance."""
    shown, _ = run_on_terminal(demo, "test-client", "demo")
    assert "\x1b[32mok\x1b[0m" in shown
    assert "\x1b[32m1\x1b[0m of 1 server passed" in shown

    shown, _ = run_on_terminal(demo, "test-client", "demo", "--call", "fail")
    assert "\x1b[31mFAIL\x1b[0m" in shown
