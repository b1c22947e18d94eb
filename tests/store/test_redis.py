"""The store in Redis: what every store does, and what becomes of a server that is gone, slow, full or not Redis."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import redis

from gaia_mcp.store import Event, Store, StoreError, StoreFullError
from gaia_mcp.store import redis as module
from gaia_mcp.store.redis import REST_SECONDS, RedisChannels, RedisConnections, RedisStore, Script
from tests.protocol_support import check_each
from tests.store.contract import StoreContract
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from gaia_mcp.store import Listener
    from tests.redis_support import RedisServer


def unhurried(url: str) -> RedisStore:
    """A store that waits for Redis however busy the machine is."""
    return RedisStore(url, connect_seconds=ENOUGH_SECONDS, command_seconds=ENOUGH_SECONDS)


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[RedisStore]:
    made = unhurried(redis_server.url)
    yield made
    made.close()


@pytest.fixture
def advance(redis_server: RedisServer) -> Callable[[float], None]:
    return redis_server.advance


class TestContract(StoreContract):
    """In Redis."""


def test_the_redis_store_implements_the_protocol(store: RedisStore) -> None:
    """Ours: mypy compares it with the protocol. Two of them have the same entries."""
    shared: Store = store
    other: Store = unhurried(store_url(store))
    shared.put("a", b"1", 10)

    assert shared.is_shared
    assert other.get("a") == b"1"
    other.close()


def store_url(store: RedisStore) -> str:
    return store.shown.replace("://", "://:s3cret@")


def test_stores_with_different_prefixes_are_separate(store: RedisStore) -> None:
    """Ours: values, logs and channels."""
    other = unhurried(f"{store_url(store)}?prefix=other")
    heard: list[bytes | None] = []
    other.subscribe("c", heard.append)
    store.put("a", b"1", 10)
    store.append("log", b"1", 10)

    store.publish("c", b"1")
    other.publish("c", b"2")
    wait_until(lambda: heard)

    assert (other.get("a"), other.read("log"), heard) == (None, [], [b"2"])
    other.close()


def test_an_invalid_url_is_rejected_without_showing_its_password() -> None:
    """Ours: nothing is connected for that."""
    cases = [
        "", "x", "http://host", "redis://:s3cret@host:port", "redis://:s3cret@host:99999", "redis://:s3cret@[::1",
        "redis://:s3cret/with@host", "redis://:s3cret#with@host", "redis://:s3cret?with@host", "redis://:s3cret@:1",
        "redis://:s3cret@host/name", "redis://:s3cret@host?unknown=s3cret", "redis://:s3cret@host?socket_timeout=s3cret",
    ]  # fmt: skip

    def check(url: str) -> None:
        with pytest.raises(ValueError) as refused:
            RedisStore(url)

        assert "s3cret" not in str(refused.value)
        assert refused.value.__cause__ is None

    check_each(check, cases)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ada:s3cret@host:1/2?prefix=x", "redis://host:1/2"),
        ("rediss://:s3cret@[::1]:1", "rediss://[::1]:1"),
        ("unix://:s3cret@/run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_a_store_is_shown_without_its_password(url: str, shown: str) -> None:
    """Ours: the URL is printed in logs and errors."""
    assert RedisStore(url).shown == shown


def test_a_wrong_password_is_reported(redis_server: RedisServer) -> None:
    """Ours: without either of them."""
    store = unhurried(redis_server.url.replace("s3cret", "wr0ng"))

    with pytest.raises(StoreError, match="password") as refused:
        store.get("a")

    assert "s3cret" not in str(refused.value)
    assert "wr0ng" not in str(refused.value)


def test_a_full_redis_rejects_new_entries_and_preserves_the_old(store: RedisStore, redis_server: RedisServer) -> None:
    """Ours: as the store in memory."""
    store.put("a", b"1", 1000)
    store.append("log", b"1", 1000)
    redis_server.fill()

    for refused in (
        lambda: store.put("a", b"2", 10),
        lambda: store.replace("a", b"1", b"2", 10),
        lambda: store.append("log", b"2", 10),
    ):
        with pytest.raises(StoreFullError, match=r"redis://127\.0\.0\.1:\d+/0 is full"):
            refused()

    assert store.get("a", 1000) == b"1"
    assert store.read("log") == [Event(1, b"1")]
    assert store.remove("log")


def test_an_unreachable_redis_is_not_retried_at_once(redis_server: RedisServer) -> None:
    """Ours: it is used again as soon as it is back, with its data."""
    clock = Clock()
    store = RedisStore(redis_server.url, connect_seconds=ENOUGH_SECONDS, command_seconds=ENOUGH_SECONDS, clock=clock)
    store.put("a", b"1", 1000)
    redis_server.kill()
    with pytest.raises(StoreError, match="does not answer"):
        store.get("a")
    redis_server.start()

    with pytest.raises(StoreError, match="does not answer"):
        store.get("a")
    clock.now += REST_SECONDS

    assert store.get("a") == b"1"
    store.close()


def test_a_slow_redis_fails_by_the_command_timeout(redis_server: RedisServer, store: RedisStore) -> None:
    """Ours: it must not block the requests that come next."""
    # By this clock each operation comes a second after the one before, so none fails because an earlier one has.
    hasty = RedisStore(redis_server.url, command_seconds=0.05, clock=count().__next__)

    def is_connected() -> bool:
        try:
            hasty.put("a", b"1", 1000)
        except StoreError:
            return False
        return True

    wait_until(is_connected)
    redis_server.hang()
    try:
        with pytest.raises(StoreError, match="does not answer"):
            hasty.get("a")
    finally:
        redis_server.go_on()

    assert store.get("a") == b"1"
    hasty.close()


def test_a_server_that_is_not_redis_is_a_store_error() -> None:
    """Ours: callers handle `StoreError` alone, and a wrong port is a common mistake."""
    with socket.create_server(("127.0.0.1", 0)) as web:

        def answer() -> None:
            connection, _ = web.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        store = RedisStore(f"redis://127.0.0.1:{web.getsockname()[1]}")

        with pytest.raises(StoreError):
            store.get("a")


def test_an_error_of_redis_is_a_store_error(redis_server: RedisServer, store: RedisStore) -> None:
    """Ours: a replica, for instance, rejects changes."""
    redis_server.client.config_set("min-replicas-to-write", 1)
    try:
        with pytest.raises(StoreError, match="refuses"):
            store.put("a", b"1", 10)
    finally:
        redis_server.client.config_set("min-replicas-to-write", 0)


def test_a_store_may_be_closed_twice(redis_server: RedisServer) -> None:
    """Ours: whether it was used or not."""
    for _ in range(2):
        store = RedisStore(redis_server.url)
        store.close()
        store.close()


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
from gaia_mcp.store.redis import RedisConnections

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


Make = Callable[..., RedisChannels]


@pytest.fixture
def make(redis_server: RedisServer) -> Iterator[Make]:
    made: list[RedisChannels] = []

    def channels(options: dict[str, Any] | None = None, **seconds: float) -> RedisChannels:
        pool = redis.ConnectionPool.from_url(redis_server.url, protocol=2, **(options or {}))
        made.append(RedisChannels(pool, **{"subscribe_seconds": ENOUGH_SECONDS, **seconds}))
        return made[-1]

    yield channels
    for each in made:
        each.close()


class Observed(redis.Connection):
    """A connection of redis-py. `attempts` counts those that were begun, `pings` the PING commands on all of them."""

    attempts = 0
    pings = 0

    def connect(self) -> None:
        type(self).attempts += 1
        super().connect()

    def send_command(self, *args: Any, **kwargs: Any) -> None:
        type(self).pings += args == ("PING",)
        super().send_command(*args, **kwargs)


@pytest.fixture
def observed() -> type[Observed]:
    """A class of its own for each test, with its own counts."""
    return type("OwnObserved", (Observed,), {})


def is_subscribed_in_time(channels: RedisChannels, name: str, listener: Listener) -> bool:
    """Whether a subscription is confirmed within the time limit. If not, it may be tried again."""
    try:
        channels.subscribe(name, listener)
    except redis.TimeoutError:
        return False
    return True


def listening(server: RedisServer) -> int:
    return len(server.client.pubsub_channels())


def test_a_channel_stays_subscribed_until_its_last_listener_ends(redis_server: RedisServer, make: Make) -> None:
    """Ours: Redis knows of no channel that nothing listens to."""
    channels = make()
    heard: list[bytes | None] = []
    ends = [channels.subscribe("a", heard.append) for _ in range(2)]

    assert redis_server.client.publish("a", "1") == 1
    wait_until(lambda: heard == [b"1", b"1"])
    ends[0]()
    ends[0]()
    assert listening(redis_server) == 1
    ends[1]()
    wait_until(lambda: listening(redis_server) == 0)


def test_a_listener_is_notified_of_a_reconnection(redis_server: RedisServer, make: Make) -> None:
    """Ours: once its channel is subscribed to again, and for each of many channels."""
    channels = make()
    heard: list[tuple[int, bytes | None]] = []
    many = module._AT_ONCE + 10
    for number in range(many):
        channels.subscribe(f"channel {number}", lambda message, number=number: heard.append((number, message)))

    redis_server.cut_listeners()

    wait_until(lambda: len(heard) == many)
    assert sorted(heard) == [(number, None) for number in range(many)]
    redis_server.client.publish("channel 1", "1")
    wait_until(lambda: heard[-1] == (1, b"1"))


def test_a_lost_connection_is_retried_until_redis_is_back(
    redis_server: RedisServer, make: Make, observed: type[Observed]
) -> None:
    """Ours: Redis may be restarted, which takes longer than one attempt."""
    channels = make({"connection_class": observed}, retry_seconds=0.01)
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)

    redis_server.kill()
    wait_until(lambda: observed.attempts > 3)
    redis_server.start()

    wait_until(lambda: heard == [None])


def test_a_subscription_that_is_not_confirmed_fails(redis_server: RedisServer, make: Make) -> None:
    """Ours: and leaves nothing behind, whether there was a connection or not."""
    channels = make(subscribe_seconds=0.05, retry_seconds=0.01)
    heard: list[bytes | None] = []
    wait_until(lambda: is_subscribed_in_time(channels, "a", heard.append))
    redis_server.hang()
    with pytest.raises(redis.TimeoutError):
        channels.subscribe("b", heard.append)
    redis_server.go_on()
    redis_server.kill()
    try:
        with pytest.raises(redis.TimeoutError):
            make(subscribe_seconds=0.05, retry_seconds=0.01).subscribe("b", heard.append)
    finally:
        redis_server.start()

    wait_until(lambda: heard == [None])
    assert redis_server.client.pubsub_channels() == [b"a"]


def test_only_the_confirmation_of_the_last_subscription_counts(redis_server: RedisServer, make: Make) -> None:
    """Ours: that of an earlier one, which was given up, says nothing of what Redis has done since."""
    channels = make(subscribe_seconds=0.05)
    heard: list[bytes | None] = []
    wait_until(lambda: is_subscribed_in_time(channels, "a", heard.append))
    redis_server.hang()
    with pytest.raises(redis.TimeoutError):
        channels.subscribe("b", heard.append)
    redis_server.go_on()

    wait_until(lambda: is_subscribed_in_time(channels, "b", heard.append))

    assert redis_server.client.publish("b", "1") == 1
    wait_until(lambda: heard == [b"1"])


@pytest.mark.parametrize("is_left", [False, True], ids=["subscribed", "left"])
def test_an_idle_connection_stays(
    redis_server: RedisServer, make: Make, observed: type[Observed], is_left: bool
) -> None:
    """Ours: the response to a PING shows that it is alive, and takes another form without subscriptions."""

    class Patient(observed):  # type: ignore[misc, valid-type]
        """Waits for the response to a PING however long it takes; without one, no data is to come."""

        def can_read(self, timeout: float = 0) -> bool:
            return bool(super().can_read(ENOUGH_SECONDS if self.pings > self.answered else timeout))

        def read_response(self, *args: Any, **kwargs: Any) -> Any:
            response = super().read_response(*args, **kwargs)
            self.answered += response == b"PONG" or response[0] == b"pong"
            return response

        answered = 0

    channels = make({"connection_class": Patient}, silence_seconds=0.05, retry_seconds=0.01)
    heard: list[bytes | None] = []
    end = channels.subscribe("a", heard.append)
    (connection,) = redis_server.client.client_list(_type="pubsub")
    if is_left:
        end()
    pings = Patient.pings

    wait_until(lambda: Patient.pings >= pings + 3)

    assert connection["id"] in [client["id"] for client in redis_server.client.client_list()]
    assert (Patient.attempts, heard) == (1, [])


def test_a_dead_connection_is_replaced(redis_server: RedisServer, make: Make, observed: type[Observed]) -> None:
    """Ours: neither a message nor the response to a PING comes on it."""
    channels = make({"connection_class": observed, "socket_timeout": 0.2}, silence_seconds=0.05, retry_seconds=0.01)
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)

    redis_server.hang()
    attempts = observed.attempts
    wait_until(lambda: observed.attempts > attempts)
    redis_server.go_on()

    wait_until(lambda: None in heard)


def test_a_channel_left_during_an_outage_is_not_subscribed_to_again(redis_server: RedisServer, make: Make) -> None:
    """Ours: its listener has ended, and no one would handle the messages."""
    channels = make(retry_seconds=0.01)
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)
    end = channels.subscribe("b", heard.append)
    redis_server.kill()
    end()
    redis_server.start()

    wait_until(lambda: heard == [None])
    assert redis_server.client.pubsub_channels() == [b"a"]


def test_closing_ends_the_listening_thread(redis_server: RedisServer, make: Make) -> None:
    """Ours: an open connection and its thread would outlive the server."""
    for is_left in (False, True):
        channels = make()
        end = channels.subscribe("a", lambda _: None)
        assert "store" in names_of_threads()
        if is_left:
            end()
        channels.close()
        wait_until(lambda: "store" not in names_of_threads())

    make().close()
    wait_until(lambda: listening(redis_server) == 0)


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]
