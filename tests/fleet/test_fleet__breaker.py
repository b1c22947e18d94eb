"""The circuit breaker, without a clock."""

from __future__ import annotations

import itertools

from gaia_mcp.fleet import ADMITTED, REFUSED, TRIAL, CircuitBreaker


def opened(cool_down_seconds: float | None = None) -> CircuitBreaker:
    """A breaker that has opened at 100 seconds."""
    breaker = CircuitBreaker(cool_down_seconds)
    assert [breaker.failed(breaker.admit(100), 100) for _ in range(3)] == [False, False, True]
    return breaker


def test_it_opens_at_the_third_consecutive_error() -> None:
    """A7: exactly 3, in every order of successes and errors."""
    for outcomes in itertools.product([True, False], repeat=7):
        breaker, consecutive = CircuitBreaker(), 0
        for is_success in outcomes:
            assert breaker.admit(0) == ADMITTED
            if is_success:
                assert not breaker.succeeded(ADMITTED)
                consecutive = 0
            else:
                consecutive += 1
                assert breaker.failed(ADMITTED, 0) is (consecutive == 3)
            assert breaker.errors == consecutive
            if consecutive == 3:
                break
        assert breaker.is_open is (consecutive == 3)


def test_it_stays_open() -> None:
    """A7: for the remainder of the session."""
    breaker = opened()

    assert breaker.admit(1e9) == REFUSED
    assert breaker.refuses(1e9)


def test_calls_that_were_admitted_before_it_opened_do_not_count() -> None:
    """A7: calls that run when it opens neither count nor close it, and are not reported again."""
    breaker = opened(cool_down_seconds=30)

    assert not breaker.failed(ADMITTED, 101)
    assert not breaker.succeeded(ADMITTED)
    breaker.withdrawn(ADMITTED)

    assert breaker.is_open
    assert breaker.errors == 3
    assert breaker.refuses(129)
    assert not breaker.refuses(130)


def test_one_trial_is_admitted_after_the_cool_down() -> None:
    """A7: half-open, for remote servers."""
    breaker = opened(cool_down_seconds=30)

    assert [breaker.admit(now) for now in (129.9, 130, 130, 1000)] == [REFUSED, TRIAL, REFUSED, REFUSED]


def test_a_successful_trial_closes_it() -> None:
    """A7: and it takes three errors again."""
    breaker = opened(cool_down_seconds=30)

    assert breaker.succeeded(breaker.admit(130))

    assert not breaker.is_open
    assert breaker.errors == 0
    assert [breaker.failed(breaker.admit(131), 131) for _ in range(3)] == [False, False, True]


def test_a_failed_trial_starts_the_cool_down_again() -> None:
    """A7: it was open all the time, so that this is not reported."""
    breaker = opened(cool_down_seconds=30)

    assert not breaker.failed(breaker.admit(150), 155)

    assert breaker.errors == 3
    assert [breaker.admit(now) for now in (184, 185)] == [REFUSED, TRIAL]


def test_another_trial_is_admitted_after_a_cancelled_one() -> None:
    """Ours: it has proved nothing."""
    breaker = opened(cool_down_seconds=30)

    breaker.withdrawn(breaker.admit(130))

    assert breaker.admit(130) == TRIAL


def test_the_cool_down_doubles_until_a_trial_succeeds() -> None:
    """Ours: a server that stays broken is asked ever more rarely, and one that was mended is like any other."""
    breaker = CircuitBreaker(5, longest_seconds=12, max_errors=1)
    assert breaker.failed(TRIAL, 0)
    now, waits = 0.0, []

    for _ in range(4):
        waits.append(next(seconds for seconds in range(100) if not breaker.refuses(now + seconds)))
        now += waits[-1]
        assert not breaker.failed(TRIAL, now)
    assert waits == [5, 10, 12, 12]

    assert breaker.succeeded(TRIAL)
    assert not breaker.refuses(0)
    assert breaker.failed(ADMITTED, 0)
    assert (breaker.refuses(4.9), breaker.refuses(5)) == (True, False)
