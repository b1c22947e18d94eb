"""Which instance of a server a call uses, without a server: whether one was started is all that counts here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet.gateway.backend import Backend, Heard
from gaia_mcp.fleet.gateway.instances import BusyError, Instances
from gaia_mcp.fleet.gateway.questions import Declared
from gaia_mcp.storage.server_cache import ServerCache
from tests.fleet.gateway.conftest import ROOTS, caller, script
from tests.waiting import wait_until

Make = Callable[..., Instances]


def used(instances: Instances, call: Call) -> Backend:
    """The instance for a request of this call, which has ended."""
    with instances.entered(call) as backend:
        return backend


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes the instances of a server, of which the first names each capability that it gets."""
    made: list[Instances] = []

    def instances(max_instances: int = 4, entry: dict[str, Any] | None = None, **options: Any) -> Instances:
        read = read_entry("keeper", entry or script("remembers.py"))
        heard = Heard(lambda _: None, lambda _: None, lambda: None)
        made.append(
            Instances(
                "keeper", lambda requests, _: Backend("keeper", read, heard, requests), Declared({}), max_instances,
                **options,
            )
        )  # fmt: skip
        return made[-1]

    yield instances
    for each in made:
        each.close()
        for backend in each.all():
            backend.close()


def test_a_single_client_has_one_instance(make: Make) -> None:
    """Ours: over stdio, a gateway has one client."""
    instances = make(0)

    assert used(instances, caller("a")) is used(instances, caller()) is instances.listed_by(caller("b"))
    assert instances.shared.keeps_lists


def test_callers_that_cannot_be_asked_share_an_instance(make: Make) -> None:
    """Ours: no server keeps something for them that it could ask about."""
    instances = make()

    assert used(instances, caller("a", {})) is used(instances, caller("b", {})) is instances.shared
    assert instances.listed_by(caller("a", {})) is instances.shared
    # Not every session has one to end.
    instances.end_session("a")
    assert instances.all() == [instances.shared]


def test_an_entry_that_is_shared_has_one_instance(make: Make) -> None:
    """Ours, `shared`: people who used one browser on purpose still do."""
    instances = make(is_shared=True)

    assert used(instances, caller("a")) is used(instances, caller("b")) is instances.shared
    assert instances.shared.requests.host.capabilities().keys() == {"elicitation", "sampling", "roots"}


def test_a_session_that_can_be_asked_has_an_instance_until_it_ends(make: Make) -> None:
    """Ours: the server sees one client, with that client's capabilities."""
    instances = make()
    ada, bob = used(instances, caller("a")), used(instances, caller("b", {"elicitation": {"form": {}}}))

    assert used(instances, caller("a")) is instances.listed_by(caller("a")) is instances.owned_by(caller("a")) is ada
    assert ada.requests.host.capabilities() == ROOTS
    assert bob.requests.host.capabilities() == {"elicitation": {"form": {}}}
    # What it lists may be for this session only.
    assert not ada.keeps_lists
    instances.end_session("a")
    assert used(instances, caller("a")) is not ada


def test_the_instance_that_was_listed_is_taken_by_the_first_caller(make: Make) -> None:
    """Ours: a single client of a gateway costs one process for each server, not two."""
    instances = make()
    listed = instances.listed_by(caller("a"))

    assert instances.listed_by(caller("b")) is listed
    assert used(instances, caller("b")) is listed
    assert instances.listed_by(caller("a")) is not listed


def test_a_call_without_a_session_has_an_instance_to_itself(make: Make) -> None:
    """Ours: the next call may use it too, unless the server has asked: it may remember the answer."""
    instances = make()
    with instances.entered(caller()) as first, instances.entered(caller()) as second:
        assert first is not second
    assert used(instances, caller()) is first
    # A session takes only one that no call has used.
    assert used(instances, caller("a")) not in (first, second)

    with instances.entered(caller()) as asking, asking.requests.opened(caller(), lambda _: {"roots": []}):
        asking.requests.host.answer("roots/list", {})
    assert used(instances, caller()) is not asking


