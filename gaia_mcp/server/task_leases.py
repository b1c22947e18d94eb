"""Leases of the workers that run tasks, and the failure of the tasks of dead workers.

A worker has a lease (an entry in the store) while tasks run there, and renews it. When a client asks another worker for
a task whose worker has no lease, that worker suspects the task, and fails it if no lease appears in time. Not at once:
while the store is unreachable, the leases of live workers expire too. Where the store is not shared, tasks end with
their worker and its store.
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

# Between two renewals of a lease.
BEAT_SECONDS = 5.0
# A lease outlives a few late renewals. A worker that was cut off needs one renewal to restore its lease.
LEASE_BEATS, SUSPICION_BEATS = 4, 2
HAS_ENDED = "the server that ran this task has ended"


class TaskLeases:
    """The lease of this worker, and the tasks that it suspects to be lost. Safe to use from several threads.

    `worker` is its name, empty where the store is not shared. `is_running` returns whether tasks run here.
    """

    def __init__(self, store: Store, states: TaskStates, is_running: Callable[[], bool]) -> None:
        self.worker = secrets.token_hex(8) if store.is_shared else ""
        self._store = store
        self._states = states
        self._is_running = is_running
        # Guards the fields below.
        self._lock = threading.Lock()
        # The number of followers of each task here; the time since which each task is suspected.
        self._followed: Counter[str] = Counter()
        self._suspected: dict[str, float] = {}
        self._has_thread = False
        self._closing = threading.Event()

    @property
    def suspected(self) -> int:
        """How many tasks are suspected to be lost."""
        return len(self._suspected)

    def take(self) -> None:
        """Take the lease, before a task begins here. Raises `StoreError`."""
        if self.worker:
            self._store.put(_name(self.worker), b"", LEASE_BEATS * BEAT_SECONDS)
            self._need_thread()

    def check(self, state: TaskState) -> None:
        """Suspect the task if its worker has no lease. Raises `StoreError`."""
        if self._seems_lost(state):
            with self._lock:
                self._suspected.setdefault(state.id, time.monotonic())
            self._need_thread()

    def follow(self, task_id: str) -> Callable[[], None]:
        """Check a task periodically, until the returned function is called."""
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
        """Stop renewing the lease."""
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
                # The store was unreachable: the leases of live workers may have expired. Suspicion starts again.
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
    """The name of a worker's lease in the store."""
    return f"worker/{worker}"
