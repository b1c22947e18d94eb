"""A Redis server for tests: a process of its own, which a test may stop, kill and start again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.prepare.fixtures import Prepared


class RedisServer:
    """A Redis server on a port of this machine, with a password, until `end`. It keeps what it is told, also when it
    is killed, in `folder`.
    """

    def __init__(self, program: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._command = [
            program, "--bind", "127.0.0.1", "--port", str(self.port), "--requirepass", "s3cret", "--dir", str(folder),
            "--save", "", "--appendonly", "yes", "--appendfsync", "always",
        ]  # fmt: skip
        import redis  # Not for every test of every part.

        self.url = f"redis://:s3cret@127.0.0.1:{self.port}/0"
        self.client = redis.Redis.from_url(self.url, socket_timeout=5)
        self.start()

    def start(self) -> None:
        """Start it, again perhaps."""
        # It may be stopped: with a group of its own, that concerns no other process.
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )
        wait_until(self._answers)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def hang(self) -> None:
        """Have it answer nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Have it answer again."""
        os.kill(self._process.pid, signal.SIGCONT)

    def fill(self, *, full: bool = True) -> None:
        """Let it have no room for more, or again."""
        self.client.config_set("maxmemory", "1" if full else "0")

    def clear(self) -> None:
        """Have it forget everything."""
        self.client.flushall()

    def cut_listeners(self) -> None:
        """Break the connections on which channels are listened to."""
        self.client.client_kill_filter(_type="pubsub")

    def advance(self, seconds: float) -> None:
        """Let so much of the life of every entry pass."""
        for key in self.client.scan_iter():
            left: Any = self.client.pttl(key)
            self.client.pexpire(key, max(0, left - round(seconds * 1000)))

    def end(self) -> None:
        """Leave nothing behind."""
        self.client.close()
        self.kill()

    def _answers(self) -> bool:
        from redis.exceptions import ConnectionError as NotThereError

        try:
            return bool(self.client.ping())
        except NotThereError:
            return False


@pytest.fixture(scope="session")
def redis_process(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server for all tests of a run."""
    server = RedisServer(prepared.program("redis-server"), tmp_path_factory.mktemp("redis"))
    yield server
    server.end()


@pytest.fixture
def redis_server(redis_process: RedisServer) -> Iterator[RedisServer]:
    """A server, empty at first, which the test may do anything to that can be undone."""
    yield redis_process
    redis_process.fill(full=False)
    redis_process.clear()
