"""Listing the tools again, for a call whose headers the server has rejected (HC-5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import meta_of
from gaia_mcp.protocol.sse import EventParser

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.client.transports.http.lanes import Lane
    from gaia_mcp.client.transports.http.wire import Wire
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.jsonrpc import Message

# The call waits for all pages; servers send up to a thousand tools in each.
MAX_PAGES = 20

# The ids are strings made of these numbers; the requests of the conversation have integers.
_numbers = count(1)


def refresh_tools(lane: Lane, wire: Wire, call: Message, deadline: Deadline) -> bool:
    """List the tools again. Returns whether the headers of `call` have changed.

    Raises as `Lane.open` and `Wire.headers_of` do.
    """
    before = wire.annotations.headers(call["params"])
    meta = {key: value for key, value in meta_of(call["params"]).items() if key != "progressToken"}
    cursor: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        message = jsonrpc.request(f"tools-{next(_numbers)}", "tools/list", {**cursor, "_meta": meta})
        headers = wire.headers_of(message, deadline)
        response = lane.open("POST", wire.url, headers, jsonrpc.encode(message), deadline.remaining())
        with closing(response):
            result = _result(response, wire, message["id"])
        wire.annotations.learn(result, is_first=not cursor)
        if not isinstance(following := result.get("nextCursor"), str) or {"cursor": following} == cursor:
            break
        cursor = {"cursor": following}
    return wire.annotations.headers(call["params"]) != before


def _result(response: Response, wire: Wire, request_id: str) -> dict[str, Any]:
    server = wire.endpoint.server
    if bodies.kind_of(response) == bodies.EVENTS:
        records: Iterator[bytes] = (event.data for event in bodies.events(response, EventParser(), server))
    else:
        records = iter([bodies.read(response, server)])
    for record in records:
        try:
            value = jsonrpc.parse(record)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("id") == request_id and isinstance(value.get("result"), dict):
            return dict(value["result"])
    return {}
