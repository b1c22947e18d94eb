"""What a result says of its freshness."""

from __future__ import annotations

from typing import Any

from gaia_mcp.protocol.caching import Freshness, freshness
from tests.protocol_support import check_rows


def test_a_missing_or_invalid_cache_member_has_the_strictest_value() -> None:
    """MC-10."""
    cases = [
        ({"ttlMs": 300_000, "cacheScope": "public"}, Freshness(300_000, is_private=False)),
        ({"ttlMs": 0, "cacheScope": "private"}, Freshness(0, is_private=True)),
        ({"ttlMs": -5, "cacheScope": "everybody"}, Freshness(0, is_private=True)),
        ({"ttlMs": "long", "cacheScope": None}, Freshness(0, is_private=True)),
        ({"ttlMs": True}, Freshness(0, is_private=True)),
        ({}, Freshness(0, is_private=True)),
    ]

    def check(members: Any, expected: Freshness) -> None:
        assert freshness("2026-07-28", members) == expected
        assert freshness("2025-11-25", members) is None

    check_rows(check, cases)


def test_a_list_has_the_shortest_ttl_of_its_pages() -> None:
    """MC-10."""
    first, second = Freshness(500, is_private=False), Freshness(200, is_private=True)

    assert first.with_page(None) == first
    assert first.with_page(second) == second.with_page(first) == Freshness(200, is_private=True)
