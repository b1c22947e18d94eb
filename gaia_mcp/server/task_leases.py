"""Signs of life of the workers that run tasks, and the end of the tasks of those that give none any more.

A worker has an entry in the store while tasks run there, and renews it. A task whose worker has no entry is suspected,
by the worker that is asked for it, and fails if none comes: not at once, for a store that was not reached for a while
has lost the entries of workers that live. Where the store is not shared, tasks end with their worker and its store.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.task_states import BY_CLIENT
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.protocol.task_states import TaskState
    from gaia_mcp.server.task_states import TaskStates
    from gaia_mcp.store import Store

# Between two signs of life.
BEAT_SECONDS = 5.0
# An entry outlives a few that are late; a worker that has been cut off needs one to be known again.
LEASE_BEATS, SUSPICION_BEATS = 4, 2
HAS_ENDED = "the server that ran this task has ended"


class TaskLeases:
    """The signs of life of this worker, and what it has noticed of others. Safe to use from several threads.

    `worker` is its name, empty where the store is not shared. `is_running` tells whether tasks run here.
    """

    def __init__(self, store: Store, states: TaskStates, is_running: Callable[[], bool]) -> None:
        self.worker = secrets.token_hex(8) if store.is_shared else ""
        self._store = store
        self._states = states
        self._is_running = is_running
        # Held to touch what follows.
        self._lock = threading.Lock()
        # How often a task is followed here, and since when which are suspected.
        self._followed: Counter[str] = Counter()
        self._suspected: dict[str, float] = {}
        self._has_thread = False
        self._closing = threading.Event()

    @property
    def suspected(self) -> int:
        """How many tasks seem to run no more."""
        return len(self._suspected)

    def take(self) -> None:
        """Be known as living before a task begins here. Raises `StoreError`."""
        if self.worker:
            self._store.put(_name(self.worker), b"", LEASE_BEATS * BEAT_SECONDS)
            self._need_thread()

    def check(self, state: TaskState) -> None:
        """Suspect a task that runs no more, as it seems. Raises `StoreError`."""
        if self._seems_lost(state):
            with self._lock:
                self._suspected.setdefault(state.id, time.monotonic())
            self._need_thread()

    def follow(self, task_id: str) -> Callable[[], None]:
        """Check a task again and again, until the returned function is called."""
        if not self.worker:
            return lambda: None
        with self._lock:
            self._followed[task_id] += 1
        self._need_thread()

        def end() -> None:
            with self._lock:
                self._followed -= Counter((task_id,))

        return end

    def close(self) -> None:
        """Give no sign of life any more."""
        self._closing.set()

    def _seems_lost(self, state: TaskState) -> bool:
        return (
            not state.is_final
            and state.worker not in ("", self.worker)
            and self._store.get(_name(state.worker)) is None
        )

    def _need_thread(self) -> None:
        with self._lock:
            if not self._has_thread:
                threading.Thread(target=self._run, name="tasks", daemon=True).start()
                self._has_thread = True

    def _run(self) -> None:
        while not self._closing.wait(BEAT_SECONDS):
            try:
                self._beat()
            except StoreError:
                # The entries of others may have expired meanwhile.
                with self._lock:
                    self._suspected = dict.fromkeys(self._suspected, time.monotonic())
            with self._lock:
                if not (self._followed or self._suspected or self._is_running()):
                    self._has_thread = False
                    return

    def _beat(self) -> None:
        if self._is_running():
            self._store.put(_name(self.worker), b"", LEASE_BEATS * BEAT_SECONDS)
        with self._lock:
            asked = {*self._followed, *self._suspected}
        for task_id in asked:
            state = self._states.get(task_id)
            is_lost = state is not None and self._seems_lost(state)
            with self._lock:
                since = self._suspected.pop(task_id, time.monotonic())
                is_over = is_lost and time.monotonic() >= since + SUSPICION_BEATS * BEAT_SECONDS
                if is_lost and not is_over:
                    self._suspected[task_id] = since
            if is_over:
                self._states.change(
                    task_id, lambda state, now: state.failed(INTERNAL_ERROR, HAS_ENDED, None, now), BY_CLIENT
                )


def _name(worker: str) -> str:
    """The name of a worker's entry."""
    return f"worker/{worker}"
