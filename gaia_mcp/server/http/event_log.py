"""The events of one stream of a session, stored so that a client can resume it on any worker, and sent from there:
first what the client has missed, then what is new.

An event's id contains its stream and its position in the stream. Through the store, any worker can continue a stream
that another worker began.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode, error, is_id
from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.server.http.received import EventStream, Received
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.server.http.sharing import StoreThreads

# How many missed events of a stream can be replayed.
MAX_KEPT = 1000
# How long after its last event a stream can be resumed.
KEPT_SECONDS = 600.0
_ID = re.compile(r"([0-9a-z]{1,32})-([0-9]{1,15})")
# The length of the random part of a key, which follows the name of the worker.
_RANDOM_BYTES = 8
# The first byte of a record: the stream was opened for this request, a message, the last message.
_OPENED, _MESSAGE, _LAST = b"o", b"m", b"l"
# Published about a log. A new follower publishes its own id instead.
_ADDED, _REMOVED = b"", b"end"


class Kept(NamedTuple):
    """One message of a log: its JSON, the id of its event, its position, and whether it is the last one."""

    data: bytes
    event_id: str
    position: int
    is_last: bool


class EventLog:
    """The events of the stream `key` of a session: by default of a new one, in which `worker` answers `request_id`."""

    def __init__(
        self, store: Store, session: str, key: str = "", *, worker: str = "", request_id: RequestId | None = None
    ) -> None:
        self.key = key or worker + secrets.token_hex(_RANDOM_BYTES)
        self.name = f"http:events:{session}:{self.key}"
        self._store = store
        self._request_id = request_id

    @property
    def worker(self) -> str:
        """The worker that answers the request; empty if it has no name, or the stream belongs to no request."""
        return self.key[: -2 * _RANDOM_BYTES]

    def open(self) -> str:
        """Create the log if it does not exist, and add the id of its request. Returns the id of an event from which all
        of it can be resumed.

        Raises `StoreError`.
        """
        if self._request_id is not None or not self._store.renew(self.name, KEPT_SECONDS):
            self._store.append(
                self.name, _OPENED + json.dumps(self._request_id).encode("ascii"), KEPT_SECONDS, MAX_KEPT
            )
        return self.event_id(0)

    @property
    def is_open(self) -> bool:
        """Whether the log exists and has not expired. Raises `StoreError`."""
        return self._store.renew(self.name, KEPT_SECONDS)

    def append(self, data: bytes, *, is_last: bool) -> str:
        """Store a message, and notify the follower. Returns the id of its event, "" if the store failed."""
        try:
            position = self._store.append(self.name, (_LAST if is_last else _MESSAGE) + data, KEPT_SECONDS, MAX_KEPT)
        except StoreError:
            return ""  # A connected client still receives it, but the stream cannot be resumed after it.
        with suppress(StoreError):
            self._store.publish(self.name, _ADDED)
        return self.event_id(position)

    def follow(self, added: Callable[[], object], ended: Callable[[], object]) -> Callable[[], None]:
        """Become the only stream that sends its messages: any other one, in any worker, is notified to end.

        `added` is called when there may be more to read, and `ended` when another stream follows the log or the log was
        removed, both from any thread; they must not block. Returns a function that unsubscribes. Raises `StoreError`.
        """
        unsubscribe = self.watch(ended, me := secrets.token_bytes(8), added)
        try:
            self._store.publish(self.name, me)
        except StoreError:
            unsubscribe()
            raise
        return unsubscribe

    def watch(
        self, ended: Callable[[], object], me: bytes = b"", added: Callable[[], object] = lambda: None
    ) -> Callable[[], None]:
        """Call `ended` when a stream other than `me` follows the log, or it was removed. Otherwise as `follow`."""

        def arrived(message: bytes | None) -> None:
            if message is None or message == _ADDED:
                added()
            elif message != me:
                ended()

        return self._store.subscribe(self.name, arrived)

    def fail(self, problem: str) -> None:
        """Add an error as the response, unless the log has its last message: the worker has ended. If the request is no
        longer known, the log is removed instead. Raises `StoreError`.
        """
        records = self._store.read(self.name)
        if not records or records[-1].data[:1] == _LAST:
            return
        opened = [data[1:] for _, data in records if data[:1] == _OPENED]
        try:
            request_id = json.loads(opened[0]) if opened else None
        except ValueError:  # Something else has written to the store.
            request_id = None
        if not is_id(request_id):
            self.end()
        else:
            self.append(encode(error(request_id, INTERNAL_ERROR, problem)).rstrip(b"\n"), is_last=True)

    def end(self) -> None:
        """Remove the log, and notify its follower to end. Raises `StoreError`."""
        self._store.remove(self.name)
        self._store.publish(self.name, _REMOVED)

    def read(self, after: int) -> list[Kept]:
        """The messages after this position. Raises `StoreError`."""
        return [
            Kept(data[1:], self.event_id(position), position, data[:1] == _LAST)
            for position, data in self._store.read(self.name, after)
            if data[:1] != _OPENED
        ]

    def event_id(self, position: int) -> str:
        """The id of the event at this position."""
        return f"{self.key}-{position}"


def split_event_id(event_id: str) -> tuple[str, int] | None:
    """The key of a stream and the position in it; None if `event_id` is not in the format of `EventLog.event_id`."""
    match = _ID.fullmatch(event_id)
    return None if match is None else (match[1], int(match[2]))


async def follow(
    log: EventLog,
    after: int,
    request: Received,
    send: Send,
    *,
    opening: bytes,
    threads: StoreThreads,
    closing: asyncio.Event,
    keep_alive_seconds: float,
    on_silence: Callable[[], object],
) -> None:
    """Send `opening`, the messages of the log after a position, and those that are added to it, as a response.

    Ends after the last message of the log, when the client disconnects, when another stream follows the same log (a
    message is never sent on two streams), or when `closing` is set. `on_silence` is called whenever nothing was sent
    for `keep_alive_seconds`; it may query the store, and must not raise. Raises `StoreError` only before anything was
    sent; later failures of the store are retried.
    """
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True
        changed.set()

    stream = EventStream(send)
    unsubscribe = await threads.run(
        log.follow, lambda: loop.call_soon_threadsafe(changed.set), lambda: loop.call_soon_threadsafe(end)
    )
    watches = [asyncio.create_task(_then(end, request.disconnected)), asyncio.create_task(_then(end, closing.wait))]
    try:
        await stream.start()
        events = opening or KEEP_ALIVE
        while True:
            changed.clear()
            for kept in await threads.run(_read, log, after):
                events += write_event(kept.data, name="message", id=kept.event_id)
                after, is_over = kept.position, is_over or kept.is_last
            if events:
                await stream.write(events)
            if is_over:
                await stream.end()
                return
            try:
                async with asyncio.timeout(keep_alive_seconds):
                    await changed.wait()
                events = b""
            except TimeoutError:
                await threads.run(on_silence)
                events = KEEP_ALIVE
    finally:
        unsubscribe()
        for watch in watches:
            watch.cancel()


def _read(log: EventLog, after: int) -> list[Kept]:
    """The messages after a position; none if the store fails, because the caller retries."""
    try:
        return log.read(after)
    except StoreError:
        return []


async def _then(end: Callable[[], None], happened: Callable[[], Awaitable[object]]) -> None:
    await happened()
    end()
