"""Reading the body of a response: one JSON object, or events as they arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.http.connections import TRANSPORT_ERRORS
from gaia_mcp.errors import RemoteProtocolError
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.protocol.sse import EventParser, EventTooLongError, ServerSentEvent

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response

EVENTS = "text/event-stream"
# The limits for a body that is read only to describe it in an error. If it does not arrive, the status is enough.
MAX_EXCERPT_BYTES = 1024 * 1024
EXCERPT_SECONDS = 0.5


def kind_of(response: Response) -> str:
    """The media type of a response, without parameters and in lower case; empty without one."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def text_of(record: bytes) -> str | bytes:
    """A record as text, or the record itself if it is not UTF-8.

    So the caller of a record of 50 MB keeps only the text: the parsed value is as large again.
    """
    try:
        return record.decode()
    except UnicodeDecodeError:
        return record


def read(response: Response, server: str, limit: int = MAX_RECORD_BYTES) -> bytes:
    """The whole body. Raises `RemoteProtocolError` for one that is longer than `limit`, in bytes."""
    pieces, size = [], 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise RemoteProtocolError(server, f"sent a body of more than {limit} bytes")
    return b"".join(pieces)


def begin(response: Response, seconds: float = EXCERPT_SECONDS) -> bytes:
    """The beginning of a body, for an error: the part that arrives within these seconds."""
    body = bytearray()
    end = time.monotonic() + seconds
    response.limit_silence(seconds)
    try:
        for piece in response.iter_bytes():
            body += piece
            if len(body) >= MAX_EXCERPT_BYTES or time.monotonic() > end:
                break
    except TRANSPORT_ERRORS:
        pass  # Cut off, or its compression does not match its header.
    return bytes(body)


def events(response: Response, parser: EventParser, server: str) -> Iterator[ServerSentEvent]:
    """The events of a stream, as they arrive. Raises `RemoteProtocolError` for one that is too long."""
    for piece in response.iter_bytes():
        try:
            found = parser.feed(piece)
        except EventTooLongError as problem:
            raise RemoteProtocolError(server, f"sent {problem}") from problem
        # Not held while waiting for the next: one may have 50 MB.
        del piece
        while found:
            yield found.pop(0)
