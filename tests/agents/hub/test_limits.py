"""The limits of the hub: a request beyond a limit is refused at once."""

from __future__ import annotations

import pytest

from gaia_mcp.agents.hub.entries import AgentEntry, read_agent
from gaia_mcp.agents.hub.limits import HubError, Limits
from tests.waiting import Clock


def agent(name: str = "claude", **members: int) -> AgentEntry:
    found = read_agent(name, {"kind": "claude", **members})
    assert found is not None
    return found


def test_concurrent_runs_of_an_agent_are_limited_by_its_entry() -> None:
    """B6: the next request is refused until one has ended, also by an error."""
    limits = Limits(10)

    with limits.running(agent(max_concurrent=1)):
        with pytest.raises(HubError, match="max_concurrent"), limits.running(agent(max_concurrent=1)):
            pass
        with limits.running(agent("codex", max_concurrent=1)):
            pass
    with pytest.raises(ZeroDivisionError), limits.running(agent(max_concurrent=1)):
        raise ZeroDivisionError
    with limits.running(agent(max_concurrent=1)):
        pass


def test_concurrent_runs_of_all_agents_are_limited() -> None:
    """B6: whichever they are."""
    limits = Limits(2)

    with (
        limits.running(agent("a")),
        limits.running(agent("b")),
        pytest.raises(HubError, match="2 agents are running"),
        limits.running(agent("c")),
    ):
        pass


def test_requests_per_minute_are_limited_for_each_agent() -> None:
    """B6: those that were refused do not count; a minute after the first there is room for another."""
    clock = Clock()
    limits = Limits(10, clock)

    def ask() -> None:
        with limits.running(agent(per_minute=2)):
            pass

    ask()
    clock.now += 20
    ask()
    for _ in range(3):
        with pytest.raises(HubError, match="try again in 40 s"):
            ask()
    with limits.running(agent("codex", per_minute=2)):
        pass
    clock.now += 40
    ask()
    with pytest.raises(HubError, match="try again in 20 s"):
        ask()


def test_a_lowered_limit_applies_at_once() -> None:
    """Ours: the file is read for every request."""
    clock = Clock()
    limits = Limits(10, clock)
    for _ in range(5):
        with limits.running(agent(per_minute=5)):
            pass

    with pytest.raises(HubError, match="60 s"), limits.running(agent(per_minute=2)):
        pass
