"""The store in Redis: what every store does, and what becomes of a server that is gone, slow, full or not Redis."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.store import Event, Store, StoreError, StoreFullError
from gaia_mcp.store.redis import REST_SECONDS, RedisStore
from tests.protocol_support import check_each
from tests.store.contract import StoreContract
from tests.waiting import ENOUGH_SECONDS, Clock, wait_until

if TYPE_CHECKING:
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
