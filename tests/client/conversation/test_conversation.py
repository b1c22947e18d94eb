from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import GARBLED_SECONDS, PROBE_SECONDS, Conversation
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.in_process import CustomChannel, MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CallCutError,
    CallLateError,
    CallLostError,
    CancelledError,
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    NotSupportedError,
    OutcomeUnknownError,
    PeerError,
    RemoteProtocolError,
    ServerExitedError,
    UnansweredError,
    VersionError,
)
from tests.client.conftest import noted
from tests.client.eras import CAPABILITIES, ERAS, SUBSCRIPTION, URI, connected, granted, is_stateless, updated, usual
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import (
    Impatient,
    Message,
    OneStream,
    Reading,
    Talk,
    asks,
    error,
    handshake,
    in_thread,
    opened,
    progress_of,
    result,
    with_answers,
)
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.events import Progressed
    from tests.client.eras import StartTalk


def test_a_conversation_opens_with_a_probe_and_then_the_handshake() -> None:
    """Spec, compatibility: any error response to discover leads to the handshake, which ends with `initialized`."""
    talk = Talk(handshake)

    peer = talk.open(probe=True, deadline=Deadline(5))

    assert talk.methods() == ["server/discover", "initialize", "notifications/initialized"]
    assert (peer.version, talk.peer, talk.is_open) == ("2025-11-25", peer, True)


def test_a_server_known_to_need_the_handshake_is_not_probed() -> None:
    """Ours: the era cache saves a round trip."""
    talk = Talk(handshake)

    talk.open(probe=False, deadline=Deadline(5))

    assert talk.methods() == ["initialize", "notifications/initialized"]


def test_a_conversation_knows_whether_the_server_has_responded() -> None:
    """Ours: a server that exits before its first response may have exited because of the probe."""
    seen: list[Any] = []

    def script(message: Message) -> list[Message]:
        conversation = talk.conversation
        seen.append((message["method"], conversation.may_have_ended_on_probe, conversation.is_open))
        return handshake(message)

    talk = Talk(script)
    talk.open(probe=True, deadline=Deadline(5))
    conversation = talk.conversation

    assert seen == [
        ("server/discover", True, False), ("initialize", False, False), ("notifications/initialized", False, False),
    ]  # fmt: skip
    assert (conversation.is_connected(), conversation.is_open) == (True, True)
    talk.ends(ConnectError("gone"))
    assert (conversation.is_connected(), conversation.is_open) == (False, False)


@pytest.mark.parametrize(("seconds", "step"), [(5, 2.5), (60, PROBE_SECONDS)])
def test_a_server_that_does_not_respond_to_the_probe_gets_the_handshake(seconds: float, step: float) -> None:
    """Spec, stdio detection: no response within a timeout means the handshake era."""
    talk = Talk(lambda message: [] if message.get("method") == "server/discover" else handshake(message))

    deadline = Impatient(seconds)

    assert talk.open(probe=True, deadline=deadline).era == "handshake"
    assert deadline.steps[0] == step


def test_a_server_that_never_answers_ends_in_a_deadline() -> None:
    """Ours: connecting has a deadline too."""
    talk = Talk(lambda message: [])

    with pytest.raises(DeadlineError) as caught:
        talk.open(probe=True, deadline=deadline_until(lambda: talk.sent))

    assert (caught.value.stage, caught.value.seconds) == ("at its start", ENOUGH_SECONDS)
    assert not talk.is_open


def test_a_silent_server_that_has_read_everything_is_abandoned_before_the_deadline() -> None:
    """IO-10: early enough to start it again."""
    conversation, deadline = Conversation(Reading("s", lambda _: None), Host()), Impatient(16)
    conversation.start(deadline)

    with pytest.raises(DeadlineError):
        conversation.negotiate(deadline)
    assert (deadline.steps, deadline.expired) == ([8, 8], False)


