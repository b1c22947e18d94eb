"""Changes that come faster than they are announced."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gaia_mcp.server.announcer import Announcer
from gaia_mcp.server.provider import Change
from tests.waiting import PATIENCE_SECONDS, wait_until

TOOLS = Change(("tools",))
AT_ONCE = 0.0


class Deliveries:
    """What was delivered. While `gate` is closed, the first delivery does not end."""

    def __init__(self) -> None:
        self.seen: list[Change] = []
        self.threads: list[threading.Thread] = []
        self.gate = threading.Event()

    def __call__(self, change: Change) -> None:
        self.threads.append(threading.current_thread())
        self.seen.append(change)
        assert self.gate.wait(PATIENCE_SECONDS)


def test_changes_are_announced_by_a_thread_that_ends_when_there_are_no_more() -> None:
    """Ours: who announces something never waits for a client; a server without changes has no thread for them."""
    deliveries = Deliveries()
    announcer = Announcer(deliveries, (), AT_ONCE)

    announcer.announce(TOOLS)

    wait_until(lambda: deliveries.seen == [TOOLS])
    (thread,) = deliveries.threads
    assert thread is not threading.current_thread()
    deliveries.gate.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    announcer.announce(TOOLS)
    wait_until(lambda: deliveries.seen == [TOOLS, TOOLS])


def test_10_000_changes_of_several_threads_are_merged_into_one() -> None:
    """Ours: a client is not flooded, and hears once more after the last change, of each resource that it wants."""
    deliveries = Deliveries()
    wanted = {f"a://{number}" for number in range(100)}
    announcer = Announcer(deliveries, wanted, AT_ONCE)
    announcer.announce(Change(description=True))
    wait_until(lambda: deliveries.seen)

    def change_much(_: int) -> None:
        for number in range(2500):
            announcer.announce(Change(("tools",) if number % 2 else ("prompts",), (f"a://{number}",)))

    with ThreadPoolExecutor(4) as changing:
        list(changing.map(change_much, range(4)))
    deliveries.gate.set()

    wait_until(lambda: len(deliveries.seen) == 2)
    last = deliveries.seen[-1]
    assert set(last.lists) == {"tools", "prompts"}
    assert (set(last.uris), len(last.uris), last.description) == (wanted, 100, False)
    assert len(set(deliveries.threads)) == 1
    deliveries.threads[0].join(PATIENCE_SECONDS)
    assert len(deliveries.seen) == 2


def test_a_change_without_subscribers_is_not_delivered() -> None:
    """Ours: an agent may report the changes of resources that no client has subscribed to."""
    deliveries = Deliveries()
    deliveries.gate.set()
    announcer = Announcer(deliveries, {"a://a"}, AT_ONCE)

    announcer.announce(Change(uris=("b://b",)))
    announcer.announce(Change(uris=("a://a",)))

    wait_until(lambda: deliveries.seen)
    deliveries.threads[0].join(PATIENCE_SECONDS)
    assert deliveries.seen == [Change(uris=("a://a",))]


def test_closing_does_not_wait_for_the_interval() -> None:
    """Ours: what has not been announced by then is not announced, and the thread ends."""
    deliveries = Deliveries()
    deliveries.gate.set()
    announcer = Announcer(deliveries, (), interval_seconds=3600)
    announcer.announce(TOOLS)
    wait_until(lambda: deliveries.seen == [TOOLS])
    announcer.announce(TOOLS)
    assert deliveries.threads[0].is_alive()

    announcer.close()

    deliveries.threads[0].join(PATIENCE_SECONDS)
    assert not deliveries.threads[0].is_alive()
    announcer.announce(TOOLS)
    announcer.close()
    assert deliveries.seen == [TOOLS]


def test_a_change_may_be_announced_while_another_one_is_delivered() -> None:
    """Ours: a listener may be what changes something."""
    seen: list[Change] = []

    def deliver(change: Change) -> None:
        seen.append(change)
        if len(seen) < 3:
            announcer.announce(TOOLS)

    announcer = Announcer(deliver, (), AT_ONCE)
    announcer.announce(TOOLS)

    wait_until(lambda: seen == [TOOLS] * 3)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_that_fails_does_not_end_the_announcements() -> None:
    """Ours: its exception is reported by Python; the next change is announced."""
    seen: list[Change] = []
    failed: list[threading.Thread] = []

    def deliver(change: Change) -> None:
        seen.append(change)
        if len(seen) == 1:
            failed.append(threading.current_thread())
            raise RuntimeError("no luck")

    announcer = Announcer(deliver, (), AT_ONCE)
    announcer.announce(TOOLS)
    wait_until(lambda: failed)
    failed[0].join(PATIENCE_SECONDS)

    announcer.announce(TOOLS)

    wait_until(lambda: seen == [TOOLS] * 2)
