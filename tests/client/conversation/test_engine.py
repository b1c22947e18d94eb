from __future__ import annotations

import logging
import select
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import engine as module
from gaia_mcp.client.conversation.engine import DeadlineLock
from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CallCancelledError,
    CancelledError,
    ConnectionLostError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
    ServerExitedError,
    SessionExpiredError,
)
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS, pause_before
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.conftest import error_of, noted, text_of
from tests.client.eras import ERAS, URI, changed, scripted, updated
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, OneStream, Talk, error, handshake, in_thread, progress_of, result
from tests.interleavings import explore
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.conftest import Started
    from tests.client.eras import StartTalk
    from tests.interleavings import Run, Threads


GOOD = ["good_handshake", "good_stateless"]


def calls(started: Started, server: str) -> list[str]:
    return [note for note in started.notes(server) if note.startswith("tools/call")]


def era_cache(folder: Path, server: str = "s") -> ServerCache:
    return ServerCache(folder, ServerEntry(server, Command(server)))


@pytest.mark.parametrize("server", GOOD)
def test_disconnecting_clears_the_peer_and_preserves_server_info(start_server: Started, server: str) -> None:
    """Ours for `peer`. GAIA's documents: server_info is an attribute that connect() sets."""
    client = start_server(server, is_open=False)
    assert (client.peer, client.server_info) == (None, {})
    client.open()
    info = client.server_info
    client.disconnect()

    assert client.peer is None
    assert client.server_info is info
    assert info["version"] == "1"
    client.open()
    assert client.peer is not None


def test_a_request_before_connecting_is_a_not_connected_error(start_server: Started) -> None:
    """GAIA's documents: RuntimeError, "Not connected"."""
    client = start_server("good_handshake", is_open=False)

    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    with pytest.raises(NotConnectedError):
        client.check_alive()
    assert start_server.notes("good_handshake") == []


