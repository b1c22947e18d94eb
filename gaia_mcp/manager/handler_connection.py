"""The connection of one handler: established at most once, and closed even if it succeeds too late.

Knows no tools. The handler's code is run by the function `run`, which returns even if the code hangs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.manager.handler_threads import described

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPHandler

logger = logging.getLogger("gaia_mcp")

# The limit for a handler to disconnect, and for waiting for one that is still connecting.
DISCONNECT_SECONDS = 5.0

# Runs code of the handler, for so many seconds at most, or for its own timeout. Raises what the code raises.
Run = Callable[[Callable[[], object], float | None], object]


class _Attempt:
    """One attempt to connect: `over` is set when it has ended, `is_up` is whether it succeeded."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.is_up = False
        # It was cancelled: if it succeeds after all, the connection must be closed.
        self.is_given_up = False


class HandlerConnection:
    """The connection of `handler`. May be used from several threads.

    `is_abortable` is whether `disconnect()` may be called during `connect()`, and cancels it. `on_failure` is called
    with the reason when connecting failed.
    """

    def __init__(
        self, handler: MCPHandler, run: Run, on_failure: Callable[[str], None], *, is_abortable: bool = False
    ) -> None:
        self._handler = handler
        self._run = run
        self._on_failure = on_failure
        self._is_abortable = is_abortable
        # Guards the attributes below; never held while the handler's code runs. Reentrant: a signal handler may shut
        # down in the same thread.
        self._lock = threading.RLock()
        self._attempt: _Attempt | None = None
        # Not set while an earlier connection is being closed.
        self._is_free = threading.Event()
        self._is_free.set()

    @property
    def has_failed(self) -> bool:
        """Whether the attempt to connect has failed. It is not repeated before `detach`."""
        attempt = self._attempt
        return attempt is not None and attempt.over.is_set() and not attempt.is_up

    def establish(self) -> bool:
        """Connect, unless that was attempted: the first caller does, others wait. Returns whether it is connected."""
        attempt = self._attempt
        if attempt is not None and attempt.is_up:
            return True
        attempt, is_mine = self._take_attempt()
        if is_mine:
            self._connect(attempt)
        else:
            attempt.over.wait()
        return attempt.is_up

    def detach(self) -> Callable[[], None]:
        """Detach the connection, and return the function that closes it. The next `establish` connects again after
        that.
        """
        with self._lock:
            attempt, self._attempt = self._attempt, None
            if attempt is None:
                return self._wait_until_free
            attempt.is_given_up = True
            self._is_free.clear()
        return lambda: self._end(attempt)

    def _wait_until_free(self) -> None:
        # With a limit: a signal handler may have interrupted the thread that closes it.
        self._is_free.wait(DISCONNECT_SECONDS)

    def _take_attempt(self) -> tuple[_Attempt, bool]:
        """The attempt, and whether this thread must make it."""
        while True:
            self._is_free.wait()
            with self._lock:
                if self._attempt is not None:
                    return self._attempt, False
                if self._is_free.is_set():
                    self._attempt = _Attempt()
                    return self._attempt, True

    def _connect(self, attempt: _Attempt) -> None:
        def connect() -> None:
            self._handler.connect()
            with self._lock:
                # A cancellation from here on also closes it.
                is_late = attempt.is_given_up
                attempt.is_up = bool(self._handler._connected) and not is_late
            if is_late:
                self._handler.disconnect()

        problem = "connect() returned without connecting"
        try:
            self._run(connect, None)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            problem = described(error)
        finally:
            with self._lock:
                attempt.is_given_up |= not attempt.is_up
                is_wanted = self._attempt is attempt
            attempt.over.set()
        if is_wanted and not attempt.is_up:
            self._on_failure(problem)

    def _end(self, attempt: _Attempt) -> None:
        try:
            if attempt.is_up:
                self._disconnect(logging.WARNING)
            elif self._is_abortable or attempt.over.wait(DISCONNECT_SECONDS):
                self._disconnect(logging.DEBUG)  # It may be partly connected.
            else:
                logger.warning("MCP handler %r is still being connected; it is left behind", self._handler.name)
        finally:
            self._is_free.set()

    def _disconnect(self, level: int) -> None:
        try:
            self._run(self._handler.disconnect, DISCONNECT_SECONDS)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            logger.log(level, "MCP handler %r could not be disconnected: %s", self._handler.name, described(error))
