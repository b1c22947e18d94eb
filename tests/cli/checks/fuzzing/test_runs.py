"""`gaia mcp test-client --fuzz` with real servers: what is found, and how it is repeated."""

from __future__ import annotations

import json
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.fuzzing import FuzzWanted
from gaia_mcp.cli.checks.fuzzing.runs import is_chosen
from gaia_mcp.client.tools import MCPTool
from tests.cli.conftest import entry_of
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Gaia, Ran


TARGETS = Path(__file__).parents[3] / "servers" / "fuzz_targets.py"


def fuzz(gaia: Gaia, tool: str, *options: str, calls: int = 60, timeout: float = 20) -> Ran:
    """Fuzz a single tool of `fuzz_targets`, which the server has alone."""
    entry = entry_of("fuzz-targets", tool, timeout=timeout, env={"NOTES": str(gaia.cwd / "notes")})
    gaia.write({"t": entry})
    return gaia("test-client", "t", "--fuzz", str(calls), "--seed", "7", "--json", *options)


def checks(ran: Ran) -> dict[str, dict[str, Any]]:
    (server,) = ran.json["servers"]
    return {check["name"]: check for check in server["checks"] if check["name"].startswith("fuzz")}


def typed(request: str) -> list[str]:
    """The words after `gaia mcp`."""
    words = shlex.split(request)
    assert words[:2] == ["gaia", "mcp"]
    return words[2:]


