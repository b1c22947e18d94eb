"""The states of tasks in a store."""

from __future__ import annotations

import threading

import pytest

from gaia_mcp.protocol.task_states import RUNNING_SECONDS, TaskState
from gaia_mcp.server.task_states import BY_CLIENT, BY_TOOL, TaskStates
from gaia_mcp.store import MemoryStore
from tests.waiting import Clock


def states_with(clock: Clock) -> TaskStates:
    return TaskStates(MemoryStore(clock=clock), clock)


def test_a_state_is_saved_changed_and_removed() -> None:
    """Ours: every worker reads and changes the same state."""
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


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"{}", b"[]", b"1", b'["t","",1,1,"long"]', b'["t","",1,1,1,1]'])
def test_a_damaged_state_is_no_task(damaged: bytes) -> None:
    """Ours: a client gets the error of an unknown task, and a worker that reads it goes on."""
    store = MemoryStore()
    states = TaskStates(store, Clock())
    states.add(TaskState.begun("t", "", 1000.0))
    (name,) = store._entries

    store.put(name, damaged, 60)

    assert states.get("t") is states.change("t", TaskState.seen) is None


def test_listeners_are_notified_who_changed_a_state() -> None:
    """Ours: the tool or the client. Other tasks, and a change that had no effect, are not announced."""
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


def test_a_state_expires_after_its_ttl() -> None:
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


def test_a_change_is_repeated_after_a_concurrent_change() -> None:
    """Ours: on the state that the other change has saved."""
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


def test_concurrent_changes_of_several_threads_are_all_applied() -> None:
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


def test_a_lost_state_is_restored_until_it_expires() -> None:
    """Ours: a state that is still in the store is not overwritten."""
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
