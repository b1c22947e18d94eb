"""The response to one POST: a queue of messages from the threads of its calls to the coroutine that sends them, as JSON
for a single message, otherwise as an event stream.

Knows no era.

Knows no era. A message is already encoded, and has an event id if its stream can be resumed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.received import Caller, EventStream, Headers, Received, send_body
from gaia_mcp.server.provider import required_scopes

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.protocol.jsonrpc import RequestId

# A call waits when this many messages or bytes are queued for its client. Enough to write many messages at once, and
# little memory.
MAX_AHEAD = 64
MAX_AHEAD_BYTES = 2**20
# Most calls end within this time. Only for longer ones is the connection watched for a disconnect.
QUICK_SECONDS = 0.05
# Queued messages are written at once, up to about this size.
WRITTEN_BYTES = 64 * 1024
# A status, and headers in addition to those of every response.
Head: TypeAlias = "tuple[int, Headers]"
OK: Head = (200, ())


class Sent(NamedTuple):
    """One message: its JSON, its event id, and, for an error response, its code and the scopes that it requires."""

    data: bytes
    event_id: str = ""
    error_code: int | None = None
    scopes: tuple[str, ...] = ()


def sent_of(message: Any, data: bytes, event_id: str = "") -> Sent:
    """The `Sent` for a message, whose JSON is `data`."""
    error = message.get("error") if isinstance(message, dict) else None
    if error is None:
        return Sent(data, event_id)
    return Sent(data, event_id, error["code"], required_scopes(error["code"], error.get("data")))


class Wakeups:
    """Wakes the exchanges of an event loop from other threads, with one callback of the loop for all pending ones."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._exchanges: deque[Exchange] = deque()
        self._is_scheduled = False

    def wake(self, exchange: Exchange) -> None:
        """Schedule an exchange to be woken in its event loop."""
        self._exchanges.append(exchange)
        if not self._is_scheduled:
            self._is_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._run)
            except RuntimeError:
                return  # The event loop is closed, and with it every connection.

    def _run(self) -> None:
        # Reset first, so that an exchange added from here on schedules another callback.
        self._is_scheduled = False
        for _ in range(len(self._exchanges)):
            self._exchanges.popleft().woken()


_wakeups: WeakKeyDictionary[asyncio.AbstractEventLoop, Wakeups] = WeakKeyDictionary()