def test_debug_logs_every_message(caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents: debug=True. Ours: without it only problems are logged."""
    logging.getLogger("gaia_mcp").setLevel(logging.INFO)
    MCPClient("quiet", Talk(handshake)).open()
    assert caplog.messages == []

    MCPClient("s", Talk(handshake), True).open()

    assert caplog.messages[0].startswith("MCP server 's' -> ")
    assert '"method": "initialize"' in caplog.text
    assert any(message.startswith("MCP server 's' <- ") for message in caplog.messages)


# Tools, and paged lists.


@pytest.mark.parametrize("server", GOOD)
def test_concurrent_calls_each_get_their_own_answer(start_server: Started, server: str) -> None:
    """Ours: matched by id, never in order."""
    client = start_server(server)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: text_of(client.call("echo", {"n": n, "pad": "x" * 5000})), range(100)))

    assert [answer["n"] for answer in answers] == list(range(100))


@pytest.mark.parametrize("server", GOOD)
def test_a_server_outlives_the_thread_that_started_it(start_server: Started, server: str) -> None:
    """Spec, MC-16: one process serves all threads, one after the other and at once."""
    client = start_server(server, is_open=False)
    for work in (client.open, client.fetch_tools):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(PATIENCE_SECONDS)

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    notes = start_server.notes(server)
    assert notes.count("initialize" if server == "good_handshake" else "server/discover") == 1


@pytest.mark.parametrize("version", ERAS)
def test_server_info_does_not_change_how_the_client_behaves(version: str) -> None:
    """Spec 2026-07-28, MC-12: it is for display only."""
    infos: list[Any] = [{}, {"name": "gaia", "version": "1"}, {"name": "x" * 9999}, {"name": 1}, "none"]
    usual = scripted(version, lambda _: {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "content": []})

    def presented(message: Message, info: Any) -> list[Message]:
        answers = usual(message)
        if message["method"] in ("server/discover", "initialize") and "result" in answers[0]:
            meta = {"io.modelcontextprotocol/serverInfo": info}
            answers[0]["result"] |= {"serverInfo": info} if message["method"] == "initialize" else {"_meta": meta}
        return answers

    def outcome(talk: Talk) -> Any:
        client = MCPClient("s", talk)
        client.open()
        tools = [(tool.name, tool.input_schema) for tool in client.fetch_tools()]
        return talk.sent, tools, client.call("t", {}), client.capabilities, client.protocol_version

    expected = outcome(Talk(usual))
    for info in infos:
        with noted(info):
            assert outcome(Talk(lambda message, info=info: presented(message, info))) == expected  # type: ignore[misc]


def test_a_slow_call_does_not_delay_another(start_server: Started) -> None:
    """Ours: GAIA sends one request at a time."""
    client = start_server("good_handshake")
    is_answered = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.call, "slow", {}, deadline_until(is_answered.is_set))
        wait_until(lambda: "tools/call slow" in start_server.notes("good_handshake"))
        assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
        is_answered.set()
        assert isinstance(slow.exception(), DeadlineError)


def test_a_timeout_cancels_the_call_and_preserves_the_connection(start_server: Started) -> None:
    """Spec, B-8: the server gets a cancellation notification, and later calls succeed."""
    client = start_server("good_handshake")

    with pytest.raises(DeadlineError) as caught:
        client.call("slow", {}, deadline_until(lambda: "tools/call slow" in start_server.notes("good_handshake")))

    assert caught.value.stage == "tools/call 'slow'"
    wait_until(lambda: "cancelled slow" in start_server.notes("good_handshake"))
    assert text_of(client.call("echo", {})) == {}


def test_a_server_that_pings_and_does_not_read_delays_no_request(start_server: Started) -> None:
    """Ours: every request ends by its own deadline, also while responses to the server cannot be written."""
    client = start_server("pings_without_reading")
    transport = client.transport
    assert isinstance(transport, StdioTransport)
    assert transport._channel is not None
    stdin = transport._channel.child._stdin

    def is_full() -> bool:
        return not select.select([], [stdin], [], 0)[1]

    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(client.call, "echo", {}, deadline_until(is_full))
        wait_until(is_full)
        assert isinstance(outcome.exception(PATIENCE_SECONDS), DeadlineError)


def test_a_server_that_has_closed_its_stdin_is_reported_and_restarted(start_server: Started) -> None:
    """Ours: every later call to that process would fail."""
    client = start_server("closes_stdin")
    client.call("echo", {"a": 1})
    wait_until(lambda: "heard enough" in client.transport.stderr_tail())  # type: ignore[attr-defined]

    with pytest.raises(ServerExitedError) as caught:
        client.call("echo", {"a": 2})

    assert "no longer reads its input" in caught.value.message
    assert (caught.value.returncode, caught.value.last_words) == (None, "I have heard enough")
    assert text_of(client.call("echo", {"a": 3})) == {"a": 3}


def test_one_deadline_covers_reconnecting_and_the_call(start_server: Started) -> None:
    """Ours: shared by all the steps of one request."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})
    deadline = deadline_until(lambda: "tools/call slow" in start_server.notes("good_handshake"))

    with pytest.raises(DeadlineError) as caught:
        client.call("slow", {}, deadline)

    assert start_server.notes("good_handshake").count("initialize") == 2
    assert (caught.value.stage, caught.value.seconds) == ("tools/call 'slow'", ENOUGH_SECONDS)
    assert deadline.expired


def test_waiting_for_a_thread_that_connects_ends_with_the_deadline(start_server: Started) -> None:
    """Ours: every wait has a deadline."""
    client = start_server("good_handshake")
    is_over = threading.Event()

    with ThreadPoolExecutor(1) as pool, client.engine.alone(Deadline(5)):
        waiting = pool.submit(client.fetch_tools, deadline_until(is_over.is_set))
        assert not waiting.done()
        is_over.set()
        assert isinstance(waiting.exception(PATIENCE_SECONDS), DeadlineError)


def test_progress_is_reported_and_extends_the_deadline(start_talk: StartTalk) -> None:
    """Spec, B-8: up to a ceiling."""
    clock = Clock()
    client, conversation = start_talk(lambda asked: progress_of(asked, 1))
    steps: list[float] = []

    def on_progress(step: Any) -> None:
        steps.append(step.progress)
        clock.now += 0.75
        asked = conversation.sent[-1]
        conversation.arrives(*progress_of(asked, step.progress + 1) if len(steps) % 6 else [result(asked, {})])

    client.call("steps", {}, Deadline(1, ceiling=20, clock=clock), on_progress=on_progress)
    assert steps == [1, 2, 3, 4, 5, 6]
    with pytest.raises(DeadlineError):
        client.call("steps", {}, Deadline(1, ceiling=2, clock=clock), on_progress=on_progress)


def test_progress_of_a_process_is_reported(start_server: Started) -> None:
    """Spec, progress: before the response. Ours: of several that arrive together the newest is reported."""
    steps: list[tuple[float, float | None]] = []

    start_server("good_handshake").call(
        "steps",
        {"count": 6, "seconds": 0.01},
        on_progress=lambda step: steps.append((step.progress, step.total)),
    )

    assert steps == sorted(set(steps))
    assert steps[-1] == (6, 6)


def test_a_call_after_a_crash_reconnects(start_server: Started) -> None:
    """Ours: it has not been sent before, so it cannot run twice."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    assert start_server.notes("good_handshake").count("initialize") == 2


def test_a_refused_revision_is_negotiated_again(start_server: Started, tmp_path: Path) -> None:
    """Spec, MC-3: another revision that it lists is chosen, and the request, which it has not run, sent again."""
    cache = era_cache(tmp_path / "cache", "leaves_revision")
    client = start_server("leaves_revision", era_cache=cache)
    assert client.peer is not None
    assert client.peer.era == "stateless"

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}

    assert client.peer.version == "2025-11-25"
    assert cache.era() == "handshake"
    assert calls(start_server, "leaves_revision") == ["tools/call echo"] * 2


def test_a_refused_revision_is_an_error_if_no_other_is_supported() -> None:
    """Spec, MC-3: the user gets the error of the server then."""
    rows: list[tuple[Any, int]] = [
        (None, 1),
        ({"supported": "2025-11-25"}, 1),
        ({"supported": ["2026-07-28", "1.0.0"]}, 1),
        # The revision that is negotiated next is refused as well.
        ({"supported": ["2025-11-25"]}, 2),
    ]
    for data, times in rows:
        talk = Talk(scripted("2026-07-28", lambda asked, data=data: [error(asked, -32022, "no", data=data)]))  # type: ignore[misc]
        client = MCPClient("odd", talk)
        client.open()

        caught = error_of(client.call, "echo", {})

        assert isinstance(caught, PeerError), data
        assert (data, caught.code) == (data, -32022)
        assert (data, len(talk.channels), talk.methods().count("tools/call")) == (data, times, times)


def test_a_refused_revision_is_an_error_if_the_entry_fixes_it() -> None:
    """Ours: a person who names a revision wants no other."""
    data = {"supported": ["2025-11-25"]}
    talk = Talk(scripted("2026-07-28", lambda asked: [error(asked, -32022, "no", data=data)]))
    client = MCPClient("odd", talk, revision="2026-07-28")
    client.open()

    with pytest.raises(PeerError):
        client.call("echo", {})

    assert len(talk.channels) == 1


def test_a_custom_transport_is_not_connected_again_for_another_revision() -> None:
    """Ours: it is for the program to connect it."""

    class Refusing(Scripted):
        def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
            if method == "tools/call":
                return {"error": {"code": -32022, "message": "no", "data": {"supported": ["2025-06-18"]}}}
            return super().send_request(method, params)

    transport = Refusing()
    client = MCPClient("own", transport)
    client.open()

    with pytest.raises(PeerError):
        client.call("echo", {})

    assert transport.connected


def test_a_call_in_flight_when_the_server_dies_is_not_repeated(start_server: Started) -> None:
    """Ours: the tool may have run already."""
    client = start_server("dies_in_call")

    for count in (1, 2):
        with pytest.raises(ServerExitedError):
            client.call("echo", {})
        assert calls(start_server, "dies_in_call") == ["tools/call echo"] * count


def test_concurrent_calls_after_a_crash_reconnect_once(start_server: Started) -> None:
    """Ours: no request is sent before the handshake is done."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: text_of(client.call("echo", {"n": n}))["n"], range(16)))

    assert answers == list(range(16))
    notes = start_server.notes("good_handshake")
    assert notes.count("initialize") == 2
    again = notes[notes.index("tools/call die") + 1 :]
    assert again.index("notifications/initialized") < again.index("tools/call echo")


def test_a_disconnected_client_does_not_reconnect(start_server: Started) -> None:
    """Ours: after `disconnect` a program expects no server to run."""
    client = start_server("good_handshake")
    client.disconnect()

    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    assert start_server.notes("good_handshake").count("initialize") == 1


def test_a_server_started_while_another_thread_disconnects_is_closed(start_server: Started) -> None:
    """Ours: no caller would close it later."""
    client = start_server("good_handshake")
    seen = client.engine._disconnects
    client.disconnect()

    with pytest.raises(NotConnectedError):
        client.engine._open(Deadline(20), seen)
    assert client.is_connected() is False


class Slow:
    """An era cache on a slow disk: something else happens while it is written."""

    def __init__(self, meanwhile: Any) -> None:
        self.meanwhile = meanwhile

    def era(self) -> str | None:
        return None

    def forget(self, kind: str) -> None:
        raise NotImplementedError

    def keep_era(self, era: str) -> None:
        thread = threading.Thread(target=self.meanwhile)
        thread.start()
        thread.join(PATIENCE_SECONDS)


def test_a_disconnect_while_the_era_is_written_is_not_undone(start_server: Started) -> None:
    """Ours: after `disconnect` a program expects no server to run, also if another thread is still connecting."""
    cache: Any = Slow(lambda: client.disconnect())
    client = start_server("good_handshake", is_open=False, era_cache=cache)

    with pytest.raises(NotConnectedError):
        client.open()

    assert (client.is_connected(), client.peer) == (False, None)
    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    assert start_server.notes("good_handshake").count("initialize") == 1


# Cancelling.


@pytest.mark.parametrize("era", ERAS)
def test_a_request_with_a_cancelled_deadline_ends_at_once(start_server: Started, era: str) -> None:
    """Ours: whichever request the deadline is passed to."""
    client = start_server("offers", era)
    deadline = client.deadline()
    deadline.cancel()
    deadline.cancel()

    for ask in (
        lambda: client.call("hang", {}, deadline),
        lambda: client.read_resource("file:///a", deadline),
        lambda: client.list_prompts(deadline),
        lambda: client.subscribe_resource("file:///a", deadline),
    ):
        with pytest.raises(CancelledError):
            ask()

    assert client.call("list", {})["content"][0]["text"] == ""


@pytest.mark.parametrize("era", ERAS)
def test_cancelling_a_finished_request_has_no_effect(start_server: Started, era: str) -> None:
    """Ours: the response may arrive just before; a granted subscription remains."""
    client = start_server("offers", era)
    deadline = client.deadline()
    client.subscribe_resource(URI, deadline)

    deadline.cancel()

    assert client.call("list", {})["content"][0]["text"] == URI
    assert "notifications/cancelled" not in start_server.notes("offers")


@pytest.mark.parametrize("era", ERAS)
def test_of_several_calls_only_the_cancelled_one_ends(start_server: Started, era: str) -> None:
    """Ours: threads share a client, and each has a deadline of its own."""
    client = start_server("offers", era)
    deadlines = [client.deadline() for _ in range(4)]
    running = [in_thread(lambda deadline=deadline: client.call("hang", {}, deadline)) for deadline in deadlines]
    wait_until(lambda: start_server.notes("offers").count("tools/call hang") == 4)

    deadlines[2].cancel()
    running[2][0].join(PATIENCE_SECONDS)

    assert [len(outcomes) for _, outcomes in running] == [0, 0, 1, 0]
    assert client.read_resource(URI)["contents"]
    for deadline in deadlines:
        deadline.cancel()
    for thread, outcomes in running:
        thread.join(PATIENCE_SECONDS)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    wait_until(lambda: start_server.notes("offers").count("notifications/cancelled") == 4)
    assert client.call("list", {})


@pytest.mark.parametrize("era", ERAS)
def test_cancelling_a_shared_deadline_ends_all_its_requests(start_server: Started, era: str) -> None:
    """Ours: a program may share one deadline between threads, and cancel all of them together."""
    client = start_server("offers", era)
    deadline = client.deadline()
    running = [in_thread(lambda: client.call("hang", {}, deadline)) for _ in range(3)]
    wait_until(lambda: start_server.notes("offers").count("tools/call hang") == 3)

    deadline.cancel()

    for thread, outcomes in running:
        thread.join(PATIENCE_SECONDS)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]


