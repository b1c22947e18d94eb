"""The states of tasks in a store that all workers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.protocol.task_states import TaskState

if TYPE_CHECKING:
    from gaia_mcp.store import Store

# Returns the next state for the current state and time.
Change = Callable[[TaskState, float], TaskState]

# The messages published after a change of a task: who changed it.
BY_CLIENT, BY_TOOL = b"client", b"tool"


class TaskStates:
    """The states of the tasks in `store`. Every method raises `StoreError`. `clock` returns seconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self.clock = clock

    def add(self, state: TaskState) -> None:
        """Store the state of a new task."""
        self._store.put(_name(state.id), state.dumped(), state.kept)

    def get(self, task_id: str) -> TaskState | None:
        """The state of a task; None if there is no such task."""
        kept = self._store.get(_name(task_id))
        return None if kept is None else _loaded(kept)

    def change(self, task_id: str, change: Change, by: bytes = BY_TOOL) -> TaskState | None:
        """Change the state of a task. Returns the new state; None if there is no such task."""
        name = _name(task_id)
        while (kept := self._store.get(name)) is not None:
            if (state := _loaded(kept)) is None:
                return None
            now = self.clock()
            changed = change(state, now)
            if changed is state:
                return state
            if self._store.replace(name, kept, changed.dumped(), changed.created + changed.kept - now):
                self._store.publish(name, by)
                return changed
        return None

    def restore(self, state: TaskState) -> bool:
        """Store a state again that the store has lost, unless it has expired. Whether the store has one now."""
        left = state.created + state.kept - self.clock()
        return left > 0 and (
            self._store.replace(_name(state.id), None, state.dumped(), left) or self.get(state.id) is not None
        )

    def keep(self, task_id: str, seconds: float) -> None:
        """Let the task expire after `seconds` from now."""
        self._store.renew(_name(task_id), seconds)

    def remove(self, task_id: str) -> None:
        """Remove a task."""
        self._store.remove(_name(task_id))

    def on_change(self, task_id: str, listener: Callable[[bytes | None], None]) -> Callable[[], None]:
        """Call `listener` with BY_CLIENT or BY_TOOL after each change, and with None if a change may have been missed.
        Returns a function that removes the listener.
        """
        return self._store.subscribe(_name(task_id), listener)


def _loaded(kept: bytes) -> TaskState | None:
    """The state of a task; None if it is damaged, because something else has written to the store."""
    try:
        state = TaskState.loaded(kept)
        # Of these a result or a delay is computed.
        is_valid = all(isinstance(each, (int, float)) for each in (state.created, state.updated, state.kept))
        is_valid &= all(isinstance(each, dict) for each in (state.requests, state.responses, state.outcome))
        is_valid &= all(isinstance(each, str) for each in (state.status, state.message, state.worker))
    except (ValueError, TypeError, RecursionError):
        return None
    return state if is_valid else None


def _name(task_id: str) -> str:
    """The name in the store of a task's state, and of the channel for its changes."""
    return f"task/{task_id}"
