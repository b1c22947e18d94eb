"""Every order in which threads can take their steps, one at a time: a deterministic scheduler for code with threads.

A module under test is given `threads` in place of `threading` (and `SimpleQueue`, `time`): each use of a lock, a queue
or a thread is a step, between which another thread may go on. `explore` runs a scenario again and again, each time in
another order, in which at most `detours` times another thread goes on than the one whose turn it is.

No time passes: a wait with a timeout ends only by what it waits for, unless its time is over before it begins. So code
that relies on a wait ending by itself is found asleep.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from contextvars import Context
from queue import Empty
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# A scenario that takes more steps than this goes round in circles.
MAX_STEPS = 5000
# One order takes milliseconds. Where none of its threads goes on, this does.
RUN_SECONDS = 20.0


class _OverError(BaseException):
    """Raised in the threads that are left when a run is over."""


class StuckError(AssertionError):
    """Threads wait for what none of them will do."""


class LostThreadError(AssertionError):
    """A thread whose turn it was has not gone on."""


class Workers:
    """Threads that do one piece of work after the other: to start a thread takes longer than all steps of a task."""

    def __init__(self) -> None:
        self.idle: list[Worker] = []
        self.is_closed = False

    def start(self, work: Callable[[], object], name: str) -> Worker:
        """Have `work` done in a thread of this name."""
        worker = self.idle.pop() if self.idle else Worker(self)
        worker.begin(work, name)
        return worker

    def close(self) -> None:
        """End the threads; one that was lost ends when it has done its work."""
        self.is_closed = True
        for worker in self.idle:
            worker.begin(None, "")
            worker.thread.join()


class Worker:
    """One of these threads."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._work: Callable[[], object] | None = None
        self._may_begin, self._has_ended = threading.Lock(), threading.Lock()
        self._may_begin.acquire()
        self._has_ended.acquire()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def begin(self, work: Callable[[], object] | None, name: str) -> None:
        self.thread.name, self._work = name, work
        self._may_begin.release()

    def join(self, seconds: float) -> None:
        """Wait for the end of its work; once for each."""
        if self._has_ended.acquire(timeout=seconds):
            self._workers.idle.append(self)

    def _run(self) -> None:
        while self._may_begin.acquire() and self._work is not None:
            # As in a new thread.
            Context().run(self._work)
            self._work = None
            self._has_ended.release()
            if self._workers.is_closed:
                return


class Task:
    """One thread. `ready` tells whether it can take its next step; None if it can at any time."""

    def __init__(self, name: str, work: Callable[[], object], *, is_daemon: bool) -> None:
        self.name = name
        self.work = work
        self.is_daemon = is_daemon
        self.is_done = False
        self.ready: Callable[[], object] | None = None
        # It lets time pass: it goes on when no other can.
        self.sleeps = False
        self.turn = threading.Lock()
        self.turn.acquire()
        self.worker: Worker | None = None


class Run:
    """One order of steps. `plan` holds the choices to make first; `made` those that were, with how many there were."""

    def __init__(self, plan: list[int], detours: int, workers: Workers, seconds: float = RUN_SECONDS) -> None:
        self.made: list[tuple[int, int]] = []
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.problem: BaseException | None = None
        self._plan = plan
        self._detours = detours
        self._workers = workers
        self._seconds = seconds
        self._steps = 0
        self._is_over = False
        self._finished = threading.Event()

    def spawn(self, work: Callable[[], object], name: str = "", *, is_daemon: bool = False) -> Task:
        """Have `work` done in a thread of its own. The run is over when all but daemons have ended."""
        task = Task(name or f"task {len(self.tasks)}", work, is_daemon=is_daemon)
        self.tasks.append(task)
        task.worker = self._workers.start(lambda: self._work(task), task.name)
        return task

    def step(self, ready: Callable[[], object] | None = None, *, sleeps: bool = False) -> None:
        """Another thread may go on here; this one does when it is `ready`, or, if it `sleeps`, after all others."""
        here = threading.current_thread()
        me = next((task for task in self.tasks if task.worker is not None and task.worker.thread is here), None)
        if me is None:
            return  # The scenario is being prepared, or an earlier test has left a thread in the module.
        if self._is_over:
            raise _OverError
        me.ready, me.sleeps = ready, sleeps
        self._hand_over(me)

    def finish(self) -> None:
        """Run to the end. Raises what a thread has raised, or `StuckError`."""
        self._hand_over(None)
        if not self._finished.wait(self._seconds):
            state = [f"{task.name}{' done' * task.is_done}" for task in self.tasks]
            self.problem = LostThreadError(f"no thread goes on after {self.made}: {', '.join(state)}")
        self._is_over = True
        for task in self.tasks:
            if not task.is_done:
                with suppress(RuntimeError):  # One that was lost has not taken its turn.
                    task.turn.release()
        for task in self.tasks:
            assert task.worker is not None
            task.worker.join(10)
        if self.problem is not None:
            raise self.problem

    def _work(self, task: Task) -> None:
        task.turn.acquire()
        try:
            if not self._is_over:
                with suppress(_OverError):
                    task.work()
            task.is_done = True
            if not self._is_over and not self._finished.is_set():
                self._hand_over(None)
        except BaseException as problem:
            # Also one of the scheduler: the other threads would wait for ever.
            task.is_done = True
            self.problem = self.problem or problem
            self._finished.set()

    def _hand_over(self, me: Task | None) -> None:
        start = self.tasks.index(me) if me is not None else -1
        # The one whose turn it is first, then the others in a circle.
        others = self.tasks[start + 1 :] + self.tasks[: max(0, start)]
        options = [task for task in ([me] if me is not None else []) + others if self._can_go_on(task)]
        options.sort(key=lambda task: task.sleeps)
        self._steps += 1
        if not options or self._steps > MAX_STEPS:
            asleep = [task.name for task in self.tasks if not task.is_done and not task.is_daemon]
            if asleep:
                self.problem = StuckError(f"{asleep} wait for ever")
            self._finished.set()
        else:
            chosen = self._choose(options)
            self.current = chosen
            if chosen is me:
                return
            chosen.turn.release()
        if me is not None:
            me.turn.acquire()
            if self._is_over:
                raise _OverError

    def _can_go_on(self, task: Task) -> bool:
        return not task.is_done and (task.ready is None or bool(task.ready()))

    def _choose(self, options: list[Task]) -> Task:
        if len(options) == 1:
            return options[0]
        number = len(self.made)
        choice = self._plan[number] if number < len(self._plan) else 0
        spent = sum(1 for made, _ in self.made if made)
        self.made.append((choice, len(options) if spent < self._detours else 1))
        return options[choice]


