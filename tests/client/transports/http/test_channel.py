"""A server behind a URL as a channel."""

from __future__ import annotations

import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import pytest

from gaia_mcp.client.transports.http import channel as module
from gaia_mcp.client.transports.http.auth.authorizer import NoAuthorizer
from gaia_mcp.client.transports.http.channel import HttpChannel
from gaia_mcp.client.transports.http.endpoint import Endpoint
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    AuthorizationError,
    ConnectionLostError,
    DeadlineError,
    EntryError,
    MCPError,
    NotConnectedError,
    StatusError,
)
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.redaction.masker import Masker
from tests.client.transports.http.web import (
    Answer,
    Asked,
    Line,
    accepted,
    as_events,
    ending_once_asked,
    event,
    handshake,
    result,
    serving,
    talking,
)
from tests.protocol_support import ENVELOPE
from tests.waiting import ENOUGH_SECONDS, wait_until

NOTE = jsonrpc.notification("notifications/tools/list_changed", None)
INITIALIZED = jsonrpc.notification("notifications/initialized", None)
INITIALIZE = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})


def cancelling(request_id: int) -> Outgoing:
    message = jsonrpc.notification("notifications/cancelled", {"requestId": request_id})
    return Outgoing(message, request_id, cancels=True)


def shaken_hands(line: Line) -> None:
    line.send(INITIALIZE)
    line.kept.wait()
    line.kept.messages.clear()


def test_a_channel_runs_from_its_start_to_its_end() -> None:
    """Ours: nothing is sent for that."""
    line = Line("http://127.0.0.1:1/mcp")
    assert not line.channel.is_running()
    line.channel.close(None)

    line.start()
    assert line.channel.is_running()
    assert type(line.channel.why_lost("x")) is NotConnectedError
    line.channel.close(None)
    line.channel.close(None)

    assert not line.channel.is_running()
    assert {type(end) for end in line.kept.ends} == {NotConnectedError}
    with pytest.raises(NotConnectedError):
        line.ask("tools/list")
    line.channel.send_soon(Outgoing(NOTE))


def test_an_entry_that_http_cannot_carry_is_an_error_at_the_start() -> None:
    """Ours: before anything is sent."""
    with pytest.raises(EntryError):
        Line("http://host:99999/").start()


def test_tools_that_are_left_out_are_told_of() -> None:
    """Spec, HC-4: with what is wrong with their annotations."""
    schema = {"properties": {"a": {"type": "string", "x-mcp-header": "no token"}}}
    line = Line("http://127.0.0.1:1/mcp")
    assert line.channel.tools_left_out() == {}

    with talking(lambda asked: result(asked, tools=[{"name": "bad", "inputSchema": schema}])) as (_, line):
        line.ask("tools/list").wait()
        (reason,) = line.channel.tools_left_out().values()
        assert "no token" in reason


def test_the_masker_is_the_one_of_the_transport() -> None:
    """Ours: it knows what the server is sent."""
    masker = Masker(["hunter22"])
    endpoint = Endpoint("web", "http://host/")

    assert HttpChannel(endpoint, NoAuthorizer("web"), masker=lambda: masker).masker() is masker
    assert HttpChannel(endpoint, NoAuthorizer("web")).masker().text("hunter22") == "hunter22"


# Cancellation.


def test_a_stateless_request_that_is_over_is_not_cancelled() -> None:
    """Ours: it has no stream left, and nothing is sent."""
    with talking(result) as (web, line):
        line.ask("tools/list", 1).wait()
        wait_until(lambda: not line.channel._requests)
        line.channel.abandon(cancelling(1))
        assert web.methods() == ["tools/list"]


def test_a_stateless_request_is_cancelled_by_closing_its_stream() -> None:
    """Spec, HS-4: no notification is sent."""
    with talking(lambda _: as_events(event(NOTE), threading.Event())) as (web, line):
        line.ask("tools/call", 1, name="t").wait()
        line.channel.abandon(cancelling(1))
        wait_until(lambda: bool(web.broken))
        assert line.kept.failures == []
        line.channel.abandon(cancelling(1))
        line.channel.abandon(cancelling(2))
        assert len(web.asked) == 1


def test_the_connection_of_a_request_is_closed_without_a_word() -> None:
    """Ours: for a dialect that has no other way to cancel."""
    with talking(lambda _: as_events(event(NOTE), threading.Event())) as (web, line):
        line.ask("tools/call", 1, name="t").wait()
        line.channel.interrupt(1)
        wait_until(lambda: bool(web.broken))
        for unknown in (2, None):
            line.channel.interrupt(unknown)
        assert len(web.asked) == 1


