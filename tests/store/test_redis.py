"""The store in Redis: what every store does, and what becomes of a server that is gone, slow, full or not Redis."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.store import Event, Store, StoreError, StoreFullError
from gaia_mcp.store import redis as module
from gaia_mcp.store.redis import RedisStore
from tests.store.contract import StoreContract
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.redis_support import RedisServer


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[RedisStore]:
    made = RedisStore(redis_server.url)
    yield made
    made.close()


@pytest.fixture
def advance(redis_server: RedisServer) -> Callable[[float], None]:
    return redis_server.advance


class TestContract(StoreContract):
    """In Redis."""


def test_it_is_a_store(store: RedisStore) -> None:
    """Ours: mypy compares it with the protocol. Two of them have the same entries."""
    shared: Store = store
    other: Store = RedisStore(store_url(store))
    shared.put("a", b"1", 10)

    assert shared.is_shared
    assert other.get("a") == b"1"
    other.close()


def store_url(store: RedisStore) -> str:
    return store.shown.replace("://", "://:s3cret@")


def test_servers_with_different_prefixes_know_nothing_of_each_other(store: RedisStore) -> None:
    """Ours: values, logs and channels."""
    other = RedisStore(f"{store_url(store)}?prefix=other")
    heard: list[bytes | None] = []
    other.subscribe("c", heard.append)
    store.put("a", b"1", 10)
    store.append("log", b"1", 10)

    store.publish("c", b"1")
    other.publish("c", b"2")
    wait_until(lambda: heard)

    assert (other.get("a"), other.read("log"), heard) == (None, [], [b"2"])
    other.close()


@pytest.mark.parametrize(
    "url",
    [
        "", "x", "http://host", "redis://:s3cret@host:port", "redis://:s3cret@host:99999", "redis://:s3cret@[::1",
        "redis://:s3cret/with@host", "redis://:s3cret#with@host", "redis://:s3cret?with@host", "redis://:s3cret@:1",
        "redis://:s3cret@host/name", "redis://:s3cret@host?unknown=s3cret", "redis://:s3cret@host?socket_timeout=s3cret",
    ],
)  # fmt: skip
def test_a_url_that_is_not_valid_is_refused_without_its_password(url: str) -> None:
    """Ours: nothing is connected for that."""
    with pytest.raises(ValueError) as refused:
        RedisStore(url)

    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ada:s3cret@host:1/2?prefix=x", "redis://host:1/2"),
        ("rediss://:s3cret@[::1]:1", "rediss://[::1]:1"),
        ("unix://:s3cret@/run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_a_store_is_shown_without_its_password(url: str, shown: str) -> None:
    """Ours."""
    assert RedisStore(url).shown == shown


def test_a_wrong_password_is_called_that(redis_server: RedisServer) -> None:
    """Ours: without either of them."""
    store = RedisStore(redis_server.url.replace("s3cret", "wr0ng"))

    with pytest.raises(StoreError, match="password") as refused:
        store.get("a")

    assert "s3cret" not in str(refused.value)
    assert "wr0ng" not in str(refused.value)


def test_a_server_that_is_full_refuses_and_keeps_what_it_has(store: RedisStore, redis_server: RedisServer) -> None:
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


def test_a_server_that_is_gone_is_not_asked_again_at_once(
    redis_server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: and is used as soon as it is back, with what it has kept."""
    monkeypatch.setattr(module, "REST_SECONDS", 1000.0)
    store.put("a", b"1", 1000)
    redis_server.kill()
    with pytest.raises(StoreError, match="does not answer"):
        store.get("a")
    redis_server.start()

    with pytest.raises(StoreError, match="does not answer"):
        store.get("a")
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    again = RedisStore(redis_server.url)

    assert again.get("a") == b"1"
    again.close()


def test_a_server_that_is_slow_fails_in_time(
    redis_server: RedisServer, store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: and does not hold those who ask next."""
    monkeypatch.setattr(module, "COMMAND_SECONDS", 0.05)
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    hasty = RedisStore(redis_server.url)
    hasty.put("a", b"1", 1000)
    redis_server.hang()
    try:
        with pytest.raises(StoreError, match="does not answer"):
            hasty.get("a")
    finally:
        redis_server.go_on()

    assert store.get("a") == b"1"
    hasty.close()


def test_what_does_not_speak_redis_is_a_store_that_fails() -> None:
    """Ours."""
    with socket.create_server(("127.0.0.1", 0)) as web:

        def answer() -> None:
            connection, _ = web.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        store = RedisStore(f"redis://127.0.0.1:{web.getsockname()[1]}")

        with pytest.raises(StoreError):
            store.get("a")


def test_a_server_that_refuses_is_a_store_that_fails(redis_server: RedisServer, store: RedisStore) -> None:
    """Ours: a replica, for instance, takes no changes."""
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
