"""A server behind a URL as a channel: each message is a POST, whose response is one object or a stream of events.

The conversation detects the era of the server; the channel sends each message as its era requires. A server that does
not accept `initialize` by POST may be an HTTP+SSE server; that is tried last.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gaia_mcp.client.transports.base import Channel, Receiver, T, encoded, time_ran_out
from gaia_mcp.client.transports.http.connections import (
    TRANSPORT_ERRORS,
    Connections,
    Endpoint,
    InterruptedExchangeError,
)
from gaia_mcp.client.transports.http.exchange import Exchange
from gaia_mcp.client.transports.http.streams import OptionalStream, ServerStream
from gaia_mcp.client.transports.http.wire import Wire
from gaia_mcp.client.transports.http.worker_connections import Lane, Lanes, Work
from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import AuthorizationError, ConnectionLostError, MCPError, NotConnectedError, StatusError
from gaia_mcp.protocol import cancels_by_closing

if TYPE_CHECKING:
    from queue import SimpleQueue

    from gaia_mcp.client.transports.http.auth import Authorizer
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.text.redaction.masker import Masker

# The statuses of a Streamable HTTP server for a GET outside a session.
_OF_OTHERS = (400, 404, 405, 406)
_PORTS = {"http": 80, "https": 443}
# Ending the session with DELETE is optional.
FAREWELL_SECONDS = 1.0
# A server that is slow to respond to a notification has received it nevertheless.
ACCEPT_SECONDS = 2.0
# For messages that no caller waits for.
ASIDE_SECONDS = 10.0
# A command has usually ended by then, and needs no stream for messages that belong to no request.
LISTEN_AFTER_SECONDS = 1.0
# Requests after which a server sends messages on that stream.
_LISTEN_AFTER = {"resources/subscribe", "logging/setLevel"}
# Capabilities of a client that answers requests of the server: many servers send those on that stream, even during a
# call, and drop them if there is none.
_ANSWERING = {"elicitation", "roots", "sampling"}
# The stream must be open before the next call. Most servers begin it at once; some wait for an event.
STREAM_SECONDS = 0.1
# An HTTP+SSE server sends its first event at once. One that was detected earlier may have changed its transport.
ENDPOINT_SECONDS = 3.0
# Streams that continue after the response are read to their end, so that the connection can be reused. This limits
# them for servers that never end them.
MAX_LINGERING = 4


class HttpChannel(Channel):
    """The server at `endpoint`, authorized by `authorizer`. `way` is "http" or "sse" if the transport of the server is
    known. Unless that is certain, `start` does not wait long for the stream of HTTP+SSE.
    """

    silence_case = "url-silent"

    def __init__(
        self,
        endpoint: Endpoint,
        authorizer: Authorizer,
        way: str | None = None,
        masker: Callable[[], Masker] | None = None,
        *,
        is_sure: bool = True,
        listen_after_seconds: float = LISTEN_AFTER_SECONDS,
    ) -> None:
        super().__init__(endpoint.server)
        self._endpoint = endpoint
        self._authorizer = authorizer
        self._way = way
        self._is_sure = is_sure
        self._listen_after_seconds = listen_after_seconds
        self._new_masker = masker
        self._receiver: Receiver | None = None
        self._wire: Wire | None = None
        self._lanes: Lanes | None = None
        # Reentrant: a signal handler may close the channel, in a thread that holds it already.
        self._lock = threading.RLock()
        # Requests that their callers will begin, by the caller's thread; those that they have begun, and whether the
        # caller has enough.
        self._unsent: dict[int, Exchange] = {}
        self._begun: dict[RequestId, tuple[Exchange, Callable[[], bool]]] = {}
        self._requests: dict[RequestId, Exchange] = {}
        self._lingering: deque[Exchange] = deque()
        # Requests to interrupt once their cancellation has been sent.
        self._cancelling: dict[Exchange, Exchange] = {}
        self._answers = False
        self._listening: threading.Timer | None = None
        # Why nothing more will arrive.
        self._reason: MCPError | None = None

    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        """Nothing is sent, except for HTTP+SSE, where everything arrives on one stream. Raises `EntryError` too."""
        self._endpoint.check()
        connections = Connections(self._endpoint, self._endpoint.context())
        self._receiver = receiver
        self._wire = Wire(self._endpoint, self._authorizer, receiver)
        self._lanes = Lanes(connections, self.name)
        if self._way == "sse":
            stream = self._look_for_stream(deadline if self._is_sure else deadline.sooner(ENDPOINT_SECONDS))
            failure = stream.failure
            if self._is_sure and isinstance(failure, StatusError) and failure.status in _OF_OTHERS:
                failure.case = "not-sse"
            if failure is not None:
                raise failure
            if not stream.known.is_set():
                raise time_ran_out(self.name, deadline, "at its start", case=self.silence_case)

    def attributes(self) -> dict[str, str | int]:
        parts = urlsplit(self._endpoint.url)
        found: dict[str, str | int] = {"network.transport": "tcp", "network.protocol.name": "http"}
        found |= {"server.address": parts.hostname or "", "server.port": parts.port or _PORTS[parts.scheme.lower()]}
        if self._wire is not None and self._wire.session is not None:
            found["mcp.session.id"] = self._wire.session
        return found

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        exchange = self._new_exchange(outgoing, deadline, stage)
        self._begin(exchange)
        if exchange.done is None:
            return
        if exchange.done.wait(min(deadline.remaining(), ACCEPT_SECONDS)) and exchange.error is not None:
            raise exchange.error
        if self._answers and exchange.message.get("method") == "notifications/initialized":
            stream = self._listen()
            if stream is not None:
                stream.begun.wait(min(deadline.remaining(), STREAM_SECONDS))

    def ask(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        exchange = self._new_exchange(outgoing, deadline, stage)
        if exchange.may_begin_here:
            self._unsent[threading.get_ident()] = exchange
        else:
            self._begin(exchange)

    def wait(self, outcomes: SimpleQueue[T], about: RequestId | None, deadline: Deadline) -> T | None:
        exchange = self._unsent.pop(threading.get_ident(), None)
        # Another one was left there by a Ctrl-C.
        if exchange is not None and exchange.message["id"] == about:
            self._begin_here(exchange, deadline, lambda: outcomes.qsize() > 0 or deadline.expired)
        return super().wait(outcomes, about, deadline)

    def wake(self) -> None:
        for exchange, has_enough in tuple(self._begun.values()):
            if has_enough():
                self._interrupt(exchange)

    def expect_many(self, at_once: int) -> None:
        assert self._lanes is not None  # noqa: S101 (it has been started)
        self._lanes.kept = max(self._lanes.kept, at_once)

    def send_soon(self, outgoing: Outgoing) -> None:
        with suppress(MCPError, ValueError):
            self._begin(self._new_exchange(outgoing, Deadline(ASIDE_SECONDS), "a message"))

    def abandon(self, cancellation: Outgoing) -> None:
        """Close the request's stream, if that cancels the request in this revision; otherwise send the notification
        first.
        """
        assert cancellation.about is not None  # noqa: S101 (only requests are cancelled)
        if self._has_left(cancellation.about):
            return
        request = self._requests.get(cancellation.about)
        assert self._wire is not None  # noqa: S101 (nothing is cancelled before the start)
        # With HTTP+SSE a request has no stream of its own, whatever the era.
        is_one_stream = self._wire.answers_on_stream
        if is_one_stream or (request is not None and not cancels_by_closing(self._wire.revision)):
            with suppress(MCPError):
                notice = self._new_exchange(cancellation, Deadline(ASIDE_SECONDS), "a cancellation")
                if request is not None:
                    self._cancelling[notice] = request
                self._use(notice)
        elif request is not None:
            self._interrupt(request)

    def interrupt(self, about: RequestId | None) -> None:
        """Close the connection of a request, if it is running."""
        if about is not None and (request := self._requests.get(about)) is not None:
            self._interrupt(request)

    def is_running(self) -> bool:
        return self._receiver is not None and self._reason is None

    def why_lost(self, stage: str, noise: str = "") -> MCPError:  # noqa: ARG002
        reason = self._reason
        if reason is None or isinstance(reason, NotConnectedError):
            return NotConnectedError(self.name)
        return ConnectionLostError(f"{reason.message} (asked for {stage})", server=self.name, case=reason.case)

    def close(self, grace_seconds: float | None) -> None:
        if self._lanes is None or self._wire is None:
            return
        is_first = not isinstance(self._reason, NotConnectedError)
        if self._listening is not None:
            self._listening.cancel()
        # Let the pending cancellations be sent.
        for notice in tuple(self._cancelling):
            assert notice.done is not None  # noqa: S101 (a notification gets no response)
            notice.done.wait(IMPATIENT_GRACE_SECONDS)
        if is_first and self._reason is None and self._wire.session is not None:
            farewell = _Farewell(self._wire)
            self._use(farewell)
            farewell.done.wait(FAREWELL_SECONDS if grace_seconds is None else min(grace_seconds, FAREWELL_SECONDS))
        self._end(NotConnectedError(self.name))
        for work in self._lanes.running():
            self._interrupt(work)
        self._lanes.close(IMPATIENT_GRACE_SECONDS)

    def masker(self) -> Masker:
        return self._new_masker() if self._new_masker is not None else super().masker()

    @property
    def answers_on_stream(self) -> bool:
        """Whether the server was found to be an HTTP+SSE server."""
        return self._wire is not None and self._wire.answers_on_stream

    def tools_left_out(self) -> dict[str, str]:
        return self._wire.annotations.left_out if self._wire is not None else {}

    # For the exchanges, on their threads.

    def find_stream(self, deadline: Deadline) -> bool:
        """Open the stream of HTTP+SSE. Returns whether the server has one. Raises its failure if that tells more than
        the refusal of the request before: it is there, and requires authorization or leads to another origin.
        """
        if self._way is not None:
            return False
        stream = self._look_for_stream(deadline)
        if stream.failure is not None and (stream.has_other_origin or isinstance(stream.failure, AuthorizationError)):
            raise stream.failure
        return stream.known.is_set() and stream.failure is None

    @property
    def is_fixed(self) -> bool:
        """Whether no other transport than Streamable HTTP may be tried."""
        return self._way == "http" and self._is_sure

    def response_came(self, exchange: Exchange) -> None:
        """The response has arrived on a stream that continues."""
        with self._lock:
            self._lingering.append(exchange)
            oldest = self._lingering.popleft() if len(self._lingering) > MAX_LINGERING else None
        if oldest is not None:
            self._interrupt(oldest)

    def session_expired(self) -> None:
        """The server no longer knows the session. Nothing more is sent in it."""
        self._reason = self._reason or self._expiry

    def session_ended(self) -> None:
        """Fail the requests that are still pending in the session."""
        self._end(self._expiry)

    @property
    def _expiry(self) -> MCPError:
        return ConnectionLostError(f"server {self.name!r} no longer knows the session", server=self.name)

    def exchange_done(self, exchange: Exchange) -> None:
        """Nothing more will arrive for this message."""
        with self._lock:
            if exchange.is_request:
                self._requests.pop(exchange.message["id"], None)
            with suppress(ValueError):
                self._lingering.remove(exchange)
            cancelled = self._cancelling.pop(exchange, None)
        if cancelled is not None:
            self._interrupt(cancelled)

    # Inside.

    def _begin(self, exchange: Exchange) -> None:
        message = exchange.message
        if message.get("method") == "initialize":
            self._answers = not _ANSWERING.isdisjoint(message["params"]["capabilities"])
        elif message.get("method") == "notifications/initialized":
            self._listening = threading.Timer(self._listen_after_seconds, self._listen)
            self._listening.daemon = True
            self._listening.start()
        elif message.get("method") in _LISTEN_AFTER:
            self._listen()
        try:
            if exchange.is_request:
                self._requests[message["id"]] = exchange
            self._use(exchange)
        except BaseException:
            self._forget(exchange)
            raise

    def _begin_here(self, exchange: Exchange, deadline: Deadline, has_enough: Callable[[], bool]) -> None:
        """Begin the exchange on this thread if there is a lane for it. Returns when its outcome has arrived, when the
        thread of the lane goes on, or soon after `wake` once the caller `has_enough`.
        """
        assert self._lanes is not None  # noqa: S101 (it has been started)
        request_id = exchange.message["id"]
        try:
            self._begun[request_id] = exchange, has_enough
            self._requests[request_id] = exchange
            if has_enough():  # Before it could be woken.
                exchange.is_given_up = True
            is_begun = self._lanes.begin(exchange, deadline)
            del self._begun[request_id]
            if not is_begun:
                self._begin(exchange)
        except BaseException:
            self._forget(exchange)
            raise

    def _has_left(self, request_id: RequestId) -> bool:
        """Forget a request whose caller has left, after a Ctrl-C, while it was sent. Returns False for any other."""
        exchange, _ = self._begun.get(request_id, (None, None))
        if exchange is not None:
            self._forget(exchange)
        return exchange is not None

    def _forget(self, exchange: Exchange) -> None:
        """Cancel a request whose caller has left while it was sent. Does nothing if it is done."""
        assert self._lanes is not None  # noqa: S101 (it has been started)
        self._lanes.drop(exchange)
        if exchange.is_request:
            self._requests.pop(exchange.message["id"], None)
            self._begun.pop(exchange.message["id"], None)

    def _new_exchange(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> Exchange:
        if self._reason is not None or self._wire is None:
            raise self.why_lost(stage)
        assert isinstance(outgoing.message, dict)  # noqa: S101 (a client sends no batches)
        return Exchange(self._wire, self, outgoing.message, encoded(outgoing), deadline, stage)

    def _use(self, work: Work) -> None:
        assert self._lanes is not None  # noqa: S101 (it has been started)
        self._lanes.use(work)

    def _interrupt(self, work: Work) -> None:
        assert self._lanes is not None  # noqa: S101 (it has been started)
        self._lanes.interrupt(work)

    def _listen(self) -> OptionalStream | None:
        """Open the stream for messages that belong to no request, unless it is open."""
        timer, self._listening = self._listening, None
        if timer is None or self._wire is None or self._wire.answers_on_stream or self._reason is not None:
            return None
        timer.cancel()
        stream = OptionalStream(self._wire, ASIDE_SECONDS)
        self._use(stream)
        return stream

    def _look_for_stream(self, deadline: Deadline) -> ServerStream:
        assert self._wire is not None  # noqa: S101 (it has been started)
        stream = ServerStream(self._wire, deadline, self._end)
        self._use(stream)
        stream.known.wait(deadline.remaining())
        return stream

    def _end(self, error: MCPError) -> None:
        if self._reason is None or isinstance(error, NotConnectedError):
            self._reason = error
        assert self._receiver is not None  # noqa: S101 (nothing ends before the start)
        self._receiver.channel_ended(error)
        self.wake()


class _Farewell:
    """Ends the session with DELETE. Servers may reject that."""

    def __init__(self, wire: Wire) -> None:
        self.is_given_up = False
        self.done = threading.Event()
        self._wire = wire

    def run(self, lane: Lane) -> None:
        try:
            deadline = Deadline(FAREWELL_SECONDS)
            headers = self._wire.stream_headers("DELETE", deadline)
            with closing(lane.open("DELETE", self._wire.url, headers, None, deadline.remaining())):
                pass
        except (MCPError, InterruptedExchangeError, *TRANSPORT_ERRORS):
            pass
        finally:
            self.done.set()
