from __future__ import annotations

import logging
import select
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
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
from tests.client.conftest import text_of
from tests.client.eras import ERAS, URI, changed, scripted, updated
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, Talk, error, handshake, in_thread, progress_of, result
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.conftest import Started
    from tests.client.eras import StartTalk


GOOD = ["good_handshake", "good_stateless"]


def calls(started: Started, server: str) -> list[str]:
    return [note for note in started.notes(server) if note.startswith("tools/call")]


def era_cache(folder: Path, server: str = "s") -> ServerCache:
    return ServerCache(folder, ServerEntry(server, Command(server)))


@pytest.mark.parametrize("server", GOOD)
def test_the_peer_goes_with_the_connection_and_what_it_said_stays(start_server: Started, server: str) -> None:
    """Ours for `peer`; GAIA's documents: server_info is an attribute that connect() fills."""
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


@pytest.mark.parametrize("server", GOOD)
def test_a_with_block_connects_and_lets_go(start_server: Started, server: str) -> None:
    """Ours."""
    with start_server(server, is_open=False) as client:
        assert text_of(client.call("echo", {})) == {}
        assert client.peer is not None

    assert client.is_connected() is False


def test_a_with_block_that_cannot_begin_leaves_nothing_running(start_server: Started) -> None:
    """Ours."""
    client = start_server("wrong_version", is_open=False)

    with pytest.raises(ProtocolError), client:
        pass

    assert client.is_connected() is False


def test_a_client_that_never_connected_says_so(start_server: Started) -> None:
    """GAIA's documents: RuntimeError, "Not connected"."""
    client = start_server("good_handshake", is_open=False)

    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    with pytest.raises(NotConnectedError):
        client.check_alive()
    assert start_server.notes("good_handshake") == []


def test_a_server_is_started_without_a_message_to_it(start_server: Started) -> None:
    """Ours: a process may warm up while a program does something else."""
    client = start_server("good_handshake", is_open=False)

    client.start()
    assert client.is_connected()
    assert start_server.notes("good_handshake") == []
    client.open()

    assert start_server.notes("good_handshake").count("initialize") == 1


def test_the_status_and_the_log_of_its_process_are_known(start_server: Started) -> None:
    """Ours: without the secrets that the server was given."""
    client = start_server("floods_stderr", env={"TOKEN": "again and"})
    assert "again and" in client.masker().secrets
    wait_until(lambda: "**** again" in client.stderr_tail())
    assert client.exit_status is None

    stopped = client.close(5)

    assert stopped is not None
    assert client.exit_status == stopped.returncode == 0
    assert client.close(5) is None
    with pytest.raises(NotConnectedError):
        client.call("echo", {})


def test_debug_logs_what_passes(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA's documents: debug=True. Ours: without it nothing but what goes wrong is logged."""
    monkeypatch.setattr(logging.getLogger("gaia_mcp"), "level", logging.INFO)
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
@pytest.mark.parametrize("info", [{}, {"name": "gaia", "version": "1"}, {"name": "x" * 9999}, {"name": 1}, "none"])
def test_what_a_server_calls_itself_changes_nothing(version: str, info: Any) -> None:
    """Spec 2026-07-28, MC-12: it is there to be shown."""
    usual = scripted(version, lambda _: {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "content": []})

    def presented(message: Message) -> list[Message]:
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

    assert outcome(Talk(presented)) == outcome(Talk(usual))


def test_a_slow_call_does_not_hold_up_another(start_server: Started) -> None:
    """Ours: one at a time was GAIA's."""
    client = start_server("good_handshake")
    is_answered = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.call, "slow", {}, deadline_until(is_answered.is_set))
        wait_until(lambda: "tools/call slow" in start_server.notes("good_handshake"))
        assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
        is_answered.set()
        assert isinstance(slow.exception(), DeadlineError)


def test_time_that_runs_out_cancels_the_call_and_nothing_else(start_server: Started) -> None:
    """Spec, B-8: the server hears of it; the connection goes on."""
    client = start_server("good_handshake")

    with pytest.raises(DeadlineError) as caught:
        client.call("slow", {}, deadline_until(lambda: "tools/call slow" in start_server.notes("good_handshake")))

    assert caught.value.stage == "tools/call 'slow'"
    wait_until(lambda: "cancelled slow" in start_server.notes("good_handshake"))
    assert text_of(client.call("echo", {})) == {}


