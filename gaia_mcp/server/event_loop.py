"""The event loop of an agent with `async def` tools, in a thread of its own.

The only module that uses asyncio, which is imported when an agent first returns an awaitable. Code that blocks the loop
delays other `async def` tools of the same agent, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from gaia_mcp.asking import Call

# How long cancelled tasks may take to clean up on close. Clients wait about two seconds for a server to exit.
CLOSE_SECONDS = 0.5


class EventLoop:
    """Runs the awaitables of calls in one loop, started on first use. Safe to use from several threads."""

    def __init__(self, close_seconds: float = CLOSE_SECONDS) -> None:
        self._close_seconds = close_seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running = 0
        self._is_retired = False

    def run(self, awaitable: Awaitable[Any], call: Call) -> Any:
        """The result of `awaitable`, which runs with this thread's context.

        Raises whatever it raises. When the call is cancelled, cancels the asyncio task and raises `CallCancelledError`.
        """
        import asyncio
        from concurrent.futures import CancelledError

        with self._lock:
            loop = self._loop = self._loop or self._start()
            self._running += 1
        try:
            future = asyncio.run_coroutine_threadsafe(_outcome(awaitable), loop)
            call.on_cancel(future.cancel)
            value, error = future.result()
        except CancelledError:
            call.raise_if_cancelled()
            raise
        finally:
            with self._lock:
                self._running -= 1
                is_last = self._is_retired and not self._running
            if is_last:
                self.close()
        if error is not None:
            raise error
        return value

    def retire(self) -> None:
        """Close the loop after the last call that uses it."""
        with self._lock:
            self._is_retired = True
            is_last = not self._running
        if is_last:
            self.close()

    def close(self) -> None:
        """Cancel the running tasks, and stop the loop and its thread. The thread is abandoned if a task blocks it."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            import asyncio

            asyncio.run_coroutine_threadsafe(_cancel_others(), loop).add_done_callback(
                lambda _: loop.call_soon_threadsafe(loop.stop)
            )
            thread.join(self._close_seconds)

    def _start(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.new_event_loop()

        def serve() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            loop.close()

        self._thread = threading.Thread(target=serve, name="event loop", daemon=True)
        self._thread.start()
        return loop


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """The result, or an exception that would stop the loop."""
    try:
        return await awaitable, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


async def _cancel_others() -> None:
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
