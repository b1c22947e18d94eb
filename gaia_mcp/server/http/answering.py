"""Responds to a POST with the messages of its exchange: as JSON for a single message, otherwise as an SSE stream."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.received import EventStream, send_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Send

    from gaia_mcp.server.http.exchange import Exchange, Sent
    from gaia_mcp.server.http.received import Caller, Headers, Received

# Most calls end within this time. Only for longer ones is the connection watched for a disconnect.
QUICK_SECONDS = 0.05
# Queued messages are written at once, up to about this size.
WRITTEN_BYTES = 64 * 1024


# A status, and headers in addition to those of every response.
Head: TypeAlias = "tuple[int, Headers]"
OK: Head = (200, ())


def scope_head(caller: Caller, sent: Sent) -> Head | None:
    """Status and headers of an error that requires scopes; None for any other message."""
    return (403, caller.scope_challenge(sent.scopes)) if sent.scopes and caller.scopes is not None else None


class Answering:
    """Sends responses, with the parts that differ between eras as parameters.

    `head_of` returns status and headers for a single message. A stream also begins if nothing was sent within the
    seconds that `patience` returns. `streaming` is entered for the duration of a stream, and returns the stream's first
    bytes. `gone` is called if the client disconnects before the end.
    """

    def __init__(
        self,
        *,
        head_of: Callable[[Sent], Head],
        gone: Callable[[], None],
        streaming: Callable[[], AbstractAsyncContextManager[bytes]] = lambda: nullcontext(b""),
        patience: Callable[[], float],
        keep_alive_seconds: float,
    ) -> None:
        self._head_of = head_of
        self._gone = gone
        self._streaming = streaming
        self._patience = patience
        self._keep_alive_seconds = keep_alive_seconds

    async def answer(self, exchange: Exchange, request: Received, send: Send) -> None:
        """Send the messages of the exchange, until it ends or the client disconnects."""
        sent = await exchange.next(QUICK_SECONDS)
        if sent is not None and exchange.has_ended:
            await self._send_only(sent, send)
            return
        watch = asyncio.create_task(self._watch(exchange, request))
        try:
            if sent is None:
                sent = await exchange.next(self._patience())
            if sent is not None and exchange.has_ended:
                await self._send_only(sent, send)
            elif not exchange.is_closed:
                await self._stream(exchange, sent, send)
        finally:
            watch.cancel()

    async def _send_only(self, sent: Sent, send: Send) -> None:
        status, headers = self._head_of(sent)
        await send_body(send, status, sent.data, headers)

    async def _stream(self, exchange: Exchange, sent: Sent | None, send: Send) -> None:
        exchange.is_stream = True
        stream = EventStream(send)
        async with self._streaming() as events:
            exchange.is_resumable = bool(events)
            await stream.start()
            is_over = False
            while not exchange.is_closed and not is_over:
                while sent is not None:
                    events += as_event(sent)
                    # Limited, as a call may send messages faster than this loop collects them.
                    sent = await exchange.next(0.0) if exchange.has_more and len(events) < WRITTEN_BYTES else None
                is_over = exchange.has_ended or (exchange.is_released and not exchange.has_more)
                if events or not is_over:
                    await stream.write(events or KEEP_ALIVE)
                events = b""
                if not is_over:
                    sent = await exchange.next(self._keep_alive_seconds)
            if exchange.is_released:
                # Later messages are only in the event log, for the client to resume.
                exchange.close()
        await stream.end()

    async def _watch(self, exchange: Exchange, request: Received) -> None:
        await request.disconnected()
        exchange.close()
        self._gone()


def as_event(sent: Sent) -> bytes:
    """A message as an SSE event. It has a name, because some clients ignore events without one."""
    return write_event(sent.data, name="message", id=sent.event_id)
