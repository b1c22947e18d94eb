"""The connections over which a store in Redis sends commands: one for each concurrent command, reused afterwards.

A free connection is reused if neither data nor EOF has arrived on it. The pool of redis-py does the same, but takes
longer than the command itself, because it also records metrics.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import redis
from redis.exceptions import NoScriptError

if TYPE_CHECKING:
    from redis.connection import ConnectionPool


class Script:
    """A Lua script, which Redis runs atomically."""

    def __init__(self, text: str) -> None:
        self.text = text
        # By this digest Redis finds a script that was sent before.
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisConnections:
    """Connections with the settings of `pool`. Safe to use from several threads. The first command connects."""

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