def test_a_server_that_pings_and_does_not_read_delays_no_request(start_server: Started) -> None:
    """Ours: every request ends by its own deadline, whatever the server would like to hear from us meanwhile."""
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


def test_a_server_that_no_longer_reads_is_told_so_and_connected_to_again(start_server: Started) -> None:
    """Ours: it would be of no use for ever."""
    client = start_server("closes_stdin")
    client.call("echo", {"a": 1})
    wait_until(lambda: "heard enough" in client.transport.stderr_tail())  # type: ignore[attr-defined]

    with pytest.raises(ServerExitedError) as caught:
        client.call("echo", {"a": 2})

    assert "no longer reads its input" in caught.value.message
    assert (caught.value.returncode, caught.value.last_words) == (None, "I have heard enough")
    assert text_of(client.call("echo", {"a": 3})) == {"a": 3}


def test_one_deadline_covers_connecting_again_and_the_call(start_server: Started) -> None:
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


def test_waiting_for_another_threads_connecting_ends_with_the_deadline(start_server: Started) -> None:
    """Ours: every wait has a deadline."""
    client = start_server("good_handshake")
    is_over = threading.Event()

    with ThreadPoolExecutor(1) as pool, client._alone(Deadline(5)):
        waiting = pool.submit(client.fetch_tools, deadline_until(is_over.is_set))
        assert not waiting.done()
        is_over.set()
        assert isinstance(waiting.exception(5), DeadlineError)


def test_progress_is_told_and_lengthens_the_time(start_talk: StartTalk) -> None:
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


def test_progress_of_a_process_is_told(start_server: Started) -> None:
    """Spec, progress: as it goes, before the response; several that come together are told as the newest."""
    steps: list[tuple[float, float | None]] = []

    start_server("good_handshake").call(
        "steps",
        {"count": 6, "seconds": 0.01},
        on_progress=lambda step: steps.append((step.progress, step.total)),
    )

    assert steps == sorted(set(steps))
    assert steps[-1] == (6, 6)


