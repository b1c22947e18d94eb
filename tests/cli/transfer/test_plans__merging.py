"""What an import would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gaia_mcp.cli.transfer.plans import Found, Step, differences, plan
from gaia_mcp.hosts.files import Place
from gaia_mcp.hosts.known import HOSTS

OURS = Path("/home/ada/.gaia/mcp_servers.json")
CURSOR, CODEX = Path("/c/mcp.json"), Path("/x/config.toml")
A, B = {"command": "x", "args": ["a"]}, {"command": "x", "args": ["b"]}


def found(name: str, entry: dict[str, Any], path: Path = CURSOR, reason: str = "") -> Found:
    host = HOSTS["cursor"]
    return Found(name, name, Place(host, path, host.layout, "user"), entry, reason=reason)


def outcomes(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.name, step.outcome) for step in steps]


def test_a_server_is_new_the_same_or_in_conflict() -> None:
    """Ours: only a new server is saved without a question."""
    steps = plan([found("n", A), found("s", A), found("c", A)], {"s": A, "c": B}, OURS)
    assert outcomes(steps) == [("n", "new"), ("s", "same"), ("c", "conflict")]
    assert [step.is_saved for step in steps] == [True, False, False]
    assert (steps[2].differs, steps[2].against) == (["args"], OURS)


def test_with_force_a_conflict_is_replaced() -> None:
    """Ours; what is the same is left alone."""
    steps = plan([found("s", A), found("c", A)], {"s": A, "c": B}, OURS, force=True)
    assert outcomes(steps) == [("s", "same"), ("c", "replaced")]
    assert steps[1].entry == A


def test_members_that_do_not_say_how_a_server_is_reached_survive_a_replacement() -> None:
    """Ours: a host that knows no switch has not switched it on; nor is a note of ours the host's to forget."""
    ours = {"url": "https://h", "headers": {"A": "b"}, "type": "sse", "timeout": 5, "disabled": True, "x_mine": 1}
    (kept,) = plan([found("s", A)], {"s": ours}, OURS, force=True)
    (said,) = plan([found("s", {**A, "timeout": 9})], {"s": ours}, OURS, force=True)
    (was_none,) = plan([found("s", A)], {"s": "rubbish"}, OURS, force=True)
    assert kept.entry == {**A, "timeout": 5, "disabled": True, "x_mine": 1}
    assert list(kept.entry) == ["timeout", "disabled", "x_mine", "command", "args"]
    assert said.entry == {**kept.entry, "timeout": 9}
    assert was_none.entry == A


def test_the_same_server_of_two_hosts_is_one_step_or_a_conflict() -> None:
    """Ours: of two that differ neither is chosen; with force it is the first."""
    agreeing = [found("n", A), found("n", A, CODEX)]
    differing = [found("n", A), found("n", B, CODEX), found("n", B, OURS)]

    (same,) = plan(agreeing, {}, OURS)
    (conflict,) = plan(differing, {}, OURS)
    (forced,) = plan(differing, {}, OURS, force=True)

    assert (same.outcome, [one.place.path for one in same.sources]) == ("new", [CURSOR, CODEX])
    assert (conflict.outcome, conflict.differs, conflict.against) == ("conflict", ["args"], CODEX)
    assert (forced.outcome, forced.entry) == ("new", A)


def test_of_two_hosts_the_one_that_differs_from_ours_is_named() -> None:
    """Ours: to take the other would change nothing."""
    (step,) = plan([found("n", A), found("n", B, CODEX)], {"n": A}, OURS)
    (forced,) = plan([found("n", A), found("n", B, CODEX)], {"n": A}, OURS, force=True)
    assert (step.outcome, step.differs, step.against, step.entry) == ("conflict", ["args"], OURS, B)
    assert [one.place.path for one in step.sources] == [CODEX, CURSOR]
    assert (forced.outcome, len(forced.sources)) == ("same", 2)


