"""The states of tasks in a store, which every worker reads and changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.protocol.task_states import TaskState

if TYPE_CHECKING:
    from gaia_mcp.store import Store

# What comes next, by the present state and the time.
Change = Callable[[TaskState, float], TaskState]

# What is published about a task: that its client has changed it, or its tool.
BY_CLIENT, BY_TOOL = b"client", b"tool"


class TaskStates:
    """The states of the tasks in `store`. Every method raises `StoreError`. `clock` returns seconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self.clock = clock

    def add(self, state: TaskState) -> None:
        """Keep the state of a new task."""
        self._store.put(_name(state.id), state.dumped(), state.kept)

    def get(self, task_id: str) -> TaskState | None:
        """The state of a task, None if there is no such task."""
        kept = self._store.get(_name(task_id))
        return None if kept is None else TaskState.loaded(kept)

    def change(self, task_id: str, change: Change, by: bytes = BY_TOOL) -> TaskState | None:
        """Change the state of a task; the state after that, None if there is no such task."""
        name = _name(task_id)
        while (kept := self._store.get(name)) is not None:
            state, now = TaskState.loaded(kept), self.clock()
            changed = change(state, now)
            if changed is state:
                return state
            if self._store.replace(name, kept, changed.dumped(), changed.created + changed.kept - now):
                self._store.publish(name, by)
                return changed
        return None

    def restore(self, state: TaskState) -> bool:
        """Keep a state again that the store has lost, unless it has expired; whether there is one now."""
        left = state.created + state.kept - self.clock()
        return left > 0 and (
            self._store.replace(_name(state.id), None, state.dumped(), left) or self.get(state.id) is not None
        )

    def keep(self, task_id: str, seconds: float) -> None:
        """Keep the task for so long from now on."""
        self._store.renew(_name(task_id), seconds)

    def remove(self, task_id: str) -> None:
        """Remove a task."""
        self._store.remove(_name(task_id))

    def on_change(self, task_id: str, listener: Callable[[bytes | None], None]) -> Callable[[], None]:
        """Call `listener` with BY_CLIENT or BY_TOOL after each change, None where one may have been missed. Returns a
        function that ends this.
        """
        return self._store.subscribe(_name(task_id), listener)


def _name(task_id: str) -> str:
    """The name of a task in the store: of its state, and of the channel for its changes."""
    return f"task/{task_id}"
