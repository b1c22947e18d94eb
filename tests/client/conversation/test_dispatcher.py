"""The dispatcher: every message reaches its caller or the host, also when the channel ends."""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import Conversation
from gaia_mcp.client.conversation import dispatcher as server_requests
from gaia_mcp.client.conversation.dispatcher import MAX_SERVER_REQUESTS, ServerRequests
from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.client.transports.in_process import CustomChannel, MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ArgumentsError,
    CallLateError,
    CancelledError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
    ServerExitedError,
    UnansweredError,
)
from gaia_mcp.core.tracing import with_trace
from gaia_mcp.protocol import HANDSHAKE_VERSIONS
from gaia_mcp.protocol.events import ListChanged, RequestReceived, ResourceUpdated
from tests.client.conftest import noted
from tests.client.eras import ERAS, URI, changed, scripted, updated, usual
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import (
    Message,
    Talk,
    asks,
    handshake,
    in_thread,
    opened,
    progress_of,
    result,
    with_answers,
)
from tests.interleavings import explore
from tests.protocol.test_wire_types import SAMPLED
from tests.tracing_support import TRACE
from tests.waiting import PATIENCE_SECONDS, Clock, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue

    from gaia_mcp.client.transports.base import T
    from gaia_mcp.protocol.client import ClientConnection
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.protocol.jsonrpc import RequestId
    from tests.client.transports.talk import Script
    from tests.interleavings import Run, Threads


def test_a_message_before_connecting_is_a_not_connected_error() -> None:
    """Ours: the same error as after a disconnect, rather than an AttributeError."""
    talk = Talk(handshake)

    for ask in (
        lambda: talk.request("x", None, Deadline(1)),
        lambda: talk.send_notification("x"),
        lambda: talk.conversation.watch_lists(Deadline(1)),
    ):
        with pytest.raises(NotConnectedError):
            ask()
    assert talk.is_open is False


