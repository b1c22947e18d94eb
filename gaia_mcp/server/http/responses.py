"""Responses: one JSON body, or an event stream that stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.protocol.jsonrpc import encode, error

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.server.http.received import Headers, RefusalError

# A larger body is sent in pieces.
PIECE_BYTES = 2**20
_JSON = (b"content-type", b"application/json")
# A proxy that buffers or caches the response would delay the events.
_STREAM: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


async def send_body(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    """Send a complete response with a JSON body, or without a body if `body` is empty."""
    given = [*headers, (b"content-length", b"%d" % len(body))]
    if body:
        given.append(_JSON)
    await send({"type": "http.response.start", "status": status, "headers": given})
    for start in range(0, max(1, len(body)), PIECE_BYTES):
        end = start + PIECE_BYTES
        # The server waits between pieces while the client is slow, and so never buffers a second copy of the body.
        await send({"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)})


async def send_refusal(send: Send, refusal: RefusalError) -> None:
    """Send the JSON-RPC error of a refusal."""
    message = error(refusal.request_id, refusal.code, refusal.text, refusal.data)
    await send_body(send, refusal.status, encode(message), refusal.headers)


class EventStream:
    """An event stream as a response. Call `start` first, then `write`, and finally `end`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def start(self, headers: Headers = ()) -> None:
        """Send the status and the headers."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *headers]})

    async def write(self, event: bytes) -> None:
        """Send one or more events. Waits while the client reads too slowly."""
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        """End the response."""
        await self._send({"type": "http.response.body", "body": b""})
