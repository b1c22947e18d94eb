"""Percentiles and the picture of a load."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.checks.latencies import BAR_CELLS, LINES, RATIO, Latencies, milliseconds


def latencies(*seconds: float, exact: int = 1000) -> Latencies:
    found = Latencies(exact)
    for each in seconds:
        found.add(each)
    return found


def test_a_percentile_is_a_time_that_was_measured() -> None:
    """Ours: the shortest that so many of a hundred calls did not exceed, so that a budget can be compared with it."""
    hundred = latencies(*(each / 1000 for each in range(100, 0, -1)))

    assert hundred.percentiles(50, 90, 99, 100) == [0.05, 0.09, 0.099, 0.1]
    assert latencies(0.5).percentiles(50, 99) == [0.5, 0.5]
    assert latencies(0.1, 0.2).percentiles(50, 51) == [0.1, 0.2]
    assert hundred.longest == 0.1


def test_no_call_has_no_percentiles() -> None:
    """Ours: the first one may fail."""
    none = Latencies()

    assert none.percentiles(50, 99) == [0.0, 0.0]
    assert none.picture(80) == []
    assert none.is_exact


@given(st.lists(st.floats(1e-6, 1000), min_size=5, max_size=60), st.sampled_from([1, 50, 90, 99, 100]))
def test_the_percentiles_of_more_calls_are_half_a_hundredth_off_at_most(times: list[float], wanted: int) -> None:
    """Ours: a long run must not need more and more memory."""
    (exact,) = latencies(*times).percentiles(wanted)
    few = latencies(*times, exact=4)
    (found,) = few.percentiles(wanted)

    assert not few.is_exact
    assert len(few._kept) == 4
    assert found == pytest.approx(exact, rel=RATIO**0.5 - 1 + 1e-9)
    assert found <= few.longest


def test_a_time_that_cannot_be_measured_is_counted() -> None:
    """Ours: a clock may stand still, and nothing has no logarithm."""
    found = latencies(0.0, 0.0, 1.0)

    assert found.percentiles(50, 99) == [0.0, 1.0]
    assert sum(found._buckets().values()) == 3


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=80), st.integers(1, 120))
def test_the_picture_fits_any_terminal_and_counts_each_call(times: list[float], width: int) -> None:
    """Ours: a line that is broken by the terminal is no bar. Without room there is no picture."""
    lines = latencies(*times).picture(width)

    assert len(lines) <= LINES
    assert all(len(line) <= width and line.isascii() for line in lines)
    if width >= 40:
        assert sum(int(line.split()[3].replace(",", "")) for line in lines) == len(times)


def test_a_rare_call_is_seen_beside_many_others() -> None:
    """Ours: the slow ones are what is looked for."""
    rng = random.Random(1)
    lines = latencies(*(rng.uniform(0.001, 0.0012) for _ in range(5000)), 0.9).picture(80)

    assert lines[0].split()[0] == "<="
    assert lines[0].endswith(f"  {'#' * BAR_CELLS}")
    assert lines[-1].split() == ["<=", "900", "ms", "1", "#"]
    assert len({line.index("ms") for line in lines}) == 1


def test_equal_times_are_one_line() -> None:
    """Ours: there is no range to divide."""
    (line,) = latencies(0.25, 0.25).picture(80)

    assert line.split() == ["<=", "250", "ms", "2", "#" * BAR_CELLS]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0.000 ms"), (0.0000214, "0.021 ms"), (0.000213, "0.213 ms"), (0.0009996, "1.00 ms"),
        (0.00999, "9.99 ms"), (0.012345, "12.3 ms"), (0.09996, "100 ms"), (1.24, "1,240 ms"),
    ],
)  # fmt: skip
def test_a_time_has_three_digits(seconds: float, shown: str) -> None:
    """Ours: more would be chance."""
    assert milliseconds(seconds) == shown
