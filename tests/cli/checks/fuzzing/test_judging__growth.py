"""Whether a server grows without end."""

from __future__ import annotations

from gaia_mcp.cli.checks.fuzzing.judging import growth
from tests.protocol_support import check_rows

MB = 1 << 20


def test_only_steady_and_large_growth_is_a_leak() -> None:
    """Ours: a cache that fills, a collector that waits and a busy moment are none."""
    rows: dict[str, tuple[list[int], int]] = {
        "a leak": ([50, 90, 130, 170], 120),
        "uneven": ([50, 80, 140, 170], 120),
        "none": ([50, 50, 50, 50], 0),
        "small": ([50, 60, 70, 80], 0),
        "a small share": ([1000, 1040, 1080, 1120], 0),
        "it has stopped": ([50, 150, 200, 202], 0),
        "a jump": ([50, 50, 50, 200], 0),
        "it falls again": ([50, 250, 120, 200], 0),
        "too few": ([50, 200, 400], 0),
        "of another process": ([], 0),
    }

    def check(_: str, measured: list[int], grown: int) -> None:
        assert growth([size * MB for size in measured]) == grown * MB

    check_rows(check, ((what, *row) for what, row in rows.items()))