def arguments_of(request: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in typed(request)[3:]:
        key, _, value = word.partition("=")
        if key != "--unchecked":
            found[key.removesuffix(":")] = json.loads(value) if key.endswith(":") else value
    return found


def noted(gaia: Gaia) -> list[str]:
    return (gaia.cwd / "notes").read_text().splitlines()


def test_a_good_server_has_no_findings(gaia: Gaia) -> None:
    """Issue: a server that does what its schemas say passes, whatever is generated."""
    for tool in ("good", "tree"):
        ran = fuzz(gaia, tool, calls=150)

        found = checks(ran)
        assert (ran.code, ran.stderr) == (0, ""), found
        assert not any("request" in check for check in found.values()), found
        assert found["fuzz"]["detail"] == "seed 7, 150 calls of 1 tool each"
        assert {name: check["outcome"] for name, check in found.items()} == {"fuzz": "ok", f"fuzz {tool}": "ok"}
        assert found[f"fuzz {tool}"]["detail"].startswith("150 calls, ")
        assert noted(gaia).count(f"tools/call {tool}") == 150
        (gaia.cwd / "notes").unlink()


def test_the_demo_has_no_findings(demo: Gaia) -> None:
    """Ours: our own server is an example of a good one, for the tools that it marks as read-only."""
    ran = demo("test-client", "demo", "--fuzz", "100", "--seed", "3")

    lines = ran.stdout.splitlines()
    assert (ran.code, ran.stderr) == (0, "")
    assert [line.split()[:3] for line in lines if " fuzz " in line] == [
        ["ok", "fuzz", "0.000"],
        *(["ok", "fuzz", name] for name in ("greet", "add", "picture", "sound", "attach")),
    ]
    assert "seed 3, 100 calls of 5 tools each; not read-only, so left out: fail, countdown" in ran.stdout


@pytest.mark.parametrize(
    ("tool", "code", "is_to_blame", "said"),
    [
        ("exits", 4, lambda given: given == {"text": ""}, "exited with status 3 while answering tools/call 'exits'"),
        (
            "fails",
            6,
            lambda given: max(given["text"]) > "\uffff",
            "error -32603: 'utf-16' codec",
        ),
        (
            "breaks",
            6,
            lambda given: given["n"] < 0,
            " is less than the minimum of 0",
        ),
        ("writes", 6, lambda given: given == {"n": 0}, "to stdout that are not MCP, the first: 'found nothing'"),
    ],
)
def test_a_failure_is_made_smaller_and_can_be_typed(
    gaia: Gaia, tool: str, code: int, is_to_blame: Callable[[dict[str, Any]], bool], said: str
) -> None:
    """Issue: the request reproduces what was seen, and the exit code is that of its kind. How small the arguments get
    is a matter of time; `test_engine` is about that.
    """
    ran = fuzz(gaia, tool)

    check = checks(ran)[f"fuzz {tool}"]
    again = gaia(*typed(check["request"]))
    assert (ran.code, check["outcome"]) == (code, "fail")
    assert said in check["detail"]
    assert is_to_blame(arguments_of(check["request"]))
    assert check["differences"][0].startswith("seen in call ")
    assert check["differences"][0].endswith(" with seed 7")
    assert "60 calls, " in check["differences"][1]
    # A remark about the result, for what `call` does not take for a failure.
    assert again.code == (0 if tool in ("breaks", "writes") else code)
    assert said.partition("answering")[0][-20:] in again.stderr or "found nothing" in again.stderr


def test_a_call_that_hangs_is_a_timeout(gaia: Gaia) -> None:
    """Issue: the time for a call is that of the entry; a server that hangs is started again."""
    ran = fuzz(gaia, "hangs", calls=30, timeout=1)

    check = checks(ran)["fuzz hangs"]
    again = gaia(*typed(check["request"]))
    assert (ran.code, check["outcome"]) == (5, "fail")
    assert "did not answer tools/call 'hangs' within 1 s" in check["detail"]
    assert arguments_of(check["request"])["n"] > 1000
    assert again.code == 5


def test_growth_of_memory_is_a_failure(gaia: Gaia) -> None:
    """Issue: a server that keeps what every call needs. A single call does not show it, so all are repeated."""
    ran = fuzz(gaia, "grows", calls=200)

    check = checks(ran)["fuzz grows"]
    again = gaia(*typed(check["request"]), "--json")
    assert (ran.code, check["outcome"]) == (1, "fail")
    assert check["detail"].startswith("server 't' grew by 1")
    assert check["request"] == "gaia mcp test-client t --fuzz 200 --seed 7 --tool grows"
    assert checks(again)["fuzz grows"]["outcome"] == "fail"


@pytest.mark.parametrize(
    ("tool", "said", "is_to_blame"),
    [
        ("accepts", "accepted invalid arguments: 'size' is missing", lambda given: given == {}),
        (
            "refuses",
            "refused arguments that match its schema: five characters at most",
            lambda given: len(given["text"]) > 5,
        ),
    ],
)
def test_another_idea_of_the_schema_is_a_warning(
    gaia: Gaia, tool: str, said: str, is_to_blame: Callable[[dict[str, Any]], bool]
) -> None:
    """Ours: servers check more than their schema says, or less. `--unchecked` sends what the schema refuses."""
    ran = fuzz(gaia, tool, calls=100)

    check = checks(ran)[f"fuzz {tool}"]
    again = gaia(*typed(check["request"]))
    assert (ran.code, check["outcome"], check["detail"]) == (0, "warn", said)
    assert is_to_blame(arguments_of(check["request"]))
    assert again.code == (0 if tool == "accepts" else 6)


def test_a_warning_is_printed_with_its_request(gaia: Gaia) -> None:
    """Ours: it appears only here."""
    gaia.write({"t": entry_of("fuzz-targets", "accepts")})

    ran = gaia("test-client", "t", "--fuzz", "50", "--seed", "7")

    lines = ran.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  warn  fuzz accepts"))
    assert lines[at + 1] == "        gaia mcp call t accepts --unchecked"


def test_a_failure_that_one_call_does_not_show_is_repeated_with_the_seed(gaia: Gaia) -> None:
    """Ours: a server may fail after many calls. The line repeats them all."""
    ran = fuzz(gaia, "exits_at_last")

    check = checks(ran)["fuzz exits_at_last"]
    assert check["outcome"] == "fail", check
    again = gaia(*typed(check["request"]), "--json")
    assert check["request"] == "gaia mcp test-client t --fuzz 60 --seed 7 --tool exits_at_last"
    assert check["differences"][0].endswith("; the same call alone does not show it")
    assert checks(again)["fuzz exits_at_last"]["outcome"] == "fail"


def test_a_tool_that_changes_something_is_called_by_name_alone_and_never_twice(gaia: Gaia) -> None:
    """Issue: neither read-only nor idempotent: no call is repeated, and nothing is made smaller."""
    refused = fuzz(gaia, "deletes")
    calls = noted(gaia).count("tools/call deletes")
    ran = fuzz(gaia, "deletes", "--tool", "del*")

    check = checks(ran)["fuzz deletes"]
    assert (refused.code, calls) == (2, 0)
    assert refused.json["servers"][0]["checks"][-3]["detail"] == "no tool of 't' is marked as read-only"
    assert (ran.code, check["outcome"]) == (6, "fail")
    assert noted(gaia).count("tools/call deletes") == 60
    assert "0" in arguments_of(check["request"])["text"]


def test_unsafe_calls_all_tools(gaia: Gaia) -> None:
    """Issue: those that change something too."""
    ran = fuzz(gaia, "deletes", "--unsafe", calls=5)

    assert "fuzz deletes" in checks(ran)


def test_tools_are_chosen_by_patterns_or_by_their_hint() -> None:
    """Issue: read-only ones, all with --unsafe, or those that are named."""
    reads = MCPTool("read_all", "", {}, {"readOnlyHint": True})
    says_nothing = MCPTool("read_one", "", {})
    writes = MCPTool("delete", "", {}, {"readOnlyHint": False})
    wanted = FuzzWanted(1, 1)

    def chosen(wanted: FuzzWanted) -> list[str]:
        return [tool.name for tool in (reads, says_nothing, writes) if is_chosen(tool, wanted)]

    assert chosen(wanted) == ["read_all"]
    assert chosen(wanted._replace(is_unsafe=True)) == ["read_all", "read_one", "delete"]
    assert chosen(wanted._replace(patterns=["read_*"])) == ["read_all", "read_one"]
    assert chosen(wanted._replace(patterns=["delete", "read_one"], is_unsafe=True)) == ["read_one", "delete"]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("vague", "its input schema: it refers to 'https://example.com/a.json', which is not part of it"),
        ("vast", "its input schema: no arguments within the limits of size and depth match it"),
    ],
)
def test_a_schema_that_cannot_be_used_is_skipped(gaia: Gaia, tool: str, said: str) -> None:
    """Issue: with the reason."""
    check = checks(fuzz(gaia, tool))[f"fuzz {tool}"]

    assert check["outcome"] == "skip"
    assert said in check["detail"]


