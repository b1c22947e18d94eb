"""The subscriptions of a gateway to resources of its servers, on behalf of its clients."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.gateway.backend import Backend

# Servers usually answer at once; a slow one must not delay requests to others.
SETTLE_SECONDS = 1.0
# A resource, and the session whose own instances of servers notify about it; None for the shared instances.
Wanted = tuple[str, str | None]


class Following:
    """Subscribes to the `wanted` resources in a background thread, each at the first of its `owners` that accepts. Safe
    to use from several threads.
    """

    def __init__(
        self,
        wanted: Callable[[], set[Wanted]],
        owners: Callable[[str, str | None], Iterable[Backend]],
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._wanted = wanted
        self._owners = owners
        self._settle_seconds = settle_seconds
        # Guards the fields below.
        self._condition = threading.Condition()
        # The background thread, while it runs.
        self._thread: threading.Thread | None = None
        self._is_to_look = False
        self._is_closed = False
        # The server of each subscription.
        self._followed: dict[Wanted, Backend] = {}
        # Those that no server accepts. They are tried again when a server has connected.
        self._refused: set[Wanted] = set()

    def look(self) -> None:
        """Update the subscriptions in the background, because `wanted` may have changed."""
        with self._condition:
            self._is_to_look = not self._is_closed
            if self._is_to_look and self._thread is None:
                thread = threading.Thread(target=self._run, name="subscriptions", daemon=True)
                thread.start()
                self._thread = thread

    def server_connected(self) -> None:
        """Try the refused URIs again: a server has connected, which may accept them."""
        with self._condition:
            # If it was connected for a subscription, it is being asked: one that fails would be asked without an end.
            is_for_us = self._thread is threading.current_thread()
            if is_for_us or (self._thread is None and not self._refused):
                return
            self._refused = set()
        self.look()

    def settle(self) -> None:
        """Wait until the subscriptions are up to date, for up to `settle_seconds`."""
        if self._thread is not None:
            with self._condition:
                self._condition.wait_for(lambda: self._thread is None, self._settle_seconds)

    def close(self) -> None:
        """Make no more subscriptions."""
        with self._condition:
            self._is_closed = True
            self._is_to_look = False

    def _run(self) -> None:
        try:
            while self._has_to_look():
                self._update(self._wanted())
        except BaseException:
            with self._condition:
                self._thread = None
            raise

    def _has_to_look(self) -> bool:
        with self._condition:
            if not self._is_to_look:
                self._thread = None
                self._condition.notify_all()
            found, self._is_to_look = self._is_to_look, False
            return found

    def _update(self, wanted: set[Wanted]) -> None:
        for each in wanted - self._followed.keys() - self._refused:
            # The set of before the attempt: it is replaced if a server connects meanwhile.
            refused = self._refused
            if (backend := self._subscribed(*each)) is not None:
                self._followed[each] = backend
            else:
                refused.add(each)
        self._refused.intersection_update(wanted)
        for each in self._followed.keys() - wanted:
            backend = self._followed.pop(each)
            # Where all callers share one instance, another session may have subscribed there.
            if (each[0], backend) not in [(uri, other) for (uri, _), other in self._followed.items()]:
                backend.unsubscribe(each[0])

    def _subscribed(self, uri: str, session: str | None) -> Backend | None:
        for backend in self._owners(uri, session):
            try:
                backend.subscribe(uri)
            except MCPError:
                continue  # Another server may have it. Until one does, the client's subscription is silent.
            return backend
        return None
