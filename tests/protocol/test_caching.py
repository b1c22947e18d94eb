"""What a result says of its freshness."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.caching import Freshness, freshness


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"ttlMs": 300_000, "cacheScope": "public"}, Freshness(300_000, is_private=False)),
        ({"ttlMs": 0, "cacheScope": "private"}, Freshness(0, is_private=True)),
        ({"ttlMs": -5, "cacheScope": "everybody"}, Freshness(0, is_private=True)),
        ({"ttlMs": "long", "cacheScope": None}, Freshness(0, is_private=True)),
        ({"ttlMs": True}, Freshness(0, is_private=True)),
        ({}, Freshness(0, is_private=True)),
    ],
)
def test_what_is_missing_or_invalid_is_not_fresh_and_private(members: Any, expected: Freshness) -> None:
    """MC-10."""
    assert freshness("2026-07-28", members) == expected
    assert freshness("2025-11-25", members) is None


def test_a_list_is_as_fresh_as_its_oldest_page() -> None:
    """MC-10."""
    first, second = Freshness(500, is_private=False), Freshness(200, is_private=True)

    assert first.with_page(None) == first
    assert first.with_page(second) == second.with_page(first) == Freshness(200, is_private=True)