def test_a_silent_server_that_has_read_nothing_is_not_abandoned() -> None:
    """IO-10, ours: its package may still be downloading, which a second process would not speed up."""
    talk, deadline = Talk(lambda message: []), Impatient(16)
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=deadline))
    wait_until(lambda: len(deadline.steps) == 2)

    talk.arrives(handshake(talk.sent[-1])[0])
    thread.join(PATIENCE_SECONDS)

    assert (outcomes, len(talk.channels)) == ([talk.peer], 1)


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_a_server_with_a_fixed_revision_has_the_whole_deadline(revision: str) -> None:
    """IO-10: a restart would negotiate in the same way."""
    conversation = Conversation(Reading("s", lambda _: None), Host(), revision=revision)
    deadline = Deadline(0)
    conversation.start(deadline)

    with pytest.raises(DeadlineError):
        conversation.negotiate(deadline)
    assert not conversation.may_have_ended_on_probe


def test_an_unsupported_version_is_an_error() -> None:
    """Spec, lifecycle: the client must not continue with a version that it does not support."""
    talk = Talk(lambda message: [result(message, {"protocolVersion": "2031-01-01"})])

    with pytest.raises(VersionError):
        talk.open(probe=False, deadline=Deadline(5))


@pytest.mark.parametrize("is_open", [False, True])
def test_a_request_that_gets_no_response_fails_alone(is_open: bool) -> None:
    """Ours: over HTTP each request has a stream of its own, and the connection remains. A tool may have run."""
    talk = Talk(handshake if is_open else lambda _: [])
    lost = ConnectionLostError("cut")
    if is_open:
        talk.open(probe=True, deadline=Deadline(5))
        talk.sent.clear()
    asking = {"work": lambda: talk.request("tools/call", {"name": "t"}, Deadline(20))} if is_open else {}
    thread, outcomes = in_thread(asking.get("work", lambda: talk.open(probe=True, deadline=Deadline(PATIENCE_SECONDS))))
    wait_until(lambda: talk.sent)

    talk.fails_request(talk.sent[0]["id"], lost)
    thread.join(PATIENCE_SECONDS)

    assert type(outcomes[0]) is (CallCutError if is_open else ConnectionLostError)
    assert str(outcomes[0]) == "cut"
    assert talk.is_open is is_open


def test_a_channel_that_ends_during_negotiation_is_an_error() -> None:
    """Ours: the caller gets the reason at once, and need not wait for the deadline."""
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)

    talk.ends(ConnectError("gone"))
    thread.join(PATIENCE_SECONDS)

    assert str(outcomes[0]) == "gone"


def test_a_result_is_returned() -> None:
    """JSON-RPC: the `result` member. GAIA's documents: send_request returns the whole response."""
    talk = opened(with_answers(lambda asked: [result(asked, {"echo": asked["params"]})]))

    assert talk.request("tools/list", {"a": 1}, Deadline(5)) == {"echo": {"a": 1}}
    assert talk.send_request("tools/list", {}) == {"jsonrpc": "2.0", "id": 3, "result": {"echo": {}}}


def test_an_error_response_is_raised_or_returned_unchanged() -> None:
    """JSON-RPC; GAIA's documents: send_request returns the whole response."""
    talk = opened(with_answers(lambda asked: [error(asked, -5, "no", **asked.get("params", {}))]))

    with pytest.raises(PeerError) as caught:
        talk.request("x", {"data": [1]}, Deadline(5))

    assert (caught.value.asked, caught.value.code, caught.value.text, caught.value.data) == ("x", -5, "no", [1])
    assert talk.send_request("x", {"data": 1})["error"] == {"code": -5, "message": "no", "data": 1}
    assert talk.send_request("x")["error"] == {"code": -5, "message": "no"}


def test_a_server_request_that_the_host_cannot_answer_cancels_the_call() -> None:
    """Ours: the caller gets the error of the host unchanged, and the server a cancellation notification."""
    unanswered = UnansweredError("talk", "asks 'Well?'")

    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        raise unanswered

    talk = opened(host=Host(elicit=refuse))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("elicitation/create", "q"))
    thread.join(PATIENCE_SECONDS)

    assert outcomes == [unanswered]
    wait_until(lambda: any(one.get("method") == "notifications/cancelled" for one in talk.sent))