def test_a_session_that_was_logged_to_gets_an_instance(make: Make) -> None:
    """Ours: what a shared server logs may be about another client's call, so neither gets it."""
    instances = make()
    ada, bob = caller("a", {}), caller("b", {})
    heard: list[Any] = []
    ada.log_level = bob.log_level = "info"
    ada._on_log = bob._on_log = lambda *logged: heard.append(logged)
    shared = instances.shared.requests
    with shared.opened(ada, lambda _: {}):
        shared.host.logged("info", "", "of the only caller")
    with shared.opened(bob, lambda _: {}):
        shared.host.logged("info", "", "of any of them")

    assert heard == [("info", "of the only caller")]
    assert used(instances, bob) is not instances.shared
    assert used(instances, ada) is instances.shared

    # A call without a session has no instance to get later.
    other = caller(None, {})
    other.log_level = "info"
    with shared.opened(other, lambda _: {}):
        shared.host.logged("info", "", "of any of them")
    assert used(instances, other) is instances.shared


def test_a_call_waits_for_an_instance_and_is_then_refused(make: Make) -> None:
    """Ours: it never shares one; it begins when one has become free."""
    instances = make(2, busy_seconds=0.0)
    used(instances, caller("a"))
    used(instances, caller("b"))
    with pytest.raises(BusyError, match="server 'keeper' is busy: 2 clients"):
        used(instances, caller("c"))

    looks: list[threading.Thread] = []

    def clock() -> float:
        looks.append(threading.current_thread())
        return 0.0

    waiting = make(1, busy_seconds=60.0, clock=clock)
    with waiting.entered(caller()) as first:
        second: list[Backend] = []
        thread = threading.Thread(target=lambda: second.append(used(waiting, caller())))
        thread.start()
        # At its beginning, and before it waits.
        wait_until(lambda: looks.count(thread) == 2)
        cancelled = caller()
        cancelled.cancel()
        with pytest.raises(CallCancelledError):
            used(waiting, cancelled)
        assert not second
    thread.join(20)
    assert second == [first]


def test_an_instance_that_nobody_uses_makes_room(make: Make) -> None:
    """Ours: of clients with other capabilities."""
    instances = make(1, busy_seconds=0.0)
    first = instances.listed_by(caller("a"))
    other = used(instances, caller("b", {"elicitation": {}}))

    assert instances.all() == [instances.shared, other]
    assert first not in instances.all()
    # Lists do not fail: they are those of the shared instance.
    assert instances.listed_by(caller("a")) is instances.shared


def test_instances_that_are_not_used_are_stopped(make: Make) -> None:
    """Ours: but not while a call uses one, nor while it is to notify about a resource."""
    instances = make(idle_seconds=0.05)
    with instances.entered(caller("a")) as ada:
        used(instances, caller("b"))
        wait_until(lambda: instances.all() == [instances.shared, ada])
    wait_until(lambda: instances.all() == [instances.shared])


def test_no_instance_is_added_after_the_end(make: Make) -> None:
    """Ours: it would be left running."""
    instances = make()
    instances.close()

    assert instances.listed_by(caller("a")) is instances.shared
    with pytest.raises(BusyError):
        used(instances, caller("a"))


def test_the_instructions_of_an_earlier_connection_are_known(make: Make) -> None:
    """Ours: a client reads them when it connects, which may be before a server is connected."""
    instances = make()
    assert instances.instructions == ""

    ServerCache(cache_folder(), read_entry("keeper", script("remembers.py"))).keep_instructions("Be kind.")
    assert instances.instructions == "Be kind."


@pytest.mark.story
def test_a_stateless_server_has_one_instance(make: Make) -> None:
    """Spec 2026-07-28: it gets the capabilities with each request, and keeps nothing of a connection."""
    instances = make(entry=script("good_stateless.py"))
    other = instances.listed_by(caller("b", {"elicitation": {}}))
    connected = instances.listed_by(caller("a"))

    for _ in range(2):
        assert instances.asks_by_result(caller("a"))
    assert used(instances, caller("b")) is instances.shared is connected
    assert connected.keeps_lists
    assert instances.all() == [connected, other]


@pytest.mark.story
def test_an_instance_of_a_session_stays_its_own(make: Make) -> None:
    """Ours: it may have been taken, for a subscription, before the era of the server was known."""
    stateless, handshake = make(entry=script("good_stateless.py")), make()

    for instances, by_result in ((stateless, True), (handshake, False)):
        own = instances.owned_by(caller("a"))
        assert instances.asks_by_result(caller("a")) is by_result
        assert (used(instances, caller("a")) is own) is not by_result
        assert instances.all() == [instances.shared, own]
