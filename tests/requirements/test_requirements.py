"""Servers judged by all requirements."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import MCPError
from gaia_mcp.requirements import judged
from gaia_mcp.requirements.listed import REQUIREMENTS
from tests.requirements.breaking import HANDSHAKE, SEEN, SEEN_OVER_HTTP, TESTS, breaker, broken, rules_of
from tests.requirements.breaking_site import breaking_site
from tests.waiting import ENOUGH_SECONDS

pytestmark = pytest.mark.story


def test_a_server_that_does_as_required_breaks_nothing() -> None:
    """B-1, B-2, B-14: every requirement that can be seen is put to the test."""
    for revision, numbers in SEEN.items():
        judgement = judged(breaker("none"), revision, ENOUGH_SECONDS)

        assert broken(judgement) == set(), judgement.seen
        assert set(judgement.seen) - {"MS-7", "MS-8"} == numbers


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


def test_a_server_behind_a_url_is_asked_over_http_too() -> None:
    """HS-6, LS-4: both eras."""
    for revision, numbers in SEEN_OVER_HTTP.items():
        with breaking_site("none") as url:
            judgement = judged(read_entry("site", {"url": url}, Path("/s.json")), revision)

        assert broken(judgement) == set()
        assert set(judgement.seen) >= numbers
