from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.provider import (
    Announcer,
    Change,
    InsufficientScopeError,
    Listeners,
    RequestError,
    check_scope,
    method_not_found,
    require_scopes,
    required_scopes,
    unknown_tool,
)
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_request_error_has_the_code_for_invalid_params_by_default() -> None:
    """Ours: most refusals are."""
    error = RequestError("no such page")

    assert (error.code, str(error), error.data) == (INVALID_PARAMS, "no such page", None)


def test_an_unknown_method_has_its_own_code() -> None:
    """Spec, JSON-RPC: -32601."""
    error = method_not_found("completion/complete")

    assert error.code == METHOD_NOT_FOUND
    assert str(error) == "Method not found: completion/complete"


def test_an_unknown_tool_is_an_invalid_parameter() -> None:
    """Spec 2025-11-25, tools, error handling: -32602."""
    error = unknown_tool("none")

    assert (error.code, str(error)) == (INVALID_PARAMS, "Unknown tool: none")


def test_required_scopes_are_read_from_the_error() -> None:
    """Ours: over HTTP it becomes a challenge. What another server sends may be anything."""
    error = InsufficientScopeError(["trips:write"])

    assert "scope 'trips:write'" in str(error)
    assert required_scopes(error.code, error.data) == ("trips:write",)
    assert required_scopes(403, {"requiredScopes": ["a", 7, 'b"', "c d", "e\r\nf: g", ""]}) == ("a",)
    for code, data in [(403, None), (403, {}), (403, {"requiredScopes": "a"}), (-32602, error.data)]:
        assert required_scopes(code, data) == ()


def test_an_invalid_scope_is_refused() -> None:
    """RFC 6749, section 3.3."""
    check_scope("https://example.com/trips:write")

    def is_refused(check: Callable[[str], object], scope: str) -> bool:
        try:
            check(scope)
        except ValueError as error:
            return "cannot be a scope" in str(error)
        return False

    scopes = ("", "a b", 'a"', "a\\", "é", "a\n")
    assert [scope for scope in scopes if not is_refused(check_scope, scope)] == []
    assert [scope for scope in scopes if not is_refused(lambda each: InsufficientScopeError([each]), scope)] == []


TOOLS = Change(("tools",))


def test_every_listener_gets_every_change_until_it_is_removed() -> None:
    """Ours: a provider may serve many clients at once."""
    heard: list[tuple[str, Change]] = []
    listeners = Listeners()
    listeners.announce(TOOLS)
    remove_first = listeners.add(lambda change: heard.append(("first", change)))
    listeners.add(lambda change: heard.append(("second", change)))

    listeners.announce(TOOLS)
    remove_first()
    remove_first()
    listeners.announce(Change(description=True))

    assert heard == [("first", TOOLS), ("second", TOOLS), ("second", Change(description=True))]


def test_a_listener_may_remove_itself_while_it_is_called() -> None:
    """Ours: a client that has gone is often noticed by sending to it."""
    heard: list[str] = []
    listeners = Listeners()

    def listen(_: Change) -> None:
        heard.append("once")
        remove()

    remove = listeners.add(listen)
    listeners.announce(TOOLS)
    listeners.announce(TOOLS)

    assert heard == ["once"]


def test_listeners_contain_the_uris_that_one_of_them_wants() -> None:
    """Ours: a change that nothing has subscribed to need not be kept until it is announced."""
    listeners, wanted = Listeners(), set[str]()
    listeners.add(lambda _: None)
    remove = listeners.add(lambda _: None, wanted)
    assert "a://a" not in listeners

    wanted.add("a://a")
    assert "a://a" in listeners
    assert "b://b" not in listeners

    remove()
    assert "a://a" not in listeners


class Following(set[str]):
    """The URIs that a listener wants, with a callback for their changes."""

    def __init__(self, *uris: str) -> None:
        super().__init__(uris)
        self.on_change: Callable[[], None] = lambda: None
        self.session = None

    def uris(self) -> set[str]:
        """All of them."""
        return set(self)


def test_listeners_report_changes_of_the_wanted_uris() -> None:
    """Ours: a gateway has to subscribe to them at the server that has the resources."""
    changes: list[set[str]] = []
    listeners = Listeners()
    listeners.on_change = lambda: changes.append(listeners.uris())
    listeners.add(lambda _: None, {"a://unknown"})
    first, second = Following("a://a"), Following()

    remove = listeners.add(lambda _: None, first)
    listeners.add(lambda _: None, second)
    second.add("b://b")
    second.on_change()
    remove()

    assert changes == [{"a://a"}, {"a://a", "b://b"}, {"b://b"}]


def test_additional_scopes_and_a_caller_without_a_token_are_allowed() -> None:
    """Ours: over stdio, nothing grants scopes."""
    require_scopes(frozenset({"a", "b", "c"}), ["b", "a"])
    require_scopes(None, ["a"])
    require_scopes(frozenset(), [])


def test_the_error_names_all_required_scopes() -> None:
    """Spec, AS-3: all scopes needed."""
    with pytest.raises(InsufficientScopeError, match="scopes 'a', 'b'") as caught:
        require_scopes(frozenset({"a"}), ["a", "b", "a"])

    assert caught.value.scopes == ("a", "b")
    assert (caught.value.code, caught.value.data) == (403, {"requiredScopes": ["a", "b"]})


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
