"""The calls of a load, with servers that do not stay as they were."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.load import LoadWanted
from gaia_mcp.cli.checks.load_runs import LoadRun, LoadView, load_check
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.screen.session_view import ASCII_SHAPES
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import ConnectionLostError, NotConnectedError, PeerError, StatusError
from gaia_mcp.fleet.session import connected
from tests.cli.conftest import entry_of, run_on_terminal
from tests.client.transports.http.web import Answer, Asked, as_json, serving
from tests.fleet.conftest import QUIET
from tests.waiting import ENOUGH_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Gaia

DONE: dict[str, Any] = {"content": []}


def run_of(call: Callable[[], dict[str, Any]], wanted: LoadWanted, clock: Clock | None = None) -> LoadRun:
    run = LoadRun(call, None, wanted, **({"clock": clock} if clock is not None else {}))
    run.run()
    return run


@pytest.mark.parametrize("concurrency", [1, 4])
def test_as_many_calls_are_made_as_are_wanted(concurrency: int) -> None:
    """Ours: also by several callers; no more of them than calls."""
    made: list[None] = []

    def call() -> dict[str, Any]:
        made.append(None)
        return DONE

    load = run_of(call, LoadWanted(10, None, concurrency)).load
    few = run_of(call, LoadWanted(2, None, 8)).load

    assert (len(made), load.calls, load.errors, load.concurrency) == (12, 10, 0, concurrency)
    assert (few.calls, few.concurrency) == (2, 2)


def test_calls_are_made_until_the_time_is_over() -> None:
    """Ours: or the number is reached. The share of what is over is that of the one that comes first."""
    clock = Clock()
    shares: list[float] = []

    def call() -> dict[str, Any]:
        clock.now += 1
        shares.append(run.share())
        return DONE

    run = LoadRun(call, None, LoadWanted(100, 5), clock=clock)
    run.run()
    run_all = LoadRun(call, None, LoadWanted(2, 60), clock=clock)
    run_all.run()

    assert (run.load.calls, run.load.seconds, run.load.rate) == (5, 5, 1)
    assert shares[:5] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert (run_all.load.calls, run_all.share()) == (2, 1.0)
    assert run.load.latencies.longest == 1


def test_errors_of_a_server_are_counted() -> None:
    """Ours: an error response, a refusal by status, and a failure of the tool. The first of each is kept."""
    outcomes: list[Any] = [
        PeerError("s", "tools/call", -32000, "busy"),
        StatusError("s", "answered with status 503", 503),
        {"isError": True, "content": [{"type": "text", "text": "no"}]},
        DONE,
    ]

    def call() -> dict[str, Any]:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        found: dict[str, Any] = outcome
        return found

    run = run_of(call, LoadWanted(4, None))

    assert (run.load.calls, run.load.errors, run.problem) == (4, 3, None)
    assert isinstance(run.refusal, PeerError)
    assert run.failure is not None


@pytest.mark.parametrize("concurrency", [1, 3])
def test_any_other_error_ends_the_calls(concurrency: int) -> None:
    """Ours: of several callers, the reason is that of the first, not that the others find no connection."""
    made: list[None] = []

    def call() -> dict[str, Any]:
        made.append(None)
        if len(made) == 5:
            raise NotConnectedError("s")
        if len(made) > 5 or (concurrency == 1 and len(made) == 4):
            raise ConnectionLostError("gone", server="s")
        return DONE

    run = run_of(call, LoadWanted(None, 86_400, concurrency))

    assert isinstance(
        run.problem, ConnectionLostError if concurrency == 1 else (ConnectionLostError, NotConnectedError)
    )
    assert run.load.calls >= 3


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_bug_is_raised(concurrency: int) -> None:
    """Ours: it is no error of the server."""

    def call() -> dict[str, Any]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_of(call, LoadWanted(9, None, concurrency))


def test_the_progress_line_shows_the_calls() -> None:
    """Ours: a long load must not look as if it hangs."""
    run = LoadRun(lambda: DONE, None, LoadWanted(4, None))
    run._count(0.1, DONE, None)

    shown = LoadView(Screen(CommandLine([])), "greet", run).line(0.8, 100, ASCII_SHAPES)

    assert shown.startswith("- calling greet #####....")
    assert shown.endswith(" 25/100: 1 calls, 0 failed")


# Command lines.

LOAD = ("--call", "echo", "--load", "60", "--timeout", "60")


def checks(ran: Any) -> dict[str, Any]:
    (server,) = ran.json["servers"]
    return {check["name"]: check for check in server["checks"]}


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_a_server_that_dies_in_the_middle_is_not_started_again(gaia: Gaia, concurrency: str) -> None:
    """Ours: it fails with the exit code of a lost connection, what it has said, and what was measured before."""
    notes = gaia.cwd / "notes"
    gaia.write({"w": entry_of("wears-out", "dies", "21", env={"NOTES": str(notes)})})

    ran = gaia("test-client", "w", *LOAD, "--concurrency", concurrency, "--json", "--junit", "r.xml")

    load = checks(ran)["load"]
    assert (ran.code, load["outcome"], load["error"]["kind"]) == (4, "fail", "exited")
    assert "out of memory" in load["detail"]
    assert load["load"]["calls"] == 20
    assert load["differences"][0].startswith("20 calls in ")
    assert notes.read_text().splitlines().count("initialize") == 1
    assert "out of memory" in (gaia.cwd / "r.xml").read_text()


def test_a_server_that_hangs_in_the_middle_is_a_timeout(gaia: Gaia) -> None:
    """Ours: each call has the time of any request."""
    gaia.write({"w": entry_of("wears-out", "hangs", "21", timeout=5)})

    ran = gaia("test-client", "w", "--call", "echo", "--load", "60", "--json")

    load = checks(ran)["load"]
    assert (ran.code, load["outcome"], load["load"]["calls"]) == (5, "fail", 20)
    assert load["detail"].endswith("did not answer tools/call 'echo' within 5 s")


def test_an_invalid_response_ends_the_load(gaia: Gaia) -> None:
    """Ours: with the exit code of a broken protocol."""
    gaia.write({"w": entry_of("wears-out", "garbles", "21")})

    ran = gaia("test-client", "w", *LOAD, "--json")

    load = checks(ran)["load"]
    assert (ran.code, load["outcome"], load["load"]["calls"]) == (6, "fail", 20)
    assert "not valid JSON" in load["detail"]


@pytest.mark.parametrize(("what", "code"), [("refuses", 6), ("fails", 9)])
def test_errors_are_a_warning_unless_all_calls_fail_or_a_budget_says_so(gaia: Gaia, what: str, code: int) -> None:
    """Ours: a busy server may refuse some; one that answers none does not work. No secret is printed."""
    env = {"API_KEY": "hunter2-hunter2"}
    gaia.write({"some": entry_of("wears-out", what, "31", env=env), "all": entry_of("wears-out", what, "1", env=env)})

    some = gaia("test-client", "some", *LOAD, "--json")
    every = gaia("test-client", "all", *LOAD, "--json")
    allowed = gaia("test-client", "all", *LOAD, "--budget", "errors=100%", "--json")
    strict = gaia("test-client", "some", *LOAD, "--budget", "errors=10%", "--json")

    assert [ran.code for ran in (some, every, allowed, strict)] == [0, code, 0, 9]
    assert [checks(ran)["load"]["outcome"] for ran in (some, every, allowed, strict)] == ["warn", "fail", "ok", "fail"]
    first = {"refuses": "error -32000: no more calls for ****", "fails": "busy with ****"}[what]
    assert (checks(some)["load"]["load"]["errors"], checks(some)["load"]["load"]["firstError"]) == (30, first)
    assert checks(some)["load"]["detail"].startswith(f"30 errors (50.00%), the first: {first}; 60 calls in ")
    assert checks(every)["load"]["detail"] == f"all calls failed: {first}" or code == 6
    assert "hunter2" not in "".join(ran.stdout + ran.stderr for ran in (some, every, allowed, strict))


def test_a_ctrl_c_prints_what_was_measured_so_far(gaia: Gaia) -> None:
    """Ours: the minutes before it are not lost. Nothing is left running."""
    notes = gaia.cwd / "notes"
    gaia.write({"g": entry_of("good-stateless", env={"NOTES": str(notes)})})
    running = gaia.popen("test-client", "g", "--call", "echo", "--duration", "600s", "--concurrency", "2")
    wait_until(lambda: notes.exists() and notes.read_text().count("tools/call") > 20)

    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=ENOUGH_SECONDS)

    assert (running.returncode, err) == (130, b"")
    (line,) = [line for line in out.decode().splitlines() if line.startswith("  skip  load ")]
    assert " interrupted; " in line
    assert " calls in " in line


@pytest.mark.story
def test_a_server_that_cannot_be_reached_any_more_fails_its_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it may have exited after the check before. The report is written all the same."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    with connected(read_entry("g", entry_of("good-handshake"), None), QUIET) as session:
        tool = session.find_tool("echo")
        assert tool is not None
        session.close(ENOUGH_SECONDS)

        check = load_check(Screen(CommandLine([])), session, tool, {}, LoadWanted(3, None), is_watched=False)

    assert (check.outcome, check.load) == ("FAIL", None)
    assert isinstance(check.error, NotConnectedError)


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_a_server_behind_a_url_is_called_by_a_thread_for_each(gaia: Gaia, concurrency: str) -> None:
    """Ours: each response has a stream of its own. A status is counted; its memory is not known."""
    served: list[None] = []

    def answer(asked: Asked) -> Answer:
        method = asked.message["method"]
        if method == "tools/call":
            served.append(None)
            if len(served) == 4:
                return Answer(503)
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}},
            "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": []},
            "ping": {},
        }
        if "id" not in asked.message:
            return Answer(202)
        if method not in results:
            return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": {"code": -32601, "message": "no"}})
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": results[method]})

    with serving(answer) as web:
        ran = gaia("test-client", web.url, "--call", "t", "--load", "12", "--concurrency", concurrency, "--json")

    load = checks(ran)["load"]
    assert (ran.code, load["outcome"]) == (0, "warn")
    assert (load["load"]["calls"], load["load"]["errors"]) == (12, 1)
    assert "503" in load["load"]["firstError"]
    assert load["load"]["memory"] == {"before": None, "after": None}


def test_a_tool_that_asks_is_answered_in_each_call(gaia: Gaia) -> None:
    """Ours: with the answers of the line, in both eras, by the same rules as of one call."""
    gaia.write({"demo": {"command": "gaia", "args": ["mcp", "serve", "demo"]}})
    words = ("test-client", "demo", "--call", "order", "--load", "6", "--concurrency", "3", "--answer", "size=large")

    for more in ((), ("--protocol", "2025-11-25")):
        ran = gaia(*words, *more, "--json")
        assert (ran.code, checks(ran)["load"]["load"]["errors"]) == (0, 0), ran.stdout


def test_the_command_line_of_a_call_is_short_and_has_no_secret(demo: Gaia) -> None:
    """Ours: it would be most of the report, which others read."""
    name = "A" * 300
    long = demo("test-client", "demo", "--call", "greet", f"name={name}", "--load", "2", "--json")
    typed = demo("test-client", "demo", "--call", "add", "a=1", "b=2", "--load", "2", "--json")
    demo.use("good-handshake")
    secret = demo("test-client", "good-handshake", "--call", "echo", "api_key=hunter22", "--load", "2", "--json")

    assert checks(long)["load"]["request"] == "gaia mcp call demo greet --help"
    assert checks(typed)["load"]["request"] == "gaia mcp call demo add a:=1 b:=2"
    assert "api_key=" in checks(secret)["load"]["request"]
    assert "hunter22" not in checks(secret)["load"]["request"]


def test_a_failure_on_a_terminal_has_the_picture_too(gaia: Gaia) -> None:
    """Ours: there it is seen whether a few calls were slow, or all."""
    gaia.write({"w": entry_of("wears-out", "dies", "30")})

    shown, code = run_on_terminal(gaia, "test-client", "w", *LOAD)

    assert code == 4
    assert "        29 calls in " in shown
    assert "<= " in shown


def test_the_locked_tools_and_the_cases_come_first(demo: Gaia) -> None:
    """Ours: a load is the last thing that is done with a server."""
    (demo.cwd / "c.json").write_text(json.dumps({"checks": [{"name": "bad", "tool": "fail"}]}))

    ran = demo("test-client", "demo", "--call", "greet", "name=A", "--spec", "c.json", "--load", "3", "--json")

    assert (ran.code, ran.json["servers"][0]["skipped"]) == (9, ["load"])
