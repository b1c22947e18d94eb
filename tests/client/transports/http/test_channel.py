"""A server behind a URL as a channel."""

from __future__ import annotations

import socket
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.channel import MAX_LINGERING, HttpChannel
from gaia_mcp.client.transports.http.connections import Endpoint
from gaia_mcp.client.transports.http.worker_connections import Lanes
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
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
from gaia_mcp.text.redaction.masker import Masker
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

if TYPE_CHECKING:
    from types import FrameType

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


def test_a_channel_is_running_from_start_to_close() -> None:
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


def test_the_connections_of_many_requests_at_once_are_kept() -> None:
    """Ours: opening them again would be a part of what is measured. A few are kept in any case."""
    with talking(lambda asked: result(asked)) as (_, line):
        assert line.channel._lanes is not None

        line.channel.expect_many(9)
        line.channel.expect_many(2)

        assert line.channel._lanes.kept == 9


def test_an_invalid_url_is_an_error_at_the_start() -> None:
    """Ours: before anything is sent."""
    with pytest.raises(EntryError):
        Line("http://host:99999/").start()


def test_dropped_tools_are_reported_with_the_reason() -> None:
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


def test_a_completed_stateless_request_is_not_cancelled() -> None:
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


def test_interrupting_a_request_closes_its_connection_without_a_notification() -> None:
    """Ours: for a dialect that has no other way to cancel."""
    with talking(lambda _: as_events(event(NOTE), threading.Event())) as (web, line):
        line.ask("tools/call", 1, name="t").wait()
        line.channel.interrupt(1)
        wait_until(lambda: bool(web.broken))
        for unknown in (2, None):
            line.channel.interrupt(unknown)
        assert len(web.asked) == 1


def test_a_request_of_the_handshake_era_is_cancelled_by_a_notification() -> None:
    """Spec, cancellation: closing the stream does not cancel there; it is closed after the notification."""
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


def test_a_cancellation_is_sent_before_the_session_is_ended() -> None:
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


def test_an_unreachable_server_does_not_prevent_closing() -> None:
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


def test_the_optional_stream_is_opened_once() -> None:
    """Ours: a server may take long to accept that the handshake is over."""
    has_begun = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            has_begun.set()
        elif asked.message.get("method") == "notifications/initialized":
            has_begun.wait(ENOUGH_SECONDS)
        return handshake(result)(asked)

    message = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}})
    with talking(answer, listen_after_seconds=0) as (web, line):
        line.send(message)
        line.kept.wait()
        line.send(INITIALIZED)
        assert [each.method for each in web.asked].count("GET") == 1


def test_closing_before_the_optional_stream_is_opened_opens_no_stream() -> None:
    """Ours: most commands are over by then."""
    with talking(handshake(result), listen_after_seconds=3600) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        line.channel.close(1)
        line.channel._listen()
    assert "GET" not in web.methods()


def test_the_number_of_streams_that_stay_open_after_their_response_is_limited() -> None:
    """Ours: some servers never end a stream, and each holds a connection."""
    never = threading.Event()

    def answer(asked: Asked) -> Answer:
        return as_events(event(jsonrpc.result(asked.message["id"], {})), never)

    with talking(answer) as (web, line):
        for number in range(1, MAX_LINGERING + 3):
            line.ask("tools/list", number).wait(number)
        wait_until(lambda: len(web.broken) == 2)
        gone = next(iter(line.channel._lingering))
        line.channel._interrupt(gone)
        wait_until(lambda: gone not in line.running())
        line.channel._interrupt(gone)


def test_a_connection_without_a_session_sends_no_delete() -> None:
    """Ours: there is nothing to be ended."""
    with talking(handshake(result, session="")) as (web, line):
        shaken_hands(line)
    assert web.asked[-1].method == "POST"


def test_an_expired_session_ends_the_channel() -> None:
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


def test_the_optional_stream_is_opened_after_a_delay() -> None:
    """Ours: a command is over before, most often."""

    def answer(asked: Asked) -> Answer:
        return as_events(event(NOTE), threading.Event()) if asked.method == "GET" else handshake(result)(asked)

    with talking(answer, listen_after_seconds=0.01) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        assert line.kept.message() == NOTE
        assert web.methods().count("GET") == 1


@pytest.mark.parametrize("method", ["resources/subscribe", "logging/setLevel"])
def test_a_subscription_opens_the_optional_stream_at_once(method: str) -> None:
    """Ours: a subscription is of no use without it."""

    def answer(asked: Asked) -> Answer:
        return as_events(event(NOTE), threading.Event()) if asked.method == "GET" else handshake(result)(asked)

    with talking(answer, listen_after_seconds=3600) as (web, line):
        shaken_hands(line)
        line.send(INITIALIZED)
        line.send(jsonrpc.request(2, method, {}))
        line.send(jsonrpc.request(3, method, {}))
        line.kept.wait(3)
        assert web.methods().count("GET") == 1


