"""A transport over channels: which conversation is used, and when the next one begins."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    NotConnectedError,
    PeerError,
    ServerExitedError,
    VersionError,
)
from gaia_mcp.protocol.events import ResourceUpdated
from tests.client.eras import URI, scripted, updated
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import (
    Impatient,
    Message,
    Reading,
    Talk,
    error,
    handshake,
    in_thread,
    opened,
    result,
    with_answers,
)
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.client.transports.base import Receiver
    from gaia_mcp.core.errors import MCPError


def test_list_changes_are_recorded_for_their_own_connection() -> None:
    """Spec, tools. Ours: a program may pass one host to the clients of several servers."""
    host = Host()
    talk, other = opened(host=host), opened(host=host)
    heard: list[str] = []
    talk.engine.on_change = lambda change: heard.append(change.kind)

    for kind in ("tools", "prompts", "tools"):
        talk.arrives({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})
    other.arrives({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})

    assert (talk.engine.list_changes, heard) == ({"tools", "prompts"}, ["tools", "prompts", "tools"])
    assert other.engine.list_changes == {"resources"}


def test_a_resource_update_is_passed_on_and_changes_no_list() -> None:
    """Spec, resources: the content has changed, not the list."""
    changes: list[Any] = []
    talk = opened(with_answers(lambda asked: [result(asked, {})]))
    talk.engine.on_change = changes.append
    talk.conversation.subscribe(URI, Deadline(5))

    talk.arrives(updated(URI))

    assert (changes, talk.engine.list_changes) == ([ResourceUpdated(URI)], set())


def test_a_late_end_of_an_old_channel_does_not_affect_the_next() -> None:
    """Ours: the thread that read the old channel may report its end late."""
    talk = opened(with_answers(lambda asked: [result(asked, {})]))
    (old,) = talk.channels
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))

    old.end(lambda _: ConnectError("gone again"))
    old.arrive(b'{"jsonrpc": "2.0", "id": 2, "result": {"old": true}}')

    assert talk.is_open
    assert talk.request("x", None, Deadline(5)) == {}


def test_a_request_on_an_old_channel_does_not_take_a_response_of_the_next() -> None:
    """Ours: request ids start again at 1 on every channel."""
    talk = opened()
    first, failed = in_thread(lambda: talk.request("old", None, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: "old" in talk.methods())
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    second, got = in_thread(lambda: talk.request("new", None, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: "new" in talk.methods())

    talk.channels[0].arrive(b'{"jsonrpc": "2.0", "id": 3, "result": {"for": "old"}}')
    first.join(PATIENCE_SECONDS)
    talk.arrives(result(talk.sent[-1], {"for": "new"}))
    second.join(PATIENCE_SECONDS)

    assert str(failed[0]) == "gone"
    assert got == [{"for": "new"}]


def test_a_transport_that_is_not_connected_has_no_conversation() -> None:
    """Ours: the documents promise "Not connected"."""
    talk = Talk(handshake)

    with pytest.raises(NotConnectedError):
        _ = talk.conversation
    assert (talk.peer, talk.is_open, talk.is_connected()) == (None, False, False)
    talk.disconnect()


def test_connecting_sends_nothing_and_opening_negotiates_a_version() -> None:
    """GAIA's documents: a program may send `initialize` by itself."""
    talk = Talk(handshake)

    assert talk.connect()
    assert talk.connect()
    assert (talk.sent, talk.is_connected(), talk.is_open, len(talk.channels)) == ([], True, False, 1)
    peer = talk.open(probe=True, deadline=Deadline(5))

    assert (talk.open(probe=True, deadline=Deadline(5)), talk.peer) == (peer, peer)
    assert len(talk.channels) == 1


