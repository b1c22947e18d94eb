"""Sending the messages of a log as a stream of events: those that a client has missed, then those that come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.responses import EventStream
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Send

    from gaia_mcp.server.http.event_log import EventLog, Kept
    from gaia_mcp.server.http.received import Received
    from gaia_mcp.server.http.store_threads import StoreThreads


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
    """Send what the log has after a position and what is added to it, after `opening`, as a response.

    Ends with the last message of the log, when the client goes away, when another stream follows the same log (a
    message is never sent on two), or when `closing` is set. `on_silence` is called whenever nothing was sent for
    `keep_alive_seconds`; it may ask the store, and must not raise. Raises `StoreError` before anything was sent; a
    store that fails later is asked again.
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
    """What is there; nothing while the store fails, which is asked again later."""
    try:
        return log.read(after)
    except StoreError:
        return []


async def _then(end: Callable[[], None], happened: Callable[[], Awaitable[object]]) -> None:
    await happened()
    end()