def test_an_invalid_response_is_a_remote_protocol_error() -> None:
    """Ours: the caller gets the error at once, and need not wait for the deadline."""
    talk = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": asked["id"], "result": None}]))

    for ask in (
        lambda: talk.request("x", None, Deadline(5)),
        lambda: talk.send_request("x"),
    ):
        with pytest.raises(RemoteProtocolError):
            ask()


def test_a_server_that_responds_to_a_ping_is_alive() -> None:
    """Spec, ping: a response within the deadline."""
    talk = opened()

    talk.check_alive(Deadline(5))

    assert talk.methods() == ["ping"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda asked: error(asked, -32601, "no"), PeerError),
        (lambda asked: {"jsonrpc": "2.0", "id": asked["id"], "result": 1}, RemoteProtocolError),
    ],
)
def test_an_invalid_response_to_a_ping_is_an_error(answer: Callable[[Message], Message], kind: type[Exception]) -> None:
    """Spec, ping: every server must respond with an empty result."""
    talk = opened()
    talk.script = lambda asked: [answer(asked)] if asked["method"] == "ping" else []

    with pytest.raises(kind):
        talk.check_alive(Deadline(5))


def test_a_log_level_is_requested_and_log_messages_reach_the_host() -> None:
    """Spec, logging."""
    heard: list[Any] = []
    host = Host(on_log=lambda *message: heard.append(message))
    talk = opened(with_answers(lambda asked: [result(asked, {})]), host)

    talk.want_logs("debug", Deadline(5))
    talk.arrives(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "logger": "l", "data": 1}}
    )

    assert (talk.sent[0]["method"], talk.sent[0]["params"]) == ("logging/setLevel", {"level": "debug"})
    assert heard == [("info", "l", 1)]


@pytest.mark.parametrize("answered", [None, []])
def test_a_log_level_is_set_whatever_its_result_is(answered: object) -> None:
    """Ours: real servers answer with null or a list, and the result has no members that could be missing."""
    talk = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": asked["id"], "result": answered}]))

    talk.want_logs("info", Deadline(5))

    assert talk.methods() == ["logging/setLevel"]


def test_a_refused_log_level_is_raised() -> None:
    """Ours: a program must not wait for log messages that are never sent."""
    talk = opened(with_answers(lambda asked: [error(asked, -32602, "no such level")]))

    with pytest.raises(PeerError):
        talk.want_logs("loud", Deadline(5))


SECRET = {"why": ["hunter22"], "hunter22": 1}
MASKED = {"why": ["****"], "****": 1}


def test_secrets_in_an_error_response_are_masked() -> None:
    """Ours: neither the message nor the data of an error contains a secret of the entry."""
    talk = opened(with_answers(lambda asked: [error(asked, -5, "no hunter22", data=SECRET)]))
    broken = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": "hunter22", "result": {}}]))

    with pytest.raises(PeerError) as caught:
        talk.request("x", None, Deadline(5))
    with pytest.raises(RemoteProtocolError) as wrong:
        broken.request("x", None, Deadline(5))

    assert (caught.value.text, caught.value.data) == ("no ****", MASKED)
    assert "hunter22" not in caught.value.message + wrong.value.message


def test_secrets_in_an_error_response_to_initialize_are_masked() -> None:
    """Ours: servers quote a refused token in it."""
    talk = Talk(lambda message: [error(message, -5, "401 for hunter22", data=SECRET)])

    with pytest.raises(PeerError) as caught:
        talk.open(probe=False, deadline=Deadline(5))

    assert (caught.value.asked, caught.value.code, caught.value.text) == ("initialize", -5, "401 for ****")
    assert caught.value.data == MASKED


def test_a_notification_is_sent() -> None:
    """JSON-RPC: without an id."""
    talk = opened()

    talk.send_notification("notifications/roots/list_changed", {"a": 1})

    assert talk.sent == [{"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {"a": 1}}]


def test_a_timeout_cancels_the_request() -> None:
    """Spec, cancellation: the server gets a notification with the id of the request."""
    talk = opened()

    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "slow"}, deadline_until(lambda: talk.sent))

    assert (caught.value.stage, caught.value.seconds) == ("tools/call 'slow'", ENOUGH_SECONDS)
    assert talk.methods() == ["tools/call", "notifications/cancelled"]
    assert talk.sent[1]["params"]["requestId"] == talk.sent[0]["id"]


