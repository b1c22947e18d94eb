"""A store in Redis, for several workers and machines: Redis 6.2 or newer, or a compatible server.

A value is a string, a log is a stream, an operation of several commands is a Lua script, which Redis runs atomically.
Commands have one connection for each concurrent command; one thread reads the connection of all channels, and
reconnects when it breaks.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from gaia_mcp.store import MAX_EVENTS, Event, Listener, StoreError, StoreFullError

if TYPE_CHECKING:
    from redis.connection import ConnectionPool

T = TypeVar("T")

SCHEMES = ("redis", "rediss", "unix")
# The default prefix of the names of all entries and channels; `?prefix=` in the URL replaces it.
PREFIX = "gaia-mcp"
# Within a network, a connection takes milliseconds, and so does a command.
CONNECT_SECONDS = 1.0
COMMAND_SECONDS = 2.0
# After a failure, operations fail at once for this time, so that requests do not pile up.
REST_SECONDS = 0.5
# How long a subscription may take, including the time to connect.
SUBSCRIBE_SECONDS = 3.0
# After this time without data, a PING is sent; after the same time again, the connection is closed.
SILENCE_SECONDS = 10.0
# The time between two attempts to connect.
RETRY_SECONDS = 0.25
# The most channels in one SUBSCRIBE command.
_AT_ONCE = 500


class Script:
    """A Lua script, which Redis runs atomically."""

    def __init__(self, text: str) -> None:
        self.text = text
        # By this digest Redis finds a script that was sent before.
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisConnections:
    """Connections with the settings of `pool`. Safe to use from several threads. The first command connects.

    Connections of redis-py, but not its pool, which also records metrics: with that a command took 61 us instead of 49,
    of which 35 instead of 22 of the processor, and among 8 threads 44 us instead of 26.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        # A stack: the most recently used connection is reused first.
        self._free: list[Any] = []
        self._process = os.getpid()
        self._is_closed = False

    def ask(self, *command: str | bytes | int) -> Any:
        """The response to a command, in the types of RESP2: bytes, numbers, None, and lists of these.

        Raises `redis.RedisError`. A command that may have been executed is not sent again.
        """
        connection = self._usable()
        try:
            connection.send_command(*command)
            response = connection.read_response()
        except redis.ResponseError:
            self._release(connection)
            raise
        except BaseException:
            connection.disconnect()
            raise
        self._release(connection)
        return response

    def ask_all(self, commands: Sequence[tuple[str | bytes | int, ...]]) -> list[Any]:
        """The responses to pipelined commands. They must be few and short, because no response is read until all are
        sent. Raises as `ask` if one of them fails.
        """
        connection = self._usable()
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            responses = [connection.read_response() for _ in commands]
        except BaseException:
            # More responses may arrive on this connection.
            connection.disconnect()
            raise
        self._release(connection)
        return responses

    def run(self, script: Script, key: str, *given: bytes | int) -> Any:
        """The result of a script for an entry. Raises as `ask`."""
        try:
            return self.ask("EVALSHA", script.digest, 1, key, *given)
        except NoScriptError:
            # Redis does not have the script: this is the first use, or Redis has restarted.
            return self.ask("EVAL", script.text, 1, key, *given)

    def close(self) -> None:
        """Close the free connections, and each busy one after its command."""
        self._is_closed = True
        while (connection := self._taken()) is not None:
            connection.disconnect()

    def _usable(self) -> Any:
        if self._process != os.getpid():
            # After a fork, the parent process uses these connections.
            self._free, self._process = [], os.getpid()
        if (connection := self._taken()) is None:
            return self._pool.connection_class(**self._pool.connection_kwargs)
        try:
            is_broken = connection.can_read()
        except (redis.RedisError, OSError):
            is_broken = True
        if is_broken:
            # The next command reconnects.
            connection.disconnect()
        return connection

    def _taken(self) -> Any:
        try:
            return self._free.pop()
        except IndexError:
            return None

    def _release(self, connection: Any) -> None:
        self._free.append(connection)
        if self._is_closed:
            self.close()


# Each script fails for an entry of the other kind before it changes anything.
_REPLACE = Script("""
local present = redis.call('GET', KEYS[1])
if present ~= (ARGV[1] == '1' and ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1
""")
_APPEND = Script("""
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local position = 1
if last[1] then position = tonumber(string.match(last[1][1], '%d+')) + 1 end
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[3], position .. '-0', 'd', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return position
""")


