"""Announces a provider's changes to its listeners, and merges changes in quick succession into one.

A program may change a list thousands of times a second, from several threads, while its clients read the whole list
after each announcement. Listeners are called in a separate thread, which ends when no change is pending: the thread
that made the change must neither wait for a client nor run the agent's code, which may need a lock that it holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container

from gaia_mcp.server.provider import Change

# The minimum between two announcements. People and models cannot use them faster.
INTERVAL_SECONDS = 0.1


class Announcer:
    """Passes changes to `deliver`: the first at once, then, once per interval, all that followed as one.

    Resources that are not `wanted` are left out. Safe to use from several threads.
    """

    def __init__(
        self,
        deliver: Callable[[Change], None],
        wanted: Container[str],
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._deliver = deliver
        self._wanted = wanted
        self._interval_seconds = interval_seconds
        # Guards the fields below. Reentrant, because a signal handler may announce something at any moment.
        self._condition = threading.Condition()
        self._lists: dict[str, None] = {}
        self._uris: dict[str, None] = {}
        self._description = False
        self._is_running = False
        self._is_closed = False

    def announce(self, change: Change) -> None:
        """Schedule `deliver` for this change, possibly merged with others. Does not block. Ignored after `close`."""
        with self._condition:
            if self._is_closed:
                return
            self._lists.update(dict.fromkeys(change.lists))
            self._uris.update({uri: None for uri in change.uris if uri not in self._uris and uri in self._wanted})
            self._description |= change.description
            if not self._is_running and (self._lists or self._uris or self._description):
                threading.Thread(target=self._run, name="changes", daemon=True).start()
                self._is_running = True

    def close(self) -> None:
        """Announce no further changes. An announcement that is in progress in another thread may still complete."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def _run(self) -> None:
        try:
            while (change := self._next()) is not None:
                self._deliver(change)
                with self._condition:
                    self._condition.wait_for(lambda: self._is_closed, self._interval_seconds)
        except BaseException:
            with self._condition:
                self._is_running = False
            raise

    def _next(self) -> Change | None:
        """The pending change; None, which ends the thread, if there is none."""
        with self._condition:
            change = Change(tuple(self._lists), tuple(self._uris), self._description)
            self._lists, self._uris, self._description = {}, {}, False
            if self._is_closed or change == Change():
                self._is_running = False
                return None
            return change
