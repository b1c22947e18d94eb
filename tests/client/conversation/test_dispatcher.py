"""The dispatcher: every message reaches its caller or the host, and none is lost when the channel ends."""

from __future__ import annotations

import json
import logging
import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation.conversation import Conversation
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.custom import CustomChannel
from gaia_mcp.client.transports.memory import MemoryChannel
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    ArgumentsError,
    CallLateError,
    CancelledError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
    ServerExitedError,
)
from gaia_mcp.protocol.events import ListChanged, ResourceUpdated
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
from tests.waiting import Clock, deadline_until, wait_until

if TYPE_CHECKING:
    from queue import SimpleQueue

    from gaia_mcp.client.transports.base import T
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.protocol.jsonrpc import RequestId
    from tests.client.transports.talk import Script


def test_nothing_can_be_asked_before_there_is_a_pipe() -> None:
    """Ours."""
    talk = Talk(handshake)

    for ask in (
        lambda: talk.request("x", None, Deadline(1)),
        lambda: talk.send_notification("x"),
        lambda: talk.conversation.watch_lists(Deadline(1)),
    ):
        with pytest.raises(NotConnectedError):
            ask()
    assert talk.is_open is False


def test_every_message_is_logged_on_request(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA's documents, Debug Mode: also what answers the server, and without secrets."""
    monkeypatch.setattr(logging.getLogger("gaia_mcp"), "level", logging.INFO)
    talk = Talk(handshake)
    talk.debug = True
    talk.open(probe=True, deadline=Deadline(5))
    caplog.clear()

    talk.arrives({"jsonrpc": "2.0", "id": "hunter22", "method": "ping"})

    assert caplog.messages == [
        'MCP server \'server\' <- {"jsonrpc": "2.0", "id": "****", "method": "ping"}',
        'MCP server \'server\' -> {"jsonrpc": "2.0", "id": "****", "result": {}}',
    ]


def test_all_who_wait_hear_that_the_pipe_has_ended() -> None:
    """Ours."""
    talk = opened()
    threads = [in_thread(lambda: talk.request("x", None, Deadline(20))) for _ in range(3)]
    wait_until(lambda: len(talk.sent) == 3)

    talk.ends(ConnectError("gone"))
    for thread, _ in threads:
        thread.join(5)

    assert [str(outcomes[0]) for _, outcomes in threads] == ["gone"] * 3
    assert talk.methods() == ["x"] * 3, "nothing is cancelled on a pipe that is gone"
    assert not talk.is_open


def test_the_first_reason_for_an_end_is_the_one_that_counts() -> None:
    """Ours: what follows from it explains nothing."""
    talk = opened()
    talk.ends(ConnectError("first"))
    talk.ends(ConnectError("second"))

    with pytest.raises(ConnectError, match="first"):
        talk.request("x", None, Deadline(5))


def test_a_failure_reaches_the_caller_of_its_request_or_the_one_that_opens() -> None:
    """Ours: one that no caller waits for is nobody's; the connection goes on."""
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("x", None, Deadline(20)))
    wait_until(lambda: talk.sent)

    talk.fails_request(99, ConnectError("other"))
    talk.fails_request(talk.sent[0]["id"], ConnectError("this"))
    thread.join(5)
    assert str(outcomes[0]) == "this"
    talk.check_alive(Deadline(5))

    silent = Talk(lambda _: [])
    thread, outcomes = in_thread(lambda: silent.open(probe=True, deadline=Deadline(20)))
    wait_until(lambda: silent.sent)
    silent.fails_request(silent.sent[0]["id"], ConnectError("opening"))
    thread.join(5)
    assert str(outcomes[0]) == "opening"


def test_a_message_that_cannot_be_sent_is_reported_to_its_caller_alone() -> None:
    """Ours: and nothing is cancelled that was never sent."""
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


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, math.nan, math.inf, nested(100_000)], ids=["object", "set", "nan", "inf", "deep"]
)
def test_what_is_no_json_is_not_sent(value: Any) -> None:
    """Ours: the caller's own mistake; the conversation goes on."""
    talk = opened()

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


