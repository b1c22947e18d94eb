"""Servers that break one requirement each, and what is seen of one that breaks none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.config.entries import read_entry
from gaia_mcp.requirements import judged
from tests.requirements.breaking_site import breaking_site
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.requirements.listed import Judgement

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


def assert_each_is_found(revision: str) -> None:
    """For each rule of a revision there is a server that breaks it, which is found, and breaks no other."""
    found = {rule: broken(judged(breaker(rule), revision, ENOUGH_SECONDS)) for rule in rules_of(revision)}

    assert {rule: numbers for rule, numbers in found.items() if numbers != {rule}} == {}


def assert_each_is_found_over_http(revision: str) -> None:
    """As `assert_each_is_found`, of what only HTTP shows."""
    found: dict[str, set[str]] = {}
    for rule in ("none", *sorted(SEEN_OVER_HTTP[revision])):
        with breaking_site(rule) as url:
            judgement = judged(read_entry("site", {"url": url}, Path("/s.json")), revision, ENOUGH_SECONDS)
        found[rule] = broken(judgement)
        assert set(judgement.seen) >= SEEN_OVER_HTTP[revision]

    # A result of another type is not read at all.
    unread = {"HS-3": {"HS-3", "B-2"}, "none": set()}
    assert {rule: numbers for rule, numbers in found.items() if numbers != unread.get(rule, {rule})} == {}
