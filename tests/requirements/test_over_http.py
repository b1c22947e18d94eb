"""What only HTTP shows."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.requirements import judged
from gaia_mcp.requirements.listed import Judgement
from gaia_mcp.requirements.over_http import ask
from tests.requirements.breaking import HANDSHAKE, STATELESS, assert_each_is_found_over_http
from tests.requirements.breaking_site import breaking_site
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS


def test_a_server_of_the_old_transport_is_not_asked() -> None:
    """LS-3: those of 2024-11-05 have another one."""
    judgement = Judgement()
    with breaking_site("LS-4") as url:
        ask(read_entry("site", {"url": url}, Path("/s.json")), "2024-11-05", judgement, ENOUGH_SECONDS)
        ask(read_entry("site", {"type": "sse", "url": url}, Path("/s.json")), "2025-11-25", judgement, ENOUGH_SECONDS)

    assert judgement.seen == {}


def test_an_exchange_that_is_cut_off_is_a_break() -> None:
    """LS-3, HS-3: what would have been asked later is not."""
    for revision, number in (("2025-11-25", "LS-3"), ("2026-07-28", "HS-3")):
        judgement = Judgement()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=lambda listener=listener: listener.accept()[0].close())
            thread.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            ask(read_entry("site", {"url": url}, Path("/s.json")), revision, judgement, ENOUGH_SECONDS)
            thread.join(PATIENCE_SECONDS)

        assert list(judgement.seen) == [number]
        assert judgement.seen[number][0].detail.startswith("an exchange was cut off: ")


def test_a_handshake_that_is_refused_ends_the_questions() -> None:
    """LS-1."""
    judgement = Judgement()
    with breaking_site("none") as url:
        ask(read_entry("site", {"url": f"{url}?refuse"}, Path("/s.json")), "2025-11-25", judgement, ENOUGH_SECONDS)

    assert {number: [one.detail for one in found] for number, found in judgement.seen.items()} == {
        "LS-1": ["initialize is answered with 400 with -32600"]
    }


@pytest.mark.parametrize("revision", [STATELESS, HANDSHAKE])
def test_what_only_http_shows_is_found(revision: str) -> None:
    """HS-1, HS-2, HS-3, HS-5, HS-6, HS-7, LS-3, LS-4, LS-5: each has a server that breaks it."""
    assert_each_is_found_over_http(revision)


def test_what_is_optional_is_no_break() -> None:
    """LS-3, LS-4: sessions and their end, events, and the header of a revision that does not have it."""
    for words, revision in (("alone", HANDSHAKE), ("keep", HANDSHAKE), ("events", HANDSHAKE), ("", "2025-03-26")):
        judgement = Judgement()
        with breaking_site("none") as url:
            ask(read_entry("site", {"url": f"{url}?{words}"}, Path("/s.json")), revision, judgement, ENOUGH_SECONDS)

        assert not [number for number, found in judgement.seen.items() if found], (words, judgement.seen)
        assert ("LS-4" in judgement.seen) is (revision == HANDSHAKE)


def test_an_array_is_posted_in_the_revision_that_has_them() -> None:
    """LC-9."""
    for rule in ("none", "LC-9"):
        with breaking_site(rule) as url:
            judgement = judged(read_entry("site", {"url": url}, Path("/s.json")), "2025-03-26", ENOUGH_SECONDS)

        assert {number for number, found in judgement.seen.items() if found} == {rule} - {"none"}
        assert "LC-9" in judgement.seen
