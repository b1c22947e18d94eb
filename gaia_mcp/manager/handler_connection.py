"""The connection of one handler: made at most once, and ended also if it is made too late.

Knows nothing of tools. Whatever the handler's code does is run by the function `run`, which comes back from code that
hangs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.manager.handler_failures import described

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPHandler

logger = logging.getLogger("gaia_mcp")

# The most that a handler may take to disconnect, and that is waited for one that is still being connected.
DISCONNECT_SECONDS = 5.0

# Runs code of the handler, for so many seconds at most, or for its own timeout. Raises what the code does.
Run = Callable[[Callable[[], object], float | None], object]


class _Attempt:
    """One attempt to connect: `over` is set when it has ended, `is_up` is whether it succeeded."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.is_up = False
        # Nothing waits for it any more: if it succeeds after all, it is to be ended.
        self.is_given_up = False


class HandlerConnection:
    """The connection of `handler`. Safe to use from several threads.

    `is_abortable` is whether `disconnect()` may be called during `connect()`, and gives that up. `on_failure` is
    called with the reason when it could not be connected.
    """

    def __init__(
        self, handler: MCPHandler, run: Run, on_failure: Callable[[str], None], *, is_abortable: bool = False
    ) -> None:
        self._handler = handler
        self._run = run
        self._on_failure = on_failure
        self._is_abortable = is_abortable
        # Held to touch what follows; never while the handler's code runs. A signal handler that shuts down may enter
        # again in the same thread.
        self._lock = threading.RLock()
        self._attempt: _Attempt | None = None
        # Not set while an earlier connection is being ended.
        self._is_free = threading.Event()
        self._is_free.set()

    @property
    def has_failed(self) -> bool:
        """Whether the attempt to connect has failed. There is no other before `end`."""
        attempt = self._attempt
        return attempt is not None and attempt.over.is_set() and not attempt.is_up

    def establish(self) -> bool:
        """Whether it is connected, which the first caller attempts while the others wait."""
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
        """Begin to end it: the next `establish` attempts anew, after the returned function has ended this one."""
        with self._lock:
            attempt, self._attempt = self._attempt, None
            if attempt is None:
                return self._wait_until_free
            attempt.is_given_up = True
            self._is_free.clear()
        return lambda: self._end(attempt)

    def _wait_until_free(self) -> None:
        # Not for ever: a signal handler may have interrupted the very thread that ends it.
        self._is_free.wait(DISCONNECT_SECONDS)

    def _take_attempt(self) -> tuple[_Attempt, bool]:
        """The attempt, and whether it is this thread that is to make it."""
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
                # What gives it up from here on also ends it.
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
                self._disconnect(logging.DEBUG)  # It may have got halfway.
            else:
                logger.warning("MCP handler %r is still being connected; it is left behind", self._handler.name)
        finally:
            self._is_free.set()

    def _disconnect(self, level: int) -> None:
        try:
            self._run(self._handler.disconnect, DISCONNECT_SECONDS)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            logger.log(level, "MCP handler %r could not be disconnected: %s", self._handler.name, described(error))
