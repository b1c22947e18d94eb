"""One client's subscriptions to tasks: sends the states of the tasks as they change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.tasks import FINAL
from gaia_mcp.server.provider import Announcer, Change
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.server.tasks import Tasks

Wire = dict[str, Any]


class TaskWatch:
    """Calls `send` with a task's id and state after each change, in a separate thread, until `send` returns False or
    the state is final. Changes in quick succession are merged. Safe to use from several threads.
    """

    def __init__(self, tasks: Tasks, send: Callable[[str, Wire], bool]) -> None:
        self._tasks = tasks
        self._send = send
        # Guards the fields below.
        self._lock = threading.Lock()
        self._is_closed = False
        # By task id, the function that ends its watch. The ids also serve as the announcer's wanted URIs.
        self._ends: dict[str, Callable[[], None]] = {}
        self._announcer = Announcer(self._deliver, self._ends)

    def add(self, task_ids: Iterable[str]) -> None:
        """Watch these tasks too. Their current states are sent first, because they may be final."""
        for task_id in task_ids:
            with self._lock:
                if self._is_closed:
                    return
                earlier = self._ends.get(task_id)
                self._ends[task_id] = self._tasks.on_change(task_id, partial(self._hear, task_id))
            if earlier is not None:
                earlier()
            self._hear(task_id)

    def close(self) -> None:
        """Stop watching all tasks."""
        self._announcer.close()
        with self._lock:
            self._is_closed = True
            ends = list(self._ends.values())
            self._ends.clear()
        for end in ends:
            end()

    def _hear(self, task_id: str) -> None:
        self._announcer.announce(Change(uris=(task_id,)))

    def _deliver(self, change: Change) -> None:
        for task_id in change.uris:
            watched = self._ends.get(task_id)
            try:
                state = self._tasks.described(task_id)
            except StoreError:
                continue  # The store announces the task again when it can be reached.
            if watched is None or (state is not None and self._send(task_id, state) and state["status"] not in FINAL):
                continue
            watched()
            with self._lock:
                # Not if `add` has replaced the watch meanwhile.
                if self._ends.get(task_id) is watched:
                    del self._ends[task_id]