def explore(
    scenario: Callable[[Run, Threads], Callable[[], object] | None], detours: int = 2, *, seconds: float = RUN_SECONDS
) -> int:
    """Run a scenario in every order with so many detours; how many those were. It is given a fresh run each time,
    spawns its threads, and may return what checks the end. An order may take so many seconds.

    Raises what a thread or a check raises; the choices that led there are a note on it.
    """
    workers = Workers()
    try:
        return _explored(scenario, detours, workers, seconds)
    finally:
        workers.close()


def _explored(
    scenario: Callable[[Run, Threads], Callable[[], object] | None], detours: int, workers: Workers, seconds: float
) -> int:
    plan: list[int] = []
    runs = 0
    while True:
        run = Run(plan, detours, workers, seconds)
        check = scenario(run, Threads(run))
        try:
            run.finish()
            if check is not None:
                check()
        except BaseException as problem:
            problem.add_note(f"after the choices {[choice for choice, _ in run.made]}")
            raise
        runs += 1
        made = run.made
        while made and made[-1][0] + 1 >= made[-1][1]:
            made.pop()
        if not made:
            return runs
        plan = [choice for choice, _ in made[:-1]] + [made[-1][0] + 1]


class Threads:
    """What a module takes from `threading`, `queue` and `time`, under a scheduler."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def Lock(self) -> Lock:
        return Lock(self.run)

    def RLock(self) -> RLock:
        return RLock(self.run)

    def Condition(self, lock: Lock | None = None) -> Condition:
        return Condition(self.run, lock)

    def Event(self) -> Event:
        return Event(self.run)

    def SimpleQueue(self) -> Queue:
        return Queue(self.run)

    def Thread(
        self, target: Callable[..., object], args: tuple[Any, ...] = (), name: str = "", daemon: bool = False
    ) -> Thread:
        return Thread(self.run, lambda: target(*args), name, is_daemon=daemon)

    def get_ident(self) -> int:
        return id(self.run.current)

    def current_thread(self) -> Task | None:
        return self.run.current

    def sleep(self, _: float) -> None:
        self.run.step(sleeps=True)

    def monotonic(self) -> float:
        return 0.0


class Lock:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._owner: object = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if blocking:
            self._run.step(lambda: self._owner is None or timeout == 0)
        else:
            self._run.step()
        if self._owner is not None:
            return False
        self._owner = self._run.current or self._run
        return True

    def release(self) -> None:
        if self._owner is None:
            raise RuntimeError("release unlocked lock")
        self._owner = None
        self._run.step()

    def locked(self) -> bool:
        return self._owner is not None

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._owner: object = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = self._run.current or self._run
        self._run.step(lambda: not blocking or timeout == 0 or self._owner in (None, me))
        if self._owner not in (None, me):
            return False
        self._owner = me
        self._depth += 1
        return True

    def release(self) -> None:
        if self._owner is not (self._run.current or self._run):
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._run.step()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition:
    def __init__(self, run: Run, lock: Lock | None) -> None:
        self._run = run
        self._lock = lock or Lock(run)
        self._waiting: list[list[bool]] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        told: list[bool] = []
        self._waiting.append(told)
        self._lock.release()
        self._run.step(lambda: told or timeout == 0)
        self._lock.acquire()
        return bool(told)

    def wait_for(self, true: Callable[[], Any], timeout: float | None = None) -> Any:
        while not (found := true()) and self.wait(timeout):
            pass
        return found

    def notify_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for told in waiting:
            told.append(True)


class Event:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._run.step()

    def clear(self) -> None:
        self._is_set = False
        self._run.step()

    def wait(self, timeout: float | None = None) -> bool:
        self._run.step(lambda: self._is_set or timeout == 0)
        return self._is_set


class Queue:
    """A `SimpleQueue`."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._run.step()

    def get(self, timeout: float | None = None) -> Any:
        self._run.step(lambda: self._items or timeout == 0)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self._items:
            raise Empty
        return self._items.popleft()

    def qsize(self) -> int:
        self._run.step()
        return len(self._items)

    def empty(self) -> bool:
        return self.qsize() == 0


class Thread:
    def __init__(self, run: Run, work: Callable[[], object], name: str, *, is_daemon: bool) -> None:
        self._run = run
        self._work = work
        self._name = name
        self._is_daemon = is_daemon
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._run.spawn(self._work, self._name, is_daemon=self._is_daemon)
        self._run.step()

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.is_done

    def join(self, timeout: float | None = None) -> None:
        self._run.step(lambda: not self.is_alive())