def test_the_same_seed_makes_the_same_calls(gaia: Gaia) -> None:
    """Issue: a run can be repeated, since its seed is printed."""
    entry = entry_of("fuzz-targets", "refuses")
    gaia.write({"t": entry})

    def seen(*options: str) -> tuple[str, str]:
        found = checks(gaia("test-client", "t", "--fuzz", "40", "--json", *options))
        return found["fuzz"]["detail"], json.dumps([found["fuzz refuses"][key] for key in ("request", "differences")])

    detail, first = seen()
    seed = detail.split()[1].rstrip(",")
    again, second = seen("--seed", seed)

    assert (again, second.replace(seed, "")) == (detail, first.replace(seed, ""))


def test_what_is_left_at_the_timeout_is_skipped(gaia: Gaia) -> None:
    """Ours: `--timeout` is for all steps together; what it ends is no finding."""
    gaia.write({"t": entry_of("fuzz-targets", "good", "hangs", "fails", timeout=60)})

    ran = gaia("test-client", "t", "--fuzz", "20", "--seed", "7", "--timeout", "8", "--json")

    (server,) = ran.json["servers"]
    assert "fuzz fails" in server["skipped"]
    assert "the time of --timeout is up" in json.dumps(checks(ran)["fuzz hangs"])
    assert ran.code == 0


def test_a_server_without_tools_is_skipped(gaia: Gaia) -> None:
    """Ours: with --all it is one of many."""
    gaia.use("declares-no-tools")

    ran = gaia("test-client", "declares-no-tools", "--fuzz", "5", "--json")

    assert checks(ran)["fuzz"]["outcome"] == "skip"


def test_a_server_that_cannot_be_started_again_ends_the_run(gaia: Gaia) -> None:
    """Ours: the other tools are skipped, with the reason."""
    own = gaia.cwd / "server.py"
    own.write_text(
        "import os, sys\n"
        f"os.path.exists('once') and sys.exit(7)\n"
        "open('once', 'w').close()\n"
        f"sys.argv = ['x', 'exits', 'good']\nsys.path.insert(0, {str(TARGETS.parent)!r})\n"
        f"exec(open({str(TARGETS)!r}).read())\n"
    )
    gaia.write({"t": {"command": entry_of("fuzz-targets")["command"], "args": [str(own)], "cwd": str(gaia.cwd)}})

    ran = gaia("test-client", "t", "--fuzz", "20", "--seed", "7", "--tool", "exits", "--tool", "good", "--json")

    names = [check["name"] for check in ran.json["servers"][0]["checks"]]
    assert ran.code == 4
    assert "fuzz good" in names or "fuzz good" in ran.json["servers"][0]["skipped"]


def test_ctrl_c_ends_it_and_leaves_nothing_running(gaia: Gaia) -> None:
    """Issue: exit code 130."""
    notes = gaia.cwd / "notes"
    gaia.write({"t": entry_of("fuzz-targets", "good", "tree", env={"NOTES": str(notes)})})
    process = gaia.popen("test-client", "t", "--fuzz", "100000")
    wait_until(lambda: notes.exists() and "tools/call good" in notes.read_text())

    process.send_signal(signal.SIGINT)

    _, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert (process.returncode, err) == (130, b"")
    assert not (gaia.cwd / ".hypothesis").exists()