def test_a_call_after_a_crash_connects_again(start_server: Started) -> None:
    """Ours: nothing of it has left yet."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    assert start_server.notes("good_handshake").count("initialize") == 2


def test_a_server_that_refuses_the_revision_agreed_on_is_asked_anew(start_server: Started, tmp_path: Path) -> None:
    """Spec, MC-3: another revision that it lists is chosen, and the request, which it has not run, sent again."""
    cache = era_cache(tmp_path / "cache", "leaves_revision")
    client = start_server("leaves_revision", era_cache=cache)
    assert client.peer is not None
    assert client.peer.era == "stateless"

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}

    assert client.peer.version == "2025-11-25"
    assert cache.era() == "handshake"
    assert calls(start_server, "leaves_revision") == ["tools/call echo"] * 2


@pytest.mark.parametrize(
    ("data", "times"),
    [
        (None, 1),
        ({"supported": "2025-11-25"}, 1),
        ({"supported": ["2026-07-28", "1.0.0"]}, 1),
        # What is agreed on anew is refused as well.
        ({"supported": ["2025-11-25"]}, 2),
    ],
)
def test_a_refused_revision_is_reported_where_no_other_can_be_agreed_on(data: Any, times: int) -> None:
    """Spec, MC-3: else the user is told."""
    talk = Talk(scripted("2026-07-28", lambda asked: [error(asked, -32022, "no", data=data)]))
    client = MCPClient("odd", talk)
    client.open()

    with pytest.raises(PeerError) as caught:
        client.call("echo", {})

    assert caught.value.code == -32022
    assert (len(talk.channels), talk.methods().count("tools/call")) == (times, times)


@pytest.mark.parametrize(("reconnects", "revision"), [(False, None), (True, "2026-07-28")])
def test_a_refused_revision_is_reported_where_no_other_may_be_agreed_on(reconnects: bool, revision: str | None) -> None:
    """Ours: the person has fixed the revision, or does not want the server started again."""
    data = {"supported": ["2025-11-25"]}
    talk = Talk(scripted("2026-07-28", lambda asked: [error(asked, -32022, "no", data=data)]))
    talk.reconnects = reconnects
    client = MCPClient("odd", talk, revision=revision)
    client.open()

    with pytest.raises(PeerError):
        client.call("echo", {})

    assert len(talk.channels) == 1


def test_a_call_in_flight_when_the_server_dies_is_not_repeated(start_server: Started) -> None:
    """Ours: it may have done something already."""
    client = start_server("dies_in_call")

    for count in (1, 2):
        with pytest.raises(ServerExitedError):
            client.call("echo", {})
        assert calls(start_server, "dies_in_call") == ["tools/call echo"] * count


def test_many_calls_after_a_crash_connect_again_once(start_server: Started) -> None:
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


def test_a_disconnected_client_does_not_connect_again(start_server: Started) -> None:
    """Ours: who disconnects means it."""
    client = start_server("good_handshake")
    client.disconnect()

    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    assert start_server.notes("good_handshake").count("initialize") == 1


def test_a_server_started_while_another_thread_disconnected_is_let_go_of(start_server: Started) -> None:
    """Ours: no caller would expect to find it running."""
    client = start_server("good_handshake")
    seen = client._disconnects
    client.disconnect()

    with pytest.raises(NotConnectedError):
        client._open(Deadline(20), seen)
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
    """Ours: who disconnects means it, also in the last moment of connecting."""
    client = start_server("good_handshake", is_open=False)
    client._era_cache = Slow(client.disconnect)  # type: ignore[assignment]

    with pytest.raises(NotConnectedError):
        client.open()

    assert (client.is_connected(), client.peer) == (False, None)
    with pytest.raises(NotConnectedError):
        client.call("echo", {})
    assert start_server.notes("good_handshake").count("initialize") == 1


@pytest.mark.parametrize("server", GOOD)
def test_a_server_that_is_there_says_so(start_server: Started, server: str) -> None:
    """Spec, ping and discover."""
    start_server(server).check_alive()


def test_a_server_that_has_gone_is_reported_where_it_may_not_be_started_again(start_server: Started) -> None:
    """Ours: a program that watches a server wants to know why it ended."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    with pytest.raises(ServerExitedError):
        client.check_alive(reconnects=False)

    client.check_alive()
    assert start_server.notes("good_handshake").count("initialize") == 2


def test_logs_reach_the_host(start_server: Started) -> None:
    """Spec, logging."""
    heard: list[Any] = []
    client = start_server("good_handshake", host=Host(on_log=lambda *message: heard.append(message)))

    client.want_logs("info")
    client.call("log", {})

    assert heard == [("warning", "l", "hot")]
    assert "logging/setLevel" in start_server.notes("good_handshake")


# Cancelling.


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_was_cancelled_before_it_began_ends_at_once(start_server: Started, era: str) -> None:
    """Ours: the deadline has passed, for every request that it is given to."""
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
def test_cancelling_what_is_done_changes_nothing(start_server: Started, era: str) -> None:
    """Ours."""
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
    running[2][0].join(5)

    assert [len(outcomes) for _, outcomes in running] == [0, 0, 1, 0]
    assert client.read_resource(URI)["contents"]
    for deadline in deadlines:
        deadline.cancel()
    for thread, outcomes in running:
        thread.join(5)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    wait_until(lambda: start_server.notes("offers").count("notifications/cancelled") == 4)
    assert client.call("list", {})


@pytest.mark.parametrize("era", ERAS)
def test_a_deadline_of_several_threads_ends_all_their_requests(start_server: Started, era: str) -> None:
    """Ours: what a program does together it can give up together."""
    client = start_server("offers", era)
    deadline = client.deadline()
    running = [in_thread(lambda: client.call("hang", {}, deadline)) for _ in range(3)]
    wait_until(lambda: start_server.notes("offers").count("tools/call hang") == 3)

    deadline.cancel()

    for thread, outcomes in running:
        thread.join(5)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]


def test_a_call_can_be_cancelled_while_a_person_is_asked(start_server: Started) -> None:
    """Ours: the clock stands still then, but a call that was cancelled ends at once."""
    asked, answered = threading.Event(), threading.Event()

    def sample(_params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(5)
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    client = start_server("asks_sampling", host=Host(sample=sample))
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.call("ask", {}, deadline))
    assert asked.wait(5)

    deadline.cancel()
    thread.join(5)
    answered.set()

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]


