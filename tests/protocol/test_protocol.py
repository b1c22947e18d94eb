"""The revisions and their eras."""

from __future__ import annotations

import pytest

from gaia_mcp.protocol import (
    ALL_VERSIONS,
    BATCH_VERSION,
    ERAS,
    HANDSHAKE_VERSIONS,
    NEWEST,
    STATELESS_VERSIONS,
    best_of,
    cancels_by_closing,
    has_sessions,
    is_probed,
    since,
)
from tests.protocol_support import check_each


def test_the_five_released_revisions_are_known_newest_first() -> None:
    """Spec: released revisions; the lists are enumerated, never sorted."""
    assert ALL_VERSIONS == ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


def test_every_revision_belongs_to_one_era() -> None:
    """Spec 2026-07-28, versioning."""
    assert set(ALL_VERSIONS) == {*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS}
    assert set(STATELESS_VERSIONS).isdisjoint(HANDSHAKE_VERSIONS)


def test_an_unreleased_revision_has_no_era() -> None:
    """Ours: nothing is guessed from a date."""

    def check(version: str) -> None:
        assert version not in ALL_VERSIONS
        assert best_of([version], ALL_VERSIONS) is None

    check_each(check, ["", "2024-10-07", "2027-01-01", "2025-11-25 ", "zzz"])


def test_a_revision_is_asked_what_it_can_do() -> None:
    """Spec 2026-07-28: no `initialize`, no session, a request is cancelled by closing its stream."""
    answers = {
        version: (has_sessions(version), cancels_by_closing(version)) for version in (*ALL_VERSIONS, "2027-01-01", None)
    }

    assert answers == {
        **dict.fromkeys(ALL_VERSIONS, (True, False)),
        NEWEST: (False, True),
        "2027-01-01": (False, False),
        None: (False, False),
    }


def test_the_name_of_a_cached_era_decides_how_a_connection_begins() -> None:
    """Ours: what is not known is probed."""
    assert [is_probed(era) for era in (*ERAS, "sse", None)] == [False, True, True, True]


def test_batches_belong_to_a_known_handshake_revision() -> None:
    """Spec 2025-03-26: the only revision with batches."""
    assert BATCH_VERSION == "2025-03-26"
    assert BATCH_VERSION in HANDSHAKE_VERSIONS


def test_the_best_version_is_our_newest_among_those_offered() -> None:
    """Ours: whatever a peer lists, also what is no text at all."""
    cases = [
        (["2024-11-05", "2025-11-25", "2025-03-26"], "2025-11-25"),
        (["2027-01-01", "2024-11-05"], "2024-11-05"),
        (["2026-07-28"], None),
        ([None, 5, ["2025-11-25"], {"2025-11-25": 1}], None),
        ([], None),
    ]

    wrong = [
        (offered, best, found) for offered, best in cases if (found := best_of(offered, HANDSHAKE_VERSIONS)) != best
    ]

    assert not wrong


def test_a_revision_includes_the_features_of_older_ones() -> None:
    """Ours: the order is that of the list."""
    assert since("2025-06-18", "2025-06-18")
    assert since("2026-07-28", "2024-11-05")
    assert not since("2025-03-26", "2025-06-18")


def test_an_unknown_revision_raises_value_error() -> None:
    """Ours: a wrong guess would be worse than an error."""
    with pytest.raises(ValueError):
        since("2027-01-01", "2025-06-18")