def test_a_call_ends_soon_after_a_line_that_may_have_been_its_response() -> None:
    """GAIA's documents: an invalid response is an error. Ours: a server that logs such a line has time to respond."""
    line = b'{"content": [{"text": "for hunter22"'
    deadline = Impatient(10)
    talk = opened()

    def respond(_: Message) -> list[Message]:
        talk.arrives(line)
        return []

    talk.script = respond

    with pytest.raises(RemoteProtocolError) as caught:
        talk.request("tools/call", {"name": "t"}, deadline)

    assert isinstance(caught.value, OutcomeUnknownError)
    assert """tools/call 't' with a line that is not valid JSON: '{"content": [{"text": "for ****""" in str(
        caught.value
    )
    assert deadline.steps == [GARBLED_SECONDS]
    assert talk.methods()[-1] == "notifications/cancelled"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"jsonrpc": "2.0", "result": for hunter22', "a line that is not valid JSON"),
        (b'{"jsonrpc": "2.0", "id": [], "result": "for hunter22"}', "an invalid JSON-RPC message"),
    ],
    ids=["not JSON", "not JSON-RPC"],
)
def test_a_call_ends_at_an_invalid_message_and_quotes_it(line: bytes, problem: str) -> None:
    """Ours: its author has to find the place, and the user has to see that it is not the client's fault."""
    talk = opened()
    talk.script = lambda _: talk.arrives(line) or []

    with pytest.raises(RemoteProtocolError, match=problem) as caught:
        talk.request("tools/call", {"name": "t"}, Deadline(ENOUGH_SECONDS))

    assert isinstance(caught.value, OutcomeUnknownError)
    assert line.decode().replace("hunter22", "****") in str(caught.value)


def test_a_response_behind_an_invalid_line_is_returned() -> None:
    """Ours: the line was printed by the server's own code, as were others that cannot be a response."""
    lines = [b'{"level": info}', b'{"level": info}', b"{'a': 1}", b"{", b"Hello"]
    talk = opened()

    def respond(asked: Message) -> list[Message]:
        for line in lines:
            talk.arrives(line)
        return [result(asked, {"content": []})]

    talk.script = respond
    first, second = Impatient(10), Impatient(10)

    assert talk.request("tools/call", {"name": "t"}, first)["content"] == []
    del lines[:2]
    assert talk.request("tools/call", {"name": "t"}, second)["content"] == []
    assert (first.steps, second.steps) == ([GARBLED_SECONDS], [])


def test_a_timeout_error_includes_the_time_added_by_progress() -> None:
    """Ours: the error states how long the client has waited in fact."""
    clock = Clock()
    deadline = Deadline(1, ceiling=25, clock=clock)
    talk = opened(with_answers(lambda asked: progress_of(asked, 1)))

    def on_progress(progressed: Progressed) -> None:
        clock.now += 100

    clock.now += 0.75
    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "t"}, deadline, on_progress=on_progress)

    assert caught.value.seconds == 1.8


@pytest.mark.parametrize("ceiling", [None, 4])
def test_endless_progress_ends_with_the_deadline(ceiling: float | None) -> None:
    """Ours: also if the next report always arrives before the caller checks the deadline."""
    clock = Clock()
    talk = opened(with_answers(lambda asked: progress_of(asked, 1)))
    heard: list[float] = []

    def on_progress(progressed: Progressed) -> None:
        heard.append(progressed.progress)
        assert len(heard) < 10
        clock.now += 0.75
        for message in progress_of(talk.sent[0], progressed.progress + 1):
            talk.arrives(message)

    with pytest.raises(DeadlineError):
        talk.request("tools/call", {"name": "t"}, Deadline(1, ceiling=ceiling, clock=clock), on_progress=on_progress)

    assert heard == ([1, 2] if ceiling is None else [1, 2, 3, 4, 5, 6])
    assert talk.methods()[-1] == "notifications/cancelled"