@pytest.mark.parametrize("era", ERAS)
def test_a_call_can_be_cancelled_from_another_thread(start_server: Started, era: str) -> None:
    """Spec, utilities/cancellation: the server is told; ours: the caller gets an error of its own."""
    client = start_server("offers", era)
    deadline = client.deadline()
    failures: list[Exception] = []

    def call() -> None:
        try:
            client.call("hang", {}, deadline)
        except CancelledError as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    wait_until(lambda: "tools/call hang" in start_server.notes("offers"))
    deadline.cancel()
    thread.join(5)

    assert [isinstance(failure, CancelledError) for failure in failures] == [True]
    assert "'hang'" in str(failures[0])
    assert client.call("list", {})


def test_a_call_that_waits_for_another_thread_can_be_cancelled(start_server: Started) -> None:
    """Ours: another thread holds the lock, and each has a deadline of its own."""
    client = start_server("offers", ERAS[0])
    deadline = client.deadline()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with client._alone(client.deadline()):
            held.set()
            over.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(5)
    timer = threading.Timer(0.05, deadline.cancel)
    timer.start()
    try:
        with pytest.raises(CancelledError):
            client.fetch_tools(deadline)
    finally:
        over.set()
        thread.join()
        timer.join()


# Listeners.


ASKING = pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.read_resource("x://"),
        lambda client: client.list_prompts(),
        lambda client: client.fetch_tools(),
        lambda client: client.find_tool("x"),
        lambda client: client.call("x", {}),
        lambda client: client.check_alive(),
        lambda client: client.set_log_level("info"),
        lambda client: client.subscribe_resource("x://"),
        lambda client: client.unsubscribe_resource(URI),
    ],
)


@ASKING
def test_a_listener_that_asks_the_same_client_is_refused_at_once(
    start_talk: StartTalk, ask: Callable[[MCPClient], Any]
) -> None:
    """Ours: it is called where responses are read. Also while another thread asks for the tools."""
    client, conversation = start_talk(lambda _: None)
    thread, tools = in_thread(client.fetch_tools)
    wait_until(lambda: "tools/list" in conversation.methods())
    refused: list[Exception] = []

    def listener(_: str) -> None:
        try:
            ask(client)
        except LocalProtocolError as problem:
            refused.append(problem)

    client.on_list_changed = client.on_resource_updated = listener
    before = conversation.methods()
    conversation.arrives(changed("prompts"))
    conversation.arrives(updated(URI))

    assert len(refused) == 2
    assert conversation.methods() == before
    asked = next(message for message in conversation.sent if message["method"] == "tools/list")
    conversation.arrives(result(asked, {"tools": []}))
    thread.join(5)
    assert tools == [[]]


@ASKING
@pytest.mark.parametrize("era", ERAS)
def test_a_listener_that_asks_where_the_server_is_connected_to_again_is_refused_too(
    start_server: Started, era: str, ask: Callable[[MCPClient], Any]
) -> None:
    """Ours: the same wherever it is called."""
    client = start_server("offers", era)
    refused: list[Exception] = []

    def listener(_: str) -> None:
        try:
            ask(client)
        except LocalProtocolError as problem:
            refused.append(problem)

    client.subscribe_resource(URI)
    client.on_resource_updated = listener
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == URI
    assert len(refused) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_listener_may_have_another_thread_ask(start_server: Started, era: str) -> None:
    """Ours: that is what the refusal advises."""
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


def test_a_question_in_a_call_is_answered_by_the_person(start_server: Started) -> None:
    """Spec, elicitation, handshake era."""
    client = start_server("good_handshake", host=Host(elicit=accept))

    assert text_of(client.call("ask", {})) == {"action": "accept", "content": {"city": "Oslo"}}


def test_a_question_is_declined_without_a_person(start_server: Started) -> None:
    """Spec, elicitation."""
    assert text_of(start_server("good_handshake").call("ask", {})) == {"action": "decline"}


def test_a_person_may_take_longer_than_the_deadline(start_server: Started) -> None:
    """Ours: no person types against the clock."""
    clock = Clock()

    def ponder(params: dict[str, Any]) -> dict[str, Any]:
        clock.run_for(0.6)
        return accept(params)

    client = start_server("good_handshake", host=Host(elicit=ponder))

    assert text_of(client.call("ask", {}, Deadline(0.3, clock=clock)))["action"] == "accept"


