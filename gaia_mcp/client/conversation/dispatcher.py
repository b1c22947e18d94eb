"""Dispatches messages between a channel and waiting callers: the pure connection, one lock, and every open request with
its caller.

The server's own requests (handshake era) are answered by the host while reading continues. A channel passes on what
arrives, on the thread that reads: a waiting caller (leader/follower) or a thread of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.host import ASKS_A_PERSON, DeclinedError, Host, UndeclaredError, UnsupportedError
from gaia_mcp.client.transports.base import Channel, OnChange, UnencodableError
from gaia_mcp.core.errors import (
    ArgumentsError,
    CancelledError,
    ConnectionLostError,
    LocalProtocolError,
    MCPError,
    UnansweredError,
)
from gaia_mcp.protocol.envelope import meta_of
from gaia_mcp.protocol.events import (
    Discarded,
    ErrorResponse,
    Event,
    Garbled,
    InvalidResponse,
    ListChanged,
    Logged,
    NegotiationFailed,
    NotGranted,
    Opened,
    Progressed,
    RequestReceived,
    ResourceUpdated,
    SubscriptionEnded,
)
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RequestId, Result, encode

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.observation import MessageLog
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.client import ClientConnection
    from gaia_mcp.protocol.connection import Outgoing

    Change = Callable[[ClientConnection], None]
    Respond = Callable[[Change], None]

logger = logging.getLogger("gaia_mcp")

# The time limit for sending a message that opens the conversation.
ASIDE_SECONDS = 2.0
# Each request occupies a thread while it is answered; a server that sends requests without end must not exhaust them.
MAX_SERVER_REQUESTS = 32
# A tool that sends one request soon sends another, and starting a thread takes longer than most hosts take to answer.
KEPT_SECONDS = 5.0
# After a line that may have been the response: enough for a server that logs such lines and responds at once, and soon
# enough for a person who waits for one that does not.
GARBLED_SECONDS = 2.0
# The error code of the specification for a sampling request that the user rejects.
DECLINED = -1


class Dispatcher:
    """`connection` over `channel`. `lost` is why nothing more will arrive; None until then.

    `on_change` and `host` are called on the thread that reads, so they must not send requests. With `debug` every
    message is logged.
    """

    def __init__(
        self,
        channel: Channel,
        connection: ClientConnection,
        host: Host,
        on_change: OnChange,
        *,
        debug: bool = False,
    ) -> None:
        self.lost: MCPError | None = None
        self.is_open = False
        self.opening: Waiter | None = None
        self.waiters: dict[RequestId, Waiter] = {}
        # The thread that is calling the host or `on_change`, and reads nothing meanwhile.
        self._notifying: int | None = None
        self._channel = channel
        self._name = channel.name
        self._connection = connection
        self._host = host
        self._on_change = on_change
        self._log: MessageLog | None = None
        if debug:
            # Imported here: it is rarely used.
            from gaia_mcp.client.conversation.observation import MessageLog as Log

            self._log = Log(channel)
        # A signal handler may disconnect, in a thread that holds it already.
        self._lock = threading.RLock()
        self._server_requests = ServerRequests(host, self._respond, lambda: list(self.waiters.values()))

    def apply(
        self, change: Callable[[ClientConnection], RequestId | None], waiter: Waiter | None = None
    ) -> tuple[RequestId | None, list[Outgoing]]:
        """Change the connection. Returns the request that this creates, for which `waiter` waits, and the messages to
        send.
        """
        with self._lock:
            request_id = change(self._connection)
            if request_id is not None and waiter is not None:
                self.waiters[request_id] = waiter
            return request_id, self._connection.take_outgoing()

    def abandon(self, request_id: RequestId, *, tell: bool) -> None:
        """Cancel a request; `tell` sends the server a cancellation, for a request that was sent."""
        _, outgoing = self.apply(lambda connection: connection.abandon(request_id, "no longer wanted"))
        if tell:
            self.send_soon(outgoing)

    # Sending.

    def check_usable(self, deadline: Deadline, stage: str) -> None:
        """Raises why nothing can be sent for `stage`: the channel has ended, `deadline` has been cancelled, or this
        thread is the one that reads.
        """
        if self.lost is not None:
            raise self.why_lost("before it was asked to")
        if deadline.is_cancelled:
            raise CancelledError(self._name, stage)
        if self._notifying is not None and self._notifying == threading.get_ident():
            raise LocalProtocolError(
                f"{stage} was called in a listener of server {self._name!r}, on the thread that reads its responses",
                hint="ask from a thread of its own",
                server=self._name,
            )

    def send(
        self,
        outgoing: list[Outgoing],
        deadline: Deadline,
        stage: str = "at its start",
        tool: str | None = None,
        awaited: RequestId | None = None,
    ) -> None:
        """Send messages. Their sender waits for the outcome of the request `awaited` next."""
        for one in outgoing:
            if self.lost is not None:
                raise self.why_lost(stage)
            if self._log is not None:
                self._log.sent(one.message)
            try:
                if one.cancels:
                    self._channel.abandon(one)
                elif awaited is not None and one.about == awaited:
                    self._channel.ask(one, deadline, stage)
                else:
                    self._channel.send(one, deadline, stage)
            except ConnectionLostError:
                if self.lost is None:
                    raise
                # With the server's output that is not MCP, which only the host knows.
                raise self.why_lost(stage) from None
            except UnencodableError as cause:
                # The caller's mistake: if a `tool` is called, in its arguments.
                problem = f"cannot be written as JSON: {cause}"
                if tool is not None:
                    raise ArgumentsError(self._name, tool, [f"the arguments {problem}"]) from cause
                raise LocalProtocolError(f"{stage} {problem}", server=self._name) from cause

    def send_soon(self, outgoing: list[Outgoing]) -> None:
        """Send messages that no caller waits for, without waiting: this thread may be the one that reads."""
        for one in outgoing:
            if self.lost is None:
                if self._log is not None:
                    self._log.sent(one.message)
                (self._channel.abandon if one.cancels else self._channel.send_soon)(one)

    def _respond(self, change: Callable[[ClientConnection], None]) -> None:
        self.send_soon(self.apply(change)[1])

    # Receiving, on the thread that reads.

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        """A record has arrived. For the channel."""
        self._take(self._connection.receive, record, about)

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        """A message has arrived that is parsed already. For the channel."""
        self._take(self._connection.receive_message, value, about)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        """No response to the request `about` will arrive. For the channel."""
        with self._lock:
            waiter = self.waiters.get(about) or self.opening
        if waiter is not None:
            waiter.fail(error)

    def channel_ended(self, error: MCPError) -> None:
        """Nothing more will arrive. For the channel. Called again, it changes nothing: the first reason counts."""
        with self._lock:
            self.lost = error = self.lost or error
            waiters, self.waiters = list(self.waiters.values()), {}
            opening, self.opening = self.opening, None
        self._server_requests.close()
        for waiter in waiters:
            waiter.outcomes.put(error)
        if opening is not None:
            opening.outcomes.put(error)

    def _take(self, take: Callable[[Any, RequestId | None], None], arrived: Any, about: RequestId | None) -> None:
        connection = self._connection
        if self._log is not None:
            self._log.received(arrived)
        with self._lock:
            take(arrived, about)
            outgoing, events, opening = connection.take_outgoing(), connection.take_events(), self.opening
        if outgoing and opening is None:
            self.send_soon(outgoing)
        elif outgoing and opening is not None:
            # The messages that open the conversation must be sent before any other. Nothing is read meanwhile, and only
            # the caller that opens it is waiting.
            try:
                self.send(outgoing, opening.deadline.sooner(ASIDE_SECONDS))
            except MCPError as error:
                opening.outcomes.put(error)
        for event in events:
            if isinstance(event, (Result, ErrorResponse, InvalidResponse, Garbled)):
                if (waiter := self.waiters.get(event.id)) is not None:
                    waiter.outcomes.put(event)
            elif isinstance(event, Progressed):
                if (waiter := self.waiters.get(event.id)) is not None:
                    waiter.report(event)
            elif isinstance(event, (Opened, NegotiationFailed)):
                # Only now, when the messages that open the conversation have been sent.
                self.is_open = isinstance(event, Opened)
                if opening is not None:
                    opening.outcomes.put(event)
            elif isinstance(event, RequestReceived):
                self._server_requests.take(event)
            else:
                self._notifying = threading.get_ident()
                try:
                    self._notify(event)
                except Exception:  # the application's code; reading must go on, or every caller would wait in vain
                    logger.exception("the host of MCP server %r failed", self._name)
                finally:
                    self._notifying = None

    def _notify(self, event: Event) -> None:
        if isinstance(event, (ListChanged, NotGranted, ResourceUpdated, SubscriptionEnded)):
            self._on_change(event)
            return
        masker = self._channel.masker()
        if isinstance(event, Discarded):
            self._host.strayed(masker.text(event.problem), masker.excerpt(event.excerpt))
        elif isinstance(event, Logged):
            self._host.logged(event.level, masker.text(event.logger), masker.value(event.data))

    def why_lost(self, stage: str) -> MCPError:
        """The error for a caller that waited for `stage` when the channel ended."""
        if self.lost is not None and not isinstance(self.lost, ConnectionLostError):
            return self.lost
        return self._channel.why_lost(stage, self.noise())

    def noise(self) -> str:
        """A description of the server's output that is not MCP, for an error; empty if there is none."""
        noise = self._host.noise(self._channel.output)
        return f"it wrote {noise}" if noise else ""


