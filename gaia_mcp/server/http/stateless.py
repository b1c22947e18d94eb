"""The stateless era over HTTP: a POST contains one request, independent of earlier requests.

The response is JSON, or an SSE stream if the server sends messages before the result. The client cancels the request by
closing the connection.

Making a connection and its calls for each request took a sixth of the server's time. So they are used again for the
next request, unless the client has left: a request leaves nothing behind in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import read_context
from gaia_mcp.protocol.headers import standard_problem
from gaia_mcp.protocol.jsonrpc import Notification, Request
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.protocol.subscriptions import LISTEN
from gaia_mcp.server.http.exchange import OK, Answering, Exchange, Head, Sent, scope_head, sent_of
from gaia_mcp.server.http.received import Received, RefusalError, overloaded, send_body
from gaia_mcp.server.outcomes import encode_outgoing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from starlette.types import Send

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.events import RequestContext
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.running_call import RunningCall

# The HTTP status of these errors, regardless of their source.
_STATUS = {
    jsonrpc.HEADER_MISMATCH: 400,
    jsonrpc.MISSING_CAPABILITY: 400,
    jsonrpc.UNSUPPORTED_VERSION: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
}
# The connections that wait for another request. Each takes 4 kB.
MAX_IDLE = 256


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
        # One for each open subscription.
        self._listening: set[_Conversation] = set()
        self._idle: list[_Conversation] = []

    async def post(self, request: Received, message: Any, send: Send) -> None:
        """Answer one message. Raises `RefusalError`."""
        read = jsonrpc.classify(message)
        if isinstance(read, Notification):
            await send_body(send, 202, b"")
            return
        if not isinstance(read, Request):
            raise _no_request(read)
        if isinstance(context := read_context(read.params), str):
            raise RefusalError(400, context, jsonrpc.INVALID_PARAMS, request_id=read.id)
        if (mismatch := standard_problem(request.headers, message)) is not None:
            raise RefusalError(400, mismatch, jsonrpc.HEADER_MISMATCH, request_id=read.id)
        if read.method == LISTEN:
            await self._listen(request, read, send)
            return
        conversation = self._idle.pop() if self._idle else _Conversation(self._served)
        is_over = False
        try:
            is_over = await conversation.answer(request, read, send, context)
        finally:
            if is_over and len(self._idle) < MAX_IDLE:
                self._idle.append(conversation)
            else:
                conversation.calls.close()

    @property
    def subscriptions(self) -> int:
        """The number of open subscriptions."""
        return len(self._listening)

    def end_subscriptions(self) -> None:
        """Send the results that end the subscriptions."""
        for each in list(self._listening):
            each.calls.close()

    async def answer(self, request: Received, read: Request, send: Send, form: ResponseForm) -> None:
        """Answer a parsed request in the format of `form`. Raises `RefusalError`."""
        conversation = _Conversation(self._served, form)
        try:
            await conversation.answer(request, read, send)
        finally:
            conversation.calls.close()

    async def _listen(self, request: Received, read: Request, send: Send) -> None:
        if len(self._listening) >= self._served.limits.streams:
            raise overloaded("too many subscriptions are open already", read.id)
        conversation = _Conversation(self._served, follows=True)
        self._listening.add(conversation)
        try:
            await conversation.answer(request, read, send)
        finally:
            self._listening.discard(conversation)
            conversation.calls.close()


class _Conversation(Answering):
    """A connection that has one request at a time. It is answered in MCP's format, or in that of `form`."""

    def __init__(self, served: Served, form: ResponseForm | None = None, *, follows: bool = False) -> None:
        super().__init__(served.limits.keep_alive_seconds)
        self._served = served
        self._form = form
        self._follows = follows
        connection = ServerConnection(served.describe())
        self.calls = served.calls(connection, self._put, self._pace, self._waiting, follows=follows)

    async def answer(self, request: Received, read: Request, send: Send, context: RequestContext | None = None) -> bool:
        """Answer a request, whose envelope has been read if there is a `context`. Returns whether that was possible:
        the client has not left. Raises `RefusalError`.
        """
        served, caller, form = self._served, request.caller, self._form
        self.caller, self._id = caller, read.id
        self._exchange = exchange = Exchange((read.id,), merges=self._follows)
        self._share = share = served.workers.share(caller.principal)
        if context is None:
            jobs = self.calls.receive_request(read)
        else:
            jobs = self.calls.receive_stateless(read, context, served.describe())
        self._is_served = bool(jobs)
        for job in jobs:
            call = job.call
            call.principal, call.scopes, call.transport = caller.principal, caller.scopes, request.transport
            if form is not None:
                call.rejects_arguments = form.rejects_arguments
            served.start(self.calls, job, share, request.bytes, request.headers if form is None else None)
        await self.respond(exchange, request, send)
        return not exchange.is_closed

    def head_of(self, sent: Sent) -> Head:
        if self._form is not None:
            return self._form.head_of(sent)
        if sent.error_code is None:
            return OK
        if not self._is_served:
            return _STATUS.get(sent.error_code, 400), ()
        return scope_head(self.caller, sent) or (_STATUS.get(sent.error_code, 200), ())

    def gone(self) -> None:
        self.calls.cancel(self._id)

    def patience(self) -> float:
        return super().patience() if self._form is None else self._form.patience_seconds

    def _put(self, outgoing: Outgoing) -> None:
        message: Any = outgoing.message
        is_response = "method" not in message
        if is_response and self._form is not None:
            message = self._form.shape(message)
        exchange = self._exchange
        exchange.put(sent_of(message, encode_outgoing(message)), tuple(exchange.open) if is_response else ())

    def _pace(self, call: RunningCall) -> None:
        if not self._exchange.await_room(self._served.limits.stalled_seconds):
            # The client no longer reads, even if its connection is still open.
            call.cancel()

    def _waiting(self, call: RunningCall) -> AbstractContextManager[None]:
        return self._served.workers.asking(call, self._share)


def _no_request(read: jsonrpc.Result | jsonrpc.Error | jsonrpc.Malformed) -> RefusalError:
    if isinstance(read, jsonrpc.Malformed):
        return RefusalError(400, f"Invalid request: {read.problem}", request_id=read.id)
    return RefusalError(400, "Invalid request: a response, where a request was expected")