def test_a_failed_call_that_was_sent_is_an_unknown_outcome() -> None:
    """Ours: it is never sent again by us, and a caller that repeats it may run the tool twice."""
    late, gone, asked = opened(), opened(), opened()
    thread, outcomes = in_thread(lambda: gone.request("tools/call", {"name": "pay"}, Deadline(PATIENCE_SECONDS)))
    wait_until(lambda: gone.sent)
    gone.channels[0].end(lambda stage: ServerExitedError("server", stage, 3))
    thread.join(PATIENCE_SECONDS)

    with pytest.raises(DeadlineError) as caught:
        late.request("tools/call", {"name": "pay"}, deadline_until(lambda: late.sent))
    with pytest.raises(DeadlineError) as harmless:
        asked.request("tools/list", None, deadline_until(lambda: asked.sent))

    assert (type(caught.value), type(outcomes[0])) == (CallLateError, CallLostError)
    assert [error.tool for error in (caught.value, outcomes[0]) if isinstance(error, OutcomeUnknownError)] == 2 * [
        "pay"
    ]
    assert type(harmless.value) is DeadlineError


@pytest.mark.parametrize("result", [None, 1])
def test_a_call_with_an_invalid_response_is_an_unknown_outcome(result: object) -> None:
    """Ours: as a call whose response is lost. Other requests have no effects."""
    talk = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": asked["id"], "result": result}]))

    for ask in (
        lambda: talk.request("tools/call", {"name": "pay"}, Deadline(5)),
        lambda: talk.send_request("tools/call", {"name": "pay"}),
    ):
        with pytest.raises(RemoteProtocolError) as caught:
            ask()
        assert isinstance(caught.value, OutcomeUnknownError)
        assert caught.value.tool == "pay"
    with pytest.raises(RemoteProtocolError) as harmless:
        talk.request("tools/list", None, Deadline(5))
    assert type(harmless.value) is RemoteProtocolError


def test_a_call_that_was_not_sent_is_not_an_unknown_outcome() -> None:
    """Ours: the caller can repeat it safely."""
    talk = opened()
    talk.fails = DeadlineError("server", "tools/call", 1)

    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "pay"}, Deadline(5))

    assert type(caught.value) is DeadlineError


def test_no_progress_token_is_sent_without_a_listener() -> None:
    """Spec, progress: a server sends progress only for a token, which would cost it work in vain."""
    talk = opened(with_answers(lambda asked: [result(asked, {})]))

    talk.request("tools/call", {"name": "t"}, Deadline(5))

    assert "_meta" not in talk.sent[0]["params"]


