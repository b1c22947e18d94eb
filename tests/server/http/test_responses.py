"""Responses as an ASGI server gets them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gaia_mcp.server.http.received import RefusalError
from gaia_mcp.server.http.responses import PIECE_BYTES, EventStream, send_body, send_refusal

Wire = dict[str, Any]


class Sent:
    """What was sent."""

    def __init__(self) -> None:
        self.messages: list[Wire] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)


def test_a_body_has_its_type_and_its_length() -> None:
    """RFC 9110, section 8."""
    sent = Sent()

    asyncio.run(send_body(sent, 200, b"{}", ((b"a", b"b"),)))

    start, body = sent.messages
    assert start["headers"] == [(b"a", b"b"), (b"content-length", b"2"), (b"content-type", b"application/json")]
    assert (start["status"], body["body"]) == (200, b"{}")


def test_a_large_body_is_sent_in_pieces() -> None:
    """Ours: an ASGI server keeps what it is given until the client has taken it."""
    sent = Sent()
    body = bytes(range(256)) * (PIECE_BYTES // 128 + 1)

    asyncio.run(send_body(sent, 200, body))

    pieces = sent.messages[1:]
    assert b"".join(piece["body"] for piece in pieces) == body
    assert max(len(piece["body"]) for piece in pieces) == PIECE_BYTES
    assert [piece["more_body"] for piece in pieces] == [True, True, False]


def test_a_response_without_a_body_has_no_content_type() -> None:
    """RFC 9110, section 8.3."""
    sent = Sent()

    asyncio.run(send_body(sent, 202, b""))

    assert sent.messages[0]["headers"] == [(b"content-length", b"0")]


def test_a_refusal_is_a_json_rpc_error() -> None:
    """JSON-RPC 2.0; without an id where the request was not read."""
    sent = Sent()

    asyncio.run(send_refusal(sent, RefusalError(405, "no", headers=((b"allow", b"POST"),))))

    start, body = sent.messages
    assert (start["status"], start["headers"][0]) == (405, (b"allow", b"POST"))
    assert json.loads(body["body"]) == {"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}


def test_an_event_stream_disables_buffering_in_proxies() -> None:
    """Spec 2026-07-28, HS-8."""
    sent = Sent()

    async def stream() -> None:
        events = EventStream(sent)
        await events.start(((b"a", b"b"),))
        await events.write(b"data: 1\n\n")
        await events.end()

    asyncio.run(stream())

    start, event, end = sent.messages
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"text/event-stream"
    assert headers[b"x-accel-buffering"] == b"no"
    assert headers[b"a"] == b"b"
    assert event == {"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True}
    assert end == {"type": "http.response.body", "body": b""}
