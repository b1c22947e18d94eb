"""An end in time for the requests of a client of `httpx2`, whose own timeouts begin anew with every byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline


class TimeLimit:
    """Limits the requests of one client, one at a time. Each is to be given `extensions`."""

    def __init__(self) -> None:
        self.extensions: dict[str, Any] = {"trace": self._trace}
        # Whether the time of the last request has passed.
        self.has_passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Once `deadline` has passed, end the connection of what is requested meanwhile, which then fails."""
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
            # That of a plain socket, also for TLS: nothing of what the reading thread uses may change under it.
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