def test_progress_without_a_listener_is_ignored() -> None:
    """Spec, progress: a server must not send it for an unknown token, and some do."""

    def answers(asked: Message) -> list[Message]:
        progress = {"progressToken": asked["id"], "progress": 1}
        return [{"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}, result(asked, {"a": 1})]

    talk = opened(with_answers(answers))

    assert talk.request("tools/call", {"name": "t"}, Deadline(5)) == {"a": 1}


def test_progress_is_reported_once() -> None:
    """Ours: the caller may have taken the newest report before it finds the event in its queue."""
    talk = opened(with_answers(lambda asked: progress_of(asked, 1, 2)))
    heard: list[float] = []

    def on_progress(progressed: Progressed) -> None:
        heard.append(progressed.progress)
        (waiter,) = talk.conversation._dispatcher.waiters.values()
        waiter.outcomes.put(progressed)
        talk.arrives(result(talk.sent[0], {}))

    assert talk.request("tools/call", {"name": "t"}, Deadline(5), on_progress=on_progress) == {}
    assert heard == [2]


def test_an_exception_of_the_progress_listener_cancels_the_request() -> None:
    """Ours: the caller passed the listener, so it gets the exception."""

    def fails(progressed: Progressed) -> None:
        raise ValueError("mine")

    def answers(asked: Message) -> list[Message]:
        token = asked["params"]["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 1}
        return [{"jsonrpc": "2.0", "method": "notifications/progress", "params": params}]

    talk = opened(with_answers(answers))

    with pytest.raises(ValueError, match="mine"):
        talk.request("tools/call", {"name": "t"}, Deadline(5), on_progress=fails)
    assert talk.methods()[-1] == "notifications/cancelled"


def test_a_log_level_is_not_requested_without_the_capability() -> None:
    """Spec, logging: only servers with the capability know `logging/setLevel`."""
    talk = opened(
        lambda message: [result(message, {})] if message.get("method") == "initialize" else handshake(message)
    )

    talk.want_logs("debug", Deadline(5))

    assert talk.sent == []


def test_list_changes_are_subscribed_to_once_if_the_server_declares_them() -> None:
    """Spec 2026-07-28, subscriptions: list changes are sent only to clients that subscribe."""
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}}
    talk = Talk(lambda message: [result(message, found)] if message.get("method") == "server/discover" else [])
    assert talk.open(probe=True, deadline=Deadline(5)).era == "stateless"

    talk.conversation.watch_lists(Deadline(5))
    talk.conversation.watch_lists(Deadline(5))

    assert talk.methods() == ["server/discover", "subscriptions/listen"]
    assert talk.sent[1]["params"]["notifications"] == {"toolsListChanged": True}


# Subscriptions to a resource.


def test_a_channel_without_notifications_has_no_subscriptions() -> None:
    """Ours: a custom transport receives responses only, neither notifications nor progress."""
    own = Conversation(CustomChannel("own", Scripted(x={"a": 1}), is_connected=True), Host(), probe=False)
    own.start(Deadline(5))

    for ask in (own.subscribe, own.unsubscribe):
        with pytest.raises(NotSupportedError) as caught:
            ask(URI, Deadline(5))
        assert (caught.value.server, caught.value.feature) == ("own", "subscriptions")
    assert own.request("x", None, Deadline(5), on_progress=lambda _: None) == {"a": 1}


def test_secrets_in_the_reason_for_a_left_out_tool_are_masked() -> None:
    """Ours: the reason quotes the server's definition, which may contain a secret of the entry."""

    class Strict(MemoryChannel):
        def tools_left_out(self) -> dict[str, str]:
            return {"bad": "its header is 'hunter22'"}

    talk = Talk(handshake, channel=Strict)
    talk.open(probe=False, deadline=Deadline(5))

    assert talk.conversation.lists_tools
    (reason,) = talk.conversation.tools_left_out().values()
    assert reason.startswith("its header is ")
    assert "hunter22" not in reason


def test_updates_that_belong_to_no_subscription_are_ignored() -> None:
    """Spec 2026-07-28, MC-9: routed by the subscription id. Updates of a cancelled one may still be in transit."""
    heard: list[str] = []
    client, conversation = connected(ERAS[0], usual, CAPABILITIES)
    client.on_resource_updated = heard.append
    client.subscribe_resource(URI)
    number = conversation.sent[0]["id"]

    conversation.arrives(updated(URI, **{SUBSCRIPTION: number + 7}))
    conversation.arrives(updated(URI, **{SUBSCRIPTION: str(number)}))
    assert heard == []
    conversation.arrives(updated(URI, **{SUBSCRIPTION: number}))
    client.unsubscribe_resource(URI)
    conversation.arrives(updated(URI, **{SUBSCRIPTION: number}))

    assert heard == [URI]


def test_updates_of_a_sub_resource_are_reported(start_talk: StartTalk) -> None:
    """Spec, resources: the uri may be that of a sub-resource. Ours: an invalid uri is ignored."""
    heard: list[str] = []
    client, conversation = start_talk()
    client.on_resource_updated = heard.append
    client.subscribe_resource(URI)

    for uri in (f"{URI}/part", 7, None, ["x"], {}):
        conversation.arrives(updated(uri))
    conversation.arrives({"jsonrpc": "2.0", "method": "notifications/resources/updated"})

    assert heard == [f"{URI}/part"]


def test_an_invalid_acknowledgement_is_an_error() -> None:
    """Spec 2026-07-28, MC-9. Ours: the subscription is cancelled."""
    invalid: list[Message] = [
        {},
        {"notifications": None},
        {"notifications": 7},
        {"notifications": [URI]},
        {"notifications": {"resourceSubscriptions": URI}},
        {"notifications": {"resourceSubscriptions": {URI: True}}},
        {"notifications": {"resourceSubscriptions": [[URI], None]}},
    ]

    def acknowledged(asked: Message, params: Message) -> list[Message]:
        meta = {SUBSCRIPTION: asked["id"]}
        notification = "notifications/subscriptions/acknowledged"
        return [{"jsonrpc": "2.0", "method": notification, "params": {**params, "_meta": meta}}]

    for params in invalid:
        client, conversation = connected(
            ERAS[0], lambda asked, params=params: acknowledged(asked, params), CAPABILITIES
        )  # type: ignore[misc]
        with noted(params), pytest.raises(RemoteProtocolError, match="acknowledged a subscription without"):
            client.subscribe_resource(URI)
        assert conversation.methods()[-1] == "notifications/cancelled", params


def test_any_result_grants_a_subscription_in_the_handshake_era() -> None:
    """Spec 2025-11-25, resources: the result of `resources/subscribe` has no members."""
    client, conversation = connected(ERAS[1], lambda _: {"notifications": None}, CAPABILITIES)

    client.subscribe_resource(URI)

    assert conversation.methods() == ["resources/subscribe"]


def test_a_pending_subscription_can_be_cancelled(start_talk: StartTalk) -> None:
    """Ours: from another thread, and the server gets a cancellation notification."""
    client, conversation = start_talk(lambda _: None)
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.subscribe_resource(URI, deadline))
    wait_until(lambda: conversation.sent)

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [CancelledError]
    assert conversation.methods()[1:] == ["notifications/cancelled"]