class Exchange:
    """The messages for the requests of one POST, in order. It ends with the last response to one of `ids`.

    With `merges`, a message is left out if an equal one is still queued. This is for the notifications of a
    subscription, since changes do not wait for slow clients.

    Must be created in the event loop. Only the event loop may call `next` and `close`; all other methods may be called
    from any thread.
    """

    # Whether it is still undecided if the requests are accepted, and why they were not.
    _is_held = False
    _problem: Exception | None = None
    # Whether the client no longer reads the messages.
    is_closed = False
    # Whether the response is an SSE stream.
    is_stream = False
    # Whether the client can resume the stream, and has been sent the event id that it needs for this.
    is_resumable = False
    _is_to_be_released = False
    # The queued messages, if a message that is equal to one of them is left out.
    _unread: set[Sent] | None = None
    # Each is written by one side only, so no lock is needed.
    _bytes_put = 0
    _bytes_taken = 0
    _is_waking = False
    _waiter: asyncio.Future[bool] | None = None
    # Created by the first call that has to wait.
    _room: threading.Condition | None = None

    def __init__(self, ids: Iterable[RequestId], *, merges: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        if (wakeups := _wakeups.get(self._loop)) is None:
            wakeups = _wakeups[self._loop] = Wakeups(self._loop)
        self._wakeups = wakeups
        self.open = set(ids)
        self._messages: deque[Sent] = deque()
        if merges:
            self._unread = set()

    @property
    def has_ended(self) -> bool:
        """Whether no message is queued and none will follow."""
        return not self.open and not self._messages

    @property
    def has_more(self) -> bool:
        """Whether a message is queued."""
        return bool(self._messages)

    @property
    def is_released(self) -> bool:
        """Whether the connection is to end now: after `release`, once the client can resume the stream."""
        return self._is_to_be_released and self.is_resumable

    def hold(self) -> None:
        """Block `next` until `go_on` or `refuse`, because the requests may still be refused."""
        self._is_held = True

    def go_on(self) -> None:
        """End the hold: the requests were accepted."""
        self._is_held = False
        if self._is_ready:
            self._wake()

    def refuse(self, problem: Exception) -> None:
        """End the hold and let `next` raise `problem`: the requests were refused."""
        self._problem = problem
        self.go_on()

    def put(self, sent: Sent, answered: Iterable[RequestId] = ()) -> None:
        """Queue a message, which is the response to the requests `answered`, if any."""
        if not self.is_closed and (self._unread is None or sent not in self._unread):
            if self._unread is not None:
                self._unread.add(sent)
            self._messages.append(sent)
            self._bytes_put += len(sent.data)
        self.open.difference_update(answered)
        self._wake()

    def withdraw(self, request_id: RequestId) -> None:
        """Expect no response to this request, because it was cancelled."""
        self.open.discard(request_id)
        self._wake()

    def release(self) -> None:
        """End the connection as soon as the client can resume the stream."""
        self._is_to_be_released = True
        self._wake()

    def await_room(self, seconds: float) -> bool:
        """Block while the queue is full. Returns whether it has room, or the client is gone, within `seconds`."""
        if self._has_room():
            return True
        if self._room is None:
            self._room = threading.Condition()
        with self._room:
            return self._room.wait_for(lambda: self._has_room() or self.is_closed, seconds)

    async def next(self, seconds: float) -> Sent | None:
        """The next message. Waits for up to `seconds`, and during a hold as long as that lasts. Returns None if there
        was none in this time, or the exchange `has_ended`, `is_released` or is closed. Raises the exception of
        `refuse`.
        """
        while True:
            # Before the check: a message that is put from here on wakes the wait.
            self._is_waking = False
            if self._is_ready or self.is_closed or not (await self._wait(seconds) or self._is_held):
                break
        if self._problem is not None:
            raise self._problem
        if not self._messages:
            return None
        sent = self._messages.popleft()
        if self._unread is not None:
            # Before the message is sent, so that a later change is announced again.
            self._unread.discard(sent)
        self._bytes_taken += len(sent.data)
        if self._room is not None:
            self._make_room(self._room)
        return sent

    def close(self) -> None:
        """Discard all queued and future messages, because the client no longer reads them."""
        self.is_closed = True
        self._messages.clear()
        if self._room is not None:
            self._make_room(self._room)
        self.woken()

    async def _wait(self, seconds: float) -> bool:
        """Wait to be woken. Returns False after `seconds`."""
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, self.woken, False)
        try:
            return await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._is_held:
            return  # `go_on` checks for messages later.
        if threading.get_ident() == self._thread:
            self.woken()
        elif not self._is_waking:
            self._is_waking = True
            self._wakeups.wake(self)

    def woken(self, is_in_time: bool = True) -> None:
        """In the event loop: wake the waiting `next`. `is_in_time` is false after a timeout."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_in_time)

    @property
    def _is_ready(self) -> bool:
        """Whether `next` can return or raise without waiting."""
        if self._is_held:
            return False
        # The rest is false for most exchanges, until they end.
        is_ready = self._messages or not self.open or self._problem is not None
        return bool(is_ready or (self._is_to_be_released and self.is_resumable))

    def _has_room(self) -> bool:
        ahead = self._bytes_put - self._bytes_taken
        return len(self._messages) < MAX_AHEAD and ahead < MAX_AHEAD_BYTES

    @staticmethod
    def _make_room(room: threading.Condition) -> None:
        with room:
            room.notify_all()


def scope_head(caller: Caller, sent: Sent) -> Head | None:
    """Status and headers of an error that requires scopes; None for any other message."""
    return (403, caller.scope_challenge(sent.scopes)) if sent.scopes and caller.scopes is not None else None


class Answering:
    """Sends responses. Subclasses have what differs between eras."""

    caller: Caller

    def __init__(self, keep_alive_seconds: float) -> None:
        self._keep_alive_seconds = keep_alive_seconds

    def head_of(self, sent: Sent) -> Head:
        """Status and headers for a single message: missing scopes have status 403, all other errors 200."""
        return scope_head(self.caller, sent) or OK

    def gone(self) -> None:
        """Called if the client disconnects before the end."""

    def streaming(self) -> AbstractAsyncContextManager[bytes]:
        """Entered for the duration of a stream; returns the stream's first bytes."""
        return nullcontext(b"")

    def patience(self) -> float:
        """A stream also begins if nothing was sent within so many seconds."""
        return self._keep_alive_seconds

    async def respond(self, exchange: Exchange, request: Received, send: Send) -> None:
        """Send the messages of the exchange, until it ends or the client disconnects."""
        sent = await exchange.next(QUICK_SECONDS)
        if sent is not None and exchange.has_ended:
            await self._send_only(sent, send)
            return
        watch = asyncio.create_task(self._watch(exchange, request))
        try:
            if sent is None:
                sent = await exchange.next(self.patience())
            if sent is not None and exchange.has_ended:
                await self._send_only(sent, send)
            elif not exchange.is_closed:
                await self._stream(exchange, sent, send)
        finally:
            watch.cancel()

    async def _send_only(self, sent: Sent, send: Send) -> None:
        status, headers = self.head_of(sent)
        await send_body(send, status, sent.data, headers)

    async def _stream(self, exchange: Exchange, sent: Sent | None, send: Send) -> None:
        exchange.is_stream = True
        stream = EventStream(send)
        async with self.streaming() as events:
            exchange.is_resumable = bool(events)
            await stream.start()
            is_over = False
            while not exchange.is_closed and not is_over:
                while sent is not None:
                    events += as_event(sent)
                    # Limited, as a call may send messages faster than this loop collects them.
                    sent = await exchange.next(0.0) if exchange.has_more and len(events) < WRITTEN_BYTES else None
                is_over = exchange.has_ended or (exchange.is_released and not exchange.has_more)
                if events or not is_over:
                    await stream.write(events or KEEP_ALIVE)
                events = b""
                if not is_over:
                    sent = await exchange.next(self._keep_alive_seconds)
            if exchange.is_released:
                # Later messages are only in the event log, for the client to resume.
                exchange.close()
        await stream.end()

    async def _watch(self, exchange: Exchange, request: Received) -> None:
        await request.disconnected()
        exchange.close()
        self.gone()


def as_event(sent: Sent) -> bytes:
    """A message as an SSE event. It has a name, because some clients ignore events without one."""
    return write_event(sent.data, name="message", id=sent.event_id)
