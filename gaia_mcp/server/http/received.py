"""One HTTP request: its headers, its caller, its body within limits, and what is sent back: a JSON body, an event
stream, or a refusal.

Knows nothing of MCP but the JSON-RPC error in a refusal.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    RepeatedMemberError,
    RequestId,
    encode,
    error,
    malformed,
    parse_strictly,
)
from gaia_mcp.server.running_call import Transport
from gaia_mcp.store import StoreError, StoreFullError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.workers import Limits

JSON_TYPE = "application/json"
STREAM_TYPE = "text/event-stream"
# The rest of a refused request is not read, so the connection cannot be reused for the next one.
_CLOSE = ((b"connection", b"close"),)
# What precedes each value but the first: a comma, or the bracket that begins its list or object. Everything before that
# is skipped: the text of strings, and empty lists and objects.
_NEXT_VALUE = re.compile(rb'(?:[^"\[{,]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]\s*+(?=[\]}]))*+[\[{,]', re.DOTALL)
# The approximate memory of a value: an empty object and its place in a list take 72 bytes, one with a member 190.
_VALUE_BYTES = 100

_HTTP = Transport(attributes={"network.transport": "tcp", "network.protocol.name": "http"})
# The headers of a distributed trace (W3C Trace Context). The others are ignored without the first.
_TRACE = ("traceparent", "tracestate", "baggage")
Headers = Sequence[tuple[bytes, bytes]]
# In seconds. Long enough that retries do not add to the load, short enough for a person to wait.
RETRY_AFTER = b"2"
# A larger body is sent in pieces.
PIECE_BYTES = 2**20
_JSON = (b"content-type", b"application/json")
# A proxy that buffers or caches the response would delay the events.
_STREAM: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class Caller(NamedTuple):
    """The sender of a request. `principal` is None if callers are not distinguished. `scopes` are those of its token,
    None if tokens have no scopes. `needed` are the scopes that every request requires, and `where` the parameters of a
    challenge that point to the authorization server.
    """

    principal: str | None = None
    scopes: frozenset[str] | None = None
    needed: Sequence[str] = ()
    where: Sequence[str] = ()

    def scope_challenge(self, scopes: Iterable[str]) -> Headers:
        """The headers that demand a token with these scopes. Spec AS-3: with all scopes that the request requires."""
        scope = " ".join(dict.fromkeys([*self.needed, *scopes]))
        return challenge('error="insufficient_scope"', f'scope="{scope}"', *self.where)


def challenge(*parameters: str) -> Headers:
    """The header that demands a bearer token (RFC 6750)."""
    value = " ".join(["Bearer", ", ".join(parameters)]).strip()
    return ((b"www-authenticate", value.encode("latin-1")),)


# The caller of a request that has not been authorized.
_ANYBODY = Caller()


class Received:
    """A request. The names of `headers` are in lower case; the values of a repeated header are joined by commas."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.headers = _headers(scope["headers"])
        self._receive = receive
        self.caller = _ANYBODY
        # For tracing.
        self.transport = _HTTP
        if _TRACE[0] in self.headers:
            self.transport = _HTTP._replace(trace={name: self.headers[name] for name in _TRACE if name in self.headers})
        # The approximate memory that its message takes.
        self.bytes = 0

    def check_head(self, limits: Limits) -> None:
        """Raises `RefusalError` for headers that are too large or give the body two lengths (RFC 9112, section 6.3): a
        proxy may have used the other length.
        """
        if sum(map(len, chain.from_iterable(self.scope["headers"]))) > limits.header_bytes:
            raise RefusalError(431, f"the headers have more than {limits.header_bytes} bytes", headers=_CLOSE)
        if "content-length" in self.headers and "transfer-encoding" in self.headers:
            raise RefusalError(400, "the request has both a length and a transfer encoding", headers=_CLOSE)

    def accepts(self, *types: str) -> bool:
        """Whether the client accepts all of these media types."""
        return _accepts(self.headers.get("accept", ""), types)

    async def message(self, limits: Limits, unfinished: Unfinished) -> Any:
        """The JSON of the body. Raises `RefusalError`, or `ClientDisconnectedError` if the client disconnects."""
        # A browser sends a body of some other types for any page, without asking this server whether the page may.
        given = self.headers.get("content-type", "")
        if given.partition(";")[0].strip().lower() != JSON_TYPE:
            raise RefusalError(415, f"the body must be {JSON_TYPE}, and is {given or 'of no type'}")
        body = await self._body(limits, unfinished)
        opened = body.count(b"[") + body.count(b"{")
        # No fewer than its values, of which each but the first follows one of these.
        most_values = 1 + opened + body.count(b",")
        if most_values > limits.values and _has_more_values(body, limits.values):
            raise RefusalError(413, f"the body has more than {limits.values} values")
        try:
            message = parse_strictly(body)
        except RepeatedMemberError as problem:
            text = f"Invalid request: {problem}"
            raise RefusalError(400, text, request_id=malformed(problem.value, text).id) from problem
        except ValueError as problem:
            raise RefusalError(400, "Parse error", PARSE_ERROR) from problem
        if opened > limits.depth or len(body) > limits.key_chars:
            most_values = _count_values(message, limits)
        self.bytes = len(body) + _VALUE_BYTES * most_values
        return message

    async def _body(self, limits: Limits, unfinished: Unfinished) -> bytes:
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > limits.body_bytes:
            raise _too_large(limits.body_bytes)
        size = 0
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    event = await self._receive()
                    if event["type"] == "http.disconnect":
                        raise ClientDisconnectedError
                    data: bytes = event.get("body", b"")
                    has_more = event.get("more_body", False)
                    if not (pieces or has_more) and len(data) <= limits.body_bytes:
                        return data
                    pieces.append(data)
                    size += len(data)
                    unfinished.bytes += len(data)
                    if unfinished.bytes > limits.bodies_bytes:
                        raise overloaded("too many bodies have begun and not ended")
                    if not has_more or size > limits.body_bytes:
                        break
        except TimeoutError as cause:
            problem = f"the body did not end within {limits.body_seconds:g} s"
            raise RefusalError(408, problem, headers=_CLOSE) from cause
        finally:
            unfinished.bytes -= size
        if size > limits.body_bytes:
            raise _too_large(limits.body_bytes)
        return b"".join(pieces)

    async def disconnected(self) -> None:
        """Return when the client has disconnected. To be called after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


@lru_cache(64)  # Most clients send one of a few values.
def _accepts(given: str, types: tuple[str, ...]) -> bool:
    ranges = {part.partition(";")[0].strip().lower() for part in given.split(",")}
    return all(kind in ranges or "*/*" in ranges or f"{kind.partition('/')[0]}/*" in ranges for kind in types)


def _headers(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    # White space at the end is not part of a value (RFC 9110, section 5.5). Not every server removes it.
    decoded = [(name.decode("latin-1"), value.decode("latin-1").rstrip(" \t")) for name, value in raw]
    headers = dict(decoded)
    if len(headers) < len(raw):
        headers = {}
        for name, value in decoded:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


class Unfinished:
    """The bytes of the bodies that have begun and not ended, of all requests of an endpoint."""

    def __init__(self) -> None:
        self.bytes = 0


class ClientDisconnectedError(Exception):
    """The client has disconnected. No response can be sent."""


def _has_more_values(body: bytes, limit: int) -> bool:
    """Whether the JSON in `body` has more than so many values. Decided before it is parsed, which creates them all."""
    # Most of what precedes values may be part of strings, or begin an empty list or object. The first value has none.
    at = 0
    for _ in range(limit):
        if (found := _NEXT_VALUE.match(body, at)) is None:
            return False
        at = found.end()
    return True


def _count_values(message: Any, limits: Limits) -> int:
    """The number of values in a message. Raises `RefusalError` if they are nested too deeply, or a key is too long."""
    count, depth, level = 1, 0, [message]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        if depth > limits.depth:
            raise RefusalError(400, f"Parse error: nested more than {limits.depth} levels deep", PARSE_ERROR)
        members: list[Any] = []
        for each in level:
            if isinstance(each, list):
                members += each
            elif any(len(key) > limits.key_chars for key in each):
                raise RefusalError(413, f"the body has a key of more than {limits.key_chars} characters")
            else:
                members += each.values()
        count += len(members)
        level = members
    return count


def _too_large(limit: int) -> RefusalError:
    # The rest of the body is not read.
    return RefusalError(413, f"the body has more than {limit} bytes", headers=_CLOSE)


class RefusalError(Exception):
    """The request is answered with `status` and a JSON-RPC error with `code`, `text` and `data`.

    `request_id` is the id of the request, None if it was not read.
    """

    def __init__(
        self,
        status: int,
        text: str,
        code: int = INVALID_REQUEST,
        *,
        data: Any = None,
        request_id: RequestId | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.data = data
        self.request_id = request_id
        self.headers = headers


def store_failed(problem: StoreError) -> RefusalError:
    """The refusal of a request because the store is full or fails."""
    return overloaded(store_problem(problem))


def store_problem(problem: StoreError) -> str:
    """What is wrong with the store, without the message of the exception, which may contain a URL."""
    return "the store is full" if isinstance(problem, StoreFullError) else "the store does not answer"


def overloaded(what: str, request_id: RequestId | None = None) -> RefusalError:
    """The refusal of a request with status 503. `what` is the reason."""
    headers = ((b"retry-after", RETRY_AFTER),)
    return RefusalError(503, f"{what}; repeat this later", INTERNAL_ERROR, request_id=request_id, headers=headers)


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