def test_every_message_is_logged_with_debug(caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents, Debug Mode. Ours: also responses to the server, and secrets are masked."""
    logging.getLogger("gaia_mcp").setLevel(logging.INFO)
    talk = Talk(handshake)
    talk.debug = True
    talk.open(probe=True, deadline=Deadline(5))
    caplog.clear()

    talk.arrives({"jsonrpc": "2.0", "id": "hunter22", "method": "ping"})

    assert caplog.messages == [
        'MCP server \'server\' <- {"jsonrpc": "2.0", "id": "****", "method": "ping"}',
        'MCP server \'server\' -> {"jsonrpc": "2.0", "id": "****", "result": {}}',
    ]


def test_the_end_of_the_channel_ends_every_pending_request() -> None:
    """Ours: no caller waits for its deadline when no response can arrive."""
    talk = opened()
    threads = [in_thread(lambda: talk.request("x", None, Deadline(PATIENCE_SECONDS))) for _ in range(3)]
    wait_until(lambda: len(talk.sent) == 3)

    talk.ends(ConnectError("gone"))
    for thread, _ in threads:
        thread.join(PATIENCE_SECONDS)

    assert [str(outcomes[0]) for _, outcomes in threads] == ["gone"] * 3
    assert talk.methods() == ["x"] * 3, "no cancellation is sent on a channel that has ended"
    assert not talk.is_open


def test_the_first_reason_for_the_end_of_a_channel_is_reported() -> None:
    """Ours: the later ones are consequences of the first."""
    talk = opened()
    talk.ends(ConnectError("first"))
    talk.ends(ConnectError("second"))

    with pytest.raises(ConnectError, match="first"):
        talk.request("x", None, Deadline(5))


def test_a_failure_reaches_the_caller_of_its_request_or_of_the_negotiation() -> None:
    """Ours: the failure of any other request is ignored, and the connection remains."""
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("x", None, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)

    talk.fails_request(99, ConnectError("other"))
    talk.fails_request(talk.sent[0]["id"], ConnectError("this"))
    thread.join(PATIENCE_SECONDS)
    assert str(outcomes[0]) == "this"
    talk.check_alive(Deadline(5))

    silent = Talk(lambda _: [])
    thread, outcomes = in_thread(lambda: silent.open(probe=True, deadline=Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: silent.sent)
    silent.fails_request(silent.sent[0]["id"], ConnectError("opening"))
    thread.join(PATIENCE_SECONDS)
    assert str(outcomes[0]) == "opening"


def test_a_message_that_cannot_be_sent_is_reported_to_its_caller_alone() -> None:
    """Ours: a request that was not sent needs no cancellation, and the connection remains."""
    talk = opened()
    talk.fails = DeadlineError("server", "tools/list (it does not read its input)", 5)

    with pytest.raises(DeadlineError, match="does not read"):
        talk.request("tools/list", None, Deadline(5))
    talk.fails = None

    assert talk.sent == []
    talk.check_alive(Deadline(5))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_parameters_that_json_cannot_represent_are_not_sent() -> None:
    """Ours: it is the caller's mistake, and the connection remains."""
    values = {"object": object(), "set": {1, 2}, "nan": math.nan, "inf": math.inf, "deep": nested(100_000)}
    talk = opened()

    for name, value in values.items():
        with noted(name):
            with pytest.raises(ArgumentsError) as caught:
                talk.request("tools/call", {"name": "t", "arguments": {"when": value}}, Deadline(5))
            with pytest.raises(LocalProtocolError, match="prompts/get 'p' cannot be written as JSON"):
                talk.request("prompts/get", {"name": "p", "arguments": {"when": value}}, Deadline(5))
            with pytest.raises(LocalProtocolError, match="notifications/x cannot"):
                talk.send_notification("notifications/x", {"when": value})

            assert (caught.value.tool, caught.value.server) == ("t", "server")
            assert caught.value.problems[0].startswith("the arguments cannot be written as JSON: ")
            assert talk.sent == []
    talk.check_alive(Deadline(5))


def test_the_end_of_a_channel_is_reported_alike_by_sending_and_reading() -> None:
    """Ours: whichever thread detects it first, the error has the stage of the caller."""
    talk = opened()

    def ends(_: Message) -> list[Message]:
        talk.channels[0].end(lambda stage: ServerExitedError("server", stage, 3))
        raise ServerExitedError("server", "while sending", 3)

    talk.script = ends
    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.stage == "tools/list"


def test_the_failure_of_a_single_request_is_reported_unchanged() -> None:
    """Ours: a channel may have a stream for each request."""
    talk = opened()
    talk.fails = ServerExitedError("server", "while sending", 3)

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.stage == "while sending"


def test_no_response_is_sent_on_a_channel_that_has_ended() -> None:
    """Ours: a request read from the rest of the output has no peer to respond to."""
    talk = opened()
    (channel,) = talk.channels
    talk.ends(ConnectError("gone"))

    channel.arrive(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')

    assert talk.sent == []


def test_no_message_is_sent_on_a_channel_that_has_ended() -> None:
    """Ours: the caller gets the reason for the end, not an error of the write."""
    talk = opened()
    talk.script = lambda _: (talk.ends(ConnectError("gone")), [])[1]
    client = talk.conversation

    with pytest.raises(ConnectError, match="gone"):
        client.request("tools/list", None, Deadline(5))
    with pytest.raises(ConnectError, match="gone"):
        client.send_notification("notifications/x", None, Deadline(5))
    assert talk.methods() == ["tools/list"]


def test_a_cancelled_caller_is_woken_at_once() -> None:
    """Ours: the clock of the deadline stands still here, so only the cancellation can end the wait."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("tools/list", None, deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], CancelledError)
    assert talk.methods() == ["tools/list", "notifications/cancelled"]


def test_nothing_is_sent_with_a_cancelled_deadline() -> None:
    """Ours: the server would start work whose result is discarded."""
    talk, deadline = opened(), Deadline(5)
    deadline.cancel()

    with pytest.raises(CancelledError):
        talk.request("tools/list", None, deadline)

    assert talk.sent == []


def test_a_negotiation_can_be_cancelled() -> None:
    """Ours: also during the probe, which has a shorter deadline of its own."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], CancelledError)
    assert not talk.is_connected()


def test_stray_output_and_protocol_violations_reach_the_host() -> None:
    """Ours: a line that is not JSON-RPC is a different fault from a message that violates MCP."""
    host = Host()
    talk = opened(host=host)

    talk.arrives(b"Hello!")
    talk.arrives({"jsonrpc": "2.0", "error": {"code": -1, "message": "for hunter22"}})

    assert host.strays == ["Hello!"]
    assert host.breaches == ["an error without an id: for ****"]


SECRET = {"why": ["hunter22"], "hunter22": 1}
MASKED = {"why": ["****"], "****": 1}


def test_secrets_in_log_messages_are_masked() -> None:
    """Ours: programs print log messages, or store them."""
    heard: list[Any] = []
    talk = opened(host=Host(on_log=lambda *message: heard.append(message)))

    params = {"level": "info", "logger": "for hunter22", "data": SECRET}
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    assert heard == [("info", "for ****", MASKED)]


def test_a_secret_across_the_end_of_an_excerpt_is_masked() -> None:
    """Ours: only the beginning of a stray line is stored, which may contain a part of the secret."""
    host = Host()
    talk = opened(host=host)
    talk.given[:] = ["hunter22-" * 20]

    talk.arrives(b"token " + talk.given[0].encode())

    assert host.strays == ["token ****"]


def test_an_exception_of_the_host_is_logged_and_reading_continues(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: every pending request would wait for a response that is never read."""

    def fails(level: str, logger: str, data: Any) -> None:
        raise ValueError("mine")

    talk = opened(host=Host(on_log=fails))
    with caplog.at_level(logging.ERROR, "gaia_mcp"):
        talk.arrives({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})

    assert "ValueError: mine" in caplog.text
    talk.check_alive(Deadline(5))


def test_a_request_from_a_listener_of_the_same_client_is_refused() -> None:
    """Ours: it is called on the thread that would have to read the response. Other threads may send requests."""
    outcomes: list[Any] = []

    def on_log(level: str, logger: str, data: Any) -> None:
        other.check_alive(Deadline(5))
        thread, in_another = in_thread(lambda: talk.check_alive(Deadline(PATIENCE_SECONDS)))
        thread.join(PATIENCE_SECONDS)
        outcomes.extend(in_another)
        try:
            talk.check_alive(Deadline(5))
        except LocalProtocolError as problem:
            outcomes.append(problem)

    talk, other = opened(host=Host(on_log=on_log)), opened()
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})

    assert outcomes[0] is None
    assert outcomes[1].server == "server"
    talk.check_alive(Deadline(5))


def test_a_response_after_the_timeout_is_ignored() -> None:
    """Spec, cancellation: it may have been in transit already."""
    talk = opened()
    with pytest.raises(DeadlineError):
        talk.request("tools/call", {"name": "slow"}, deadline_until(lambda: talk.sent))

    talk.arrives(result(talk.sent[0], {}))

    assert talk.engine.host.strays == []
    talk.check_alive(Deadline(5))


def test_a_late_response_to_a_cancelled_request_is_ignored() -> None:
    """Ours: the caller has got its error already."""
    talk = opened()
    heard: list[Any] = []

    def leaves(progressed: Progressed) -> None:
        heard.append(progressed)
        raise ValueError("mine")

    talk.script = lambda asked: progress_of(asked, 1) if asked["method"] == "x" else handshake(asked)
    with pytest.raises(ValueError, match="mine"):
        talk.request("x", {}, Deadline(5), on_progress=leaves)

    for message in (*progress_of(talk.sent[0], 2), result(talk.sent[0], {})):
        talk.arrives(message)

    assert len(heard) == 1

    talk.check_alive(Deadline(5))


def test_responses_are_matched_by_id() -> None:
    """JSON-RPC: a server may respond in any order."""
    talk = opened()
    threads = [in_thread(lambda n=n: talk.request("x", {"n": n}, Deadline(PATIENCE_SECONDS))) for n in range(8)]
    wait_until(lambda: len(talk.sent) == 8)

    for asked in reversed(list(talk.sent)):
        talk.arrives(result(asked, asked["params"]))
    for thread, _ in threads:
        thread.join(PATIENCE_SECONDS)

    assert [outcomes for _, outcomes in threads] == [[{"n": n}] for n in range(8)]


def test_progress_extends_the_deadline_up_to_its_ceiling() -> None:
    """Spec, progress: it may reset the timeout, but there should be a maximum."""
    clock = Clock()
    deadline = Deadline(10, ceiling=25, clock=clock)
    heard: list[float] = []
    talk = opened(with_answers(lambda asked: progress_of(asked, 1)))

    def on_progress(progressed: Progressed) -> None:
        heard.append(deadline.remaining())
        asked = talk.sent[0]
        for message in progress_of(asked, progressed.progress + 1) if len(heard) < 3 else [result(asked, {})]:
            talk.arrives(message)

    clock.now += 9
    assert talk.request("tools/call", {"name": "t"}, deadline, on_progress=on_progress) == {}
    clock.now += 9
    deadline.extend()

    assert heard == [10.0, 10.0, 10.0]
    assert deadline.remaining() == 7.0


def test_only_the_newest_progress_is_stored() -> None:
    """Ours: a server that reports faster than the listener returns must not fill the memory."""
    talk = opened(with_answers(lambda asked: progress_of(asked, *range(1000))))
    heard: list[float] = []

    def on_progress(progressed: Progressed) -> None:
        heard.append(progressed.progress)
        if len(heard) == 1:
            for message in progress_of(talk.sent[0], *range(1000, 2000)):
                talk.arrives(message)
        else:
            talk.arrives(result(talk.sent[0], {"done": True}))

    assert talk.request("tools/call", {"name": "t"}, Deadline(5), on_progress=on_progress) == {"done": True}
    assert heard == [999, 1999]


def test_a_call_ended_by_the_failure_of_another_request_is_an_unknown_outcome() -> None:
    """Ours: it was sent, so it may have run, though the error that all callers get is about another request."""
    talk = opened()
    ended = DeadlineError("server", "tools/list (it does not read its input)", 1)
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "pay"}, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)
    talk.ends(ended)
    thread.join(PATIENCE_SECONDS)

    (lost,) = outcomes
    assert isinstance(lost, CallLateError)
    assert (lost.tool, lost.stage, type(ended)) == ("pay", ended.stage, DeadlineError)


def test_a_ping_is_answered_at_once() -> None:
    """Spec, ping: the receiver must respond promptly."""
    talk = opened()

    talk.arrives({"jsonrpc": "2.0", "id": "p", "method": "ping"})

    assert talk.sent == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


def test_secrets_in_stray_output_are_masked_in_an_error() -> None:
    """Ours: a timeout error quotes stray output, since it often explains the timeout."""
    talk = opened()
    talk.arrives(b"token hunter22")

    with pytest.raises(DeadlineError) as caught:
        talk.request("x", None, Deadline(0))

    assert "it wrote 1 line that is not MCP: 'token ****'" in caught.value.message


class Led(MemoryChannel):
    """A channel that the waiting caller reads."""

    def __init__(self, script: Script) -> None:
        super().__init__("led", lambda record: self.unread.extend(script(json.loads(record))))
        self.unread: list[Message] = []
        self.asked: list[Any] = []

    def ask(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        self.asked.append(outgoing.message)
        super().ask(outgoing, deadline, stage)

    def wait(self, outcomes: SimpleQueue[T], about: RequestId | None, deadline: Deadline) -> T | None:
        while self.unread and outcomes.empty():
            self.arrive(json.dumps(self.unread.pop(0)).encode())
        return super().wait(outcomes, about, deadline)


def test_a_waiting_caller_may_read_the_channel() -> None:
    """Ours: it saves waking two threads for every response."""
    channel = Led(with_answers(lambda asked: [result(asked, {"a": 1})]))
    conversation = Conversation(channel, Host(), probe=False)
    conversation.start(Deadline(5))

    assert conversation.negotiate(Deadline(20)) == conversation.peer
    assert conversation.request("x", None, Deadline(5)) == {"a": 1}
    # Only what is waited for with the id of the request may be sent as late as that.
    conversation.send_notification("notifications/x", None, Deadline(5))
    assert [message["method"] for message in channel.asked] == ["x"]


def test_a_parsed_message_is_received() -> None:
    """Ours: a custom transport returns the response as a parsed object."""
    conversation = Conversation(CustomChannel("own", Scripted(x={"a": 1}), is_connected=True), Host(), probe=False)
    conversation.start(Deadline(5))

    assert conversation.request("x", None, Deadline(5)) == {"a": 1}


def test_a_caller_that_is_woken_without_an_outcome_waits_again() -> None:
    """Ours: only an outcome or its deadline ends a wait."""
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("x", None, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)
    (waiter,) = talk.conversation._dispatcher.waiters.values()

    waiter.wake()
    wait_until(waiter.outcomes.empty)
    talk.arrives(result(talk.sent[0], {"a": 1}))
    thread.join(PATIENCE_SECONDS)

    assert outcomes == [{"a": 1}]


def test_the_end_of_the_channel_ends_the_negotiation() -> None:
    """Ours: the caller gets the reason at once, and need not wait for the deadline."""
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)

    talk.ends(ConnectError("gone"))
    thread.join(PATIENCE_SECONDS)

    assert [str(outcome) for outcome in outcomes] == ["gone"]


def test_a_message_that_cannot_be_sent_ends_the_negotiation() -> None:
    """Ours: the version has been negotiated, but `initialized` must be sent before any request."""

    def script(message: Message) -> list[Message]:
        talk.fails = DeadlineError("server", "notifications/initialized (it does not read its input)", 5)
        return handshake(message)

    talk = Talk(script)

    with pytest.raises(DeadlineError, match="notifications/initialized"):
        talk.open(probe=False, deadline=Deadline(5))


def test_a_response_after_a_failed_negotiation_is_ignored() -> None:
    """Ours: its caller has got an error already."""
    talk = Talk(lambda message: [])
    with pytest.raises(DeadlineError):
        talk.open(probe=False, deadline=Deadline(0))

    talk.arrives(handshake(talk.sent[0])[0])

    assert (talk.methods(), talk.is_open) == (["initialize"], False)


def test_messages_after_the_end_of_the_channel_are_ignored() -> None:
    """Ours: the caller gets the reason for the end, whatever arrives after it."""

    def script(asked: Message) -> list[Message]:
        talk.ends(ConnectError("gone"))
        return [*progress_of(asked, 1), result(asked, {})]

    talk = opened()
    talk.script = script

    with pytest.raises(ConnectError, match="gone"):
        talk.request("x", {}, Deadline(5), on_progress=lambda _: None)


def test_the_exit_of_a_server_is_reported_with_the_stage_of_the_caller() -> None:
    """Ours: the channel knows the exit status, the caller its stage."""
    talk = opened()
    talk.script = lambda _: (talk.channels[0].end(lambda stage: ServerExitedError("server", stage, 3)), [])[1]

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert (caught.value.stage, caught.value.returncode) == ("tools/list", 3)


def test_a_server_request_that_is_cancelled_gets_no_response() -> None:
    """Spec, client features and cancellation: a response to a cancelled request is not sent."""
    asked, answered = threading.Event(), threading.Event()

    def elicit(_params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(PATIENCE_SECONDS)
        return {"action": "decline"}

    talk = opened(host=Host(elicit=elicit, roots=[{"uri": "file:///a"}]))
    talk.arrives(asks("elicitation/create", "q"))
    assert asked.wait(PATIENCE_SECONDS)

    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    answered.set()
    talk.arrives(asks("roots/list", "r"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": "r", "result": {"roots": [{"uri": "file:///a"}]}}]


def test_list_changed_and_updated_notifications_are_passed_on() -> None:
    """Spec, server features: changes of lists, and of subscribed resources."""
    changes: list[Any] = []
    talk = opened(with_answers(lambda asked: [result(asked, {})]))
    talk.engine.on_change = changes.append
    talk.conversation.subscribe(URI, Deadline(5))

    talk.arrives(changed("prompts"))
    talk.arrives(updated(URI))

    assert changes == [ListChanged("prompts"), ResourceUpdated(URI)]


def test_a_subscription_is_ended_by_cancelling_its_request() -> None:
    """Spec 2026-07-28: over HTTP the channel closes the stream of the request instead."""
    abandoned: list[Message] = []
    talk = Talk(scripted(ERAS[0], usual))
    talk.open(probe=True, deadline=Deadline(5))
    talk.conversation.subscribe(URI, Deadline(5))
    talk.channels[0].abandon = lambda cancellation: abandoned.append(cancellation.message)  # type: ignore[method-assign]

    talk.conversation.unsubscribe(URI, Deadline(5))

    assert [message["params"]["requestId"] for message in abandoned] == [talk.sent[-1]["id"]]


def test_no_message_follows_the_one_that_ended_the_channel() -> None:
    """Ours: it would not arrive."""
    talk = Talk(scripted(ERAS[0], usual))
    talk.open(probe=True, deadline=Deadline(5))
    for _ in range(2):
        talk.conversation.subscribe(URI, Deadline(5))
    talk.script = lambda _: (talk.ends(ConnectError("gone")), [])[1]

    with pytest.raises(ConnectError, match="gone"):
        talk.conversation.unsubscribe(URI, Deadline(5))

    assert talk.methods().count("notifications/cancelled") == 1


MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

ROOTS = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]

CALLBACKS = {"elicitation/create": "elicit", "sampling/createMessage": "sample"}

PERSONAL = pytest.mark.parametrize(("method", "member"), CALLBACKS.items())


def has_answered(talk: Talk) -> bool:
    """Whether the thread that answered requests waits for another one."""
    return talk.conversation._dispatcher._server_requests._free == 1


def response_to(method: str, host: Host) -> Message:
    """The response of a client with this host to a request of the server, whose id is "q"."""
    talk = opened(host=host)
    with noted((method, host)):
        talk.arrives(asks(method, "q"))
        wait_until(lambda: talk.sent)
        (sent,) = talk.sent
        assert sent["id"] == "q"
        return sent


def roots_requests(*ids: int) -> list[RequestReceived]:
    return [RequestReceived(each, "roots/list", {}, None) for each in ids]  # type: ignore[arg-type]


def test_a_server_request_is_answered_by_the_host() -> None:
    """Spec, roots."""
    talk = opened(host=Host(roots=[{"uri": "file:///a"}]))

    talk.arrives(asks("roots/list"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///a"}]}}]


def test_an_unsupported_server_request_is_refused() -> None:
    """Spec: with -32601, as the server's tool waits for a response."""
    talk = opened()

    talk.arrives(asks("sampling/createMessage", "s"))
    wait_until(lambda: talk.sent)

    assert (talk.sent[0]["id"], talk.sent[0]["error"]["code"]) == ("s", -32601)


def test_sampling_with_tools_is_refused() -> None:
    """Spec, LC-3: an error, since `sampling.tools` is not declared."""
    talk = opened(host=Host(sample=lambda _: {"role": "assistant"}))

    talk.arrives({**asks("sampling/createMessage", "s"), "params": {"tools": [], "messages": [], "maxTokens": 1}})
    wait_until(lambda: talk.sent)

    refused = "sampling/createMessage with tools, which this client did not declare"
    assert talk.sent[0]["error"] == {"code": -32602, "message": refused}


@pytest.mark.parametrize("problem", ["raises", "returns no JSON"])
def test_an_exception_of_the_host_is_an_internal_error(problem: str) -> None:
    """Ours: -32603 without the message of the exception, which may contain private data."""

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        if problem == "raises":
            raise ValueError("secret")
        return {"action": "accept", "content": {"when": object()}}

    talk = opened(host=Host(elicit=elicit))

    talk.arrives(asks("elicitation/create"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"]["code"] == -32603
    assert "secret" not in json.dumps(talk.sent)


@PERSONAL
def test_a_server_request_that_the_host_cannot_answer_ends_the_call(method: str, member: str) -> None:
    """Ours: as in the stateless era, where the caller's own thread asks the host. The server gets a response too."""
    error = UnansweredError("talk", "asks: Well?", {"message": "Well?"})

    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        raise error

    talk = opened(host=Host(**{member: refuse}))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)
    talk.arrives(asks(method, "q"))
    thread.join(PATIENCE_SECONDS)
    wait_until(lambda: len(talk.sent) == 3)

    assert outcomes == [error]
    assert sorted(one.get("method", "") for one in talk.sent) == ["", "notifications/cancelled", "tools/call"]
    assert next(one for one in talk.sent if "method" not in one)["error"]["code"] == -32603


def test_a_deadline_is_paused_while_the_user_answers() -> None:
    """Ours: a user must not have to type against the clock."""
    clock = Clock()
    deadline = Deadline(10, clock=clock)
    is_asked, may_answer = threading.Event(), threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(PATIENCE_SECONDS)
    clock.now += 1000
    assert not deadline.expired
    may_answer.set()
    wait_until(lambda: len(talk.sent) == 2)

    assert deadline.remaining() == 10.0
    talk.arrives(result(talk.sent[0], {}))
    thread.join(PATIENCE_SECONDS)
    assert outcomes == [{}]


def test_only_elicitation_and_sampling_pause_the_deadline() -> None:
    """Ours: a user reads and types, also to approve a sampling request; a list of roots takes no time."""
    held: dict[str, bool] = {}
    deadline = Deadline(20)

    class Watching(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            held[method] = deadline._holds > 0
            return super().answer(method, params)

    talk = opened(host=Watching(sample=lambda _: MESSAGE))
    thread, _ = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    for number, method in enumerate(("roots/list", "elicitation/create", "sampling/createMessage"), 1):
        # One after the other, since all requests pause the same deadline.
        talk.arrives(asks(method, method))
        wait_until(lambda number=number: len(talk.sent) == number + 1)  # type: ignore[misc]
    talk.arrives(result(talk.sent[0], {}))
    thread.join(PATIENCE_SECONDS)

    assert held == {"roots/list": False, "elicitation/create": True, "sampling/createMessage": True}


def test_a_server_request_that_was_cancelled_is_not_answered() -> None:
    """Spec, cancellation: a cancelled request gets no response."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    may_answer.set()
    wait_until(lambda: has_answered(talk))

    assert talk.sent == []


def test_a_response_is_not_sent_on_the_next_channel() -> None:
    """Ours: the restarted server has not sent the request."""
    is_asked, may_answer = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.current_thread())
        is_asked.set()
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(PATIENCE_SECONDS)
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    may_answer.set()
    threads[0].join(PATIENCE_SECONDS)

    assert not threads[0].is_alive()
    assert "(answer)" not in talk.methods()


def test_a_request_that_calls_no_callback_is_answered_on_the_reading_thread() -> None:
    """Ours: starting a thread for it would take longer than the answer."""
    talk = opened(host=Host(roots=ROOTS))

    # Each is answered before `arrives` returns.
    for method in ("roots/list", "elicitation/create", "sampling/createMessage", "tasks/list"):
        talk.arrives(asks(method, method))

    assert {one["id"]: one.get("result", one.get("error", {}).get("code")) for one in talk.sent} == {
        "roots/list": {"roots": ROOTS},
        "elicitation/create": {"action": "decline"},
        "sampling/createMessage": -32601,
        "tasks/list": -32601,
    }


def test_successive_requests_are_answered_in_one_thread() -> None:
    """Ours: starting a thread takes longer than most programs take to answer."""
    threads: list[threading.Thread] = []
    answered: list[Any] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    requests = ServerRequests(Host(roots=roots), answered.append, list, kept_seconds=PATIENCE_SECONDS)
    for one in roots_requests(0, 1, 2):
        requests.take(one)
        wait_until(lambda: requests._free == 1)

    assert (len(answered), len(threads), len(set(threads))) == (3, 3, 1)
    requests.close()
    threads[0].join(PATIENCE_SECONDS)
    assert not threads[0].is_alive()


def test_an_idle_thread_ends() -> None:
    """Ours: a connection may last for days. The next request gets another thread."""
    threads: list[threading.Thread] = []
    answered: list[Any] = []

    def roots() -> list[dict[str, str]]:
        threads.append(threading.current_thread())
        return []

    requests = ServerRequests(Host(roots=roots), answered.append, list, kept_seconds=0.01)
    for one in roots_requests(0, 1):
        requests.take(one)
        wait_until(lambda number=one.id: len(threads) > number)  # type: ignore[misc]
        threads[-1].join(PATIENCE_SECONDS)
        assert not threads[-1].is_alive()

    assert (len(answered), len(set(threads))) == (2, 2)


@pytest.mark.parametrize("is_closed", [False, True])
def test_in_every_interleaving_each_request_is_answered_once_and_no_thread_is_left(
    monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """Ours: a thread may be about to end when the next request is queued for it."""
    asked = roots_requests(0, 1, 2)

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(server_requests, "threading", threads)
        monkeypatch.setattr(server_requests, "SimpleQueue", threads.SimpleQueue)
        answered: list[Any] = []

        def respond(change: Callable[[ClientConnection], None]) -> None:
            run.step()
            answered.append(change)

        requests = ServerRequests(Host(roots=lambda: ROOTS), respond, list, kept_seconds=5 if is_closed else 0)

        def read() -> None:
            for one in asked:
                requests.take(one)
            if is_closed:
                requests.close()

        def check() -> None:
            assert [task.name for task in run.tasks if not task.is_done] == []
            assert len(answered) == len(asked)

        run.spawn(read, "reader")
        return check

    assert explore(scenario) > 100


def test_too_many_server_requests_at_once_are_refused() -> None:
    """Ours: each occupies a thread, and a server must not exhaust them."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(PATIENCE_SECONDS)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    for number in range(MAX_SERVER_REQUESTS + 3):
        talk.arrives(asks("elicitation/create", number))

    assert [message["error"]["code"] for message in talk.sent] == [-32603] * 3
    may_answer.set()
    wait_until(lambda: len(talk.sent) == MAX_SERVER_REQUESTS + 3)
    talk.arrives(asks("elicitation/create", "once more"))
    wait_until(lambda: len(talk.sent) == MAX_SERVER_REQUESTS + 4)
    assert talk.sent[-1]["result"] == {"action": "accept"}


def test_an_answer_that_is_not_an_object_is_an_internal_error() -> None:
    """Spec, JSON-RPC: a result of MCP is an object. Ours: an internal error, as for an exception of the host."""
    answers: list[Any] = [None, 7, "yes", True, [], [MESSAGE]]
    responses = [
        (method, answer, response_to(method, Host(**{member: lambda _, answer=answer: answer})))  # type: ignore[arg-type]
        for method, member in CALLBACKS.items()
        for answer in answers
    ]

    assert [each for each in responses if each[2].get("error", {}).get("code") != -32603] == []


def test_invalid_roots_are_an_internal_error() -> None:
    """Ours: the server gets a response, whatever the callback of the program does."""
    callbacks: dict[str, Any] = {
        "None": lambda: None, "7": lambda: 7, "an object": lambda: [object()], "an exception": lambda: 1 / 0,
    }  # fmt: skip
    responses = {name: response_to("roots/list", Host(roots=callback)) for name, callback in callbacks.items()}

    assert {name: sent.get("error", {}).get("code") for name, sent in responses.items()} == dict.fromkeys(
        callbacks, -32603
    )


def test_a_sampled_message_is_the_response() -> None:
    """Spec, sampling: the callback gets the parameters of the request."""
    talk = opened(host=Host(sample=lambda params: {**MESSAGE, "model": str(params)}))

    talk.arrives(asks("sampling/createMessage", 5))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 5, "result": {**MESSAGE, "model": "{}"}}]


def test_a_declined_server_request_is_an_error_response() -> None:
    """Spec, sampling: a request that the user rejects gets an error with code -1."""
    rows = [(method, *reasons) for method in CALLBACKS for reasons in (("not now", "not now"), ("", "declined"))]

    def error_for(method: str, reason: str) -> Any:
        def decline(_: dict[str, Any]) -> dict[str, Any]:
            raise DeclinedError(reason)

        return response_to(method, Host(**{CALLBACKS[method]: decline}))["error"]  # type: ignore[arg-type]

    assert [(method, reason, error_for(method, reason)) for method, reason, _ in rows] == [
        (method, reason, {"code": -1, "message": message}) for method, reason, message in rows
    ]


@PERSONAL
def test_a_host_may_send_requests_before_it_answers(method: str, member: str) -> None:
    """Ours: it is called in a thread of its own, and reading continues."""

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        talk.check_alive(Deadline(5))
        return MESSAGE

    talk = opened(host=Host(**{member: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: len(talk.sent) == 2)

    assert talk.methods() == ["ping", "(answer)"]
    assert talk.sent[1]["result"] == MESSAGE


def test_the_answer_of_a_host_is_sent_unchanged() -> None:
    """Spec, sampling and roots: whatever the revision."""
    host = Host(sample=lambda _: SAMPLED[0], roots=lambda: ROOTS)

    def sent_with(version: str) -> list[Message]:
        def server(message: Message) -> list[Message]:
            if message.get("method") == "initialize":
                return [result(message, {"protocolVersion": version, "capabilities": {}})]
            return handshake(message)

        talk = opened(server, host)
        assert talk.peer is not None
        assert talk.peer.version == version
        for number, method in enumerate(("sampling/createMessage", "roots/list"), 1):
            talk.arrives(asks(method, number))
            wait_until(lambda number=number: len(talk.sent) == number)  # type: ignore[misc]
        return talk.sent

    expected = [
        {"jsonrpc": "2.0", "id": 1, "result": SAMPLED[0]},
        {"jsonrpc": "2.0", "id": 2, "result": {"roots": ROOTS}},
    ]
    assert {version: sent_with(version) for version in HANDSHAKE_VERSIONS} == dict.fromkeys(
        HANDSHAKE_VERSIONS, expected
    )


def test_requests_of_the_host_belong_to_the_trace_of_the_server_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a host may call other servers before it answers."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    seen: list[Any] = []

    def sample(_: Message) -> Message:
        seen.append(with_trace({}))
        return MESSAGE

    talk = opened(host=Host(sample=sample))
    for number, meta in enumerate([{"traceparent": TRACE["traceparent"]}, {}], 1):
        talk.arrives({**asks("sampling/createMessage", number), "params": {"_meta": meta, "messages": []}})
        wait_until(lambda number=number: len(talk.sent) == number)

    assert seen == [{"_meta": {"traceparent": TRACE["traceparent"]}}, {}]