def test_unsubscribing_leaves_a_pending_subscription_alone(start_talk: StartTalk) -> None:
    """Ours: the request of another thread must not lose its response."""
    client, conversation = start_talk(lambda message: {} if message["method"] == "resources/unsubscribe" else None)
    thread, outcomes = in_thread(lambda: client.subscribe_resource(URI))
    wait_until(lambda: conversation.sent)
    asked = conversation.sent[0]

    client.unsubscribe_resource(URI)
    conversation.arrives(granted(asked, URI) if is_stateless(client) else result(asked, {}))
    thread.join(PATIENCE_SECONDS)

    assert outcomes == [None]


def test_tracing_is_not_imported_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the import takes time at every start. A program that has imported it sends the same requests."""
    for name in ("gaia_mcp.core.tracing", "opentelemetry.trace"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    talk = opened(with_answers(lambda message: [result(message, {})]))
    talk.request("tools/list", None, Deadline(5))
    assert "gaia_mcp.core.tracing" not in sys.modules

    import gaia_mcp.core.tracing

    monkeypatch.setitem(sys.modules, "gaia_mcp.core.tracing", gaia_mcp.core.tracing)
    talk.request("tools/list", None, Deadline(5))
    assert [sorted(each) for each in talk.sent] == [["id", "jsonrpc", "method"]] * 2


def test_a_span_has_the_revision_once_it_is_negotiated() -> None:
    """OpenTelemetry, semantic conventions for MCP."""
    talk = Talk(handshake)
    talk.name = "calc"
    conversation = Conversation(talk.new_channel(), Host())
    assert conversation._attributes() == {}

    assert opened().conversation._attributes() == {"mcp.protocol.version": "2025-11-25"}


def test_many_calls_at_once_need_a_channel_with_one_stream() -> None:
    """Ours: on others each waits for its own stream. An error response is that of a call, without secrets."""

    def refuse(message: Message) -> list[Message]:
        return handshake(message) or ([error(message, -32000, "not hunter22")] if "id" in message else [])

    def pipeline_of(channel: type[MemoryChannel]) -> Any:
        talk = Talk(refuse, None, channel)
        talk.open(probe=True, deadline=Deadline(5))
        return talk.conversation.pipeline("tools/call", {"name": "t"}, 1, lambda: Deadline(5), lambda result, _: result)

    pipeline = pipeline_of(OneStream)
    pipeline.send()
    (answer,) = pipeline.answers()

    assert pipeline_of(MemoryChannel) is None
    assert (answer.error.code, answer.error.text, answer.error.asked) == (-32000, "not ****", "tools/call")
