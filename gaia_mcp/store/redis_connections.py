"""The connections over which a store in Redis sends commands: one for each that is under way, kept for the next one.

A free connection is used again if nothing has come on it meanwhile, be it only its end. The pool of redis-py does the
same, and takes longer for it than for the command, since it also measures and counts what it does.
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
    """Commands in Lua, which Redis runs as one."""

    def __init__(self, text: str) -> None:
        self.text = text
        # What Redis knows it by, once it was sent.
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisConnections:
    """Connections as `pool` describes them. Safe to use from several threads. Nothing is connected before the first
    command.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        # The last one that was used is used first, so that the others may be left alone.
        self._free: list[Any] = []
        self._process = os.getpid()
        self._is_closed = False

    def ask(self, *command: str | bytes | int) -> Any:
        """The response to a command, as Redis writes it: bytes, numbers, None, and lists of those.

        Raises `redis.RedisError`. A command that may have been carried out is not sent again.
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
        """The responses to commands that are sent at once: few and short ones, for nothing is read meanwhile. Raises as
        `ask`, where one of them fails.
        """
        connection = self._usable()
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            responses = [connection.read_response() for _ in commands]
        except BaseException:
            # There may be more responses on it.
            connection.disconnect()
            raise
        self._release(connection)
        return responses

    def run(self, script: Script, key: str, *given: bytes | int) -> Any:
        """What a script returns for an entry. Raises as `ask`."""
        try:
            return self.ask("EVALSHA", script.digest, 1, key, *given)
        except NoScriptError:
            # The first time, and after Redis has started again.
            return self.ask("EVAL", script.text, 1, key, *given)

    def close(self) -> None:
        """Close those that are free, and each other one as soon as it is."""
        self._is_closed = True
        while (connection := self._taken()) is not None:
            connection.disconnect()

    def _usable(self) -> Any:
        if self._process != os.getpid():
            # Those of the process that this one was forked from are not to be written to by both.
            self._free, self._process = [], os.getpid()
        if (connection := self._taken()) is None:
            return self._pool.connection_class(**self._pool.connection_kwargs)
        try:
            is_broken = connection.can_read()
        except (redis.RedisError, OSError):
            is_broken = True
        if is_broken:
            # It connects again when it sends.
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
