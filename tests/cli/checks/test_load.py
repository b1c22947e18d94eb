"""A load: what is wanted, its budgets, and what was measured; and the command line that asks for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.latencies import Latencies
from gaia_mcp.cli.checks.load import Load, LoadWanted, check_local, read_budget, read_load
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.entries import read_entry
from gaia_mcp.fleet.process_usage import Usage
from tests.cli.conftest import entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

LINE = CommandLine(["mcp", "test-client", "demo", "--call", "greet"])
CALL = ("test-client", "demo", "--call", "greet", "name=Ada")


def measured(*milliseconds: float, errors: int = 0, **members: Any) -> Load:
    latencies = Latencies()
    for each in milliseconds:
        latencies.add(each / 1000)
    return Load(1, latencies, errors=errors, **members)


def wanted(called: int = 1, calls: int | None = None, duration: str | None = None, **given: Any) -> LoadWanted | None:
    concurrency, budgets = given.pop("concurrency", None), given.pop("budgets", ())
    return read_load(LINE, called, calls, duration, concurrency, budgets, is_sure=given.pop("is_sure", False))


def test_a_load_has_a_number_of_calls_a_time_or_both() -> None:
    """Ours: the unit of a time is that of an entry, and a bare number is seconds, as of --timeout."""
    assert wanted() is None
    assert wanted(calls=5) == LoadWanted(5, None, 1, [])
    assert wanted(duration="2m", concurrency=4) == LoadWanted(None, 120, 4, [])
    assert wanted(calls=5, duration="90") == LoadWanted(5, 90, 1, [])


@pytest.mark.parametrize(
    "given",
    [
        {"concurrency": 2},
        {"budgets": ["p99=1s"]},
        {"is_sure": True},
        {"calls": 5, "called": 0},
        {"calls": 5, "called": 2},
        {"duration": "0s"},
        {"duration": "2d"},
        {"duration": "soon"},
        {"duration": "-1s"},
        {"duration": ""},
    ],
)
def test_what_cannot_be_a_load_is_a_usage_error(given: dict[str, Any]) -> None:
    """Ours: nothing is started for a line that does not say what is to be done."""
    with pytest.raises(UsageError) as caught:
        wanted(**given)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("typed", "limit"),
    [
        ("p50=50ms", 0.05),
        ("p90=1.5s", 1.5),
        ("p99=0.25ms", 0.00025),
        ("max=2s", 2),
        ("errors=0", 0),
        ("errors=1%", 0.01),
        ("rate=100", 100),
        ("memory=200MB", 200_000_000),
        ("memory=1GB", 1_000_000_000),
        ("memory=8kB", 8000),
    ],
)
def test_a_budget_is_a_limit_with_its_unit(typed: str, limit: float) -> None:
    """Ours: the unit is written, so that 50 cannot be seconds for one person and milliseconds for another."""
    assert read_budget(typed).limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "typed",
    ["p99", "p99=", "p99=50", "p95=50ms", "=50ms", "p99=50MB", "errors=1ms", "rate=1%", "memory=5", "max=-1ms",
     "max=1e3s", "max=NaNms", "speed=5", "p99 = 5ms", "", "p99=5ms\n", "max=1msx", "x" * 5000 + "=1"],
)  # fmt: skip
def test_a_text_that_is_no_budget_is_refused_with_those_that_are_known(typed: str) -> None:
    """Ours: a limit that is misread would never be broken."""
    with pytest.raises(UsageError) as caught:
        read_budget(typed)

    for known in ("p50", "p90", "p99", "max", "errors", "rate", "memory"):
        assert known in caught.value.hint
    assert len(caught.value.message) < 100


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("p50=2ms", ""),
        ("p50=1.9ms", "p50=1.9ms: 2.00 ms"),
        ("max=40ms", ""),
        ("max=39ms", "max=39ms: 40.0 ms"),
        ("errors=2", ""),
        ("errors=1", "errors=1: 2 errors (50.00%), the first: busy"),
        ("errors=50%", ""),
        ("errors=49%", "errors=49%: 2 errors (50.00%), the first: busy"),
        ("rate=8", ""),
        ("rate=8.1", "rate=8.1: 8.0 calls a second"),
        ("memory=30MB", ""),
        ("memory=29.9MB", "memory=29.9MB: 30.0 MB"),
    ],
)
def test_a_budget_is_kept_up_to_its_limit(typed: str, problem: str) -> None:
    """Ours: what was measured is told if it is not."""
    before, after = Usage(10_000_000, 1.0), Usage(30_000_000, 2.0)
    load = measured(1, 2, 3, 40, errors=2, seconds=0.5, first_error="busy", before=before, after=after)

    assert read_budget(typed).problem(load) == problem


def test_a_budget_of_memory_that_is_unknown_is_not_kept() -> None:
    """Ours: a build that relies on it must not pass by itself."""
    assert "not known" in read_budget("memory=1GB").problem(measured(1))


def test_what_was_measured_is_told_in_parts_and_as_json() -> None:
    """Ours: the same in both. What is not known is left out, and null."""
    full = measured(1, 3, errors=1, seconds=2, first_error="busy", before=Usage(10, 1.0), after=Usage(20_000_000, 1.5))
    full.concurrency = 2
    bare = measured(1)

    assert full.parts() == [
        "1 error (50.00%), the first: busy",
        "2 calls in 2.0 s, 2 at a time, 1 a second",
        "p50 1.00 ms, p90 3.00 ms, p99 3.00 ms, max 3.00 ms",
        "memory 0.0 MB, then 20.0 MB, processor time 250 ms a call",
    ]
    assert bare.parts() == ["1 call in 0.0 s, 0 a second", "p50 1.00 ms, p90 1.00 ms, p99 1.00 ms, max 1.00 ms",
                            "no errors"]  # fmt: skip
    assert full.as_object() == {
        "calls": 2,
        "concurrency": 2,
        "seconds": 2,
        "rate": 1.0,
        "milliseconds": {"p50": 1.0, "p90": 3.0, "p99": 3.0, "max": 3.0},
        "exact": True,
        "errors": 1,
        "firstError": "busy",
        "memory": {"before": 10, "after": 20_000_000},
        "processorMilliseconds": 250.0,
    }
    assert bare.as_object()["memory"] == {"before": None, "after": None}
    assert (bare.as_object()["processorMilliseconds"], bare.as_object()["firstError"]) == (None, None)


def test_too_little_processor_time_is_not_told() -> None:
    """Ours: the system counts hundredths of a second, of which a few are chance."""
    load = measured(1, before=Usage(1, 1.0), after=Usage(1, 1.05))

    assert load.processor_seconds is None


@pytest.mark.parametrize(
    ("raw", "is_local"),
    [
        ({"command": "x"}, True),
        ({"url": "http://127.0.0.1:8000/mcp"}, True),
        ({"url": "http://[::1]:8000/mcp"}, True),
        ({"url": "http://LOCALHOST/mcp"}, True),
        ({"url": "https://example.com/mcp"}, False),
        ({"url": "http://127.0.0.1.example.com/mcp"}, False),
        ({"url": "http://127.0.0.1@example.com/mcp"}, False),
        ({"url": "http://192.168.0.7/mcp", "type": "sse"}, False),
        ({"url": "${WHERE}/mcp"}, True),
        ({"url": "${THERE}/mcp"}, False),
        ({"url": "${UNSET_HERE}/mcp"}, True),
    ],
)
def test_a_load_is_for_this_machine(raw: dict[str, Any], is_local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is work for others, who have not agreed. A URL that cannot be used is reported by the check."""
    monkeypatch.setenv("WHERE", "http://localhost:1")
    monkeypatch.setenv("THERE", "http://example.com")
    entries = [read_entry("local", {"command": "x"}, None), read_entry("it", raw, None)]

    if is_local:
        check_local(LINE, entries)
        return
    with pytest.raises(UsageError) as caught:
        check_local(LINE, entries)
    assert "'it' is not on this machine" in caught.value.message
    assert caught.value.hint.endswith("gaia mcp test-client demo --call greet --yes")