def test_roots_are_answered(start_server: Started) -> None:
    """Spec, roots; also for a server that wants to know before anything else."""
    roots = [{"uri": "file:///a", "name": "a"}]

    assert text_of(start_server("good_handshake", host=Host(roots=roots)).call("roots", {})) == {"roots": roots}
    assert text_of(start_server("asks_roots_first", host=Host(roots=roots)).call("echo", {})) == roots


@pytest.mark.parametrize("method", ["sampling/createMessage", "something/else"])
def test_what_was_not_declared_is_refused(start_server: Started, method: str) -> None:
    """Spec: -32601, or the server's tool would hang."""
    assert text_of(start_server("good_handshake").call("any", {"method": method}))["code"] == -32601


def test_sampling_without_a_model_is_refused(start_server: Started) -> None:
    """Spec, sampling."""
    assert text_of(start_server("asks_sampling").call("echo", {}))["code"] == -32601


def test_a_hundred_server_requests_at_once_are_all_answered(start_server: Started) -> None:
    """Ours: answered or refused, none forgotten."""
    client = start_server("asks_without_end")
    client.call("ask", {})

    assert isinstance(text_of(client.call("how_many", {})), int)


def test_input_is_collected_and_handed_back_with_the_state(start_server: Started) -> None:
    """Spec 2026-07-28, MC-4 and MC-5: the same arguments, all the answers by key, the state byte for byte."""
    roots = [{"uri": "file:///a"}]
    client = start_server("good_stateless", host=Host(elicit=accept, roots=roots))

    answers, state, arguments = text_of(client.call("ask", {"x": 1}))

    assert answers == {"q": accept({}), "r": {"roots": roots}}
    assert (state, arguments) == ("state-1", {"x": 1})
    assert calls(start_server, "good_stateless") == ["tools/call ask"] * 2


def test_a_person_may_take_longer_than_the_deadline_between_two_round_trips(start_server: Started) -> None:
    """Ours."""
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


def test_a_server_that_only_wants_to_be_asked_again_is(start_server: Started) -> None:
    """Spec 2026-07-28, MC-4: a state without input requests is sent back at once."""
    client = start_server("good_stateless")

    assert client.call("again", {})["content"][0]["text"] == "at last"
    assert calls(start_server, "good_stateless") == ["tools/call again"] * 4


def test_asking_again_ends_with_the_deadline(start_server: Started) -> None:
    """Ours: the pause before the next round counts too."""
    client = start_server("good_stateless")

    with pytest.raises(DeadlineError):
        client.call("again", {}, Deadline(pause_before(1) / 2, clock=Clock()))

    assert calls(start_server, "good_stateless") == ["tools/call again"]


def test_a_server_that_never_has_enough_is_stopped_after_ten_round_trips(start_server: Started) -> None:
    """Spec's SDKs: 10."""
    client = start_server("good_stateless")

    with pytest.raises(RemoteProtocolError, match="10 round trips"):
        client.call("endless", {})

    assert len(calls(start_server, "good_stateless")) == MAX_ROUND_TRIPS == 10


def test_input_that_was_not_declared_is_the_servers_mistake(start_server: Started) -> None:
    """Spec 2026-07-28: fail the call locally with a clear message."""
    client = start_server("good_stateless")

    with pytest.raises(RemoteProtocolError, match="sampling/createMessage"):
        client.call("sampling", {})
    with pytest.raises(RemoteProtocolError, match="with neither requests nor a state"):
        client.call("nothing", {})
    assert len(calls(start_server, "good_stateless")) == 2


def test_a_person_who_declines_that_a_model_is_asked_ends_the_call(start_server: Started) -> None:
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


# The era that is remembered.


@pytest.mark.parametrize(("server", "era"), [("good_handshake", "handshake"), ("good_stateless", "stateless")])
def test_the_era_of_a_server_is_remembered(start_server: Started, tmp_path: Path, server: str, era: str) -> None:
    """DE-2: the next start need not find out again."""
    start_server(server, era_cache=era_cache(tmp_path))

    assert era_cache(tmp_path).era() == era


