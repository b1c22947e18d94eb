"""The revisions and their eras."""

from __future__ import annotations

import pytest

from gaia_mcp.protocol.versions import (
    ALL_VERSIONS,
    BATCH_VERSION,
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    best_of,
    since,
)


def test_the_five_released_revisions_are_known_newest_first() -> None:
    """Spec: released revisions; the lists are enumerated, never sorted."""
    assert ALL_VERSIONS == ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


def test_every_revision_belongs_to_one_era() -> None:
    """Spec 2026-07-28, versioning."""
    assert set(ALL_VERSIONS) == {*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS}
    assert set(STATELESS_VERSIONS).isdisjoint(HANDSHAKE_VERSIONS)


@pytest.mark.parametrize("version", ["", "2024-10-07", "2027-01-01", "2025-11-25 ", "zzz"])
def test_an_unreleased_revision_has_no_era(version: str) -> None:
    """Ours: nothing is guessed from a date."""
    assert version not in ALL_VERSIONS
    assert best_of([version], ALL_VERSIONS) is None


def test_batches_belong_to_a_known_handshake_revision() -> None:
    """Spec 2025-03-26: the only revision with batches."""
    assert BATCH_VERSION == "2025-03-26"
    assert BATCH_VERSION in HANDSHAKE_VERSIONS


@pytest.mark.parametrize(
    ("offered", "best"),
    [
        (["2024-11-05", "2025-11-25", "2025-03-26"], "2025-11-25"),
        (["2027-01-01", "2024-11-05"], "2024-11-05"),
        (["2026-07-28"], None),
        ([None, 5, ["2025-11-25"], {"2025-11-25": 1}], None),
        ([], None),
    ],
)
def test_the_best_version_is_our_newest_among_those_offered(offered: list[object], best: str | None) -> None:
    """Ours: whatever a peer lists, also what is no text at all."""
    assert best_of(offered, HANDSHAKE_VERSIONS) == best


def test_a_revision_has_what_it_or_an_older_one_introduced() -> None:
    """Ours: the order is that of the list."""
    assert since("2025-06-18", "2025-06-18")
    assert since("2026-07-28", "2024-11-05")
    assert not since("2025-03-26", "2025-06-18")


def test_asking_about_an_unknown_revision_is_a_mistake() -> None:
    """Ours: a wrong answer would be worse than none."""
    with pytest.raises(ValueError):
        since("2027-01-01", "2025-06-18")