def test_a_request_of_the_handshake_era_is_cancelled_by_a_notification() -> None:
    """Spec, cancellation: a stream that is closed says nothing there; it is closed when the server has been told."""
    with talking(handshake(lambda _: as_events(event(NOTE), threading.Event()))) as (web, line):
        shaken_hands(line)
        line.send(jsonrpc.request(2, "tools/call", {"name": "t"}))
        line.kept.wait()
        web.answer = handshake(lambda _: accepted())
        line.channel.abandon(cancelling(2))
        wait_until(lambda: bool(web.broken))
        assert web.asked[-1].message["params"] == {"requestId": 2}
        line.channel.abandon(cancelling(2))
        assert web.methods().count("notifications/cancelled") == 1


def test_a_cancellation_is_sent_before_the_end() -> None:
    """Ours: Ctrl-C cancels, and closes at once."""
    with talking(handshake(lambda _: as_events(event(NOTE), threading.Event()))) as (web, line):
        shaken_hands(line)
        line.send(jsonrpc.request(2, "tools/call", {"name": "t"}))
        line.kept.wait()
        web.answer = handshake(lambda _: accepted())
        line.channel.abandon(cancelling(2))
        line.channel.close(1)
        assert web.methods()[-2:] == ["notifications/cancelled", "DELETE"]
        line.channel.abandon(cancelling(2))


# Sessions.


def test_a_session_is_ended_by_the_client() -> None:
    """Spec, LC-6: whatever the server says to that."""
    with talking(handshake(result)) as (web, line):
        shaken_hands(line)
    ended = web.asked[-1]
    assert (ended.method, ended.headers["mcp-session-id"]) == ("DELETE", "s-1")


def test_a_server_that_is_gone_is_not_told_of_the_end() -> None:
    """Ours: that is not an error. A session that is lost twice is lost."""
    line = Line("http://127.0.0.1:1/mcp").start()
    assert line.channel._wire is not None
    line.channel._wire.session = "s-1"
    line.channel.close(1)

    line = Line("http://127.0.0.1:1/mcp").start()
    for _ in range(2):
        line.channel.session_expired()
        assert not line.channel.is_running()
        line.channel.session_ended()
    assert [type(end) for end in line.kept.ends] == [ConnectionLostError] * 2
    line.channel.close(1)


def test_a_stream_that_has_begun_meanwhile_is_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a server may take long to accept that the handshake is over."""
    monkeypatch.setattr(module, "LISTEN_AFTER_SECONDS", 0)
    has_begun = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            has_begun.set()
        elif asked.message.get("method") == "notifications/initialized":
            has_begun.wait(5)
        return handshake(result)(asked)

    message = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}})
    with talking(answer) as (web, line):
        line.send(message)
        line.kept.wait()
        line.send(INITIALIZED)
        assert [each.method for each in web.asked].count("GET") == 1


def test_an_end_before_the_stream_was_opened_opens_none() -> None:
    """Ours: most commands are over by then."""
    with talking(handshake(result)) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        line.channel.close(1)
        line.channel._listen()
    assert "GET" not in web.methods()


def test_streams_that_never_end_are_given_up_for_others() -> None:
    """Ours: their responses have come."""
    never = threading.Event()

    def answer(asked: Asked) -> Answer:
        return as_events(event(jsonrpc.result(asked.message["id"], {})), never)

    with talking(answer) as (web, line):
        for number in range(1, module.MAX_LINGERING + 3):
            line.ask("tools/list", number).wait(number)
        wait_until(lambda: len(web.broken) == 2)
        gone = next(iter(line.channel._lingering))
        line.channel._interrupt(gone)
        wait_until(lambda: gone not in line.running())
        line.channel._interrupt(gone)


def test_a_connection_without_a_session_ends_without_a_word() -> None:
    """Ours: there is nothing to be ended."""
    with talking(handshake(result, session="")) as (web, line):
        shaken_hands(line)
    assert web.asked[-1].method == "POST"


def test_a_lost_session_ends_the_channel_for_all() -> None:
    """Ours: for those that wait, with what they waited for."""
    with talking(handshake(lambda _: Answer(404))) as (web, line):
        shaken_hands(line)
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.ends))
        why = line.channel.why_lost("tools/call 't'")
        assert type(why) is ConnectionLostError
        assert str(why) == "server 'web' no longer knows the session (asked for tools/call 't')"
    assert web.asked[-1].method == "POST"


# What answers no request.


def test_a_stream_for_what_answers_no_request_is_opened_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a command is over before, most often."""
    monkeypatch.setattr(module, "LISTEN_AFTER_SECONDS", 0.01)

    def answer(asked: Asked) -> Answer:
        return as_events(event(NOTE), threading.Event()) if asked.method == "GET" else handshake(result)(asked)

    with talking(answer) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        assert line.kept.message() == NOTE
        assert web.methods().count("GET") == 1


