"""A little of `python -m tests.fuzz hostile`, and proof that it would find a fault."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.fuzz.hostile import ROUND, Attempt, Hostile, faults, target
from tests.waiting import ENOUGH_SECONDS

pytestmark = pytest.mark.story


def test_hostile_requests_take_nothing_and_keep_no_valid_call_from_its_answer() -> None:
    """Ours: no status 500, no request without an end, no connection that stays, and no memory that grows."""
    outcomes: Counter[str] = Counter()

    assert list(faults(ROUND, 1, outcomes)) == []
    assert len({outcome.partition(":")[0] for outcome in outcomes}) == 18


def test_the_same_seed_makes_the_same_requests() -> None:
    """Ours: a fault can be followed."""
    made = [[Hostile("localhost", "s").attempt(random) for _ in range(50)] for random in (Random(3), Random(3))]

    assert made[0] == made[1]


def test_a_server_that_answers_no_valid_call_is_found() -> None:
    """Ours: the oracle can fail."""
    with target() as server:
        assert server.answers()
        assert server.send(Attempt(b"GET /mcp HTTP/1.1\r\n\r\n")) == "400"
        server.process.kill()
        server.process.wait(ENOUGH_SECONDS)
        assert not server.answers()
