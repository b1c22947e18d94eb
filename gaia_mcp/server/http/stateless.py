"""The stateless era over HTTP: a POST contains one request, independent of earlier requests.

The response is JSON, or an SSE stream if the server sends messages before the result. The client cancels the request by
closing the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import read_context
from gaia_mcp.protocol.headers import standard_problem
from gaia_mcp.protocol.jsonrpc import Notification, Request
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.protocol.subscriptions import LISTEN
from gaia_mcp.server.http.exchange import OK, Answering, Exchange, Head, Sent, scope_head, sent_of
from gaia_mcp.server.http.received import RefusalError, overloaded, send_body
from gaia_mcp.server.outcomes import encode_outgoing

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.calls import Calls
    from gaia_mcp.server.http.received import Caller, Received
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.running_call import RunningCall

# The HTTP status of these errors, regardless of their source.
_STATUS = {
    jsonrpc.HEADER_MISMATCH: 400,
    jsonrpc.MISSING_CAPABILITY: 400,
    jsonrpc.UNSUPPORTED_VERSION: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
}


class ResponseForm(NamedTuple):
    """How the responses of a protocol variant differ: `shape` converts each response, `head_of` returns its status and
    headers, and a stream begins if nothing was sent within `patience_seconds`. `rejects_arguments` is that of the call.
    """

    shape: Callable[[Any], Any]
    head_of: Callable[[Sent], Head]
    patience_seconds: float
    rejects_arguments: bool = False


class StatelessEndpoint:
    """Answers the stateless requests for one provider."""

    def __init__(self, served: Served) -> None:
        self._served = served
        # One `Calls` for each open subscription.
        self._listening: set[Calls] = set()

    async def post(self, request: Received, message: Any, send: Send) -> None:
        """Answer one message. Raises `RefusalError`."""
        read = jsonrpc.classify(message)
        if isinstance(read, Notification):
            await send_body(send, 202, b"")
            return
        if not isinstance(read, Request):
            raise _no_request(read)
        if isinstance(problem := read_context(read.params), str):
            raise RefusalError(400, problem, jsonrpc.INVALID_PARAMS, request_id=read.id)
        if (mismatch := standard_problem(request.headers, message)) is not None:
            raise RefusalError(400, mismatch, jsonrpc.HEADER_MISMATCH, request_id=read.id)
        if read.method == LISTEN and len(self._listening) >= self._served.limits.streams:
            raise overloaded("too many subscriptions are open already", read.id)
        await self.answer(request, read, send)

    @property
    def subscriptions(self) -> int:
        """The number of open subscriptions."""
        return len(self._listening)

    def end_subscriptions(self) -> None:
        """Send the results that end the subscriptions."""
        for calls in list(self._listening):
            calls.close()

    async def answer(self, request: Received, read: Request, send: Send, form: ResponseForm | None = None) -> None:
        """Answer a parsed request, in MCP's format or that of `form`. Raises `RefusalError`."""
        served = self._served
        exchange = Exchange((read.id,), merges=read.method == LISTEN)
        share = served.workers.share(request.caller.principal)
        calls = served.calls(
            ServerConnection(served.describe()),
            partial(_put, exchange, form.shape if form is not None else None),
            partial(self._pace, exchange),
            share=share,
            follows=read.method == LISTEN,
        )
        try:
            jobs = calls.receive_request(read)
            for job in jobs:
                job.call.principal, job.call.scopes = request.caller.principal, request.caller.scopes
                job.call.transport = request.transport
                job.call.rejects_arguments = form is not None and form.rejects_arguments
                served.start(calls, job, share, request.bytes, request.headers if form is None else None)
            if read.method == LISTEN:
                self._listening.add(calls)
            own = partial(_head_of_result, request.caller) if jobs else _head_of_envelope
            answering = Answering(
                head_of=own if form is None else form.head_of,
                gone=lambda: calls.cancel(read.id),
                patience=lambda: served.limits.keep_alive_seconds if form is None else form.patience_seconds,
                keep_alive_seconds=served.limits.keep_alive_seconds,
            )
            await answering.answer(exchange, request, send)
        finally:
            self._listening.discard(calls)
            calls.close()

    def _pace(self, exchange: Exchange, call: RunningCall) -> None:
        if not exchange.await_room(self._served.limits.stalled_seconds):
            # The client no longer reads, even if its connection is still open.
            call.cancel()


def _put(exchange: Exchange, shape: Callable[[Any], Any] | None, outgoing: Outgoing) -> None:
    message: Any = outgoing.message
    is_response = "method" not in message
    if shape is not None and is_response:
        message = shape(message)
    exchange.put(sent_of(message, encode_outgoing(message)), tuple(exchange.open) if is_response else ())


def _head_of_result(caller: Caller, sent: Sent) -> Head:
    if sent.error_code is None:
        return OK
    return scope_head(caller, sent) or (_STATUS.get(sent.error_code, 200), ())


def _head_of_envelope(sent: Sent) -> Head:
    """The status of a response that did not come from the provider."""
    return OK if sent.error_code is None else (_STATUS.get(sent.error_code, 400), ())


def _no_request(read: jsonrpc.Result | jsonrpc.Error | jsonrpc.Malformed) -> RefusalError:
    if isinstance(read, jsonrpc.Malformed):
        return RefusalError(400, f"Invalid request: {read.problem}", request_id=read.id)
    return RefusalError(400, "Invalid request: a response, where a request was expected")
