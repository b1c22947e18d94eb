"""Which of several servers may have a resource, and where it is subscribed to, over servers in this process."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.fleet.gateway.backend import Backend, Heard
from gaia_mcp.fleet.gateway.listing import Following, owners_of
from gaia_mcp.fleet.gateway.questions import Declared, ServerRequests
from tests.fleet.gateway.offering import offering
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.fleet.gateway.listing import Wanted

A, B = "note://a", "note://b"


class Library:
    """Two servers, `first` and `second`, with the URIs that each accepts a subscription to."""

    def __init__(self, stack: ExitStack) -> None:
        self.accepted: dict[str, set[str]] = {}
        self.first, self.second = (self._made(stack, name) for name in ("first", "second"))

    def _made(self, stack: ExitStack, name: str) -> Backend:
        server = stack.enter_context(offering())
        self.accepted[name] = server.accepted
        heard = Heard(lambda _: None, lambda _: None, lambda: None)
        backend = Backend(name, read_entry(name, server.entry), heard, ServerRequests(Declared({})))
        stack.callback(backend.close)
        return backend


@pytest.fixture
def library() -> Iterator[Library]:
    """The two servers, of which none is connected yet."""
    with ExitStack() as stack:
        yield Library(stack)


def test_a_server_that_lists_a_resource_is_the_first_to_have_it(library: Library) -> None:
    """Ours: then one with a template for it. Any other may have it only if none is known to."""
    third = Backend("third", read_entry("third", {"command": "x"}), library.first._heard, ServerRequests(Declared({})))
    library.first.lists["resourceTemplates"] = [{"uriTemplate": "note://{"}, {"uriTemplate": "note://{name}"}]
    library.second.lists["resources"] = [{"uri": A, "name": "a"}]
    library.second.ready()
    backends = [third, library.first, library.second]

    for uri, owners in (
        (A, [library.second, library.first]),
        (B, [library.first]),
        ("note://{", [library.first]),
        ("other://a", [library.second]),
    ):
        assert owners_of(uri, backends) == owners, uri


def following(
    wanted: Callable[[], set[Wanted]], library: Library, settle_seconds: float = PATIENCE_SECONDS
) -> Following:
    return Following(wanted, lambda _, __: [library.first, library.second], settle_seconds)


def test_a_resource_is_subscribed_to_at_the_first_server_that_accepts(library: Library) -> None:
    """Ours: one that no server accepts is tried again once another server has connected."""
    wanted: set[Wanted] = {(A, None), (B, None)}
    library.accepted["second"] |= {A}
    subscriptions = following(lambda: set(wanted), library)
    subscriptions.look()
    subscriptions.settle()
    assert (library.first._subscribed, library.second._subscribed) == (set(), {A})

    library.accepted["first"] |= {A, B}
    subscriptions.look()
    subscriptions.settle()
    assert (library.first._subscribed, library.second._subscribed) == (set(), {A})
    subscriptions.server_connected()
    subscriptions.settle()
    assert (library.first._subscribed, library.second._subscribed) == ({B}, {A})

    wanted.clear()
    subscriptions.look()
    subscriptions.settle()
    assert not library.first.has_subscriptions
    assert not library.second.has_subscriptions


def test_a_subscription_ends_with_the_last_session_that_wants_it(library: Library) -> None:
    """Ours: sessions may share an instance of a server."""
    wanted: set[Wanted] = {(A, "ada"), (A, "bob")}
    library.accepted["first"] |= {A}
    subscriptions = following(lambda: set(wanted), library)

    for session, is_subscribed in (("", True), ("ada", True), ("bob", False)):
        wanted.discard((A, session))
        subscriptions.look()
        subscriptions.settle()
        assert library.first.has_subscriptions is is_subscribed

    subscriptions.close()
    wanted.add((A, "ada"))
    subscriptions.look()
    assert not library.first.has_subscriptions


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_subscriptions_go_on_after_an_error_of_the_program(library: Library) -> None:
    """Ours: a thread that has died is replaced, and nobody waits for it."""
    failed: list[threading.Thread] = []
    library.accepted["first"] |= {A}

    def wanted() -> set[Wanted]:
        if not failed:
            failed.append(threading.current_thread())
            wait_until(lambda: subscriptions._condition._waiters)  # type: ignore[attr-defined]
            raise MemoryError
        return {(A, None)}

    subscriptions = following(wanted, library, 600.0)
    subscriptions.look()
    wait_until(lambda: failed)
    subscriptions.settle()
    failed[0].join(PATIENCE_SECONDS)
    subscriptions.look()
    subscriptions.settle()

    assert library.first.has_subscriptions
