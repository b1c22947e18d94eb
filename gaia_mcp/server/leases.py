"""Leases of workers, and the end of the work that dead workers have left.

A worker has a lease (an entry in the store) while it has work that clients may ask other workers for: tasks, requests
whose streams can be resumed. It renews the lease. Another worker suspects work whose worker has no lease to be lost,
and ends it if no lease appears in time. Not at once: while the store is unreachable, the leases of live workers expire
too. Where the store is not shared, work ends with its worker and its store.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.store import Store

T = TypeVar("T", bound=Hashable)

# Between two renewals of a lease.
BEAT_SECONDS = 5.0
# A lease outlives a few late renewals. A worker that was cut off needs one renewal to restore its lease.
LEASE_BEATS, SUSPICION_BEATS = 4, 2


class Leases(Generic[T]):
    """The lease of this worker, and the work that it suspects to be lost. Safe to use from several threads.

    `worker` is its name, empty where the store is not shared. `has_work` returns whether work runs here. `worker_of`
    returns the worker of some work, None if that has ended; `end` ends the work of a dead worker. Both may raise
    `StoreError`. `beat_seconds` is the time between two renewals.
    """

    def __init__(
        self,
        store: Store,
        has_work: Callable[[], bool],
        worker_of: Callable[[T], str | None],
        end: Callable[[T], object],
        *,
        beat_seconds: float | None = None,
    ) -> None:
        self.worker = secrets.token_hex(8) if store.is_shared else ""
        self._store = store
        self._has_work = has_work
        self._worker_of = worker_of
        self._end = end
        self._beat_seconds = BEAT_SECONDS if beat_seconds is None else beat_seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        # How often each work is followed here; the time since which each work is suspected.
        self._followed: Counter[T] = Counter()
        self._suspected: dict[T, float] = {}
        self._has_thread = False
        self._closing = threading.Event()

    @property
    def suspected(self) -> int:
        """How much work is suspected to be lost."""
        return len(self._suspected)

    def take(self) -> None:
        """Take the lease, before work begins here. Raises `StoreError`."""
        if self.worker:
            self._renew()
            self._need_thread()

    def check(self, work: T, worker: str) -> None:
        """Suspect unfinished work if its worker has no lease. Raises `StoreError`."""
        if self._seems_dead(worker):
            with self._lock:
                self._suspected.setdefault(work, time.monotonic())
            self._need_thread()

    def follow(self, work: T) -> Callable[[], None]:
        """Check work periodically, until the returned function is called."""
        if not self.worker:
            return lambda: None
        with self._lock:
            self._followed[work] += 1
        self._need_thread()

        def leave() -> None:
            with self._lock:
                self._followed -= Counter((work,))

        return leave

    def close(self) -> None:
        """Stop renewing the lease."""
        self._closing.set()

    def _renew(self) -> None:
        self._store.put(_name(self.worker), b"", LEASE_BEATS * self._beat_seconds)

    def _seems_dead(self, worker: str) -> bool:
        return worker not in ("", self.worker) and self._store.get(_name(worker)) is None

    def _need_thread(self) -> None:
        with self._lock:
            if not self._has_thread:
                threading.Thread(target=self._run, name="leases", daemon=True).start()
                self._has_thread = True

    def _run(self) -> None:
        while not self._closing.wait(self._beat_seconds):
            try:
                self._beat()
            except StoreError:
                # The store was unreachable: the leases of live workers may have expired. Suspicion starts again.
                with self._lock:
                    self._suspected = dict.fromkeys(self._suspected, time.monotonic())
            with self._lock:
                if not (self._followed or self._suspected or self._has_work()):
                    self._has_thread = False
                    return

    def _beat(self) -> None:
        if self._has_work():
            self._renew()
        with self._lock:
            asked = {*self._followed, *self._suspected}
        for work in asked:
            worker = self._worker_of(work)
            is_lost = worker is not None and self._seems_dead(worker)
            with self._lock:
                since = self._suspected.pop(work, time.monotonic())
                is_over = is_lost and time.monotonic() >= since + SUSPICION_BEATS * self._beat_seconds
                if is_lost and not is_over:
                    self._suspected[work] = since
            if is_over:
                self._end(work)


def _name(worker: str) -> str:
    """The name of a worker's lease in the store."""
    return f"worker/{worker}"
