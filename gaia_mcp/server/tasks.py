"""The tasks of a server: calls that continue after their request has been answered with a task, the clients that are
subscribed to them, and the leases by which workers notice that another has died with work of its own.

Their states are in a store, so any worker that uses the same store answers requests about them. The worker that runs a
task is notified of its changes through the store.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gaia_mcp.protocol.envelope import declares_tasks, may_declare_tasks
from gaia_mcp.protocol.input_required import MissingCapabilityError, QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.subscriptions import SubscriptionError, tasks_in
from gaia_mcp.protocol.tasks import EXTENSIONS, FINAL, RUNNING_SECONDS, TaskState
from gaia_mcp.server.provider import Announcer, Change, RequestError
from gaia_mcp.server.task_run import BY_CLIENT, RETRY_SECONDS, StateChange, TaskRun, TaskStates
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gaia_mcp.server.running_call import RunningCall

Wire = dict[str, Any]
# Each running task has a thread. Most only wait, but one client must not exhaust the machine's threads.
MAX_RUNNING = 256
HAS_ENDED = "the server that ran this task has ended"
# Where callers are not authenticated, only the secrecy of its id protects a task.
_ID_BYTES = 24
T = TypeVar("T", bound=Hashable)
# Between two renewals of a lease.
BEAT_SECONDS = 5.0


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


class Tasks:
    """The tasks of one server. At most `max_running` run in this process. Safe to use from several threads.

    `clock` returns seconds since 1970. `beat_seconds` is the time between two renewals of the worker's lease, and
    `retry_seconds` the delay before another attempt to store the result of a task.
    """

    def __init__(
        self,
        store: Store,
        max_running: int = MAX_RUNNING,
        clock: Callable[[], float] = time.time,
        *,
        beat_seconds: float | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._states = TaskStates(store, clock)
        self._leases: Leases[str] = Leases(
            store, lambda: bool(self._running), self._worker_of, self._end_lost, beat_seconds=beat_seconds
        )
        self._max_running = max_running
        self._retry_seconds = retry_seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        self._running: set[TaskRun] = set()
        self._is_closed = False

    @property
    def running(self) -> int:
        """The number of tasks that run in this process."""
        return len(self._running)

    def begin(self, call: RunningCall, place: AbstractContextManager[None], *, required: bool) -> TaskRun | None:
        """Create a task for a call and store it; None if the client does not support tasks, or too many run. `place` is
        entered now, and exited when the call ends: meanwhile its thread does not count as a running call.

        If a task is `required`, raises `MissingCapabilityError` or `RequestError` instead of returning None, unless the
        client uses a revision without tasks.
        """
        context = call.request.context
        if not declares_tasks(context):
            if required and may_declare_tasks(context):
                raise MissingCapabilityError({"extensions": dict(EXTENSIONS)}, needed_by="this call")
            return None
        if (run := self._begun(call, place)) is None and required:
            raise RequestError("too many tasks are running; repeat this call later", INTERNAL_ERROR)
        return run

    def _begun(self, call: RunningCall, place: AbstractContextManager[None]) -> TaskRun | None:
        task_id, now = secrets.token_urlsafe(_ID_BYTES), self._states.clock()
        state = TaskState.begun(task_id, call.principal or "", now, self._leases.worker)
        run = TaskRun(self._states, state, call, place, self._forget, self._retry_seconds)
        with self._lock:
            if self._is_closed or len(self._running) >= self._max_running:
                return None
            self._running.add(run)
        try:
            self._leases.take()
            run.begin()
        except (QuestionError, StoreError):
            self._forget(run)
            return None
        return run

    def answer(self, method: str, params: Wire, call: RunningCall) -> Wire:
        """The result of `tasks/get`, `tasks/update` or `tasks/cancel`.

        Raises `RequestError`, with the same message for every task that the caller does not own, and if the store
        fails; and `MissingCapabilityError` for a client that does not declare the extension.
        """
        _check_declared(call)
        try:
            return self._answer(method, params, call)
        except StoreError as problem:
            raise _store_failed() from problem

    def _answer(self, method: str, params: Wire, call: RunningCall) -> Wire:
        task_id, owner = params.get("taskId"), call.principal or ""
        if not isinstance(task_id, str):
            raise RequestError(f"{method} needs params.taskId, a string")
        if method == "tasks/update":
            responses = params.get("inputResponses")
            if not isinstance(responses, dict):
                raise RequestError("tasks/update needs params.inputResponses, an object")
            self._change(task_id, owner, lambda state, now: state.answered(responses, now))
            return {}
        if method == "tasks/cancel":
            self.cancel(task_id, owner)
            return {}
        return self.state_of(task_id, owner).as_detailed(self._states.clock())

    def state_of(self, task_id: str, owner: str) -> TaskState:
        """The current state of a task, as its client sees it. Postpones the expiry of a running task. Raises
        `RequestError` for a task that `owner` does not own, and `StoreError`.
        """
        state = _owned(self._states.get(task_id), owner)
        if not state.is_final:
            self._states.keep(task_id, RUNNING_SECONDS)
            self._leases.check(task_id, state.worker)
        return state.seen(self._states.clock())

    def cancel(self, task_id: str, owner: str) -> TaskState:
        """Cancel a task unless it has ended. Returns its new state. Raises as `state_of` does."""
        return self._change(task_id, owner, lambda state, now: state.cancelled("cancelled by the client", now))

    def subscribed(self, call: RunningCall) -> list[str]:
        """The tasks named in a subscription request that its client owns. Raises as `answer` does."""
        _check_declared(call)
        try:
            named = tasks_in(call.request.params)
        except SubscriptionError as refusal:
            raise RequestError(str(refusal), refusal.code) from refusal
        owner = call.principal or ""
        try:
            return [each for each in named if (state := self._states.get(each)) is not None and state.owner == owner]
        except StoreError as problem:
            raise _store_failed() from problem

    def described(self, task_id: str) -> Wire | None:
        """A task as in the result of `tasks/get`; None if there is no such task. Raises `StoreError`."""
        state = self._states.get(task_id)
        return None if state is None else state.as_detailed(self._states.clock())

    def on_change(self, task_id: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each change of a task; it must not block. Returns a function that removes it. Raises
        `StoreError`.
        """
        stop = self._states.on_change(task_id, lambda _: listener())
        stop_following = self._leases.follow(task_id)

        def end() -> None:
            stop()
            stop_following()

        return end

    def close(self) -> None:
        """Cancel the tasks that run in this process, and begin no more."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for run in running:
            run.cancel("the server has ended")
        self._leases.close()

    def _worker_of(self, task_id: str) -> str | None:
        """The worker that runs a task; None for a task that has ended or expired."""
        state = self._states.get(task_id)
        return None if state is None or state.is_final else state.worker

    def _end_lost(self, task_id: str) -> None:
        self._states.change(task_id, lambda state, now: state.failed(INTERNAL_ERROR, HAS_ENDED, None, now), BY_CLIENT)

    def _change(self, task_id: str, owner: str, change: StateChange) -> TaskState:
        return _owned(
            self._states.change(task_id, lambda state, now: change(_owned(state, owner), now), BY_CLIENT), owner
        )

    def _forget(self, run: TaskRun) -> None:
        with self._lock:
            self._running.discard(run)


def _store_failed() -> RequestError:
    # The store's own message may name its address, which the client must not see.
    return RequestError("the store of tasks does not answer; repeat this later", INTERNAL_ERROR)


def _check_declared(call: RunningCall) -> None:
    if not declares_tasks(call.request.context):
        raise MissingCapabilityError({"extensions": dict(EXTENSIONS)}, needed_by="this request")


def _owned(state: TaskState | None, owner: str) -> TaskState:
    if state is None or state.owner != owner:
        raise RequestError("unknown task: it does not exist, or has expired")
    return state


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
