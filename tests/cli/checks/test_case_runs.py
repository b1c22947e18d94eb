"""`gaia mcp test-client --spec`: the cases of a file with real servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.checks.cases import SCHEMA
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia, Ran


def run(gaia: Gaia, text: str, *options: str, server: str = "demo", **environ: str) -> Ran:
    (gaia.cwd / "c.yaml").write_text(text)
    return gaia("test-client", server, "--spec", "c.yaml", *options, **environ)


def outcomes(ran: Ran, server: int = 0) -> dict[str, str]:
    """The outcomes of the cases, by name."""
    checks = ran.json["servers"][server]["checks"]
    return {check["name"]: check["outcome"] for check in checks if "request" in check or check["outcome"] == "skip"}


CASES = """
variables: {who: Ada}
checks:
  - name: a greeting
    tool: greet
    arguments: {name: "${who}"}
    expect: {text: "Hello, Ada!", max_ms: 20000}
    save: {said: text}
  - name: a sum
    tool: add
    arguments: {a: 1, b: 2}
    expect: {structured: {sum: 4}, schema: {required: [total]}}
  - name: said again
    tool: greet
    arguments: {name: "${said}"}
    expect: {text: "Hello, Hello, Ada!!"}
    repeat: 3
  - name: refused
    tool: greet
    arguments: {nam: x}
    expect: {isError: true, contains: there is no}
  - name: unknown
    tool: gret
    expect: {code: -32602}
  - {prompt: introduce, arguments: {name: Ada}, expect: {contains: Ada}}
  - {resource: "demo://about", expect: {matches: agent}}
  - {resource: "demo://none", expect: {exitCode: 7}}
  - {tool: fail, skip: not today}
"""


def test_each_case_is_a_check(demo: Gaia) -> None:
    """Issue: a case that fails names the call, and what was expected and seen; the others are run."""
    ran = run(demo, CASES, "--junit", "r.xml")
    listed = run(demo, CASES, "--json")

    assert ran.code == listed.code == 9
    lines = ran.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  FAIL  a sum "))
    assert lines[at].endswith("structured /sum is 3, not 4 (and 1 more)")
    assert lines[at + 1 : at + 6] == [
        "        gaia mcp call demo add a:=1 b:=2",
        "        structured /sum is 3, not 4",
        "        - 4",
        "        + 3",
        "        schema: 'total' is missing",
    ]
    assert ran.stderr == (
        "error: server 'demo' failed the check 'a sum': structured /sum is 3, not 4 (and 1 more)\n"
        "hint: try it by hand: gaia mcp call demo add a:=1 b:=2\n"
    )
    assert outcomes(listed) == {
        "a greeting": "ok", "a sum": "fail", "said again": "ok", "refused": "ok", "unknown": "ok", "introduce": "ok",
        "demo://about": "ok", "demo://none": "ok", "fail": "skip",
    }  # fmt: skip
    (suite,) = ElementTree.parse(demo.cwd / "r.xml").getroot()
    cases = {case.get("name"): case for case in suite}
    failure, output, skipped = cases["a sum"][0], cases["a greeting"][0], cases["fail"][0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    assert (failure.text or "").splitlines()[0] == "gaia mcp call demo add a:=1 b:=2"
    assert output.text == "gaia mcp call demo greet name=Ada\nok: Hello, Ada!"
    assert (skipped.tag, skipped.get("message")) == ("skipped", "not today")


def test_what_is_set_up_is_torn_down(demo: Gaia) -> None:
    """Ours: after a failure of the setup the checks would only repeat it."""
    ran = run(
        demo,
        "setup: [{tool: fail}]\nchecks: [{tool: attach}]\nteardown: [{tool: note, arguments: {text: bye}}]",
        "--json",
    )

    assert outcomes(ran) == {"fail": "fail", "attach": "skip", "note": "ok"}
    assert ran.json["servers"][0]["checks"][-4]["detail"] == "'fail' of the setup has failed"


def test_a_server_that_exits_is_started_again_for_the_next_case(gaia: Gaia) -> None:
    """Issue: the other cases run, and the exit code is that of the first failure."""
    gaia.write({"hs": entry_of("good-handshake")})
    text = "checks: [{tool: die}, {tool: echo}, {tool: die, expect: {exitCode: 4}}, {tool: echo, name: last}]"

    ran = run(gaia, text, "--json", server="hs")

    assert ran.code == 4
    assert outcomes(ran) == {"die": "fail", "echo": "ok", "die (2)": "ok", "last": "ok"}


def test_cases_that_are_left_at_the_timeout_are_skipped(gaia: Gaia) -> None:
    """Ours: `--timeout` is the time of all steps together."""
    gaia.write({"hs": entry_of("good-handshake")})

    ran = run(
        gaia, "checks: [{tool: slow, arguments: {seconds: 60}}, {tool: echo}]", "--timeout", "3", "--json", server="hs"
    )

    assert ran.code == 5
    assert outcomes(ran) == {"slow": "fail"}
    assert ran.json["servers"][0]["skipped"] == ["echo"]


def test_a_variable_of_the_environment_is_not_printed(demo: Gaia) -> None:
    """Ours: a token of a build must not get into its log."""
    secret = "hunt'er\\22"
    text = """
