"""Changes at one worker, and the clients of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.protocol.jsonrpc import Request
from gaia_mcp.protocol.subscriptions import Subscriptions
from gaia_mcp.server.http.fan_out import Everything, FanOut
from gaia_mcp.server.provider import LISTS, Change
from tests.server.stores import FailingStore
from tests.waiting import wait_until

if TYPE_CHECKING:
    from gaia_mcp.store import Listener

Make = Callable[..., FanOut]


class Listened(FailingStore):
    """A store whose listeners a test can tell that messages were lost."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []

    def subscribe(self, *given: Listener) -> Callable[[], None]:
        self.listeners.append(given[1])
        ended: Callable[[], None] = super().subscribe(*given)
        return ended


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[FanOut] = []

    def start(store: FailingStore, arrived: Listener = lambda _: None, path: str = "/mcp") -> FanOut:
        made.append(FanOut(store, path, arrived))
        made[-1].open()
        return made[-1]

    yield start
    for each in made:
        each.close()


def test_a_change_reaches_the_other_workers_of_a_path(make: Make) -> None:
    """Ours: those of its resources that are wanted there; the worker itself knows of it already."""
    store = FailingStore()
    heard: dict[str, list[Change]] = {"here": [], "there": [], "elsewhere": [], "arrived": []}
    here, there = make(store), make(store, heard["arrived"].append)
    here.add(heard["here"].append, Everything())
    end = there.add(heard["there"].append, {"a:b"})
    make(store, path="/other/mcp").add(heard["elsewhere"].append, Everything())

    here.send(Change(("tools",), ("a:b", "c:d"), description=True))

    wait_until(lambda: heard["there"])
    assert heard["there"] == heard["arrived"] == [Change(("tools",), ("a:b",), description=True)]
    assert heard["here"] == heard["elsewhere"] == []
    end()
    here.send(Change(("prompts",)))
    wait_until(lambda: len(heard["arrived"]) == 2)
    assert len(heard["there"]) == 1


def test_a_change_that_cannot_be_published_is_published_later(make: Make) -> None:
    """Ours: once, with the next change, or when the store is reached again."""
    store = Listened()
    heard: list[Change] = []
    here, there = make(store), make(store)
    there.add(heard.append, Everything())
    store.failing.add("publish")
    here.send(Change(("tools",), ("a:b",)))
    here.send(Change(("tools", "prompts"), ("c:d",)))
    store.failing.clear()

    store.listeners[0](None)
    wait_until(lambda: heard)
    store.listeners[0](None)
    here.send(Change(("resources",)))
    wait_until(lambda: len(heard) == 2)

    assert heard == [Change(("tools", "prompts"), ("a:b", "c:d")), Change(("resources",))]


def test_lost_messages_are_announced_as_a_change_of_everything(make: Make) -> None:
    """Ours: clients read again what they have subscribed to."""
    store = Listened()
    heard: list[Change] = []
    there = make(store)
    wanted = Subscriptions()
    wanted.begin(Request(1, "resources/subscribe", {"uri": "a:b"}), {})
    there.add(heard.append, wanted)

    store.listeners[0](None)

    wait_until(lambda: heard)
    assert heard == [Change(LISTS, ("a:b",))]


@pytest.mark.parametrize("damaged", [b"", b"12345678", b"12345678[1, 2, 3]", b"12345678{}"])
def test_a_damaged_message_is_ignored(make: Make, damaged: bytes) -> None:
    """Ours: one thread receives the messages of all channels, and must not end."""
    store = FailingStore()
    heard: list[Change] = []
    here, _ = make(store), make(store, heard.append)

    store.publish("http:changes:/mcp", damaged)
    here.send(Change(("tools",)))

    wait_until(lambda: any("tools" in change.lists for change in heard))
