"""What every store does: values, logs, channels, and the end of each."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.store import Event
from tests.protocol_support import check_each
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.store import Store


class StoreContract:
    """Run over the fixtures `store` and `advance` of the file that has a store."""

    # Values.

    def test_a_value_is_stored_until_it_expires(self, store: Store, advance: Callable[[float], None]) -> None:
        """Ours: sessions and tasks end by their expiry, so it must be neither early nor late."""
        store.put("a", b"1", 1000)
        advance(900)
        assert store.get("a") == b"1"

        advance(100)

        assert store.get("a") is None

    def test_several_values_are_read_and_renewed_at_once(self, store: Store, advance: Callable[[float], None]) -> None:
        """Ours: a list of tasks costs one round trip, and keys that are missing keep their place in it."""
        store.put("a", b"1", 1000)
        store.put("b", b"2", 1000)
        store.append("log", b"3", 1000)

        assert store.get_all(["b", "none", "a", "b"], 2000) == [b"2", None, b"1", b"2"]
        assert store.get_all([], 2000) == []
        with pytest.raises(ValueError, match="log"):
            store.get_all(["a", "log", "b"], 2000)
        advance(1000)
        assert (store.get("a"), store.get("b")) == (b"1", b"2")

    def test_putting_a_value_again_replaces_it_and_its_expiry(
        self, store: Store, advance: Callable[[float], None]
    ) -> None:
        """Ours, later as well as sooner."""
        store.put("later", b"1", 1000)
        store.put("later", b"2", 2000)
        store.put("sooner", b"1", 2000)
        store.put("sooner", b"2", 1000)

        advance(1000)

        assert (store.get("later"), store.get("sooner")) == (b"2", None)
        advance(1000)
        assert store.get("later") is None

    def test_a_value_is_replaced_only_if_it_is_still_the_same(
        self, store: Store, advance: Callable[[float], None]
    ) -> None:
        """Ours: this is how two workers change one entry."""
        assert not store.replace("a", b"1", b"2", 1000)
        assert store.replace("a", None, b"1", 1000)
        assert not store.replace("a", None, b"3", 1000)
        assert not store.replace("a", b"2", b"3", 1000)
        assert store.replace("a", b"1", b"2", 1000)
        assert store.get("a") == b"2"

        advance(1000)

        assert not store.replace("a", b"2", b"3", 1000)
        assert store.replace("a", None, b"3", 1000)

    def test_concurrent_replacements_lose_no_update(self, store: Store) -> None:
        """Ours: the workers of a server change the same task."""
        store.put("count", b"0", 1000)

        def add() -> None:
            for _ in range(200):
                while (before := store.get("count")) is not None:
                    if store.replace("count", before, str(int(before) + 1).encode(), 1000):
                        break

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert store.get("count") == b"800"

    def test_an_entry_is_renewed_or_removed_only_if_it_exists(
        self, store: Store, advance: Callable[[float], None]
    ) -> None:
        """Ours: a session that was ended must not come back."""
        assert not store.renew("a", 1000)
        assert not store.remove("a")
        store.put("a", b"1", 1000)
        store.append("log", b"1", 1000)
        advance(900)
        assert store.renew("a", 1000)
        assert store.renew("log", 1000)
        advance(900)
        assert (store.get("a"), store.read("log")) == (b"1", [Event(1, b"1")])

        assert store.remove("a")
        assert store.remove("log")

        assert (store.get("a"), store.read("log")) == (None, [])

    def test_a_renewal_may_shorten_the_time(self, store: Store, advance: Callable[[float], None]) -> None:
        """Ours: a finished task expires sooner than a running one."""
        store.put("a", b"1", 1000)
        store.renew("a", 100)

        advance(100)

        assert store.get("a") is None

    # Logs.

    def test_the_events_of_a_log_are_read_after_a_position(self, store: Store) -> None:
        """Ours: a stream is resumed after the last event that its client has."""
        assert store.read("log") == []
        assert [store.append("log", data, 1000) for data in (b"a", b"b", b"c")] == [1, 2, 3]

        assert store.read("log") == [Event(1, b"a"), Event(2, b"b"), Event(3, b"c")]
        assert store.read("log", 1) == [Event(2, b"b"), Event(3, b"c")]
        assert store.read("log", 3) == store.read("log", 99) == []

    def test_a_log_retains_its_last_events_at_their_positions(self, store: Store) -> None:
        """Ours: a reader sees by the positions that events are missing."""
        for number in range(5):
            store.append("log", str(number).encode(), 1000, keep=2)

        assert store.read("log") == store.read("log", 1) == [Event(4, b"3"), Event(5, b"4")]
        assert store.read("log", 4) == [Event(5, b"4")]
        store.append("log", b"5", 1000, keep=1)
        assert store.read("log") == [Event(6, b"5")]

    def test_a_log_expires_as_a_whole_and_begins_again(self, store: Store, advance: Callable[[float], None]) -> None:
        """Ours: each event shows that a client may still resume the stream."""
        store.append("log", b"a", 1000)
        advance(900)
        store.append("log", b"b", 1000)
        advance(900)
        assert len(store.read("log")) == 2

        advance(100)

        assert store.read("log") == []
        assert store.append("log", b"c", 1000) == 1

    def test_a_key_holds_either_a_value_or_a_log(self, store: Store) -> None:
        """Ours: every store has to report the same mistake, whatever its backend allows."""
        cases = [
            lambda store: store.append("value", b"x", 1000),
            lambda store: store.read("value"),
            lambda store: store.get("log"),
            lambda store: store.put("log", b"x", 1000),
            lambda store: store.replace("log", None, b"x", 1000),
        ]

        store.put("value", b"1", 1000)
        store.append("log", b"1", 1000)

        def check(misuse: Callable[[Store], object]) -> None:
            with pytest.raises(ValueError, match="a log"):
                misuse(store)

            assert (store.get("value"), store.read("log")) == (b"1", [Event(1, b"1")])

        check_each(check, cases)

    def test_reading_a_value_may_renew_it(self, store: Store, advance: Callable[[float], None]) -> None:
        """Ours: so that a session that is in use stays."""
        assert store.get("a", 1000) is None
        store.put("a", b"1", 1000)
        advance(900)

        assert store.get("a", 1000) == b"1"

        advance(900)
        assert store.get("a") == b"1"

    # Channels.

    def test_a_message_reaches_the_current_subscribers_of_its_channel(self, store: Store) -> None:
        """Ours: a channel has no memory; what must not be lost belongs into a log."""
        heard: dict[str, list[bytes | None]] = {"one": [], "two": [], "other": []}
        store.publish("channel", b"too early")
        end_one = store.subscribe("channel", heard["one"].append)
        end_two = store.subscribe("channel", heard["two"].append)
        store.subscribe("other", heard["other"].append)

        store.publish("channel", b"1")
        wait_until(lambda: heard["two"])
        end_one()
        store.publish("channel", b"2")
        wait_until(lambda: heard["two"] == [b"1", b"2"])
        end_two()
        end_two()
        store.publish("channel", b"3")
        store.publish("other", b"last")
        wait_until(lambda: heard["other"])

        assert heard == {"one": [b"1"], "two": [b"1", b"2"], "other": [b"last"]}

    def test_a_channel_can_be_subscribed_to_again(self, store: Store) -> None:
        """Ours: from the moment that `subscribe` returns."""
        heard: list[bytes | None] = []
        for number in range(100):
            store.subscribe("channel", heard.append)()
            end = store.subscribe("channel", heard.append)
            store.publish("channel", b"%d" % number)
            wait_until(lambda number=number: len(heard) > number)
            end()

        assert heard == [b"%d" % number for number in range(100)]

    def test_a_listener_may_use_the_store(self, store: Store) -> None:
        """Ours: it is called without the lock."""
        heard: list[object] = []

        def listen(message: bytes | None) -> None:
            heard.append((message, store.get("a")))
            end()
            store.publish("other", b"")

        end = store.subscribe("channel", listen)
        others: list[bytes | None] = []
        store.subscribe("other", others.append)
        store.put("a", b"1", 1000)

        store.publish("channel", b"changed")
        wait_until(lambda: others)
        store.publish("channel", b"changed")
        store.publish("other", b"")
        wait_until(lambda: len(others) == 2)

        assert heard == [(b"changed", b"1")]