def test_a_member_that_a_host_cannot_hold_is_not_a_difference() -> None:
    """Ours: between ours and a host's, and between two hosts'; the second of them is asked."""

    def as_held_by(one: Found, entry: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in entry.items() if key != "cwd" or one.place.path != CURSOR}

    rich = {**A, "cwd": "/w"}
    own = plan([found("n", A), found("n", rich, CODEX)], {"n": rich}, OURS, as_held_by=as_held_by)
    two = plan([found("n", rich, CODEX), found("n", A)], {}, OURS, as_held_by=as_held_by)
    real = plan([found("n", B)], {"n": rich}, OURS, as_held_by=as_held_by)
    assert outcomes([*own, *two, *real]) == [("n", "same"), ("n", "new"), ("n", "conflict")]
    assert (two[0].entry, real[0].differs) == (rich, ["args"])


def test_an_entry_that_cannot_be_converted_is_a_step_of_its_own() -> None:
    """Ours: another host's server of that name is not held up by it."""
    steps = plan([found("n", {}, reason="no object"), found("n", A, CODEX)], {}, OURS)
    assert outcomes(steps) == [("n", "left"), ("n", "new")]
    assert (steps[0].reason, steps[0].is_saved) == ("no object", False)


def test_only_members_that_identify_a_server_are_a_difference() -> None:
    """Ours: not a switch, not a timeout, not how the same program is written."""
    cases = [
        (A, {**A, "env": {}, "disabled": True, "timeout": 5, "x_mine": 1}, []),
        ({"command": "x"}, {"command": "x", "args": []}, []),
        ({"command": "x a"}, A, []),
        ({"command": "x  a b"}, A, ["args"]),
        ({"command": "/usr/bin/npx", "args": []}, {"command": "npx", "args": []}, []),
        ({"command": "npx"}, {"command": "uvx"}, ["command"]),
        ({"url": "https://h", "type": "http"}, {"url": "https://h"}, []),
        ({"url": "https://h", "type": "sse"}, {"url": "https://h"}, ["type"]),
        (
            {"url": "https://h", "headers": {"A": "1", "B": "2"}},
            {"url": "https://h", "headers": {"A": "2"}},
            ["headers A", "headers B"],
        ),
        ({**A, "env": {"K": "v"}, "cwd": "/w"}, {**A, "env": "rubbish"}, ["cwd", "env K"]),
        (A, "rubbish", ["everything"]),
        ({"command": 5}, {"command": ""}, ["command"]),
    ]

    which = {"npx": "/usr/bin/npx", "/usr/bin/npx": "/usr/bin/npx"}.get
    wrong = []
    for one, other, differs in cases:
        found, reverse = differences(one, other, which), differences(other, one, which)
        if (found, sorted(reverse)) != (differs, sorted(differs)):
            wrong.append((one, other, found, reverse))

    assert not wrong


def test_entries_with_different_tool_filters_differ() -> None:
    """Ours: what is excluded there could be called here; a host that excludes nothing does not say that all are wanted.
    The order of names means nothing.
    """
    one, other = {**A, "includeTools": ["a", "b"]}, {**A, "includeTools": ["b", "a"], "excludeTools": []}

    assert differences(one, other) == []
    assert differences(one, A) == []
    assert differences(A, {**A, "excludeTools": ["a"]}) == ["excludeTools"]
    assert differences(A, {**A, "includeTools": []}) == ["includeTools"]


def test_a_conflicting_filter_is_replaced_and_any_other_stays() -> None:
    """Ours: the entry is then the one that was asked for, and no choice is lost that the host has not made."""
    ours = {**A, "includeTools": ["a"], "timeout": 5}
    (same,) = plan([found("s", A)], {"s": ours}, OURS)
    (conflict,) = plan([found("s", {**A, "excludeTools": ["b"]})], {"s": ours}, OURS)
    (replaced,) = plan([found("s", {**A, "excludeTools": ["b"]})], {"s": ours}, OURS, force=True)
    (kept,) = plan([found("s", B)], {"s": ours}, OURS, force=True)

    assert same.outcome == "same"
    assert (conflict.outcome, conflict.differs) == ("conflict", ["includeTools", "excludeTools"])
    assert (replaced.outcome, replaced.entry) == ("replaced", {**A, "excludeTools": ["b"], "timeout": 5})
    assert kept.entry == {**B, "includeTools": ["a"], "timeout": 5}