variables: {key: "x${TOKEN}"}
checks:
  - {tool: greet, arguments: {name: "${TOKEN} ${N}"}, expect: {text: x}}
  - {tool: greet, arguments: {name: "${key}"}, save: {said: text}}
  - {tool: greet, arguments: {name: "${said}", more: ["${key}"]}}
  - {tool: "${TOKEN}"}
"""
    printed = [run(demo, text, *options, TOKEN=secret, N="1") for options in ([], ["--json"], ["--junit", "r.xml"])]

    whole = "".join([*(ran.stdout + ran.stderr for ran in printed), (demo.cwd / "r.xml").read_text()])
    assert not [each for each in ("hunt", "er\\22", "er22") if each in whole]
    assert printed[0].stderr.endswith("hint: try it by hand: gaia mcp call demo greet 'name=${TOKEN} ${N}'\n")
    assert '+ "Hello, **** 1!"' in printed[0].stdout
    assert "gaia mcp call demo greet 'name=x${TOKEN}'" in printed[2].stdout + (demo.cwd / "r.xml").read_text()


def test_a_case_that_needs_what_was_not_saved_is_skipped(demo: Gaia) -> None:
    """Ours: it cannot be run. A value that the answer does not have is a failure."""
    text = """
checks:
  - {name: first, tool: add, arguments: {a: 1, b: 2}, save: {sum: /structuredContent/sum, no: /structuredContent/no}}
  - {name: one, tool: greet, arguments: {name: "${no}"}}
  - {name: other, tool: add, arguments: {a: "${sum}", b: 2}, expect: {structured: {sum: 5}}}
"""
    ran = run(demo, text, "--json")

    assert outcomes(ran) == {"first": "fail", "one": "skip", "other": "ok"}
    details = {check["name"]: check["detail"] for check in ran.json["servers"][0]["checks"]}
    assert details["first"] == "save: there is no /structuredContent/no in the result"
    assert details["one"] == "${no} has no value: the case that saves it has not"


def test_a_case_answers_the_questions_of_its_call(gaia: Gaia) -> None:
    """Issue: answers to questions; one that is not asked is a difference. Two servers at once have the same cases."""
    demo = {"command": "gaia", "args": ["mcp", "serve", "demo"]}
    gaia.write({"one": demo, "two": demo})
    text = """
checks:
  - {name: asked, tool: order, expect: {answers: {size: small, cups: 2}, contains: 2 small}}
  - {name: declined, tool: order, expect: {text: no coffee}}
  - {name: not asked, tool: attach, expect: {answers: {size: small}}}
"""
    (gaia.cwd / "c.yaml").write_text(text)

    ran = gaia("test-client", "one", "two", "--spec", "c.yaml", "--json")

    for server in (0, 1):
        assert outcomes(ran, server) == {"asked": "ok", "declined": "ok", "not asked": "fail"}
        details = {check["name"]: check["detail"] for check in ran.json["servers"][server]["checks"]}
        assert details["not asked"] == "answers: no question used 'size'"


def test_the_first_of_many_runs_that_fails_is_named(demo: Gaia) -> None:
    """Ours: the runs after it are left out."""
    ran = run(
        demo, "checks: [{tool: note, arguments: {text: x}, repeat: 5, expect: {structured: {result: 1}}}]", "--json"
    )

    (check,) = [check for check in ran.json["servers"][0]["checks"] if check["name"] == "note"]
    assert check["detail"] == "run 2 of 5: structured /result is 2, not 1"


def test_a_case_that_fails_once_is_flaky_with_retries(demo: Gaia) -> None:
    """Issue: none by default; a case that needs one is named."""
    text = "checks: [{tool: note, arguments: {text: x}, expect: {structured: {result: 2}}}]"

    once, again = (run(demo, text, *options, "--json") for options in ([], ["--retries", "2"]))
    few = run(demo, text.replace("2}", "9}"), "--retries", "2", "--json")
    without = demo("test-client", "demo", "--retries", "2")

    assert (once.code, again.code, few.code, without.code) == (9, 0, 9, 2)
    assert outcomes(again) == {"note": "warn"}
    (check,) = [check for check in again.json["servers"][0]["checks"] if check["name"] == "note"]
    assert check["detail"] == "flaky: it has passed in attempt 2; the first one: structured /result is 1, not 2"
    (check,) = [check for check in few.json["servers"][0]["checks"] if check["name"] == "note"]
    assert check["detail"] == "structured /result is 3, not 9"


def test_a_mistake_is_found_before_the_server_is_started(gaia: Gaia) -> None:
    """Issue: with its line, exit code 2."""
    gaia.write({"dead": entry_of("exits-at-once")})

    ran = run(gaia, "checks:\n  - tool: a\n    expct: {}\n", server="dead")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == "error: c.yaml:3: checks[0]: there is no 'expct'\nhint: did you mean 'expect' or 'text'?\n"


def test_the_schema_of_the_format_is_printed(gaia: Gaia) -> None:
    """Issue."""
    assert gaia("test-client", "--spec-schema").json == SCHEMA


def test_a_result_that_does_not_match_its_output_schema_is_a_failure(gaia: Gaia) -> None:
    """MCP, tools: servers must provide structured results that conform to the output schema."""
    gaia.write({"liar": entry_of("breaks-promise")})
    (gaia.cwd / "c.json").write_text(json.dumps({"checks": [{"tool": "count"}]}))

    ran = gaia("test-client", "liar", "--spec", "c.json", "--json")

    assert outcomes(ran) == {"count": "fail"}
    assert "does not match its output schema" in ran.stderr
