"""The states of tasks in a store."""

from __future__ import annotations

import threading

from gaia_mcp.protocol.task_states import RUNNING_SECONDS, TaskState
from gaia_mcp.server.task_states import BY_CLIENT, BY_TOOL, TaskStates
from gaia_mcp.store.memory import MemoryStore
from tests.waiting import Clock


def states_with(clock: Clock) -> TaskStates:
    return TaskStates(MemoryStore(clock=clock), clock)


def test_a_state_is_kept_changed_and_removed() -> None:
    """Ours."""
    clock = Clock()
    states = states_with(clock)
    assert states.get("t") is states.change("t", TaskState.seen) is None

    begun = TaskState.begun("t", "", clock.now)
    states.add(begun)
    assert states.get("t") == begun
    changed = states.change("t", lambda state, now: state.reported("half", now))

    assert changed == begun.reported("half", clock.now) == states.get("t")
    states.remove("t")
    assert states.get("t") is None


def test_listeners_hear_who_has_changed_a_state() -> None:
    """Ours: what changes nothing is not announced, and other tasks are not either."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))
    states.add(TaskState.begun("u", "", clock.now))
    heard: list[bytes] = []
    end = states.on_change("t", heard.append)

    states.change("t", lambda state, now: state.reported("half", now))
    states.change("t", lambda state, now: state.answered({"k": 1}, now))
    states.change("u", lambda state, now: state.reported("half", now))
    states.change("t", lambda state, now: state.cancelled("", now), BY_CLIENT)
    end()
    states.remove("t")

    assert heard == [BY_TOOL, BY_CLIENT]


def test_a_state_expires_as_it_says() -> None:
    """Extension, ttlMs."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))

    clock.now += RUNNING_SECONDS - 1
    states.keep("t", 10)
    clock.now += 9
    assert states.get("t") is not None
    clock.now += 1

    assert states.get("t") is None
    states.keep("t", 10)
    assert states.get("t") is None


def test_a_change_is_made_anew_where_another_came_between() -> None:
    """Ours: to the state that the other one has left."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))
    seen: list[str] = []

    def report(state: TaskState, now: float) -> TaskState:
        seen.append(state.message)
        if len(seen) == 1:
            states.change("t", lambda state, now: state.reported("first", now))
        return state.reported("second", now)

    assert states.change("t", report) == states.get("t")

    assert seen == ["", "first"]


def test_changes_of_several_threads_are_all_made() -> None:
    """Ours: a client and a tool may change a state at once."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))

    def ask(first: int) -> None:
        for number in range(first, first + 50):
            states.change("t", lambda state, now, key=f"k{number}": state.asked({key: {"method": "roots/list"}}, now))

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    state = states.get("t")
    assert state is not None
    assert len(state.requests) == 200


def test_a_state_that_was_lost_is_put_back_until_it_expires() -> None:
    """Ours: one that is there stays as it is."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    states = TaskStates(store, clock)
    begun = TaskState.begun("a", "", clock.now)

    assert states.restore(begun)
    states.change("a", lambda state, now: state.reported("half", now))
    assert states.restore(begun)
    assert (states.get("a") or begun).message == "half"
    states.remove("a")
    clock.now += begun.kept

    assert not states.restore(begun)
    assert states.get("a") is None