# Command lines.


def test_a_load_is_one_more_check(demo: Gaia) -> None:
    """Ours: after all others, with what was measured in the report of each form."""
    ran = demo(*CALL, "--load", "40", "--json", "--junit", "r.xml", "--budget", "errors=0", "--budget", "p99=60s")
    tap = demo(*CALL, "--load", "3", "--tap")
    text = demo(*CALL, "--load", "3", "--concurrency", "2")

    (server,) = ran.json["servers"]
    names = [check["name"] for check in server["checks"]]
    load = next(check for check in server["checks"] if check["name"] == "load")
    assert (ran.code, server["ok"], server["skipped"]) == (0, True, [])
    assert names[names.index("call") :] == ["call", "load", "shutdown", "stdout"]
    assert (load["outcome"], load["request"]) == ("ok", "gaia mcp call demo greet name=Ada")
    assert (load["load"]["calls"], load["load"]["errors"], load["load"]["concurrency"]) == (40, 0, 1)
    assert 0 < load["load"]["milliseconds"]["p50"] <= load["load"]["milliseconds"]["max"]
    assert "40 calls in " in (demo.cwd / "r.xml").read_text()
    assert '  load: {"calls": 3, ' in tap.stdout
    (line,) = [line for line in text.stdout.splitlines() if line.startswith("  ok    load ")]
    assert "3 calls in " in line
    assert ", 2 at a time, " in line
    assert "; p50 " in line
    assert "#" not in text.stdout


