"""Servers that break one requirement each, and the list of requirements itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import MCPError
from gaia_mcp.requirements import judged
from gaia_mcp.requirements.listed import REQUIREMENTS, Judgement
from tests.requirements.breaking_site import breaking_site
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.config.entries import ServerEntry

pytestmark = pytest.mark.story

TESTS = Path(__file__).parents[1]
STATELESS, HANDSHAKE, BATCHING = "2026-07-28", "2025-11-25", "2025-03-26"
OF_BOTH = {"B-1", "B-2", "B-3", "B-4", "B-6", "B-7", "B-9", "B-14", "IO-2", "IO-6"}
# Those of each revision over stdio.
SEEN = {
    HANDSHAKE: OF_BOTH - {"B-6", "B-7"} | {"LC-3", "LC-4", "LS-1", "LS-2", "LS-10"},
    STATELESS: OF_BOTH - {"B-6", "B-7"}
    | {"MS-1", "MS-2", "MS-3", "MS-5", "MS-6", "MS-11", "MS-12", "MS-13", "MS-14", "MS-15", "MS-17", "MS-21"},
}
# What only HTTP shows.
SEEN_OVER_HTTP = {HANDSHAKE: {"LS-3", "LS-4", "LS-5"}, STATELESS: {"HS-1", "HS-2", "HS-3", "HS-5", "HS-6", "HS-7"}}
# Those that nothing shows in a server that breaks none.
ONLY_BROKEN = {"B-6", "B-7", "MS-7", "MS-8"}


def breaker(rule: str) -> ServerEntry:
    """A server that breaks one rule."""
    script = str(TESTS / "servers" / "breaks_rule.py")
    return read_entry("breaker", {"command": sys.executable, "args": ["-S", "-E", script, rule]}, Path("/s.json"))


def broken(judgement: Judgement) -> set[str]:
    """The requirements that are not fulfilled."""
    return {number for number, breaks in judgement.seen.items() if breaks}


def rules_of(revision: str) -> Iterator[str]:
    """The rules that a server may break in a revision, over stdio."""
    yield from (*sorted(SEEN[revision]), "B-6", "B-7")
    if revision == STATELESS:
        yield from ("MS-7", "MS-8")


def test_a_server_that_does_as_required_breaks_nothing() -> None:
    """B-1, B-2, B-14: every requirement that can be seen is put to the test."""
    for revision, numbers in SEEN.items():
        judgement = judged(breaker("none"), revision, ENOUGH_SECONDS)

        assert broken(judgement) == set(), judgement.seen
        assert set(judgement.seen) - {"MS-7", "MS-8"} == numbers


@pytest.mark.parametrize("revision", [STATELESS, HANDSHAKE])
def test_a_server_that_breaks_one_rule_is_found_and_breaks_no_other(revision: str) -> None:
    """MS-1, MS-2, MS-3, MS-5, LS-1, LS-10, MS-21: for each rule there is a server that breaks it."""
    found = {rule: broken(judged(breaker(rule), revision, ENOUGH_SECONDS)) for rule in rules_of(revision)}

    assert {rule: numbers for rule, numbers in found.items() if numbers != {rule}} == {}


def test_an_array_of_messages_is_tested_in_the_revision_that_has_them() -> None:
    """LC-9."""
    assert broken(judged(breaker("none"), BATCHING, ENOUGH_SECONDS)) == set()
    assert broken(judged(breaker("LC-9"), BATCHING, 0.5)) == {"LC-9"}


@pytest.mark.parametrize("revision", [STATELESS, HANDSHAKE])
def test_what_only_http_shows_is_found_as_well(revision: str) -> None:
    """HS-1, HS-2, HS-3, HS-5, HS-6, HS-7, LS-3, LS-4, LS-5."""
    found: dict[str, set[str]] = {}
    for rule in ("none", *sorted(SEEN_OVER_HTTP[revision])):
        with breaking_site(rule) as url:
            judgement = judged(read_entry("site", {"url": url}, Path("/s.json")), revision, ENOUGH_SECONDS)
        found[rule] = broken(judgement)
        assert set(judgement.seen) >= SEEN_OVER_HTTP[revision]

    # A result of another type is not read at all.
    unread = {"HS-3": {"HS-3", "B-2"}, "none": set()}
    assert {rule: numbers for rule, numbers in found.items() if numbers != unread.get(rule, {rule})} == {}


def test_every_requirement_is_broken_by_a_server() -> None:
    """Ours: a rule that no server breaks may be one that is never found."""
    tested = {rule for revision in SEEN for rule in rules_of(revision)}.union(*SEEN_OVER_HTTP.values(), {"LC-9"})

    assert tested == set(REQUIREMENTS)


def test_a_server_that_falls_silent_or_ends_is_judged_by_what_it_has_answered() -> None:
    """B-2: that it does not answer is a break; what would have been asked later is not."""
    for script, told in (("hangs_in_list", "was not answered within 0.3 s"), ("dies_mid_answer", "exited")):
        entry = read_entry(
            "s", {"command": sys.executable, "args": [str(TESTS / "servers" / f"{script}.py")]}, Path("/s.json")
        )
        judgement = judged(entry, HANDSHAKE, 0.3 if script == "hangs_in_list" else ENOUGH_SECONDS)

        assert any(told in one.detail for one in judgement.seen["B-2"]), judgement.seen
        assert "B-9" not in judgement.seen


def test_a_server_that_cannot_be_started_is_an_error() -> None:
    """Ours: nothing was judged."""
    with pytest.raises(MCPError, match="could not be started"):
        judged(read_entry("s", {"command": "/nonexistent/server"}, Path("/s.json")), HANDSHAKE, ENOUGH_SECONDS)