def test_an_end_that_sending_meets_is_reported_as_one_that_reading_met() -> None:
    """Ours: in the same words, with what the server wrote that is not MCP."""
    talk = opened()

    def ends(_: Message) -> list[Message]:
        talk.channels[0].end(lambda stage: ServerExitedError("server", stage, 3))
        raise ServerExitedError("server", "as sending met it", 3)

    talk.script = ends
    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.stage == "tools/list"


def test_an_end_of_one_request_alone_is_reported_as_it_was_met() -> None:
    """Ours: a channel may have a stream for each request."""
    talk = opened()
    talk.fails = ServerExitedError("server", "as sending met it", 3)

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.stage == "as sending met it"


def test_nothing_is_sent_of_our_own_accord_on_a_channel_that_ended() -> None:
    """Ours."""
    talk = opened()
    (channel,) = talk.channels
    talk.ends(ConnectError("gone"))

    channel.arrive(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')

    assert talk.sent == []


def test_the_second_message_is_not_sent_on_a_channel_that_the_first_has_ended() -> None:
    """Ours: nothing that follows could arrive."""
    talk = opened()
    talk.script = lambda _: (talk.ends(ConnectError("gone")), [])[1]
    client = talk.conversation

    with pytest.raises(ConnectError, match="gone"):
        client.request("tools/list", None, Deadline(5))
    with pytest.raises(ConnectError, match="gone"):
        client.send_notification("notifications/x", None, Deadline(5))
    assert talk.methods() == ["tools/list"]


def test_a_caller_that_is_cancelled_is_woken_at_once() -> None:
    """Ours: the clock stands still here, so only the cancellation can end the wait."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("tools/list", None, deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(5)

    assert isinstance(outcomes[0], CancelledError)
    assert talk.methods() == ["tools/list", "notifications/cancelled"]


def test_nothing_is_sent_for_a_caller_that_has_been_cancelled() -> None:
    """Ours: the server need not hear of it at all."""
    talk, deadline = opened(), Deadline(5)
    deadline.cancel()

    with pytest.raises(CancelledError):
        talk.request("tools/list", None, deadline)

    assert talk.sent == []


def test_a_caller_that_opens_a_conversation_can_be_cancelled() -> None:
    """Ours: also while the probe has a shorter time of its own."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(5)

    assert isinstance(outcomes[0], CancelledError)
    assert not talk.is_connected()


def test_stray_output_and_breaches_of_the_rules_arrive_at_the_host() -> None:
    """Ours: a line that is no message is another fault than a message that should not be."""
    host = Host()
    talk = opened(host=host)

    talk.arrives(b"Hello!")
    talk.arrives({"jsonrpc": "2.0", "error": {"code": -1, "message": "for hunter22"}})

    assert host.strays == ["Hello!"]
    assert host.breaches == ["an error without an id: for ****"]


SECRET = {"why": ["hunter22"], "hunter22": 1}
MASKED = {"why": ["****"], "****": 1}


def test_logs_are_told_without_the_secrets() -> None:
    """Ours: never a secret in a log."""
    heard: list[Any] = []
    talk = opened(host=Host(on_log=lambda *message: heard.append(message)))

    params = {"level": "info", "logger": "for hunter22", "data": SECRET}
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    assert heard == [("info", "for ****", MASKED)]


def test_a_secret_that_lies_across_the_end_of_an_excerpt_is_not_told_in_part() -> None:
    """Ours: of a stray line only the beginning is kept."""
    host = Host()
    talk = opened(host=host)
    talk.given[:] = ["hunter22-" * 20]

    talk.arrives(b"token " + talk.given[0].encode())

    assert host.strays == ["token ****"]


def test_a_host_that_fails_does_not_stop_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: everybody who waits would wait in vain."""

    def fails(level: str, logger: str, data: Any) -> None:
        raise ValueError("mine")

    talk = opened(host=Host(on_log=fails))
    with caplog.at_level(logging.ERROR, "gaia_mcp"):
        talk.arrives({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})

    assert "ValueError: mine" in caplog.text
    talk.check_alive(Deadline(5))


def test_a_listener_that_asks_its_own_client_is_refused() -> None:
    """Ours: it is called on the thread that would have to read the response. Other threads may ask."""
    outcomes: list[Any] = []

    def on_log(level: str, logger: str, data: Any) -> None:
        other.check_alive(Deadline(5))
        thread, in_another = in_thread(lambda: talk.check_alive(Deadline(5)))
        thread.join(5)
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


def test_a_late_answer_is_ignored() -> None:
    """Spec, cancellation."""
    talk = opened()
    with pytest.raises(DeadlineError):
        talk.request("tools/call", {"name": "slow"}, deadline_until(lambda: talk.sent))

    talk.arrives(result(talk.sent[0], {}))

    assert talk.host is not None
    assert talk.host.strays == []
    talk.check_alive(Deadline(5))


def test_a_late_response_to_a_cancelled_request_is_ignored() -> None:
    """Ours: the caller may have left at this very moment."""
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


def test_answers_find_those_who_asked() -> None:
    """JSON-RPC: matched by id, in whatever order."""
    talk = opened()
    threads = [in_thread(lambda n=n: talk.request("x", {"n": n}, Deadline(20))) for n in range(8)]
    wait_until(lambda: len(talk.sent) == 8)

    for asked in reversed(list(talk.sent)):
        talk.arrives(result(asked, asked["params"]))
    for thread, _ in threads:
        thread.join(5)

    assert [outcomes for _, outcomes in threads] == [[{"n": n}] for n in range(8)]


def test_progress_is_told_and_extends_the_deadline_up_to_its_ceiling() -> None:
    """Spec, progress: a timeout may be reset, but there must be a longest."""
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


def test_only_the_newest_progress_is_kept() -> None:
    """Ours: a server that is quicker than the one who hears it must not fill our memory."""
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


def test_a_call_that_another_request_s_failure_ends_may_have_run_too() -> None:
    """Ours: it was sent; the reason itself, which every caller is given, is about no call."""
    talk = opened()
    ended = DeadlineError("server", "tools/list (it does not read its input)", 1)
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "pay"}, Deadline(20)))
    wait_until(lambda: talk.sent)
    talk.ends(ended)
    thread.join(5)

    (lost,) = outcomes
    assert isinstance(lost, CallLateError)
    assert (lost.tool, lost.stage, type(ended)) == ("pay", ended.stage, DeadlineError)


def test_a_ping_is_answered_at_once() -> None:
    """Spec, ping: promptly."""
    talk = opened()

    talk.arrives({"jsonrpc": "2.0", "id": "p", "method": "ping"})

    assert talk.sent == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


def test_what_strays_is_told_in_words_without_secrets() -> None:
    """Ours: words for an error."""
    talk = opened()
    talk.arrives(b"token hunter22")

    with pytest.raises(DeadlineError) as caught:
        talk.request("x", None, Deadline(0))

    assert "it wrote 1 line that is not MCP: 'token ****'" in caught.value.message


class Led(MemoryChannel):
    """A channel that is read by the caller that waits."""

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


def test_a_caller_that_waits_may_be_the_one_that_reads() -> None:
    """Ours: it spares waking two threads for every response."""
    channel = Led(with_answers(lambda asked: [result(asked, {"a": 1})]))
    conversation = Conversation(channel, Host(), probe=False)
    conversation.start(Deadline(5))

    assert conversation.negotiate(Deadline(20)) == conversation.peer
    assert conversation.request("x", None, Deadline(5)) == {"a": 1}
    # Only what is waited for with the id of the request may be sent as late as that.
    conversation.send_notification("notifications/x", None, Deadline(5))
    assert [message["method"] for message in channel.asked] == ["x"]


def test_a_message_that_is_parsed_already_is_received_as_well() -> None:
    """Ours: a channel over a program's own transport has the whole response."""
    conversation = Conversation(CustomChannel("own", Scripted(x={"a": 1}), is_connected=True), Host(), probe=False)
    conversation.start(Deadline(5))

    assert conversation.request("x", None, Deadline(5)) == {"a": 1}


def test_a_caller_that_is_woken_too_early_waits_on() -> None:
    """Ours: only an outcome or its deadline ends a wait."""
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("x", None, Deadline(20)))
    wait_until(lambda: talk.sent)
    (waiter,) = talk.conversation._dispatcher.waiters.values()

    waiter.wake()
    wait_until(waiter.outcomes.empty)
    talk.arrives(result(talk.sent[0], {"a": 1}))
    thread.join(5)

    assert outcomes == [{"a": 1}]


