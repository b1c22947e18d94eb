"""Sends the messages of a log as an event stream: first those that the client has missed, then new ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.received import EventStream
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Send

    from gaia_mcp.server.http.event_log import EventLog, Kept
    from gaia_mcp.server.http.received import Received
    from gaia_mcp.server.http.sharing import StoreThreads


async def follow(
    log: EventLog,
    after: int,
    request: Received,
    send: Send,
    *,
    opening: bytes,
    threads: StoreThreads,
    closing: asyncio.Event,
    keep_alive_seconds: float,
    on_silence: Callable[[], object],
) -> None:
    """Send `opening`, the messages of the log after a position, and those that are added to it, as a response.

    Ends after the last message of the log, when the client disconnects, when another stream follows the same log (a
    message is never sent on two streams), or when `closing` is set. `on_silence` is called whenever nothing was sent
    for `keep_alive_seconds`; it may query the store, and must not raise. Raises `StoreError` only before anything was
    sent; later failures of the store are retried.
    """
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True
        changed.set()

    stream = EventStream(send)
    unsubscribe = await threads.run(
        log.follow, lambda: loop.call_soon_threadsafe(changed.set), lambda: loop.call_soon_threadsafe(end)
    )
    watches = [asyncio.create_task(_then(end, request.disconnected)), asyncio.create_task(_then(end, closing.wait))]
    try:
        await stream.start()
        events = opening or KEEP_ALIVE
        while True:
            changed.clear()
            for kept in await threads.run(_read, log, after):
                events += write_event(kept.data, name="message", id=kept.event_id)
                after, is_over = kept.position, is_over or kept.is_last
            if events:
                await stream.write(events)
            if is_over:
                await stream.end()
                return
            try:
                async with asyncio.timeout(keep_alive_seconds):
                    await changed.wait()
                events = b""
            except TimeoutError:
                await threads.run(on_silence)
                events = KEEP_ALIVE
    finally:
        unsubscribe()
        for watch in watches:
            watch.cancel()


def _read(log: EventLog, after: int) -> list[Kept]:
    """The messages after a position; none if the store fails, because the caller retries."""
    try:
        return log.read(after)
    except StoreError:
        return []


async def _then(end: Callable[[], None], happened: Callable[[], Awaitable[object]]) -> None:
    await happened()
    end()
