"""The queue of messages in response to one POST, from the threads of its calls to the coroutine that sends them.

Knows no era. A message is already encoded, and has an event id if its stream can be resumed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from gaia_mcp.server.provider import required_scopes

if TYPE_CHECKING:
    from gaia_mcp.protocol.jsonrpc import RequestId

# A call waits when this many messages or bytes are queued for its client. Enough to write many messages at once, and
# little memory.
MAX_AHEAD = 64
MAX_AHEAD_BYTES = 2**20


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

    def __init__(self, ids: Iterable[RequestId], *, merges: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        if (wakeups := _wakeups.get(self._loop)) is None:
            wakeups = _wakeups[self._loop] = Wakeups(self._loop)
        self._wakeups = wakeups
        self.open = set(ids)
        # Whether it is still undecided if the requests are accepted, and why they were not.
        self._is_held = False
        self._problem: Exception | None = None
        # Whether the client no longer reads the messages.
        self.is_closed = False
        # Whether the response is an SSE stream.
        self.is_stream = False
        # Whether the client can resume the stream, and has been sent the event id that it needs for this.
        self.is_resumable = False
        self._is_to_be_released = False
        self._messages: deque[Sent] = deque()
        self._unread: set[Sent] | None = set() if merges else None
        # Each is written by one side only, so no lock is needed.
        self._bytes_put = 0
        self._bytes_taken = 0
        self._is_waking = False
        self._waiter: asyncio.Future[bool] | None = None
        # Created by the first call that has to wait.
        self._room: threading.Condition | None = None

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
        while not self._is_ready and not self.is_closed:
            if not await self._wait(seconds) and not self._is_held:
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
        self._make_room()
        return sent

    def close(self) -> None:
        """Discard all queued and future messages, because the client no longer reads them."""
        self.is_closed = True
        self._messages.clear()
        self._make_room()
        self.woken()

    async def _wait(self, seconds: float) -> bool:
        """Wait to be woken. Returns False after `seconds`."""
        self._is_waking = False
        # Checked again: a message that was put just before the reset wakes nothing.
        if self._is_ready:
            return True
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
        return bool(self._messages) or not self.open or self.is_released or self._problem is not None

    def _has_room(self) -> bool:
        ahead = self._bytes_put - self._bytes_taken
        return len(self._messages) < MAX_AHEAD and ahead < MAX_AHEAD_BYTES

    def _make_room(self) -> None:
        if self._room is not None:
            with self._room:
                self._room.notify_all()