def test_a_caller_that_negotiates_hears_that_the_channel_has_ended() -> None:
    """Ours."""
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=Deadline(20)))
    wait_until(lambda: talk.sent)

    talk.ends(ConnectError("gone"))
    thread.join(5)

    assert [str(outcome) for outcome in outcomes] == ["gone"]


def test_a_caller_that_negotiates_hears_that_a_message_could_not_be_sent() -> None:
    """Ours: the version has been agreed on, but the server has to be notified before any request."""

    def script(message: Message) -> list[Message]:
        talk.fails = DeadlineError("server", "notifications/initialized (it does not read its input)", 5)
        return handshake(message)

    talk = Talk(script)

    with pytest.raises(DeadlineError, match="notifications/initialized"):
        talk.open(probe=False, deadline=Deadline(5))


def test_a_negotiation_that_ends_too_late_is_passed_over() -> None:
    """Ours: its caller has been given an error."""
    talk = Talk(lambda message: [])
    with pytest.raises(DeadlineError):
        talk.open(probe=False, deadline=Deadline(0))

    talk.arrives(handshake(talk.sent[0])[0])

    assert (talk.methods(), talk.is_open) == (["initialize"], False)


def test_messages_that_arrive_after_the_end_disturb_no_caller() -> None:
    """Ours: its callers have been given the reason for the end."""

    def script(asked: Message) -> list[Message]:
        talk.ends(ConnectError("gone"))
        return [*progress_of(asked, 1), result(asked, {})]

    talk = opened()
    talk.script = script

    with pytest.raises(ConnectError, match="gone"):
        talk.request("x", {}, Deadline(5), on_progress=lambda _: None)