@pytest.mark.parametrize("method", ["resources/subscribe", "logging/setLevel"])
def test_a_stream_is_opened_at_once_where_something_will_come(method: str) -> None:
    """Ours: a subscription is of no use without it."""

    def answer(asked: Asked) -> Answer:
        return as_events(event(NOTE), threading.Event()) if asked.method == "GET" else handshake(result)(asked)

    with talking(answer) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        line.send(jsonrpc.request(2, method, {}))
        line.send(jsonrpc.request(3, method, {}))
        line.kept.wait(3)
        assert web.methods().count("GET") == 1


def test_a_client_that_answers_requests_has_the_stream_before_its_first_call() -> None:
    """Ours: there are servers that send theirs on it in the middle of a call, and drop them where there is none."""
    declaring = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}})
    asks = jsonrpc.request(7, "roots/list", {})

    def answer(asked: Asked) -> Answer:
        return as_events(event(asks), threading.Event()) if asked.method == "GET" else handshake(result)(asked)

    with talking(answer) as (web, line):
        line.send(declaring)
        line.kept.wait()
        line.kept.messages.clear()
        line.send(INITIALIZED)
        line.send(jsonrpc.request(2, "tools/call", {"name": "t"}))
        line.kept.wait(2)
        assert (asks, None) in line.kept.messages
        assert [asked.method for asked in web.asked] == ["POST", "POST", "GET", "POST"]


def test_a_stateless_server_is_not_asked_for_such_a_stream() -> None:
    """Spec, HS-7: it has none."""
    with talking(result) as (web, line):
        line.ask("resources/subscribe").message()
        assert web.methods() == ["resources/subscribe"]


# Notifications.


def test_a_notification_that_is_not_accepted_in_time_is_sent_all_the_same() -> None:
    """Ours: the server has it."""
    goes_on = threading.Event()

    def answer(_: Asked) -> Answer:
        goes_on.wait(5)
        return Answer(400)

    with talking(answer) as (web, line):
        line.send(NOTE, Deadline(0.2))
        wait_until(lambda: bool(web.asked))
        goes_on.set()


def test_a_notification_that_is_refused_is_an_error_of_its_sender() -> None:
    """Ours: no response will tell."""
    with talking(lambda _: Answer(400)) as (_, line), pytest.raises(StatusError):
        line.send(NOTE)


def test_a_response_to_the_server_is_a_message_of_its_own() -> None:
    """Spec, LS-3: by POST; what becomes of it concerns no caller."""
    with talking(handshake(lambda _: Answer(500))) as (web, line):
        shaken_hands(line)
        line.channel.send_soon(Outgoing(jsonrpc.result(7, {})))
        wait_until(lambda: web.asked[-1].message == jsonrpc.result(7, {}))


# HTTP+SSE.


