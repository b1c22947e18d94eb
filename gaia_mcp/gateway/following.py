"""The subscriptions of a gateway to resources of its servers, on behalf of its clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.gateway.backend import Backend

# Servers usually answer at once; a slow one must not delay requests to others.
SETTLE_SECONDS = 1.0


class Following:
    """Subscribes to the `wanted` resources in a background thread, each at the first of its `owners` that accepts. Safe
    to use from several threads.
    """

    def __init__(self, wanted: Callable[[], set[str]], owners: Callable[[str], list[Backend]]) -> None:
        self._wanted = wanted
        self._owners = owners
        # Guards the fields below.
        self._condition = threading.Condition()
        self._is_running = False
        self._is_to_look = False
        self._is_closed = False
        # The server of each subscribed URI; None if no server accepts.
        self._followed: dict[str, Backend | None] = {}

    def look(self) -> None:
        """Update the subscriptions in the background, because `wanted` may have changed."""
        with self._condition:
            self._is_to_look = not self._is_closed
            if self._is_to_look and not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="subscriptions", daemon=True).start()

    def settle(self) -> None:
        """Wait until the subscriptions are up to date, for up to a second."""
        if self._is_running:
            with self._condition:
                self._condition.wait_for(lambda: not self._is_running, SETTLE_SECONDS)

    def close(self) -> None:
        """Make no more subscriptions."""
        with self._condition:
            self._is_closed = True
            self._is_to_look = False

    def _run(self) -> None:
        while self._has_to_look():
            wanted = self._wanted()
            for uri in wanted - self._followed.keys():
                self._followed[uri] = self._subscribed(uri)
            for uri in self._followed.keys() - wanted:
                if (backend := self._followed.pop(uri)) is not None:
                    backend.unsubscribe(uri)

    def _has_to_look(self) -> bool:
        with self._condition:
            if not self._is_to_look:
                self._is_running = False
                self._condition.notify_all()
            found, self._is_to_look = self._is_to_look, False
            return found

    def _subscribed(self, uri: str) -> Backend | None:
        for backend in self._owners(uri):
            try:
                backend.subscribe(uri)
            except MCPError:
                continue  # Another server may have it. If none does, the client's subscription is accepted but silent.
            return backend
        return None