class RedisStore:
    """A `Store` at a URL: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]`, `rediss://` for TLS, or
    `unix://PATH`. Servers that must not share entries need different prefixes.

    The first operation connects. Raises `ValueError` for an invalid URL.
    """

    def __init__(
        self,
        url: str,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        command_seconds: float = COMMAND_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # For messages: the URL without user, password and parameters.
        self.shown, address, prefix = _read(url)
        try:
            pool = redis.ConnectionPool.from_url(
                address,
                protocol=2,
                socket_connect_timeout=connect_seconds,
                socket_timeout=command_seconds,
                # A command that may have been executed is not sent again.
                retry=Retry(NoBackoff(), 0),
            )
            # Does not connect, but raises for unknown parameters.
            pool.connection_class(**pool.connection_kwargs)
        except (TypeError, ValueError):
            raise ValueError(f"the URL of the store {self.shown} has a parameter that is unknown or invalid") from None
        self._prefix = f"{prefix}:"
        self._connections = RedisConnections(pool)
        self._channels = RedisChannels(pool, subscribe_seconds=connect_seconds + command_seconds)
        self._clock = clock
        # The time until which operations fail at once, and the message that they fail with.
        self._rests_until = 0.0
        self._problem = ""

    @property
    def is_shared(self) -> bool:
        """As in `Store`."""
        return True

    def get(self, name: str, seconds: float | None = None) -> bytes | None:
        """As in `Store`."""
        command = ("GET", self._key(name)) if seconds is None else ("GETEX", self._key(name), "PX", _ms(seconds))
        found: bytes | None = self._ask(*command)
        return found

    def get_all(self, names: Sequence[str], seconds: float) -> list[bytes | None]:
        """As in `Store`."""
        commands = [("GETEX", self._key(name), "PX", _ms(seconds)) for name in names]
        return self._tried(lambda: self._connections.ask_all(commands))

    def put(self, name: str, value: bytes, seconds: float) -> None:
        """As in `Store`."""
        # With the option GET, SET fails for a log instead of replacing it.
        self._ask("SET", self._key(name), value, "PX", _ms(seconds), "GET")

    def replace(self, name: str, earlier: bytes | None, value: bytes, seconds: float) -> bool:
        """As in `Store`."""
        return bool(self._run(_REPLACE, name, int(earlier is not None), earlier or b"", value, _ms(seconds)))

    def renew(self, name: str, seconds: float) -> bool:
        """As in `Store`."""
        return bool(self._ask("PEXPIRE", self._key(name), _ms(seconds)))

    def remove(self, name: str) -> bool:
        """As in `Store`."""
        return bool(self._ask("UNLINK", self._key(name)))

    def append(self, name: str, data: bytes, seconds: float, keep: int = MAX_EVENTS) -> int:
        """As in `Store`."""
        return int(self._run(_APPEND, name, data, _ms(seconds), keep))

    def read(self, name: str, after: int = 0) -> list[Event]:
        """As in `Store`."""
        events = self._ask("XRANGE", self._key(name), f"({after}", "+")
        # Each event has one field.
        return [Event(int(position.partition(b"-")[0]), data) for position, (_, data) in events]

    def publish(self, channel: str, message: bytes) -> None:
        """As in `Store`."""
        self._ask("PUBLISH", self._key(channel), message)

    def subscribe(self, channel: str, listener: Listener) -> Callable[[], None]:
        """As in `Store`."""
        return self._tried(lambda: self._channels.subscribe(self._key(channel), listener))

    def close(self) -> None:
        """As in `Store`."""
        self._channels.close()
        self._connections.close()

    def _key(self, name: str) -> str:
        return self._prefix + name

    def _ask(self, *command: str | bytes | int) -> Any:
        return self._tried(lambda: self._connections.ask(*command))

    def _run(self, script: Script, name: str, *given: bytes | int) -> Any:
        return self._tried(lambda: self._connections.run(script, self._key(name), *given))

    def _tried(self, command: Callable[[], T]) -> T:
        """The result of `command`. Raises `StoreError`, and `ValueError` for an entry of the other kind."""
        if self._clock() < self._rests_until:
            raise StoreError(self._problem)
        try:
            return command()
        except (redis.ConnectionError, redis.TimeoutError) as problem:
            self._problem = f"the store {self.shown} does not answer: {problem}"
            self._rests_until = self._clock() + REST_SECONDS
            raise StoreError(self._problem) from problem
        except RedisError as problem:
            text = str(problem)
            if "WRONGTYPE" in text:
                raise ValueError("a log, where a value was expected, or a value for a log") from problem
            if "maxmemory" in text:
                raise StoreFullError(f"the store {self.shown} is full: {text}") from problem
            raise StoreError(f"the store {self.shown} refuses: {text}") from problem


def _read(url: str) -> tuple[str, str, str]:
    """The URL for messages, the URL for redis-py, without our parameter `prefix`, and the prefix. Raises `ValueError`,
    whose text contains no part of a password.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in SCHEMES and (parts.port is None or bool(parts.hostname))
    except ValueError:
        is_valid = False
    # If a password is not percent-encoded, a slash, question mark or number sign in it ends the host part.
    if not is_valid or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise ValueError(
            "the URL of a store is redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// for TLS, or unix://PATH,"
            " with a password that is percent-encoded"
        )
    if parts.scheme != "unix" and not (parts.path in ("", "/") or parts.path[1:].isdigit()):
        raise ValueError(f"the database of a store is a number, and not {parts.path[1:]!r}")
    given = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(name, value) for name, value in given if name != "prefix"])
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return shown, urlunsplit(parts._replace(query=query)), dict(given).get("prefix") or PREFIX


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


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
