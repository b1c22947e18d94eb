"""The connections of a store in Redis, with a real server: which of them are used again."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import redis

from gaia_mcp.store.redis_connections import RedisConnections, Script
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.redis_support import RedisServer


@pytest.fixture
def connections(redis_server: RedisServer) -> Iterator[RedisConnections]:
    made = RedisConnections(redis.ConnectionPool.from_url(redis_server.url, protocol=2))
    yield made
    made.close()


class Blocked:
    """A command that is under way until `go_on`."""

    def __init__(self, server: RedisServer, connections: RedisConnections) -> None:
        self._server = server
        self.responses: list[Any] = []
        self._thread = threading.Thread(target=lambda: self.responses.append(connections.ask("BLPOP", "queue", 0)))
        self._thread.start()
        wait_until(lambda: server.client.info("clients")["blocked_clients"])

    def go_on(self) -> None:
        self._server.client.rpush("queue", "x")
        self._thread.join(PATIENCE_SECONDS)


def own_id(connections: RedisConnections) -> int:
    found: int = connections.ask("CLIENT", "ID")
    return found


def is_connected(server: RedisServer, client_id: int) -> bool:
    found: Any = server.client.client_list()
    return str(client_id) in {each["id"] for each in found}


def test_sequential_commands_share_one_connection(connections: RedisConnections) -> None:
    """Ours: also where Redis has refused one."""
    first = own_id(connections)
    connections.ask("SET", "a", b"1")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        connections.ask("LPUSH", "a", b"2")

    assert own_id(connections) == first
    assert connections.ask("GET", "a") == b"1"


def test_several_commands_are_pipelined(connections: RedisConnections) -> None:
    """Ours: and those after one that is refused leave nothing behind."""
    first = own_id(connections)
    assert connections.ask_all([("SET", "a", b"1"), ("GET", "a"), ("CLIENT", "ID")]) == [b"OK", b"1", first]
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        connections.ask_all([("LPUSH", "a", b"2"), ("GET", "a")])

    assert connections.ask("GET", "b") is None


def test_a_command_does_not_wait_for_another(redis_server: RedisServer, connections: RedisConnections) -> None:
    """Ours: each thread that asks has a connection of its own."""
    blocked = Blocked(redis_server, connections)

    assert connections.ask("SET", "a", b"1") == b"OK"
    assert not blocked.responses
    blocked.go_on()
    assert blocked.responses == [[b"queue", b"x"]]


def test_a_closed_connection_is_replaced(redis_server: RedisServer, connections: RedisConnections) -> None:
    """Ours: Redis closes what rests for long, and so do proxies."""
    first = own_id(connections)
    redis_server.client.client_kill_filter(_id=str(first))
    wait_until(lambda: not is_connected(redis_server, first))

    assert own_id(connections) != first


def test_a_connection_with_an_unexpected_response_is_not_reused(
    redis_server: RedisServer, connections: RedisConnections
) -> None:
    """Ours: it would be taken for the response to the next command."""
    first = own_id(connections)
    connections.ask("SUBSCRIBE", "channel")
    redis_server.client.publish("channel", "x")

    assert own_id(connections) != first


def test_a_connection_with_an_unanswered_command_is_not_reused(
    redis_server: RedisServer, connections: RedisConnections
) -> None:
    """Ours: its response may still come. The command is not sent again."""
    pool = redis.ConnectionPool.from_url(redis_server.url, protocol=2, socket_timeout=0.2)
    hasty = RedisConnections(pool)

    def is_connected() -> bool:
        try:
            hasty.ask("SET", "n", 0)
        except redis.TimeoutError:
            return False
        return True

    wait_until(is_connected)
    # Of the next connection.
    pool.connection_kwargs["socket_timeout"] = PATIENCE_SECONDS
    redis_server.hang()
    try:
        with pytest.raises(redis.TimeoutError):
            hasty.ask("INCR", "n")
    finally:
        redis_server.go_on()

    assert connections.ask("GET", "n") in (b"0", b"1")
    assert hasty.ask("GETSET", "n", 7) in (b"0", b"1")
    assert hasty.ask("GET", "n") == b"7"
    hasty.close()


def test_a_script_is_loaded_when_redis_does_not_know_it(
    redis_server: RedisServer, connections: RedisConnections
) -> None:
    """Ours: it forgets all of them when it starts again."""
    script = Script("return {KEYS[1], ARGV[1]}")
    for _ in range(2):
        redis_server.client.script_flush()
        assert connections.run(script, "a", 1) == [b"a", b"1"]
        assert redis_server.client.script_exists(script.digest) == [True]
        assert connections.run(script, "b", b"2") == [b"b", b"2"]


def test_close_closes_idle_connections_at_once_and_busy_ones_later(redis_server: RedisServer) -> None:
    """Ours: a command that is under way still gets its response."""
    connections = RedisConnections(redis.ConnectionPool.from_url(redis_server.url, protocol=2))
    blocked_id = own_id(connections)
    blocked = Blocked(redis_server, connections)
    free = own_id(connections)
    assert free != blocked_id

    connections.close()
    wait_until(lambda: not is_connected(redis_server, free))
    assert is_connected(redis_server, blocked_id)
    blocked.go_on()

    wait_until(lambda: not is_connected(redis_server, blocked_id))
    assert blocked.responses == [[b"queue", b"x"]]


# What a server does that loads its app before it forks.
FORKING = """
import os, sys
import redis
from gaia_mcp.store.redis_connections import RedisConnections

connections = RedisConnections(redis.ConnectionPool.from_url(sys.argv[1], protocol=2))
print(connections.ask("CLIENT", "ID"), flush=True)
if (child := os.fork()) == 0:
    print(connections.ask("CLIENT", "ID"), flush=True)
    connections.close()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(connections.ask("CLIENT", "ID"), flush=True)
connections.close()
"""


@pytest.mark.story
def test_a_forked_process_has_its_own_connections(redis_server: RedisServer) -> None:
    """Ours: two that write on one would read the responses of each other."""
    ended = subprocess.run(
        [sys.executable, "-c", FORKING, redis_server.url], capture_output=True, text=True, check=True
    )

    parent, child, again = ended.stdout.split()
    assert parent == again
    assert child != parent
