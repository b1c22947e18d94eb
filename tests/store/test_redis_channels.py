"""The channels of a store in Redis, whose connection may break at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import redis

from gaia_mcp.store import redis_channels as module
from gaia_mcp.store.redis_channels import RedisChannels
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.store import Listener
    from tests.redis_support import RedisServer

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
