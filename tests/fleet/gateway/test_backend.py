"""One instance of a server behind a gateway: its lists, its errors, and what it is sent."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import LONGEST_REQUEST_SECONDS
from gaia_mcp.core.errors import EntryError, MCPError, NotConnectedError, SpawnError, VariableUnsetError
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet.gateway.backend import Backend, Heard
from gaia_mcp.fleet.gateway.questions import Declared, ServerRequests
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.transports.http.web import handshake, result, serving
from tests.fleet.gateway.conftest import HANDSHAKE, STATELESS, script
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.story

MakeBackend = "Callable[..., tuple[Backend, list[str]]]"


@pytest.fixture
def backend() -> Iterator[Callable[..., tuple[Backend, list[str]]]]:
    """Makes backends, each with the notes of what it was notified of. They are closed at the end."""
    made: list[Backend] = []

    def make(entry: dict[str, Any] | MCPError, **options: Any) -> tuple[Backend, list[str]]:
        notes: list[str] = []
        heard = Heard(notes.append, notes.append, lambda: notes.append("connected"))
        read = entry if isinstance(entry, MCPError) else read_entry("one", entry)
        made.append(Backend("one", read, heard, ServerRequests(Declared({})), **options))
        return made[-1], notes

    yield make
    for each in made:
        each.close()


def offers(revision: str = HANDSHAKE) -> dict[str, Any]:
    entry = script("offers.py")
    return {**entry, "args": [*entry["args"], revision]}


def test_it_connects_once_until_the_connection_ends(backend: MakeBackend) -> None:
    """Ours: and is known before only from the cache."""
    one, notes = backend(offers(STATELESS))
    assert repr(one) == "<Backend 'one'>"
    assert (one.has_connected, one.is_open, one.declares("prompts"), one.is_known_to_ask_by_result()) == (False,) * 4

    server = one.ready()
    assert one.ready() is server
    assert (one.has_connected, one.is_open, one.declares("prompts"), one.is_known_to_ask_by_result()) == (True,) * 4
    with pytest.raises(MCPError):
        server.client.call("die", {})
    assert one.ready() is server
    assert notes == ["connected", "connected"]


def test_of_several_threads_one_connects(backend: MakeBackend) -> None:
    """Ours: the others wait for it."""
    one, notes = backend(offers())
    with ThreadPoolExecutor(4) as threads:
        servers = list(threads.map(lambda _: one.ready(), range(4)))

    assert len(set(map(id, servers))) == 1
    assert set(notes) == {"connected"}


def test_a_list_is_requested_again_after_a_change_of_a_server_that_announces_it(backend: MakeBackend) -> None:
    """Spec, listChanged. A list of another server is always requested."""
    one, notes = backend(script("list_changes.py"))
    first = one.fetch("tools")
    assert one.fetch("tools") is first
    one.ready().client.call("echo", {})
    wait_until(lambda: "tools" in notes)
    assert [tool["name"] for tool in one.fetch("tools")] == ["echo", "new1"]

    other, _ = backend(offers())
    assert other.fetch("prompts") is not other.fetch("prompts")


def test_lists_are_kept_for_later_connections_by_the_shared_instance(backend: MakeBackend) -> None:
    """Ours: what one caller is shown may be for that caller only."""
    one, _ = backend(offers())
    cache = ServerCache(cache_folder(), read_entry("one", offers()))
    one.fetch("prompts")
    assert cache.seen("prompts") is None

    one.keeps_lists = True
    for kind in ("prompts", "resources", "resourceTemplates"):
        one.fetch(kind)
    later, _ = backend(offers())
    for kind in ("tools", "prompts", "resources", "resourceTemplates"):
        later.recall(kind)
        assert later.lists.get(kind) == one.lists.get(kind)
    later.recall("prompts")


def test_the_filter_of_an_entry_is_for_tools(backend: MakeBackend) -> None:
    """Ours: a prompt may have any name."""
    one, _ = backend({**offers(), "includeTools": ["a*"]})

    assert [one.uses("tools", "add"), one.uses("tools", "b"), one.uses("prompts", "b")] == [True, False, True]
    assert backend(offers())[0].uses("tools", "b")


def test_a_failed_server_is_not_tried_for_a_while(backend: MakeBackend) -> None:
    """Ours: its error is kept; one kind of list may fail alone."""
    gone, _ = backend({"command": "surely-not-installed"})
    with pytest.raises(SpawnError):
        gone.fetch("tools")
    assert (gone.may_try("tools"), gone.may_try("prompts")) == (False, False)
    assert isinstance(gone.problem_of("tools"), SpawnError)

    refuses = script("list_errors.py")
    one, _ = backend({**refuses, "args": [*refuses["args"], "-32603", "not now"]})
    with pytest.raises(MCPError):
        one.fetch("tools")
    assert (one.may_try("tools"), one.may_try("prompts")) == (False, True)
    assert one.problem is None
    assert one.problem_of("tools") is not None

    at_once, _ = backend({"command": "surely-not-installed"}, first_pause_seconds=0.0)
    with pytest.raises(SpawnError):
        at_once.fetch("tools")
    assert at_once.may_try("tools")


def test_an_entry_that_is_invalid_or_cannot_be_resolved_is_a_server_that_fails(backend: MakeBackend) -> None:
    """Ours: with its own error, at each use."""
    invalid, _ = backend(EntryError("one", "'args' must be a list of strings"))
    unset, _ = backend({"command": "x", "env": {"A": "${SURELY_NOT_SET}"}})

    for one, kind in ((invalid, EntryError), (unset, VariableUnsetError)):
        with pytest.raises(kind):
            one.ready()
        assert isinstance(one.problem, kind)
        assert not one.may_try("tools")
        assert (one.instructions, one.has_timeout, one.has_connected) == ("", False, False)


def test_an_error_is_reported_on_one_line_without_secrets(backend: MakeBackend) -> None:
    """Ours: it is forwarded to clients."""
    one, _ = backend(script("good_handshake.py", TOKEN="hunter2222"))
    one.ready()

    told = one.explained(MCPError("the token hunter2222\nis wrong"))

    assert str(told) == "the token **** is wrong"


def test_a_request_has_the_timeout_of_the_entry(backend: MakeBackend) -> None:
    """Ours: without one the client decides how long to wait."""
    limited, unlimited = backend({**offers(), "timeout": 7})[0], backend(offers())[0]

    assert (limited.has_timeout, limited.deadline().seconds) == (True, 7)
    assert (unlimited.has_timeout, unlimited.deadline().seconds) == (False, LONGEST_REQUEST_SECONDS)


def test_the_log_level_of_a_server_is_only_lowered(backend: MakeBackend) -> None:
    """Ours: it applies to the calls of all clients. A reconnected server starts anew."""
    levels: list[str] = []
    one, _ = backend(offers())
    client = one.ready().client
    client.set_log_level = levels.append  # type: ignore[assignment,method-assign]

    for level in (None, "warning", "error", "info", "info"):
        one.want_logs(client, level)
    client.disconnect()
    one.ready()
    one.want_logs(client, "error")

    assert levels == ["warning", "info", "error"]


def test_a_resource_is_subscribed_to_until_the_connection_ends(backend: MakeBackend) -> None:
    """Spec, resources. Ending what has ended already is no error."""
    one, notes = backend(offers())
    one.subscribe("file:///a")
    assert one.has_subscriptions
    one.ready().client.call("touch", {})
    wait_until(lambda: "file:///a" in notes)

    one.unsubscribe("file:///a")
    assert not one.has_subscriptions
    one.subscribe("file:///a")
    one.ready().client.disconnect()
    one.unsubscribe("file:///a")
    assert not one.has_subscriptions


def test_additions_reach_the_process_or_the_url(backend: MakeBackend) -> None:
    """Ours: they are not in the entry, by which the cache is kept."""
    one, _ = backend(script("good_handshake.py"), environment={"ADDED": "here"})
    one.set_header("mark", "unused")
    one.ready()
    one.set_header("mark", "unused")
    environment = json.loads(one.ready().client.call("environment", {})["content"][0]["text"])
    assert environment["ADDED"] == "here"

    with serving(handshake(lambda asked: result(asked, tools=[]))) as web:
        remote, _ = backend({"url": web.origin}, headers={"mark": "first"})
        remote.set_header("mark", "second")
        remote.fetch("tools")
        remote.set_header("mark", "third")
        remote.fetch("tools")
        marks = [asked.headers["mark"] for asked in web.asked]
    assert (marks[0], marks[-1]) == ("second", "third")


def test_stderr_is_shown_with_the_name_of_the_server(backend: MakeBackend) -> None:
    """Ours: of several, which one it was."""
    shown: list[tuple[str, bytes]] = []
    one, _ = backend(script("good_handshake.py"), show=lambda server, lines: shown.append((server, lines)))

    with pytest.raises(MCPError):
        one.ready().client.call("die", {})
    wait_until(lambda: shown == [("one", b"told to die\n")])


def test_a_server_that_is_closed_is_not_started(backend: MakeBackend) -> None:
    """Ours: also where its list is requested at that moment, before anything could be stopped."""
    one, _ = backend(script("good_handshake.py"))
    made = one._made

    def made_before_closing() -> Any:
        server = made()
        one.close()
        return server

    one._made = made_before_closing  # type: ignore[method-assign]
    with pytest.raises(NotConnectedError):
        one.ready()
    assert not one.is_open


def test_the_entry_in_use_is_chosen_at_each_connection(backend: MakeBackend) -> None:
    """Ours: a keeper may have begun to hold the server meanwhile, or ceased."""
    chosen = [read_entry("one", offers(HANDSHAKE)), read_entry("one", offers(STATELESS))]
    one, _ = backend({"url": "https://mcp.example/"}, use=lambda _: chosen.pop(0))

    assert one.server is None
    first = one.ready()
    assert one.ready() is one.server is first
    assert first.client.protocol_version == HANDSHAKE
    # It has no headers to be sent.
    one.set_header("name", "value")
    first.client.disconnect()

    assert one.ready().client.protocol_version == STATELESS
    assert chosen == []


def test_a_choice_that_fails_is_the_problem_of_the_server(backend: MakeBackend) -> None:
    """Ours: as for an instance that is not held."""

    def use(_: Any) -> Any:
        raise NotConnectedError("one@a")

    one, _ = backend(offers(), use=use)

    with pytest.raises(NotConnectedError):
        one.ready()
    assert isinstance(one.problem, NotConnectedError)
