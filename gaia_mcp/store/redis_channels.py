"""The channels of a store in Redis: a thread reads one connection for all of them, and reconnects when it breaks.

Messages that are published in between are lost. Each listener is notified of that after its channel is resubscribed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import redis

if TYPE_CHECKING:
    from redis.connection import ConnectionPool

    from gaia_mcp.store import Listener

# How long a subscription may take, including the time to connect.
SUBSCRIBE_SECONDS = 3.0
# After this time without data, a PING is sent; after the same time again, the connection is closed.
SILENCE_SECONDS = 10.0
# The time between two attempts to connect.
RETRY_SECONDS = 0.25
# The most channels in one SUBSCRIBE command.
_AT_ONCE = 500


class _Channel:
    """One channel. `is_confirmed` is set once Redis has confirmed the subscription."""

    def __init__(self) -> None:
        self.listeners: dict[object, Listener] = {}
        self.is_confirmed = threading.Event()


class RedisChannels:
    """The channels that this process is subscribed to. Safe to use from several threads. The first subscription
    connects.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        *,
        subscribe_seconds: float = SUBSCRIBE_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._pool = pool
        self._subscribe_seconds = subscribe_seconds
        self._silence_seconds = silence_seconds
        self._retry_seconds = retry_seconds
        # Guards the fields below. Also held while sending.
        self._lock = threading.Lock()
        self._channels: dict[str, _Channel] = {}
        # The number of unconfirmed SUBSCRIBE commands for each channel: only the last confirmation counts.
        self._unconfirmed: Counter[str] = Counter()
        # None while there is no connection.
        self._connection: Any = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def subscribe(self, name: str, listener: Listener) -> Callable[[], None]:
        """As `Store.subscribe`. Raises redis-py's `TimeoutError`."""
        key = object()
        with self._lock:
            if (channel := self._channels.get(name)) is None:
                channel = self._channels[name] = _Channel()
                self._send("SUBSCRIBE", [name])
            channel.listeners[key] = listener
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store", daemon=True)
                self._thread.start()

        def unsubscribe() -> None:
            with self._lock:
                channel.listeners.pop(key, None)
                if not channel.listeners and self._channels.get(name) is channel:
                    del self._channels[name]
                    self._send("UNSUBSCRIBE", [name])

        if not channel.is_confirmed.wait(self._subscribe_seconds):
            unsubscribe()
            raise redis.TimeoutError("a subscription was not confirmed in time")
        return unsubscribe

    def close(self) -> None:
        """Call no more listeners. The thread ends when Redis responds or the connection breaks."""
        self._closing.set()
        with self._lock:
            self._channels.clear()
            # The response wakes the thread.
            self._send("PING", [])

    # Called with the lock held.

    def _send(self, command: str, names: Iterable[str]) -> None:
        """Send a command, if there is a connection. If sending fails, the thread detects the broken connection."""
        if self._connection is None:
            return
        names = list(names)
        if command == "SUBSCRIBE":
            self._unconfirmed.update(names)
        with suppress(redis.RedisError):
            self._connection.send_command(command, *names)

    # Called in the thread.

    def _run(self) -> None:
        while not self._closing.is_set():
            connection = self._pool.connection_class(**self._pool.connection_kwargs)
            with suppress(redis.RedisError, OSError):
                connection.connect()
                self._resume(connection)
                self._listen(connection)
            with self._lock:
                self._connection = None
            connection.disconnect()
            self._closing.wait(self._retry_seconds)

    def _resume(self, connection: Any) -> None:
        """Subscribe to every channel on a new connection."""
        with self._lock:
            self._connection = connection
            self._unconfirmed.clear()
            names = list(self._channels)
            for start in range(0, len(names), _AT_ONCE):
                self._send("SUBSCRIBE", names[start : start + _AT_ONCE])

    def _listen(self, connection: Any) -> None:
        """Read messages until the connection breaks."""
        is_asked = False
        while not self._closing.is_set():
            if connection.can_read(self._silence_seconds):
                is_asked = False
                response = connection.read_response()
                # Without subscriptions, the response to PING is not a list.
                if isinstance(response, list):
                    self._take(*response)
            elif is_asked:
                return
            else:
                is_asked = True
                with self._lock:
                    self._send("PING", [])

    def _take(self, kind: bytes, raw_name: bytes, rest: Any = None) -> None:
        name = raw_name.decode("utf-8", "surrogateescape")
        message: bytes | None = None
        with self._lock:
            channel = self._channels.get(name)
            listeners = list(channel.listeners.values()) if channel is not None else []
            if kind == b"subscribe":
                self._unconfirmed[name] -= 1
                if channel is None or self._unconfirmed[name] > 0:
                    return
                is_first = not channel.is_confirmed.is_set()
                channel.is_confirmed.set()
                if is_first:
                    return
            elif kind == b"message":
                message = rest
            else:
                return
        for listener in listeners:
            listener(message)