def test_each_caller_is_told_what_it_waited_for_when_the_server_exited() -> None:
    """Ours: the channel knows how it ended, the caller what for."""
    talk = opened()
    talk.script = lambda _: (talk.channels[0].end(lambda stage: ServerExitedError("server", stage, 3)), [])[1]

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert (caught.value.stage, caught.value.returncode) == ("tools/list", 3)


def test_a_servers_request_reaches_the_host_and_its_cancellation_is_heeded() -> None:
    """Spec, client features and cancellation: a response to a cancelled request is not sent."""
    asked, answered = threading.Event(), threading.Event()

    def elicit(_params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(5)
        return {"action": "decline"}

    talk = opened(host=Host(elicit=elicit, roots=[{"uri": "file:///a"}]))
    talk.arrives(asks("elicitation/create", "q"))
    assert asked.wait(5)

    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    answered.set()
    talk.arrives(asks("roots/list", "r"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": "r", "result": {"roots": [{"uri": "file:///a"}]}}]


def test_announced_changes_are_passed_on() -> None:
    """Spec, server features: lists, and resources that were subscribed to."""
    changes: list[Any] = []
    talk = opened(with_answers(lambda asked: [result(asked, {})]))
    talk.on_change = changes.append
    talk.conversation.subscribe(URI, Deadline(5))

    talk.arrives(changed("prompts"))
    talk.arrives(updated(URI))

    assert changes == [ListChanged("prompts"), ResourceUpdated(URI)]


def test_a_subscription_is_ended_by_cancelling_its_request() -> None:
    """Spec 2026-07-28: where streams can be closed the channel closes that of the request instead."""
    abandoned: list[Message] = []
    talk = Talk(scripted(ERAS[0], usual))
    talk.open(probe=True, deadline=Deadline(5))
    talk.conversation.subscribe(URI, Deadline(5))
    talk.channels[0].abandon = lambda cancellation: abandoned.append(cancellation.message)  # type: ignore[method-assign]

    talk.conversation.unsubscribe(URI, Deadline(5))

    assert [message["params"]["requestId"] for message in abandoned] == [talk.sent[-1]["id"]]


def test_of_several_messages_none_follows_the_one_that_ended_the_channel() -> None:
    """Ours: it could not arrive."""
    talk = Talk(scripted(ERAS[0], usual))
    talk.open(probe=True, deadline=Deadline(5))
    for _ in range(2):
        talk.conversation.subscribe(URI, Deadline(5))
    talk.script = lambda _: (talk.ends(ConnectError("gone")), [])[1]

    with pytest.raises(ConnectError, match="gone"):
        talk.conversation.unsubscribe(URI, Deadline(5))

    assert talk.methods().count("notifications/cancelled") == 1
