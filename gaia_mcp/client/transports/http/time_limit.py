"""A total time limit for the requests of an `httpx2` client, whose own timeouts restart with every byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline


class TimeLimit:
    """Limits the requests of one client, one at a time. Pass `extensions` to each request."""

    def __init__(self) -> None:
        self.extensions: dict[str, Any] = {"trace": self._trace}
        # Whether the last request exceeded its limit.
        self.has_passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Close the connection of the requests in this context once `deadline` has passed, so that they fail."""
        self.has_passed = False
        timer = threading.Timer(deadline.remaining(), self._pass)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _pass(self) -> None:
        with self._lock:
            self.has_passed = True
            self._shut_down()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.has_passed:
                    self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            # The shutdown of the plain socket, also for TLS: the TLS state belongs to the reading thread.
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
