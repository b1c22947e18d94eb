"""The channels of a store in Redis: one connection for all of them, which a thread reads and makes anew when it breaks.

Messages that were published meanwhile are lost. Each listener is told so once its channel is subscribed to again.
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

# How long a subscription may take, with a connection that has to be made first.
SUBSCRIBE_SECONDS = 3.0
# A connection on which nothing comes for this time is asked for a sign of life, and given up after as long again.
SILENCE_SECONDS = 10.0
# Between two attempts to connect.
RETRY_SECONDS = 0.25
# The channels that one command subscribes to, when there are many.
_AT_ONCE = 500


class _Channel:
    """One channel. `is_confirmed` is set once Redis has confirmed that it is subscribed to."""

    def __init__(self) -> None:
        self.listeners: dict[object, Listener] = {}
        self.is_confirmed = threading.Event()


class RedisChannels:
    """The channels that this process listens to. Safe to use from several threads. Nothing is connected before the
    first of them.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        # Held to touch what follows, and to send.
        self._lock = threading.Lock()
        self._channels: dict[str, _Channel] = {}
        # How many subscriptions to each channel Redis has not confirmed yet: only the last of them counts.
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

        if not channel.is_confirmed.wait(SUBSCRIBE_SECONDS):
            unsubscribe()
            raise redis.TimeoutError("a subscription was not confirmed in time")
        return unsubscribe

    def close(self) -> None:
        """Hear nothing any more. The thread ends by itself, as soon as Redis responds or is given up."""
        self._closing.set()
        with self._lock:
            self._channels.clear()
            # It wakes the thread.
            self._send("PING", [])

    # With the lock held.

    def _send(self, command: str, names: Iterable[str]) -> None:
        """Send it, if there is a connection. Where that fails, the thread finds it broken."""
        if self._connection is None:
            return
        names = list(names)
        if command == "SUBSCRIBE":
            self._unconfirmed.update(names)
        with suppress(redis.RedisError):
            self._connection.send_command(command, *names)

    # In the thread.

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
            self._closing.wait(RETRY_SECONDS)

    def _resume(self, connection: Any) -> None:
        """Subscribe to every channel on a new connection."""
        with self._lock:
            self._connection = connection
            self._unconfirmed.clear()
            names = list(self._channels)
            for start in range(0, len(names), _AT_ONCE):
                self._send("SUBSCRIBE", names[start : start + _AT_ONCE])

    def _listen(self, connection: Any) -> None:
        """Read until the connection breaks."""
        is_asked = False
        while not self._closing.is_set():
            if connection.can_read(SILENCE_SECONDS):
                is_asked = False
                response = connection.read_response()
                # Where nothing is subscribed to, a sign of life is no message.
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