def test_a_call_can_be_cancelled_while_the_host_answers_a_server_request(start_server: Started) -> None:
    """Ours: the deadline is paused then, but cancelling it ends the call at once."""
    asked, answered = threading.Event(), threading.Event()

    def sample(_params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(PATIENCE_SECONDS)
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    client = start_server("asks_sampling", host=Host(sample=sample))
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.call("ask", {}, deadline))
    assert asked.wait(PATIENCE_SECONDS)

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)
    answered.set()

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]


@pytest.mark.parametrize("era", ERAS)
def test_a_call_can_be_cancelled_from_another_thread(start_server: Started, era: str) -> None:
    """Spec, utilities/cancellation: the server is notified. Ours: the caller gets an error of its own."""
    client = start_server("offers", era)
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.call("hang", {}, deadline))
    wait_until(lambda: "tools/call hang" in start_server.notes("offers"))

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    assert "'hang'" in str(outcomes[0])
    wait_until(lambda: "notifications/cancelled" in start_server.notes("offers"))
    assert client.call("list", {})


def test_a_request_that_waits_for_the_lock_can_be_cancelled(start_server: Started) -> None:
    """Ours: each thread has a deadline of its own, also while another one holds the lock."""
    client = start_server("offers", ERAS[0])
    deadline = client.deadline()

    with client.engine.alone(client.deadline()):
        thread, outcomes = in_thread(lambda: client.fetch_tools(deadline))
        # A thread that waits for the lock is woken by its deadline.
        wait_until(lambda: deadline._listeners)
        deadline.cancel()
        thread.join(PATIENCE_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [CancelledError]


# Listeners.


# Every method that sends a request, and its arguments.
REQUESTS: dict[str, tuple[Any, ...]] = {
    "read_resource": ("x://",),
    "list_prompts": (),
    "fetch_tools": (),
    "find_tool": ("x",),
    "call": ("x", {}),
    "check_alive": (),
    "set_log_level": ("info",),
    "subscribe_resource": ("x://",),
    "unsubscribe_resource": (URI,),
}


def refusals(client: MCPClient) -> dict[str, type[BaseException]]:
    """The class of the error that each request raises."""
    return {method: type(error_of(getattr(client, method), *REQUESTS[method])) for method in REQUESTS}


ALL_REFUSED = dict.fromkeys(REQUESTS, LocalProtocolError)


def test_a_request_from_a_listener_of_the_same_client_is_refused(start_talk: StartTalk) -> None:
    """Ours: it is called on the thread that reads responses. Also while another thread requests the tools."""
    client, conversation = start_talk(lambda _: None)
    thread, tools = in_thread(client.fetch_tools)
    wait_until(lambda: "tools/list" in conversation.methods())
    refused: list[Any] = []
    client.on_list_changed = client.on_resource_updated = lambda _: refused.append(refusals(client))
    before = conversation.methods()

    conversation.arrives(changed("prompts"))
    conversation.arrives(updated(URI))

    assert refused == [ALL_REFUSED] * 2
    assert conversation.methods() == before
    asked = next(message for message in conversation.sent if message["method"] == "tools/list")
    conversation.arrives(result(asked, {"tools": []}))
    thread.join(PATIENCE_SECONDS)
    assert tools == [[]]


@pytest.mark.parametrize("era", ERAS)
def test_a_request_from_a_listener_is_refused_while_the_client_reconnects(start_server: Started, era: str) -> None:
    """Ours: as during any other request, though it is called on the thread that reconnects."""
    client = start_server("offers", era)
    refused: list[Any] = []
    client.subscribe_resource(URI)
    client.on_resource_updated = lambda _: refused.append(refusals(client))
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == URI
    assert refused == [ALL_REFUSED]


@pytest.mark.parametrize("era", ERAS)
def test_a_listener_may_send_requests_in_another_thread(start_server: Started, era: str) -> None:
    """Ours: as the hint of the error advises."""
    client = start_server("offers", era)
    read: list[Any] = []

    def listener(uri: str) -> None:
        threading.Thread(target=lambda: read.append(client.read_resource(uri))).start()

    client.on_resource_updated = listener
    client.subscribe_resource(URI)
    client.call("touch", {})

    wait_until(lambda: read)
    assert read[0]["contents"] == [{"uri": URI, "text": "hello"}]


# Requests of the server.


def accept(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": {"city": "Oslo"}}


def test_an_elicitation_in_a_call_is_answered_by_the_user(start_server: Started) -> None:
    """Spec, elicitation, handshake era."""
    client = start_server("good_handshake", host=Host(elicit=accept))

    assert text_of(client.call("ask", {})) == {"action": "accept", "content": {"city": "Oslo"}}


def test_an_elicitation_is_declined_without_a_user(start_server: Started) -> None:
    """Spec, elicitation."""
    assert text_of(start_server("good_handshake").call("ask", {})) == {"action": "decline"}


def test_the_deadline_is_paused_while_the_user_answers(start_server: Started) -> None:
    """Ours: a user must not have to type against the clock."""
    clock = Clock()

    def ponder(params: dict[str, Any]) -> dict[str, Any]:
        clock.run_for(0.6)
        return accept(params)

    client = start_server("good_handshake", host=Host(elicit=ponder))

    assert text_of(client.call("ask", {}, Deadline(0.3, clock=clock)))["action"] == "accept"


def test_roots_requests_are_answered(start_server: Started) -> None:
    """Spec, roots; also of a server that requests them before it responds to anything."""
    roots = [{"uri": "file:///a", "name": "a"}]

    assert text_of(start_server("good_handshake", host=Host(roots=roots)).call("roots", {})) == {"roots": roots}
    assert text_of(start_server("asks_roots_first", host=Host(roots=roots)).call("echo", {})) == roots


@pytest.mark.parametrize("method", ["sampling/createMessage", "something/else"])
def test_an_undeclared_request_is_refused(start_server: Started, method: str) -> None:
    """Spec: -32601, or the server's tool would hang."""
    assert text_of(start_server("good_handshake").call("any", {"method": method}))["code"] == -32601


def test_sampling_without_a_model_is_refused(start_server: Started) -> None:
    """Spec, sampling."""
    assert text_of(start_server("asks_sampling").call("echo", {}))["code"] == -32601


def test_a_hundred_server_requests_at_once_are_all_answered(start_server: Started) -> None:
    """Ours: those over the limit are refused; none is left without a response."""
    client = start_server("asks_without_end")
    client.call("ask", {})

    assert isinstance(text_of(client.call("how_many", {})), int)


def test_input_responses_are_sent_with_the_request_state(start_server: Started) -> None:
    """Spec 2026-07-28, MC-4 and MC-5: the same arguments, all the answers by key, the state byte for byte."""
    roots = [{"uri": "file:///a"}]
    client = start_server("good_stateless", host=Host(elicit=accept, roots=roots))

    answers, state, arguments = text_of(client.call("ask", {"x": 1}))

    assert answers == {"q": accept({}), "r": {"roots": roots}}
    assert (state, arguments) == ("state-1", {"x": 1})
    assert calls(start_server, "good_stateless") == ["tools/call ask"] * 2


def test_the_deadline_is_paused_while_the_user_answers_an_input_request(start_server: Started) -> None:
    """Ours: as in the handshake era, though no request is in flight between two round trips."""
    clock = Clock()

    def ponder(params: dict[str, Any]) -> dict[str, Any]:
        clock.run_for(0.6)
        return accept(params)

    client = start_server("good_stateless", host=Host(elicit=ponder))

    assert text_of(client.call("ask", {}, Deadline(0.3, clock=clock)))[0]["q"]["action"] == "accept"


@pytest.mark.parametrize(
    ("method", "params"),
    [("tools/call", {"name": "t"}), ("prompts/get", {"name": "p"}), ("resources/read", {"uri": "file:///a"})],
)
def test_three_methods_may_require_input(start_server: Started, method: str, params: dict[str, Any]) -> None:
    """Spec 2026-07-28, multi-round-trip requests: these and no others."""
    roots = [{"uri": "file:///a"}]
    client = start_server("asks_everywhere", host=Host(roots=roots))

    own = text_of(client.request(method, params))

    assert own == {**params, "inputResponses": {"r": {"roots": roots}}, "requestState": "s"}


@pytest.mark.parametrize("method", ["tools/list", "completion/complete"])
def test_no_other_method_may_require_input(start_server: Started, method: str) -> None:
    """Spec 2026-07-28, multi-round-trip requests: the caller must not take it for a result."""
    client = start_server("asks_everywhere")
    own = MCPClient("own", Scripted(**{method: {"resultType": "input_required", "requestState": "s"}}))
    own.open()

    for asked in (client, own):
        with pytest.raises(RemoteProtocolError, match="input_required"):
            asked.request(method)


def test_a_request_state_without_input_requests_is_sent_back(start_server: Started) -> None:
    """Spec 2026-07-28, MC-4: a state without input requests is sent back at once."""
    client = start_server("good_stateless")

    assert client.call("again", {})["content"][0]["text"] == "at last"
    assert calls(start_server, "good_stateless") == ["tools/call again"] * 4


def test_the_pause_before_a_round_trip_ends_with_the_deadline(start_server: Started) -> None:
    """Ours: the client does not wait for a time that the deadline no longer allows."""
    client = start_server("good_stateless")

    with pytest.raises(DeadlineError):
        client.call("again", {}, Deadline(pause_before(1) / 2, clock=Clock()))

    assert calls(start_server, "good_stateless") == ["tools/call again"]


def test_a_request_ends_after_ten_round_trips(start_server: Started) -> None:
    """Ours: the limit of the official SDKs, 10, ends a server that requires input for ever."""
    client = start_server("good_stateless")

    with pytest.raises(RemoteProtocolError, match="10 round trips"):
        client.call("endless", {})

    assert len(calls(start_server, "good_stateless")) == MAX_ROUND_TRIPS == 10


def test_an_undeclared_input_request_is_a_protocol_error(start_server: Started) -> None:
    """Spec 2026-07-28: fail the call locally with a clear message."""
    client = start_server("good_stateless")

    with pytest.raises(RemoteProtocolError, match="sampling/createMessage"):
        client.call("sampling", {})
    with pytest.raises(RemoteProtocolError, match="with neither requests nor a state"):
        client.call("nothing", {})
    assert len(calls(start_server, "good_stateless")) == 2


def test_declined_sampling_ends_the_call(start_server: Started) -> None:
    """Spec, sampling: the server receives an error in the handshake era, and nothing in the stateless one."""

    def sample(_params: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError("not now")

    handshake = start_server("asks_sampling", host=Host(sample=sample))
    stateless = start_server("good_stateless", host=Host(sample=sample))

    assert "not now" in str(handshake.call_tool("ask", {}))
    with pytest.raises(CancelledError, match="not now"):
        stateless.call("sampling", {})


def test_a_call_may_become_a_task() -> None:
    """Extension tasks: its result is that of the call."""
    task = {"taskId": "t", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None, "pollIntervalMs": 1}
    question = {"inputRequests": {"q": {"method": "roots/list"}}}
    states = iter(
        [
            {**task, "resultType": "task", "status": "working"},
            {**task, "resultType": "complete", "status": "input_required", **question},
            {"resultType": "complete"},
            {**task, "resultType": "complete", "status": "completed", "result": {"content": []}},
        ]
    )
    talk = Talk(scripted(ERAS[0], lambda _: next(states)))
    client = MCPClient("s", talk)
    client.open()
    talk.sent.clear()

    assert client.call("report", {}) == {"content": []}
    assert talk.methods() == ["tools/call", "tasks/get", "tasks/update", "tasks/get"]


# The era cache.


@pytest.mark.parametrize(("server", "era"), [("good_handshake", "handshake"), ("good_stateless", "stateless")])
def test_the_era_of_a_server_is_remembered(start_server: Started, tmp_path: Path, server: str, era: str) -> None:
    """DE-2: the next start needs no probe."""
    start_server(server, era_cache=era_cache(tmp_path))

    assert era_cache(tmp_path).era() == era


def test_a_server_known_to_need_the_handshake_is_not_probed(start_server: Started, tmp_path: Path) -> None:
    """Ours: a probe costs such a server one round trip, or a whole timeout."""
    era_cache(tmp_path).keep_era("handshake")

    start_server("hangs_in_call", era_cache=era_cache(tmp_path)).check_alive()

    assert start_server.notes("hangs_in_call")[0] == "initialize"


@pytest.mark.parametrize("known", ["stateless", "nonsense"])
def test_any_other_cached_era_is_probed_again(start_server: Started, tmp_path: Path, known: str) -> None:
    """Ours: only the handshake saves a probe; the cache is corrected by its result."""
    era_cache(tmp_path).keep_era(known)

    start_server("hangs_in_call", era_cache=era_cache(tmp_path)).check_alive()

    assert start_server.notes("hangs_in_call")[0] == "server/discover"
    assert era_cache(tmp_path).era() == "handshake"


def test_an_outdated_cached_era_is_corrected(start_server: Started, tmp_path: Path) -> None:
    """DE-2: an updated server must not be unreachable until the cached era expires."""
    era_cache(tmp_path).keep_era("handshake")

    client = start_server("only_stateless", era_cache=era_cache(tmp_path))

    assert client.peer is not None
    assert client.peer.era == "stateless"
    assert era_cache(tmp_path).era() == "stateless"


def test_a_cached_era_that_makes_the_server_exit_is_corrected_at_once(start_server: Started, tmp_path: Path) -> None:
    """Ours: some servers exit on an unknown request."""
    era_cache(tmp_path).keep_era("handshake")

    start_server("no_initialize", era_cache=era_cache(tmp_path))

    assert start_server.notes("no_initialize") == ["initialize", "server/discover"]
    assert era_cache(tmp_path).era() == "stateless"


def test_a_cached_era_that_causes_a_timeout_is_removed(start_server: Started, tmp_path: Path) -> None:
    """Ours: the next start probes the server again."""
    era_cache(tmp_path).keep_era("handshake")
    client = start_server("no_initialize", "silent", era_cache=era_cache(tmp_path), is_open=False)

    with pytest.raises(DeadlineError):
        client.open(deadline_until(lambda: start_server.notes("no_initialize")))

    assert start_server.notes("no_initialize") == ["initialize"]
    assert era_cache(tmp_path).era() is None
    assert client.open(Deadline(20)).era == "stateless"


def test_without_a_cached_era_a_broken_server_is_started_only_once(start_server: Started, tmp_path: Path) -> None:
    """Ours: a second start is for a wrong cached era; without one it would fail in the same way."""
    client = start_server("wrong_version", era_cache=era_cache(tmp_path), is_open=False)

    with pytest.raises(ProtocolError):
        client.open()

    assert start_server.notes("wrong_version").count("initialize") == 1
    assert era_cache(tmp_path).era() is None


def test_a_failure_to_write_the_era_cache_is_ignored(start_server: Started, tmp_path: Path) -> None:
    """Ours: it only makes the next start slower."""
    (tmp_path / "eras").write_text("in the way")

    start_server("good_handshake", era_cache=era_cache(tmp_path)).check_alive()


@pytest.mark.parametrize(("times", "is_answered"), [("1", True), (str(MAX_ROUND_TRIPS), False)])
def test_a_call_is_repeated_after_its_urls_were_opened(start_server: Started, times: str, is_answered: bool) -> None:
    """Spec 2025-11-25, URLElicitationRequiredError: the request may be sent again. Ours: a limited number of times."""
    opened: list[str] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        opened.append(params["url"])
        return {"action": "accept"}

    client = start_server("requires_url", times, host=Host(elicit=elicit))
    if is_answered:
        assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    else:
        with pytest.raises(RemoteProtocolError, match="requested more input"):
            client.call("echo", {"a": 1})
    assert opened == ["https://e.org/?a=1&b=\n2", "https://other.org/"] * int(times)


@pytest.mark.parametrize("times", [1, 2])
def test_a_request_in_an_expired_session_is_sent_once_more_in_a_new_one(times: int) -> None:
    """Spec, LC-6: it has not run. A second session that has expired at once is an error."""
    lost: list[int] = []

    def script(message: Message) -> list[Message]:
        if message.get("method") != "tools/call":
            return handshake(message)
        if len(lost) < times:
            lost.append(message["id"])
            talk.fails_request(message["id"], SessionExpiredError("s"))
            talk.ends(ConnectionLostError("the session is gone"))
            return []
        return [result(message, {"content": []})]

    talk = Talk(script)
    client = MCPClient("s", talk, timeout=ENOUGH_SECONDS)
    client.open()

    if times == 1:
        assert client.call("t", {}) == {"content": []}
    else:
        with pytest.raises(SessionExpiredError):
            client.call("t", {})
    assert talk.methods().count("tools/call") == 2
    assert len(talk.channels) == 2


@pytest.mark.parametrize(("method", "times"), [("tools/list", 1), ("tools/list", 2), ("tools/call", 1)])
def test_a_request_without_a_response_is_sent_once_more_unless_it_is_a_call(method: str, times: int) -> None:
    """Spec, HC-6: under a new id. A call may have run."""
    lost: list[int] = []

    def script(message: Message) -> list[Message]:
        if message.get("method") != method:
            return handshake(message)
        if len(lost) < times:
            lost.append(message["id"])
            talk.fails_request(message["id"], ConnectionLostError("its stream has ended"))
            return []
        assert message["id"] not in lost
        return [result(message, {"tools": []})]

    talk = Talk(script)
    with MCPClient("s", talk, timeout=ENOUGH_SECONDS) as client:
        if (method, times) == ("tools/list", 1):
            assert client.request(method) == {"tools": []}
        else:
            with pytest.raises(ConnectionLostError):
                client.request(method)
    assert talk.methods().count(method) == (1 if method == "tools/call" else 2)
    assert len(talk.channels) == 1


@pytest.mark.parametrize("reconnects", [True, False])
def test_a_ping_in_an_expired_session_is_sent_once_more_in_a_new_one(reconnects: bool) -> None:
    """Spec, LC-6: unless the caller checks this connection alone."""
    lost: list[int] = []

    def script(message: Message) -> list[Message]:
        if message.get("method") == "ping" and not lost:
            lost.append(message["id"])
            talk.fails_request(message["id"], SessionExpiredError("s"))
            talk.ends(ConnectionLostError("the session is gone"))
            return []
        return handshake(message)

    talk = Talk(script)
    client = MCPClient("s", talk, timeout=ENOUGH_SECONDS)
    client.open()

    if reconnects:
        client.check_alive()
    else:
        with pytest.raises(SessionExpiredError):
            client.check_alive(reconnects=False)
    assert len(talk.channels) == (2 if reconnects else 1)


def test_a_call_whose_url_is_not_opened_fails_with_the_url(start_server: Started) -> None:
    """Ours: a program can open the URL by itself."""
    with pytest.raises(PeerError) as caught:
        start_server("requires_url", "1").call("echo", {})
    assert (caught.value.code, caught.value.data["elicitations"][1]["url"]) == (-32042, "https://other.org/")


def endless() -> Deadline:
    return Deadline(10, clock=lambda: 0.0)


def try_it(lock: DeadlineLock, deadline: Deadline, then: threading.Event | None = None) -> bool:
    with lock.held(deadline) as is_held:
        if then is not None:
            then.wait(PATIENCE_SECONDS)
        return is_held


def test_the_lock_is_reentrant() -> None:
    """Ours: a method of the client calls another."""
    lock = DeadlineLock()

    with lock.held(endless()) as outer, lock.held(endless()) as inner:
        assert (outer, inner) == (True, True)
        thread, outcomes = in_thread(lambda: try_it(lock, Deadline(0)))
        thread.join(PATIENCE_SECONDS)

    assert outcomes == [False]
    assert try_it(lock, Deadline(0))


def test_a_waiting_thread_acquires_the_lock_once_it_is_released() -> None:
    """Ours: the thread that releases it wakes the others, which would wait for a whole slice otherwise."""
    lock, release = DeadlineLock(), threading.Event()
    first, got_first = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    second, got_second = in_thread(lambda: try_it(lock, endless()))

    release.set()
    for thread in (first, second):
        thread.join(PATIENCE_SECONDS)

    assert (got_first, got_second) == ([True], [True])


def test_a_cancelled_deadline_ends_the_wait_at_once() -> None:
    """Ours: also that of a thread which has not sent its request yet."""
    lock, release, deadline = DeadlineLock(), threading.Event(), endless()
    holder, _ = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    waiting, outcomes = in_thread(lambda: try_it(lock, deadline))

    deadline.cancel()
    waiting.join(PATIENCE_SECONDS)

    assert outcomes == [False]
    release.set()
    holder.join(PATIENCE_SECONDS)


class Pressed:
    """The condition of a lock, with a Ctrl-C when it is left for the first time, or entered for the second."""

    def __init__(self, real: threading.Condition, when: str) -> None:
        self._real = real
        self._when = when
        self._entered = self._left = 0

    def __enter__(self) -> None:
        self._entered += 1
        if (self._when, self._entered) == ("before the release", 2):
            raise KeyboardInterrupt
        self._real.__enter__()

    def __exit__(self, *_: object) -> None:
        self._real.__exit__(None, None, None)
        self._left += 1
        if (self._when, self._left) == ("after the acquisition", 1):
            raise KeyboardInterrupt

    def notify_all(self) -> None:
        self._real.notify_all()


@pytest.mark.parametrize("when", ["after the acquisition", "before the release"])
def test_a_keyboard_interrupt_leaves_the_lock_free(when: str) -> None:
    """Ours: other threads could not use the client again."""
    lock = DeadlineLock()
    lock._free = Pressed(lock._free, when)  # type: ignore[assignment]

    with pytest.raises(KeyboardInterrupt):
        try_it(lock, endless())

    thread, outcomes = in_thread(lambda: try_it(lock, Deadline(0)))
    thread.join(PATIENCE_SECONDS)
    assert outcomes == [True]


def test_in_every_interleaving_one_thread_at_a_time_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: every thread acquires it or is cancelled, without a timeout of its own."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(module, "threading", threads)
        lock, cancelled = DeadlineLock(), Deadline(3600)
        inside: list[str] = []
        outcomes: dict[str, bool] = {}

        def use(name: str, deadline: Deadline) -> None:
            with lock.held(deadline) as is_held, lock.held(deadline) as is_held_again:
                assert is_held == is_held_again
                outcomes[name] = is_held
                if is_held:
                    inside.append(name)
                    assert inside == [name]
                    run.step()
                    inside.clear()

        for name, deadline in (("a", Deadline(3600)), ("b", Deadline(3600)), ("c", cancelled)):
            run.spawn(lambda name=name, deadline=deadline: use(name, deadline), name)  # type: ignore[misc]
        run.spawn(cancelled.cancel, "cancel")

        def check() -> None:
            assert (outcomes["a"], outcomes["b"]) == (True, True)
            assert len(outcomes) == 3

        return check

    assert explore(scenario, detours=2) > 500


def test_a_call_that_has_begun_is_completed() -> None:
    """Ours: as one that is requested, also on a channel that carries many at once."""

    def answer(message: Message) -> Any:
        if "inputResponses" in message["params"]:
            return {"content": []}
        return {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}

    talk = Talk(scripted(ERAS[0], answer), Host(roots=[]), OneStream)
    talk.engine.open(Deadline(ENOUGH_SECONDS))
    pipeline = talk.engine.pipeline("tools/call", {"name": "t"}, 1, lambda: Deadline(ENOUGH_SECONDS))
    assert pipeline is not None
    pipeline.send()

    assert [each.result for each in pipeline.answers()] == [{"content": []}]