def test_a_client_with_roots_opens_the_optional_stream_before_its_first_call() -> None:
    """Ours: some servers send their requests on it during a call, and drop them if there is no stream."""
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


def test_no_optional_stream_is_opened_in_the_stateless_era() -> None:
    """Spec, HS-7: there is no such stream."""
    with talking(result) as (web, line):
        line.ask("resources/subscribe").message()
        assert web.methods() == ["resources/subscribe"]


# Notifications.


def test_a_notification_that_is_not_accepted_in_time_does_not_raise() -> None:
    """Ours: the server has received it."""
    goes_on = threading.Event()

    def answer(_: Asked) -> Answer:
        goes_on.wait(ENOUGH_SECONDS)
        return Answer(400)

    deadline = Deadline(ENOUGH_SECONDS)
    deadline.hold()  # Its waits are short, and it does not pass.
    with talking(answer) as (web, line):
        line.send(NOTE, deadline)
        wait_until(lambda: web.asked)
        goes_on.set()


def test_a_refused_notification_raises_in_the_sender() -> None:
    """Ours: there is no response that could report it."""
    with talking(lambda _: Answer(400)) as (_, line), pytest.raises(StatusError):
        line.send(NOTE)


def test_a_response_to_the_server_is_sent_by_post() -> None:
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


def test_http_and_sse_opens_the_stream_first() -> None:
    """Spec, HTTP+SSE: if the entry names this transport."""
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


def test_the_end_of_the_sse_stream_ends_the_connection() -> None:
    """Spec, HTTP+SSE: it is the session."""
    with talking(lambda _: as_events(b"event: endpoint\ndata: /messages\n\n"), "sse") as (_, line):
        wait_until(lambda: bool(line.kept.ends))
        assert type(line.kept.ends[0]) is ConnectionLostError
        assert not line.channel.is_running()


@pytest.mark.parametrize(("answer", "kind"), [(Answer(405), StatusError), (Answer(401), AuthorizationError)])
def test_a_server_without_http_and_sse_is_reported(answer: Answer, kind: type[MCPError]) -> None:
    """Ours: at the start."""
    with serving(lambda _: answer) as web:
        line = Line(web.url, "sse")
        with pytest.raises(kind) as caught:
            line.start()
        line.channel.close(1)
    assert caught.value.case == ("not-sse" if answer.status == 405 else "oauth-off")


def test_a_stream_that_leads_to_another_origin_is_reported() -> None:
    """Ours: it tells more than the status of the request before."""
    never = threading.Event()
    endpoint = b"event: endpoint\ndata: http://elsewhere.example/messages\n\n"
    with talking(lambda asked: as_events(endpoint, never) if asked.method == "GET" else Answer(405)) as (_, line):
        line.send(INITIALIZE)
        wait_until(lambda: bool(line.kept.failures))
        assert line.kept.failures[0][1].case == "other-origin"


def test_only_a_configured_transport_is_fixed() -> None:
    """Ours: a cached transport may have been replaced by a server that was updated."""
    ways = [("http", True), ("http", False), ("sse", True), (None, True)]
    channels = [HttpChannel(Endpoint("web", "http://x"), NoAuthorizer("web"), way, is_sure=sure) for way, sure in ways]

    assert [channel.is_fixed for channel in channels] == [True, False, False, False]


def test_an_sse_stream_without_an_endpoint_event_ends_at_the_deadline() -> None:
    """Ours: as any server that is silent."""
    with serving(lambda _: as_events(threading.Event())) as web:
        line = Line(web.url, "sse")
        with pytest.raises(DeadlineError):
            line.channel.start(line.kept, Deadline(0.2))
        line.channel.close(1)


def test_a_slow_endpoint_event_is_awaited_only_until_the_deadline_of_the_caller() -> None:
    """Ours: the refusal of `initialize` is the error then."""

    def answer(asked: Asked) -> Answer:
        return as_events(threading.Event()) if asked.method == "GET" else Answer(405)

    deadline = Deadline(ENOUGH_SECONDS)
    deadline.hold()  # Its waits are short, and it does not pass.
    with talking(answer) as (_, line):
        line.send(INITIALIZE, deadline)
        assert type(line.kept.failure()) is StatusError


def test_a_configured_streamable_http_transport_does_not_fall_back_to_sse() -> None:
    """Ours: the entry names the transport, so that the refusal is the error."""
    with talking(lambda _: Answer(405), "http") as (web, line):
        line.send(INITIALIZE)
        assert type(line.kept.failure()) is StatusError
        assert len(web.asked) == 1


# The end.


def test_closing_ends_all_threads_and_connections() -> None:
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