class Older:
    """A server of HTTP+SSE: what it answers comes on its stream."""

    def __init__(self, refusal: Answer | None = None) -> None:
        self.refusal = refusal
        self.begun = threading.Event()
        self.reply = b""

    def __call__(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            return as_events(b"event: endpoint\ndata: /messages\n\n", self.begun, self)  # type: ignore[arg-type]
        if asked.path == "/mcp":
            return Answer(405)
        if self.refusal is not None:
            return self.refusal
        return accepted()


def test_a_server_of_http_and_sse_is_asked_for_its_stream_first() -> None:
    """Spec, HTTP+SSE: where an entry says that it is one."""
    never = threading.Event()

    def answer(asked: Asked) -> Answer:
        return as_events(b"event: endpoint\ndata: /messages\n\n", never) if asked.method == "GET" else accepted()

    with talking(answer, "sse") as (web, line):
        assert line.channel.answers_on_stream
        assert [(asked.method, asked.path) for asked in web.asked] == [("GET", "/mcp")]
        line.ask("tools/call", 1, name="t")
        wait_until(lambda: len(web.asked) == 2 and not line.channel._requests)
        line.channel.abandon(cancelling(1))
        wait_until(lambda: len(web.asked) == 3)
        assert [asked.path for asked in web.asked] == ["/mcp", "/messages", "/messages"]
        assert web.asked[-1].message["method"] == "notifications/cancelled"
        line.send(INITIALIZED)
        line.channel._listen()
        assert web.methods().count("GET") == 1


def test_the_end_of_its_stream_is_that_of_the_connection() -> None:
    """Spec, HTTP+SSE: it is the session."""
    with talking(lambda _: as_events(b"event: endpoint\ndata: /messages\n\n"), "sse") as (_, line):
        wait_until(lambda: bool(line.kept.ends))
        assert type(line.kept.ends[0]) is ConnectionLostError
        assert not line.channel.is_running()


@pytest.mark.parametrize(("answer", "kind"), [(Answer(405), StatusError), (Answer(401), AuthorizationError)])
def test_a_server_that_is_not_of_http_and_sse_is_reported(answer: Answer, kind: type[MCPError]) -> None:
    """Ours: at the start."""
    with serving(lambda _: answer) as web:
        line = Line(web.url, "sse")
        with pytest.raises(kind) as caught:
            line.start()
        line.channel.close(1)
    assert caught.value.case == ("not-sse" if answer.status == 405 else "oauth-off")


def test_only_an_entry_that_says_so_keeps_from_looking_for_another_transport() -> None:
    """Ours: not what was found out another time."""
    ways = [("http", True), ("http", False), ("sse", True), (None, True)]
    channels = [HttpChannel(Endpoint("web", "http://x"), NoAuthorizer("web"), way, is_sure=sure) for way, sure in ways]

    assert [channel.is_fixed for channel in channels] == [True, False, False, False]


def test_a_stream_that_names_no_endpoint_in_time_is_reported() -> None:
    """Ours: as any server that is silent."""
    with serving(lambda _: as_events(threading.Event())) as web:
        line = Line(web.url, "sse")
        with pytest.raises(DeadlineError):
            line.channel.start(line.kept, Deadline(0.2))
        line.channel.close(1)


def test_a_stream_that_is_slow_to_name_its_endpoint_is_not_waited_for_longer_than_the_caller_does() -> None:
    """Ours: the refusal of `initialize` is the error then."""

    def answer(asked: Asked) -> Answer:
        return as_events(threading.Event()) if asked.method == "GET" else Answer(405)

    with talking(answer) as (_, line):
        line.send(INITIALIZE, Deadline(0.3))
        assert type(line.kept.failure()) is StatusError


def test_a_server_of_streamable_http_alone_is_not_asked_for_another_transport() -> None:
    """Ours: where an entry says that it is one."""
    with talking(lambda _: Answer(405), "http") as (web, line):
        line.send(INITIALIZE)
        assert type(line.kept.failure()) is StatusError
        assert len(web.asked) == 1


# The end.


def test_what_is_open_at_the_end_is_closed() -> None:
    """Ours: no thread and no connection is left, whatever the server does."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        line = Line(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp").start()
        line.ask("tools/call", 1, name="t")
        line.ask("subscriptions/listen", 2)
        connection, _ = silent.accept()
        line.channel.close(0.1)
        connection.close()
    wait_until(lambda: "web http" not in [thread.name for thread in threading.enumerate()])
    assert line.kept.failures == []


def test_requests_are_answered_in_any_order() -> None:
    """Ours: each has a stream of its own."""
    first_may = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.message["id"] == 1:
            first_may.wait(5)
        return result(asked)

    with talking(answer) as (_, line):
        line.ask("tools/list", 1)
        line.ask("tools/list", 2).wait()
        first_may.set()
        line.kept.wait(2)
        assert [about for _, about in line.kept.messages] == [2, 1]


def test_what_is_handed_over_comes_one_at_a_time() -> None:
    """Ours: receivers need no lock of their own."""
    inside: list[int] = []
    most: list[int] = []

    class Slow:
        def receive_message(self, value: Any, about: Any = None) -> None:
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.01)
            inside.pop()

        def channel_ended(self, error: MCPError) -> None:
            pass

    with serving(result) as web:
        line = Line(web.url)
        line.channel.start(Slow(), Deadline(5))  # type: ignore[arg-type]
        for number in range(1, 6):
            line.send(jsonrpc.request(number, "tools/list", {"_meta": ENVELOPE}))
        wait_until(lambda: len(most) == 5)
        line.channel.close(1)
    assert most == [1] * 5


def test_a_span_tells_where_the_server_is_and_which_session_it_is() -> None:
    """OpenTelemetry, semantic conventions for MCP."""
    network = {"network.transport": "tcp", "network.protocol.name": "http"}
    line = Line("HTTPS://mcp.example/a?token=s3cret")
    assert line.channel.attributes() == {**network, "server.address": "mcp.example", "server.port": 443}
    with talking(handshake(lambda _: accepted())) as (web, line):
        port = urlsplit(web.url).port
        assert line.channel.attributes() == {**network, "server.address": "127.0.0.1", "server.port": port}
        shaken_hands(line)
        assert line.channel.attributes()["mcp.session.id"] == "s-1"


# Callers that read by themselves.


def unanswered(_: Asked) -> Answer:
    return as_events(threading.Event())


def test_a_call_that_is_not_answered_in_time_is_cancelled() -> None:
    """Spec, stateless era: by closing its connection; the next call has another."""
    with talking(result) as (web, line):
        line.opened()
        web.answer = unanswered
        assert line.call(2, ending_once_asked(web, 2)) is None
        wait_until(lambda: bool(web.broken))
        assert line.running() == []
        web.answer = result
        assert line.call(3)["id"] == 3


def test_a_call_may_be_cancelled_from_another_thread() -> None:
    """Ours: at once, and not by what else wakes the callers."""
    with talking(result) as (web, line):
        line.opened()
        web.answer = unanswered
        deadline = Deadline(ENOUGH_SECONDS)

        def cancel() -> None:
            wait_until(lambda: len(web.asked) == 2)
            line.channel.wake()
            assert web.broken == []
            deadline.cancel()

        other = threading.Thread(target=cancel)
        other.start()
        assert line.call(2, deadline) is None
        other.join()
        wait_until(lambda: bool(web.broken))


def test_a_call_that_was_cancelled_before_it_began_is_not_sent() -> None:
    """Ours."""
    with talking(result) as (web, line):
        line.opened()
        deadline = Deadline(ENOUGH_SECONDS)
        deadline.cancel()
        assert line.call(2, deadline) is None
        assert len(web.asked) == 1
        assert line.call(3)["id"] == 3


def test_a_caller_learns_of_the_end() -> None:
    """Ours: it reads from a connection that is closed by another thread."""
    with talking(result) as (web, line):
        line.opened()
        web.answer = unanswered

        def close() -> None:
            wait_until(lambda: len(web.asked) == 2)
            line.channel.close(1)

        other = threading.Thread(target=close)
        other.start()
        assert isinstance(line.call(2), NotConnectedError)
        other.join()


@pytest.mark.parametrize("is_twice", [False, True])
def test_after_a_ctrl_c_nothing_is_left_of_a_call(is_twice: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: wherever it arrives. After a second one, what is left goes with the request, when that is cancelled."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted_again(*_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with talking(result) as (_, line):
        channel = line.opened().channel
        assert channel._lanes is not None
        if is_twice:
            monkeypatch.setattr(channel._lanes, "drop", interrupted_again)
        monkeypatch.setattr(line.kept, "receive_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            line.call(2)
        assert len(channel._begun) == is_twice
        channel.abandon(cancelling(2))
        assert (channel._begun, channel._requests, line.running()) == ({}, {}, [])
        monkeypatch.undo()
        assert line.call(3)["id"] == 3


def test_another_request_of_a_caller_is_sent_at_once() -> None:
    """Ours: of the handshake era, where closing the connection would not cancel it."""
    with talking(result) as (web, line):
        line.channel.ask(Outgoing(jsonrpc.request(1, "ping", None), 1), Deadline(ENOUGH_SECONDS), "ping")
        line.kept.message()
        assert len(web.asked) == 1


def test_a_request_that_its_caller_did_not_come_to_send_is_forgotten() -> None:
    """Ours: a Ctrl-C may arrive in between."""
    with talking(result) as (web, line):
        line.opened()
        message = jsonrpc.request(2, "tools/list", {"_meta": ENVELOPE})
        line.channel.ask(Outgoing(message, 2), Deadline(ENOUGH_SECONDS), "tools/list")
        line.channel.abandon(cancelling(2))
        line.send(jsonrpc.request(3, "tools/list", {"_meta": ENVELOPE}))
        assert line.channel.wait(line.kept.outcomes, 3, Deadline(ENOUGH_SECONDS))["id"] == 3
        assert line.call(4)["id"] == 4
        assert [asked.message["id"] for asked in web.asked] == ["first", 3, 4]
