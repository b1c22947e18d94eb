"""The channels of a store in Redis, whose connection may break at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import redis

from gaia_mcp.store import redis_channels as module
from gaia_mcp.store.redis_channels import RedisChannels
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.redis_support import RedisServer

Make = Callable[..., RedisChannels]


@pytest.fixture
def make(redis_server: RedisServer) -> Iterator[Make]:
    made: list[RedisChannels] = []

    def channels(**options: float) -> RedisChannels:
        pool = redis.ConnectionPool.from_url(redis_server.url, protocol=2, **options)
        made.append(RedisChannels(pool))
        return made[-1]

    yield channels
    for each in made:
        each.close()


def listening(server: RedisServer) -> int:
    return len(server.client.pubsub_channels())


def test_a_channel_is_listened_to_until_the_last_listener_leaves(redis_server: RedisServer, make: Make) -> None:
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


def test_a_listener_is_told_that_messages_may_be_lost(redis_server: RedisServer, make: Make) -> None:
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


def test_a_server_that_is_gone_is_connected_to_again_and_again(
    redis_server: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    channels = make()
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)

    redis_server.kill()
    threading.Event().wait(0.05)
    redis_server.start()

    wait_until(lambda: heard == [None])


def test_a_subscription_that_is_not_confirmed_fails(
    redis_server: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: and leaves nothing behind, whether there was a connection or not."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    channels = make()
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)
    monkeypatch.setattr(module, "SUBSCRIBE_SECONDS", 0.05)
    redis_server.hang()
    with pytest.raises(redis.TimeoutError):
        channels.subscribe("b", heard.append)
    redis_server.go_on()
    redis_server.kill()
    try:
        with pytest.raises(redis.TimeoutError):
            make().subscribe("b", heard.append)
    finally:
        redis_server.start()

    wait_until(lambda: heard == [None])
    assert redis_server.client.pubsub_channels() == [b"a"]


def test_only_the_confirmation_of_the_last_subscription_counts(
    redis_server: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: that of an earlier one, which was given up, says nothing of what Redis has done since."""
    channels = make()
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)
    redis_server.hang()
    with monkeypatch.context() as hasty:
        hasty.setattr(module, "SUBSCRIBE_SECONDS", 0.05)
        with pytest.raises(redis.TimeoutError):
            channels.subscribe("b", heard.append)
    redis_server.go_on()

    channels.subscribe("b", heard.append)

    assert redis_server.client.publish("b", "1") == 1
    wait_until(lambda: heard == [b"1"])


def test_a_connection_that_is_dead_is_given_up(
    redis_server: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: nothing comes on it, and no sign of life where one is asked for; one that is only silent is kept."""
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    channels = make(socket_timeout=0.2)
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)
    (before,) = redis_server.client.client_list(_type="pubsub")
    wait_until(lambda: redis_server.client.client_list(_type="pubsub")[0]["cmd"] == "ping")
    wait_until(lambda: redis_server.client.client_list(_type="pubsub")[0]["cmd"] == "ping")
    assert redis_server.client.client_list(_type="pubsub")[0]["id"] == before["id"]
    assert heard == []

    redis_server.hang()
    threading.Event().wait(0.3)
    redis_server.go_on()

    wait_until(lambda: heard == [None])


def test_what_is_left_while_the_connection_is_broken_is_not_subscribed_to_again(
    redis_server: RedisServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    channels = make()
    heard: list[bytes | None] = []
    channels.subscribe("a", heard.append)
    end = channels.subscribe("b", heard.append)
    redis_server.kill()
    end()
    redis_server.start()

    wait_until(lambda: heard == [None])
    assert redis_server.client.pubsub_channels() == [b"a"]


def test_nothing_is_heard_after_the_end(redis_server: RedisServer, make: Make) -> None:
    """Ours: and the thread is gone."""
    before = threading.active_count()
    for is_left in (False, True):
        channels = make()
        end = channels.subscribe("a", lambda _: None)
        if is_left:
            end()
        channels.close()
        wait_until(lambda: threading.active_count() == before)

    make().close()
    wait_until(lambda: listening(redis_server) == 0)