def test_a_server_known_to_want_the_handshake_is_not_probed(start_server: Started, tmp_path: Path) -> None:
    """Ours."""
    era_cache(tmp_path).keep_era("handshake")

    start_server("hangs_in_call", era_cache=era_cache(tmp_path)).check_alive()

    assert start_server.notes("hangs_in_call")[0] == "initialize"


@pytest.mark.parametrize("known", ["stateless", "nonsense"])
def test_any_other_known_era_is_tested(start_server: Started, tmp_path: Path, known: str) -> None:
    """Ours: and corrected."""
    era_cache(tmp_path).keep_era(known)

    start_server("hangs_in_call", era_cache=era_cache(tmp_path)).check_alive()

    assert start_server.notes("hangs_in_call")[0] == "server/discover"
    assert era_cache(tmp_path).era() == "handshake"


def test_a_known_era_that_has_become_wrong_is_corrected(start_server: Started, tmp_path: Path) -> None:
    """DE-2: an updated server must not be unreachable until the cached era expires."""
    era_cache(tmp_path).keep_era("handshake")

    client = start_server("only_stateless", era_cache=era_cache(tmp_path))

    assert client.peer is not None
    assert client.peer.era == "stateless"
    assert era_cache(tmp_path).era() == "stateless"


def test_a_known_era_that_ends_the_server_is_corrected_at_once(start_server: Started, tmp_path: Path) -> None:
    """Ours: some end on a request that they do not know."""
    era_cache(tmp_path).keep_era("handshake")

    start_server("no_initialize", era_cache=era_cache(tmp_path))

    assert start_server.notes("no_initialize") == ["initialize", "server/discover"]
    assert era_cache(tmp_path).era() == "stateless"


def test_a_known_era_that_costs_all_the_time_is_forgotten(start_server: Started, tmp_path: Path) -> None:
    """Ours: the next start finds out anew."""
    era_cache(tmp_path).keep_era("handshake")
    client = start_server("no_initialize", "silent", era_cache=era_cache(tmp_path), is_open=False)

    with pytest.raises(DeadlineError):
        client.open(deadline_until(lambda: start_server.notes("no_initialize")))

    assert start_server.notes("no_initialize") == ["initialize"]
    assert era_cache(tmp_path).era() is None
    assert client.open(Deadline(20)).era == "stateless"


def test_without_a_known_era_a_broken_server_is_started_only_once(start_server: Started, tmp_path: Path) -> None:
    """Ours."""
    client = start_server("wrong_version", era_cache=era_cache(tmp_path), is_open=False)

    with pytest.raises(ProtocolError):
        client.open()

    assert start_server.notes("wrong_version").count("initialize") == 1
    assert era_cache(tmp_path).era() is None


def test_an_era_that_cannot_be_kept_is_no_error(start_server: Started, tmp_path: Path) -> None:
    """Ours: only a slower start."""
    (tmp_path / "eras").write_text("in the way")

    start_server("good_handshake", era_cache=era_cache(tmp_path)).check_alive()


@pytest.mark.parametrize(("times", "is_answered"), [("1", True), (str(MAX_ROUND_TRIPS), False)])
def test_a_call_goes_on_after_its_urls_were_opened(start_server: Started, times: str, is_answered: bool) -> None:
    """Spec 2025-11-25, URLElicitationRequiredError: the request may be sent again. Not without an end."""
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
def test_a_request_that_met_an_expired_session_is_sent_once_more_in_another(times: int) -> None:
    """Spec, LC-6: it was not run. A second session that is gone at once is an error."""
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
def test_a_request_that_was_lost_alone_is_sent_once_more_if_it_only_reads(method: str, times: int) -> None:
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
def test_a_ping_that_met_an_expired_session_is_sent_once_more_in_another(reconnects: bool) -> None:
    """Spec, LC-6: unless the caller wants to know of this connection."""
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


def test_a_call_whose_url_is_not_opened_fails_with_it(start_server: Started) -> None:
    """Ours: a program finds it in the error."""
    with pytest.raises(PeerError) as caught:
        start_server("requires_url", "1").call("echo", {})
    assert (caught.value.code, caught.value.data["elicitations"][1]["url"]) == (-32042, "https://other.org/")
