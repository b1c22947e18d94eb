"""Answering a POST with the messages of its exchange: as JSON where there is one alone, as a stream of events else."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.responses import EventStream, send_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Send

    from gaia_mcp.server.http.caller import Caller
    from gaia_mcp.server.http.exchange import Exchange, Sent
    from gaia_mcp.server.http.received import Received
    from gaia_mcp.server.http.refusals import Headers

# Most calls have ended by then; only for others it is watched whether their client goes away.
QUICK_SECONDS = 0.05
# What is there is written at once, up to so much.
WRITTEN_BYTES = 64 * 1024


# A status, and headers beside those of every response.
Head: TypeAlias = "tuple[int, Headers]"
OK: Head = (200, ())


def scope_head(caller: Caller, sent: Sent) -> Head | None:
    """That of an error which demands scopes; None of any other message."""
    return (403, caller.scope_challenge(sent.scopes)) if sent.scopes and caller.scopes is not None else None


class Answering:
    """How the answers of one era differ.

    `head_of` is the status of a message that is the only one, with further headers. A stream is begun too if nothing
    was sent within the seconds that `patience` returns; `streaming` is entered meanwhile, and makes what it begins
    with. `gone` is called when the client has gone away before the end.
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
        """Send everything that the exchange has, until it ends or the client goes away."""
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
                    # A call may report faster than this collects.
                    sent = await exchange.next(0.0) if exchange.has_more and len(events) < WRITTEN_BYTES else None
                is_over = exchange.has_ended or (exchange.is_released and not exchange.has_more)
                if events or not is_over:
                    await stream.write(events or KEEP_ALIVE)
                events = b""
                if not is_over:
                    sent = await exchange.next(self._keep_alive_seconds)
            if exchange.is_released:
                # What it is sent from here on is in the log alone.
                exchange.close()
        await stream.end()

    async def _watch(self, exchange: Exchange, request: Received) -> None:
        await request.disconnected()
        exchange.close()
        self._gone()


def as_event(sent: Sent) -> bytes:
    """A message as an event. Named, for some clients read no others."""
    return write_event(sent.data, name="message", id=sent.event_id)
