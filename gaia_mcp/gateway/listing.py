"""The lists of all servers behind a gateway, asked for at once: one that is slow or broken delays the others little.

What a slow server answers later is announced as a change of the list.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gaia_mcp.deadline import WAIT_SLICE_SECONDS
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.gateway.backend import Backend
    from gaia_mcp.toolcall import Call

# Hosts give a server half a minute for its first list, and many servers take several seconds to start.
PATIENCE_SECONDS = 10.0


class Listing:
    """Asks `backends` for their lists, each for one list at a time. `on_late` is called with the kind of a list which
    came after the client has been answered. Safe to use from several threads.
    """

    def __init__(
        self,
        backends: Sequence[Backend],
        on_late: Callable[[str], None],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._backends = backends
        self._on_late = on_late
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._asking: dict[tuple[str, str], _Asking] = {}

    def ask(self, kind: str, call: Call, backends: Sequence[Backend] | None = None) -> list[Backend]:
        """Those of `backends`, by default of all, that have their list of this `kind` up to date now, or in a while.

        Raises `CallCancelledError`.
        """
        chosen = [backend for backend in (self._backends if backends is None else backends) if backend.may_try(kind)]
        asking = [(backend, self._begin(backend, kind)) for backend in chosen]
        ends = time.monotonic() + self._patience_seconds
        for _, each in asking:
            while not each.wait(min(ends - time.monotonic(), WAIT_SLICE_SECONDS)):
                call.raise_if_cancelled()
                if time.monotonic() >= ends:
                    each.leave()
                    break
        return [backend for backend, each in asking if each.has_succeeded]

    def _begin(self, backend: Backend, kind: str) -> _Asking:
        key = backend.name, kind
        with self._lock:
            if (asking := self._asking.get(key)) is not None:
                return asking
            asking = self._asking[key] = _Asking()
        threading.Thread(target=self._fetch, args=(backend, kind, asking), name="list", daemon=True).start()
        return asking

    def _fetch(self, backend: Backend, kind: str, asking: _Asking) -> None:
        found = False
        try:
            found = bool(backend.fetch(kind))
            asking.has_succeeded = True
        except MCPError:
            pass  # The backend knows why.
        finally:
            with self._lock:
                del self._asking[backend.name, kind]
            is_late = asking.end()
        if is_late and found:
            self._on_late(kind)


class _Asking:
    """A list that a server is being asked for. `has_succeeded` when it has come."""

    def __init__(self) -> None:
        self.has_succeeded = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_left = False

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, waited for up to so many seconds."""
        return self._ended.wait(max(0.0, seconds))

    def leave(self) -> None:
        """A client is answered without it."""
        with self._lock:
            self._is_left = True

    def end(self) -> bool:
        """It has ended; whether a client was answered without it."""
        with self._lock:
            self._ended.set()
            return self._is_left
