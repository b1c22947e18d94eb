"""A log as a stream of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Tools, app_of
from tests.server.stores import FailingStore
from tests.waiting import Clock

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


def test_keep_alives_renew_the_session_of_a_silent_stream(serve: Serve) -> None:
    """Ours: a session whose client listens does not expire."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    limits = Limits(keep_alive_seconds=0.01, session_seconds=50.0)
    server = serve(app_of(Tools(), limits, store=store))
    session = server.open_session()
    listening = server.ask("GET", accept="*/*", **session)
    listening.raw()

    for _ in range(3):
        clock.now += 30
        listening.drain()  # Of the two that follow, at least the second is sent after the clock has moved.
        assert listening.raw() == b":\n\n"
        assert listening.raw() == b":\n\n"

    assert server.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **session).reply().status == 200


def test_a_new_listening_stream_ends_the_previous_one(serve: Serve) -> None:
    """Ours: several messages, then the end of a client that goes away, or of one that came later."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))
    session = server.open_session()
    first = server.ask("GET", accept="*/*", **session)
    first.raw()
    provider.replace_agent(Tools())
    assert first.message()["method"] == "notifications/tools/list_changed"

    second = server.ask("GET", accept="*/*", **session)
    second.raw()

    assert first.ends()
    first.end()
    second.leave()
    second.end()


def test_a_stream_continues_after_a_failure_of_the_store(serve: Serve) -> None:
    """Ours: the stream is silent meanwhile, and loses nothing."""
    store = FailingStore()
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider, Limits(keep_alive_seconds=0.01), store=store))
    listening = server.ask("GET", accept="*/*", **server.open_session())
    listening.raw()
    store.failing = {"read"}
    provider.replace_agent(Tools())
    assert [listening.raw() for _ in range(3)] == [b":\n\n"] * 3

    store.failing = set()

    assert listening.message()["method"] == "notifications/tools/list_changed"
    listening.leave()
    listening.end()
