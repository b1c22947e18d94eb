"""What is sent in response to one POST: from the threads of its calls to the coroutine that answers it.

Knows no era. A message is bytes already, with the id of its event where its stream can be resumed.
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

# A call that is so many messages or bytes ahead of its client waits. Enough to write many at once, and little to hold.
MAX_AHEAD = 64
MAX_AHEAD_BYTES = 2**20


class Sent(NamedTuple):
    """One message: its JSON, the id of its event, and of an error response its code, and the scopes that it demands."""

    data: bytes
    event_id: str = ""
    error_code: int | None = None
    scopes: tuple[str, ...] = ()


def sent_of(message: Any, data: bytes, event_id: str = "") -> Sent:
    """A message, which is `data` as JSON."""
    error = message.get("error") if isinstance(message, dict) else None
    if error is None:
        return Sent(data, event_id)
    return Sent(data, event_id, error["code"], required_scopes(error["code"], error.get("data")))


class Wakeups:
    """Wakes the exchanges of an event loop from other threads, as many as there are by one turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._exchanges: deque[Exchange] = deque()
        self._is_scheduled = False

    def wake(self, exchange: Exchange) -> None:
        """Wake an exchange soon."""
        self._exchanges.append(exchange)
        if not self._is_scheduled:
            self._is_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._run)
            except RuntimeError:
                return  # The event loop has ended, and with it every connection.

    def _run(self) -> None:
        # Before they are looked at: what is added from here on schedules another turn.
        self._is_scheduled = False
        for _ in range(len(self._exchanges)):
            self._exchanges.popleft().woken()


_wakeups: WeakKeyDictionary[asyncio.AbstractEventLoop, Wakeups] = WeakKeyDictionary()


class Exchange:
    """The messages about the requests of one POST, in order. It ends with the response to the last of `ids`.

    With `merges`, a message that is equal to one which its client has not taken yet is left out: these are the
    notifications of a subscription, whose changes do not wait for clients.

    To be made in the event loop, which alone may call `next` and `close`; everything else is for any thread.
    """

    def __init__(self, ids: Iterable[RequestId], *, merges: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        if (wakeups := _wakeups.get(self._loop)) is None:
            wakeups = _wakeups[self._loop] = Wakeups(self._loop)
        self._wakeups = wakeups
        self.open = set(ids)
        # Whether it is not known yet if its requests are taken in; and why they were not.
        self._is_held = False
        self._problem: Exception | None = None
        # Whether the client reads it no more.
        self.is_closed = False
        # Whether it is answered by a stream of events.
        self.is_stream = False
        # Whether its client can come back for what follows, and has been sent what it needs for that.
        self.is_resumable = False
        self._is_to_be_released = False
        self._messages: deque[Sent] = deque()
        self._unread: set[Sent] | None = set() if merges else None
        # Each is written by one side alone.
        self._bytes_put = 0
        self._bytes_taken = 0
        self._is_waking = False
        self._waiter: asyncio.Future[bool] | None = None
        # Made for the first call that has to wait.
        self._room: threading.Condition | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be put in, nor is there anything left."""
        return not self.open and not self._messages

    @property
    def has_more(self) -> bool:
        """Whether a message is there."""
        return bool(self._messages)

    @property
    def is_released(self) -> bool:
        """Whether the connection is to end now, and the client comes back for what follows."""
        return self._is_to_be_released and self.is_resumable

    def hold(self) -> None:
        """Have `next` return nothing before `go_on` or `refuse`: its requests may yet be refused."""
        self._is_held = True

    def go_on(self) -> None:
        """Its requests were taken in."""
        self._is_held = False
        if self._is_ready:
            self._wake()

    def refuse(self, problem: Exception) -> None:
        """Have `next` raise this: its requests were not taken in."""
        self._problem = problem
        self.go_on()

    def put(self, sent: Sent, answered: Iterable[RequestId] = ()) -> None:
        """Add a message, which answers these requests."""
        if not self.is_closed and (self._unread is None or sent not in self._unread):
            if self._unread is not None:
                self._unread.add(sent)
            self._messages.append(sent)
            self._bytes_put += len(sent.data)
        self.open.difference_update(answered)
        self._wake()

    def withdraw(self, request_id: RequestId) -> None:
        """Expect no response to this request any more: it was cancelled."""
        self.open.discard(request_id)
        self._wake()

    def release(self) -> None:
        """Have the connection end as soon as its client can come back."""
        self._is_to_be_released = True
        self._wake()

    def await_room(self, seconds: float) -> bool:
        """In the thread of a call: wait while its client is far behind; whether it has caught up within `seconds`."""
        if self._has_room():
            return True
        if self._room is None:
            self._room = threading.Condition()
        with self._room:
            return self._room.wait_for(lambda: self._has_room() or self.is_closed, seconds)

    async def next(self, seconds: float) -> Sent | None:
        """The next message, waited for up to `seconds`, and while this is held; None if none comes, it `has_ended` or
        `is_released`. Raises what it was refused with.
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
            # Before it is sent: what changes from here on is announced again.
            self._unread.discard(sent)
        self._bytes_taken += len(sent.data)
        self._make_room()
        return sent

    def close(self) -> None:
        """The client has gone: drop what it has not read, and what is still put in."""
        self.is_closed = True
        self._messages.clear()
        self._make_room()
        self.woken()

    async def _wait(self, seconds: float) -> bool:
        """Whether something may have come within this time."""
        self._is_waking = False
        # Looked at again: a message may have come just before that, and will wake nothing.
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
            return  # Looked at by `go_on`, after what has come just now.
        if threading.get_ident() == self._thread:
            self.woken()
        elif not self._is_waking:
            self._is_waking = True
            self._wakeups.wake(self)

    def woken(self, is_in_time: bool = True) -> None:
        """In the event loop: look whether a message has come."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_in_time)

    @property
    def _is_ready(self) -> bool:
        """Whether there is something that `next` need not wait for."""
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