def test_a_failed_connect_returns_false(caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents: a bool. The reason is logged, and `start` raises it."""

    class Absent(MemoryChannel):
        def start(self, receiver: Receiver, deadline: Deadline) -> None:
            raise ConnectError("nobody home")

    talk = Talk(handshake, channel=Absent)

    assert talk.connect() is False
    assert caplog.messages == ["MCP server 'server': nobody home"]
    with pytest.raises(ConnectError):
        talk.engine.start()


def test_requests_and_notifications_have_the_timeout_of_the_transport() -> None:
    """GAIA's documents: `send_request` returns the whole response."""
    talk = opened(with_answers(lambda asked: [result(asked, {})]))

    talk.send_notification("notifications/x")

    assert talk.send_request("x") == {"jsonrpc": "2.0", "id": 2, "result": {}}
    talk.timeout, talk.script = 0, handshake
    with pytest.raises(DeadlineError):
        talk.send_request("x")


def test_a_server_that_exits_on_a_probe_is_restarted_with_the_handshake() -> None:
    """Ours: some servers exit on any request before `initialize`."""

    def script(message: Message) -> list[Message]:
        if message.get("method") == "server/discover":
            talk.channels[-1].end(lambda stage: ServerExitedError("server", stage, 1))
            return []
        return handshake(message)

    talk = Talk(script)

    assert talk.open(probe=True, deadline=Deadline(5)).era == "handshake"
    assert talk.methods() == ["server/discover", "initialize", "notifications/initialized"]
    assert len(talk.channels) == 2


def test_a_server_that_exits_after_the_probe_is_not_restarted() -> None:
    """Ours: it would exit again for the same reason."""

    def script(message: Message) -> list[Message]:
        if message.get("method") == "initialize":
            talk.channels[-1].end(lambda stage: ServerExitedError("server", stage, 1))
        return handshake(message)

    talk = Talk(script)

    with pytest.raises(ServerExitedError):
        talk.open(probe=True, deadline=Deadline(5))
    assert (len(talk.channels), talk.is_connected()) == (1, False)


def test_a_server_that_is_silent_after_the_probe_is_restarted_with_the_handshake() -> None:
    """IO-10: while there is time left."""
    talk = Talk(lambda message: handshake(message) if len(talk.channels) == 2 else [], channel=Reading)

    assert talk.open(probe=True, deadline=Impatient(16)).era == "handshake"
    assert talk.methods() == ["server/discover", "initialize", "initialize", "notifications/initialized"]
    mute = Talk(lambda message: [], channel=Reading)
    with pytest.raises(DeadlineError):
        mute.open(probe=True, deadline=Deadline(0))
    assert len(mute.channels) == 1


def test_stray_output_before_a_restart_is_discarded() -> None:
    """Ours: a restarted server prints the same lines again, and they would be reported twice."""
    talk = Talk(lambda message: handshake(message) if len(talk.channels) == 2 else [], channel=Reading)
    talk.engine.host = Host()
    talk.engine.host.strayed("not JSON", "Usage: x --stdio")

    talk.open(probe=True, deadline=Impatient(16))

    assert talk.engine.host.noise() == ""


def test_only_a_fixed_revision_is_negotiated() -> None:
    """IO-10, ours: a server that does not support it is an error, whatever else it supports."""
    talk = Talk(handshake)
    talk.engine.revision = "2025-06-18"

    with pytest.raises(VersionError):
        talk.open(probe=True, deadline=Deadline(5))
    assert talk.methods() == ["initialize"]


def test_one_thread_at_a_time_opens_a_connection() -> None:
    """Ours: a second thread uses the connection of the first, or its deadline expires."""
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=False, deadline=Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)

    with pytest.raises(DeadlineError, match="another thread's request"):
        talk.open(probe=False, deadline=Deadline(0))
    talk.arrives(handshake(talk.sent[0])[0])
    thread.join(PATIENCE_SECONDS)

    assert outcomes == [talk.peer]


def test_a_disconnect_during_connecting_leaves_no_connection() -> None:
    """Ours: the thread that disconnects cannot close a channel that does not exist yet."""
    talk = Talk(handshake)
    make = talk.new_channel

    def disconnected_meanwhile() -> MemoryChannel:
        talk.disconnect()
        return make()

    talk.new_channel = disconnected_meanwhile

    with pytest.raises(NotConnectedError):
        talk.open(probe=True, deadline=Deadline(5))
    assert (talk.sent, talk.is_connected()) == ([], False)


def test_a_slow_disconnect_does_not_end_the_next_conversation() -> None:
    """Ours: another thread may have connected while the old server was being stopped."""
    talk = opened()
    old, stopping, go_on = talk.channels[0], threading.Event(), threading.Event()
    close = old.close

    def slow_close(grace_seconds: float | None) -> None:
        stopping.set()
        go_on.wait(PATIENCE_SECONDS)
        close(grace_seconds)

    old.close = slow_close  # type: ignore[method-assign]
    old.end(lambda _: ConnectError("gone"))
    thread, _ = in_thread(talk.disconnect)
    assert stopping.wait(PATIENCE_SECONDS)
    old.close = close  # type: ignore[method-assign]
    talk.open(probe=True, deadline=Deadline(5))
    go_on.set()
    thread.join(PATIENCE_SECONDS)

    assert talk.is_open


def test_a_transport_without_a_process_has_no_exit_status_and_no_stderr() -> None:
    """Ours: a transport that starts none has no exit status and no log."""
    talk = opened()

    assert (talk.exit_status, talk.stderr_tail(), talk.close(0.1)) == (None, "", None)
    assert talk.masker().text("hunter22") == "hunter22"
    assert not talk.is_connected()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_cached_era_decides_whether_a_server_is_probed(version: str) -> None:
    """Spec, DE-2: for a channel that caches only the era."""
    talk = Talk(scripted(version, lambda _: {}))
    peer = talk.open(probe=True, deadline=Deadline(5))

    assert talk._era_of(peer) == peer.era
    assert talk._recall(peer.era) is (peer.era == "stateless")
    assert talk._recall(None)
    talk.disconnect()


class Alternative(Talk):
    """A transport that has two other ways to connect."""

    way = 0

    def _alternatives(self, error: MCPError) -> Iterator[None]:
        for self.way in (1, 2):
            yield
        self.way = 0


@pytest.mark.parametrize("working", [2, 3, 4])
def test_the_other_ways_of_a_transport_are_tried_in_turn(working: int) -> None:
    """Ours: until one works. If none does, the error of the first way is reported."""

    def script(message: Message) -> list[Message]:
        if len(talk.channels) == working:
            return handshake(message)
        return [error(message, -32600 - len(talk.channels), "no")] if "id" in message else []

    talk = Alternative(script)
    client = MCPClient("s", talk)

    if works := working <= 3:
        assert client.open().era == "handshake"
    else:
        with pytest.raises(PeerError) as caught:
            client.open()
        assert caught.value.code == -32601
    assert (len(talk.channels), client.is_connected()) == (min(working, 3), works)
    assert talk.way == (working - 1 if works else 0)


def test_a_transport_that_the_program_has_connected_needs_no_negotiation() -> None:
    """GAIA's documents: a program may connect by itself, also again."""
    transport = Scripted(x={"a": 1})
    client = MCPClient("s", transport)
    with pytest.raises(NotConnectedError):
        client.request("x")

    for _ in range(2):
        transport.connect()
        assert client.request("x") == client.request("x") == {"a": 1}
        client.disconnect()
    assert not transport.connected