class ServerRequests:
    """Answers the server's requests with `host`. The deadlines of `waiters()` are paused while the user answers. An
    `UnansweredError` of the host ends all their requests, since it is not known which one caused the server's request.
    A thread ends when it has been idle for `kept_seconds`.
    """

    def __init__(
        self,
        host: Host,
        respond: Respond,
        waiters: Callable[[], Iterable[Waiter]],
        *,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._kept_seconds = kept_seconds
        self._host = host
        self._respond = respond
        self._waiters = waiters
        # The queue of the threads; None ends one of them.
        self._waiting: SimpleQueue[RequestReceived | None] = SimpleQueue()
        self._is_over = False
        # Guards the attributes below. `_free` counts the idle threads that no queued request will occupy.
        self._lock = threading.Lock()
        self._open = 0
        self._free = 0

    def take(self, asked: RequestReceived) -> None:
        """Let the host answer: at once if that cannot block, else in a thread, since a user may take long."""
        if self._host.answers_at_once(asked.method):
            self._respond(self._answer(asked))
            return
        with self._lock:
            if is_room := self._open < MAX_SERVER_REQUESTS:
                self._open += 1
                needs_thread = self._free == 0
                self._free -= not needs_thread
                self._waiting.put(asked)
        if not is_room:
            self._respond(_error(asked, INTERNAL_ERROR, "too many requests at once"))
        elif needs_thread:
            threading.Thread(target=self._work, name="server request", daemon=True).start()

    def close(self) -> None:
        """End the waiting threads: nothing more will arrive. May be called from any thread or signal handler."""
        self._is_over = True
        self._waiting.put(None)

    def _work(self) -> None:
        """Run in each thread: answer one request after another, and end when none has arrived for a while."""
        while True:
            try:
                asked = self._waiting.get(timeout=self._kept_seconds)
            except Empty:
                with self._lock:
                    if self._free == 0:
                        continue  # A request was queued for it meanwhile.
                    self._free -= 1
                return
            if asked is None:
                return
            answer = self._answer(asked)
            with self._lock:
                self._open -= 1
            self._respond(answer)
            with self._lock:
                # One idle thread is enough: a server usually waits for the response before its next request.
                if self._is_over or self._free:
                    return
                self._free += 1

    def _answer(self, asked: RequestReceived) -> Change:
        """The change that responds to the request with the host's answer, or with an error."""
        held = [waiter.deadline for waiter in self._waiters()] if asked.method in ASKS_A_PERSON else []
        for deadline in held:
            deadline.hold()
        try:
            answer = self._in_trace(asked)
            encode(answer)
        except UndeclaredError as undeclared:
            return _error(asked, INVALID_PARAMS, f"{undeclared}, which this client did not declare")
        except UnsupportedError:
            return _error(asked, METHOD_NOT_FOUND, f"Method not found: {asked.method}")
        except DeclinedError as declined:
            return _error(asked, DECLINED, str(declined) or "declined")
        except Exception as error:  # noqa: BLE001 (the host's own code; the server must get a response)
            if isinstance(error, UnansweredError):
                # Before the server gets its response: a result that follows from it must not reach the callers.
                for waiter in self._waiters():
                    waiter.fail(error)
            return _error(asked, INTERNAL_ERROR, f"{type(error).__name__} in the client")
        finally:
            for deadline in held:
                deadline.release()
        return lambda connection: connection.respond(asked.id, answer)

    def _in_trace(self, asked: RequestReceived) -> dict[str, Any]:
        """The answer of the host, whose own requests belong to the trace of this one."""
        meta = meta_of(asked.params)
        if "traceparent" not in meta:
            return self._host.answer(asked.method, asked.params)
        from gaia_mcp.core.tracing import carrying, trace_in

        with carrying(trace_in(meta)):
            return self._host.answer(asked.method, asked.params)


def _error(asked: RequestReceived, code: int, text: str) -> Change:
    return lambda connection: connection.respond_error(asked.id, code, text)


class RequestFailed(NamedTuple):
    """One request has ended without a response. The connection stays open."""

    error: MCPError


class Waiter:
    """One caller of `channel`: the queue for the outcomes of its request, and its deadline. A caller with several
    requests has one queue of `outcomes` for all of them.

    Only the newest progress is stored, beside the queue, and at most one progress event in the queue announces it, so
    that events do not pile up for a slow caller.
    """

    __slots__ = ("_channel", "_is_announced", "_progress", "deadline", "outcomes")

    def __init__(
        self,
        channel: Channel,
        deadline: Deadline,
        outcomes: SimpleQueue[Event | MCPError | RequestFailed | None] | None = None,
    ) -> None:
        self._channel = channel
        self.deadline = deadline
        self.outcomes = SimpleQueue() if outcomes is None else outcomes
        self._progress: Progressed | None = None
        # Whether a progress event is among the outcomes.
        self._is_announced = False

    def report(self, progressed: Progressed) -> None:
        """Store the newest progress for the caller. For the thread that reads."""
        self._progress = progressed
        # A caller that has not taken the event before will find this progress instead.
        if not self._is_announced:
            self._is_announced = True
            self.outcomes.put(progressed)

    def newest_progress(self) -> Progressed | None:
        """The newest progress, for the caller that has taken a progress event. It may be the same as before."""
        # First, so that progress stored from here on is announced again.
        self._is_announced = False
        return self._progress

    def fail(self, error: MCPError) -> None:
        """End the request with `error`, from any thread."""
        self.outcomes.put(RequestFailed(error))
        self._channel.wake()

    def wake(self) -> None:
        """Make the caller check its deadline now, wherever it waits."""
        self.outcomes.put(None)
        self._channel.wake()