def test_responses_may_arrive_in_any_order() -> None:
    """Ours: each has a stream of its own."""
    first_may = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.message["id"] == 1:
            first_may.wait(ENOUGH_SECONDS)
        return result(asked)

    with talking(answer) as (_, line):
        line.ask("tools/list", 1)
        line.ask("tools/list", 2).wait()
        first_may.set()
        line.kept.wait(2)
        assert [about for _, about in line.kept.messages] == [2, 1]


def test_messages_are_delivered_one_at_a_time() -> None:
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
        line.channel.start(Slow(), Deadline(ENOUGH_SECONDS))  # type: ignore[arg-type]
        for number in range(1, 6):
            line.send(jsonrpc.request(number, "tools/list", {"_meta": ENVELOPE}))
        wait_until(lambda: len(most) == 5)
        line.channel.close(1)
    assert most == [1] * 5


def test_a_span_has_the_address_and_the_session_of_the_server() -> None:
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


def test_a_call_without_a_response_is_cancelled_at_the_deadline() -> None:
    """Spec, stateless era: by closing its connection; the next call has another."""
    with talking(result) as (web, line):
        line.opened()
        web.answer = unanswered
        assert line.call(2, ending_once_asked(web, 2)) is None
        wait_until(lambda: bool(web.broken))
        assert line.running() == []
        web.answer = result
        assert line.call(3)["id"] == 3


def interrupt_use(frame: FrameType, event: str, _: object) -> None:
    """A Ctrl-C arrives when a connection is to be chosen."""
    if event == "call" and frame.f_code is Lanes.use.__code__:
        raise KeyboardInterrupt


def test_a_keyboard_interrupt_before_a_message_is_sent_leaves_nothing() -> None:
    """Ours: a request would count as pending, and be cancelled at the end."""
    with talking(result) as (_, line):
        for message in (jsonrpc.request(1, "tools/list", {"_meta": ENVELOPE}), NOTE):
            sys.setprofile(interrupt_use)
            try:
                with pytest.raises(KeyboardInterrupt):
                    line.send(message)
            finally:
                sys.setprofile(None)
        assert (line.channel._requests, line.channel._begun) == ({}, {})
        assert line.call(2)["id"] == 2


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
    """Ours: a tool must not run whose result no caller will receive."""
    with talking(result) as (web, line):
        line.opened()
        deadline = Deadline(ENOUGH_SECONDS)
        deadline.cancel()
        assert line.call(2, deadline) is None
        assert len(web.asked) == 1
        assert line.call(3)["id"] == 3


def test_a_waiting_caller_is_woken_when_the_channel_is_closed() -> None:
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
def test_a_keyboard_interrupt_leaves_no_open_request(is_twice: bool) -> None:
    """Ours: wherever it arrives. After a second one, what is left goes with the request, when that is cancelled."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with talking(result) as (_, line):
        channel, kept = line.opened().channel, line.kept
        assert channel._lanes is not None
        drop, receive_message = channel._lanes.drop, kept.receive_message

        def interrupted_again(*_: object) -> None:
            channel._lanes.drop, kept.receive_message = drop, receive_message  # type: ignore[union-attr,method-assign]
            raise KeyboardInterrupt

        if is_twice:
            channel._lanes.drop = interrupted_again  # type: ignore[method-assign]
        kept.receive_message = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            line.call(2)
        assert len(channel._begun) == is_twice
        channel.abandon(cancelling(2))
        assert (channel._begun, channel._requests, line.running()) == ({}, {}, [])
        kept.receive_message = receive_message  # type: ignore[method-assign]
        assert line.call(3)["id"] == 3


def test_a_request_of_the_handshake_era_is_sent_at_once() -> None:
    """Ours: of the handshake era, where closing the connection would not cancel it."""
    with talking(result) as (web, line):
        line.channel.ask(Outgoing(jsonrpc.request(1, "ping", None), 1), Deadline(ENOUGH_SECONDS), "ping")
        line.kept.message()
        assert len(web.asked) == 1


def test_an_abandoned_request_is_not_sent() -> None:
    """Ours: a Ctrl-C may arrive between the registration and the sending of a request."""
    with talking(result) as (web, line):
        line.opened()
        message = jsonrpc.request(2, "tools/list", {"_meta": ENVELOPE})
        line.channel.ask(Outgoing(message, 2), Deadline(ENOUGH_SECONDS), "tools/list")
        line.channel.abandon(cancelling(2))
        line.send(jsonrpc.request(3, "tools/list", {"_meta": ENVELOPE}))
        assert line.channel.wait(line.kept.outcomes, 3, Deadline(ENOUGH_SECONDS))["id"] == 3
        assert line.call(4)["id"] == 4
        assert [asked.message["id"] for asked in web.asked] == ["first", 3, 4]
