"""Threads that make calls at once: together they send the next call while the server works on those before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Callers(Generic[Item, Outcome]):
    """`threads` threads, each of which calls `work` with items of what is to be done. They end with `close`.

    A single one is the caller's own thread.
    """

    def __init__(self, work: Callable[[Item], Outcome], threads: int) -> None:
        self._work = work
        self._tasks: SimpleQueue[_Task[Item, Outcome] | None] = SimpleQueue()
        self._threads = threads if threads > 1 else 0
        for number in range(self._threads):
            threading.Thread(target=self._run, name=f"fuzz {number + 1}", daemon=True).start()

    def outcomes(self, items: Sequence[Item]) -> list[Outcome]:
        """The outcome of each item, in their order. Raises the first exception of `work`, once no item is in work."""
        if not self._threads or len(items) == 1:
            return [self._work(item) for item in items]
        task = _Task(items, self._work)
        helpers = min(self._threads, len(items))
        for _ in range(helpers):
            self._tasks.put(task)
        for _ in range(helpers):
            task.ended.get()
        if task.errors:
            raise task.errors[0]
        return [task.found[number] for number in range(len(items))]

    def close(self) -> None:
        """End the threads once their work is done."""
        for _ in range(self._threads):
            self._tasks.put(None)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.take_part()


class _Task(Generic[Item, Outcome]):
    def __init__(self, items: Sequence[Item], work: Callable[[Item], Outcome]) -> None:
        self.found: dict[int, Outcome] = {}
        self.errors: list[BaseException] = []
        self.ended: SimpleQueue[None] = SimpleQueue()
        self._items = items
        self._work = work
        # Each number is given to one thread.
        self._numbers = count()

    def take_part(self) -> None:
        """Do the next item as long as there is one, and no other has failed."""
        try:
            while not self.errors and (number := next(self._numbers)) < len(self._items):
                self.found[number] = self._work(self._items[number])
        except BaseException as error:  # noqa: BLE001 (it belongs to the thread that waits)
            self.errors.append(error)
        finally:
            self.ended.put(None)