def test_a_budget_that_is_not_kept_fails_the_check(demo: Gaia) -> None:
    """Ours: with the exit code of an answer that is not as expected, what was measured, and each budget."""
    budgets = ("--budget", "rate=100000000", "--budget", "errors=0", "--budget", "max=0.000001ms")

    ran = demo(*CALL, "--load", "5", *budgets, "--quiet")
    as_json = demo(*CALL, "--load", "5", *budgets, "--json")

    lines = ran.stdout.splitlines()
    assert (ran.code, lines[0]) == (9, "demo")
    assert lines[1].startswith("  FAIL  load ")
    assert "over budget: rate=100000000: " in lines[1]
    assert lines[2] == "        gaia mcp call demo greet name=Ada"
    assert lines[4].startswith("        max=0.000001ms: ")
    assert lines[5].startswith("        5 calls in ")
    assert ran.errors[0].startswith("error: server 'demo' failed the check 'load': over budget: ")
    assert ran.errors[1] == "hint: try it by hand: gaia mcp call demo greet name=Ada"
    (check,) = [check for check in as_json.json["servers"][0]["checks"] if check["outcome"] == "fail"]
    assert len(check["differences"]) == 2 + len([*check["load"]["memory"]]) + 2
    assert as_json.json["exit"] == 9


def test_a_load_is_skipped_after_a_failure(gaia: Gaia) -> None:
    """Ours: a server that does not work is not worth measuring."""
    gaia.use("prints-banner", "bad-tools")

    ran = gaia("test-client", "bad-tools", "--call", "good", "--load", "3", "--json")

    assert ran.json["servers"][0]["skipped"] == ["load"]
    assert ran.code != 0


def test_wrong_lines_exit_with_2_before_anything_is_started(gaia: Gaia) -> None:
    """Ours: each with what to type instead."""
    gaia.write({"far": {"url": "https://example.invalid/mcp"}, "x": {"command": "no-such-program"}})

    rows = {
        ("x", "--load", "3"): "--load needs a tool to call",
        ("x", "--duration", "3s"): "--duration needs a tool to call",
        ("x", "--call", "a", "--call", "b", "--load", "3"): "--load calls a single tool, and 2 are named",
        ("x", "--call", "a", "--load", "3", "--budget", "p99=3"): "--budget 'p99=3' is not a budget",
        ("x", "--call", "a", "--concurrency", "3"): "--concurrency is for a load",
        ("x", "--call", "a", "--yes"): "--yes is for a load",
        ("x", "--call", "a", "--duration", "1y"): "--duration '1y' is not a duration",
        ("far", "--call", "a", "--load", "3"): "server 'far' is not on this machine, but on 'example.invalid'",
    }
    for words, message in rows.items():
        ran = gaia("test-client", *words)
        assert (ran.code, ran.errors[0], ran.stdout) == (2, f"error: {message}", "")
    assert gaia("test-client", "x", "--call", "a", "--load", "0").code == 2


def test_a_person_who_is_sure_may_put_a_load_on_another_machine(gaia: Gaia) -> None:
    """Ours: here its name is of none, so it is not reached."""
    gaia.write({"far": {"url": "http://example.invalid/mcp"}})

    assert gaia("test-client", "far", "--call", "a", "--load", "3", "--yes", "--timeout", "20").code == 4


def test_several_servers_are_tested_one_after_the_other(gaia: Gaia) -> None:
    """Ours: at once, each would be measured while the others take the processors."""
    notes = {"NOTES": str(gaia.cwd / "notes")}
    servers = {name: entry_of("good-handshake", env={**notes, "SERVER": name}) for name in ("one", "two")}
    gaia.write({**servers, "off": {"command": "x", "disabled": True}})

    ran = gaia("test-client", "--all", "--call", "echo", "--load", "4", "--concurrency", "2")

    noted = (gaia.cwd / "notes").read_text().splitlines()
    assert [line for line in noted if line.startswith(("initialize", "tools/call"))] == 2 * [
        "initialize",
        *["tools/call echo"] * 5,
    ]
    assert (ran.code, ran.stdout.count("4 calls in ")) == (0, 2)


def test_a_held_server_is_started_for_a_load(keeping: Gaia) -> None:
    """Ours: through its keeper, both would be measured."""
    keeping.use("remembers")
    assert keeping("up", "remembers").code == 0

    ran = keeping("test-client", "remembers", "--call", "pid", "--load", "3", "--json")

    checks = {check["name"]: check for check in ran.json["servers"][0]["checks"]}
    assert ran.code == 0
    assert {"start", "load", "shutdown"} <= checks.keys()
    (held,) = json.loads(keeping("ps", "--json").stdout)["servers"]
    assert held["calls"] == 0
    keeping("down", "--all")


def test_a_picture_follows_on_a_terminal(demo: Gaia) -> None:
    """Ours: at a glance, on any width. A log, and a person who wants less, get the line alone."""
    shown, code = run_on_terminal(demo, *CALL, "--load", "30", width=50)
    quiet, _ = run_on_terminal(demo, *CALL, "--load", "30", "--quiet", "--budget", "rate=100000000")

    bars = [line for line in shown.splitlines() if line.lstrip().startswith("<= ")]
    assert code == 0
    assert bars
    assert all(len(line) <= 50 for line in bars)
    assert any(line.startswith("        p50 ") for line in shown.splitlines())
    assert "<= " not in quiet
    assert "over budget" in quiet
