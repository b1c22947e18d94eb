from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation.server_requests import MAX_SERVER_REQUESTS
from gaia_mcp.client.host import Host
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    CallLateError,
    CallLostError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    OutcomeUnknownError,
    PeerError,
    RemoteProtocolError,
    ServerExitedError,
    VersionError,
)
from tests.client.transports.talk import Message, Talk, asks, error, handshake, in_thread, opened, result, with_answers
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.events import Progressed


def test_a_conversation_opens_by_probe_then_handshake() -> None:
    """Spec, compatibility: discover first, whatever error falls back, and `initialized` before anything else."""
    talk = Talk(handshake)

    peer = talk.open(probe=True, deadline=Deadline(5))

    assert talk.methods() == ["server/discover", "initialize", "notifications/initialized"]
    assert (peer.version, talk.peer, talk.is_open) == ("2025-11-25", peer, True)


def test_a_server_known_to_want_the_handshake_is_not_probed() -> None:
    """Ours: what was learnt before is used."""
    talk = Talk(handshake)

    talk.open(probe=False, deadline=Deadline(5))

    assert talk.methods() == ["initialize", "notifications/initialized"]


def test_a_silent_server_is_asked_by_handshake_while_there_is_time() -> None:
    """Spec, stdio detection: no reply within a timeout means the older era."""
    talk = Talk(lambda message: [] if message.get("method") == "server/discover" else handshake(message))

    assert talk.open(probe=True, deadline=Deadline(0.4)).era == "handshake"


def test_a_server_that_never_answers_ends_in_a_deadline() -> None:
    """Ours: no start without a deadline."""
    talk = Talk(lambda message: [])

    with pytest.raises(DeadlineError) as caught:
        talk.open(probe=True, deadline=Deadline(0.1))

    assert (caught.value.stage, caught.value.seconds) == ("at its start", 0.1)
    assert not talk.is_open


def test_a_failed_opening_is_raised() -> None:
    """Spec: no version that both sides speak."""
    talk = Talk(lambda message: [result(message, {"protocolVersion": "2031-01-01"})])

    with pytest.raises(VersionError):
        talk.open(probe=False, deadline=Deadline(5))


def test_a_pipe_that_ends_while_opening_is_raised() -> None:
    """Ours."""
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=Deadline(20)))
    wait_until(lambda: talk.sent)

    talk.ends(ConnectError("gone"))
    thread.join(5)

    assert str(outcomes[0]) == "gone"


def test_a_result_is_returned() -> None:
    """JSON-RPC."""
    talk = opened(with_answers(lambda asked: [result(asked, {"echo": asked["params"]})]))

    assert talk.request("tools/list", {"a": 1}, Deadline(5)) == {"echo": {"a": 1}}
    assert talk.send_request("tools/list", {}) == {"jsonrpc": "2.0", "id": 3, "result": {"echo": {}}}


def test_a_refusal_is_raised_or_handed_over_as_it_came() -> None:
    """JSON-RPC; GAIA's documents: send_request returns the whole response."""
    talk = opened(with_answers(lambda asked: [error(asked, -5, "no", **asked.get("params", {}))]))

    with pytest.raises(PeerError) as caught:
        talk.request("x", {"data": [1]}, Deadline(5))

    assert (caught.value.asked, caught.value.code, caught.value.text, caught.value.data) == ("x", -5, "no", [1])
    assert talk.send_request("x", {"data": 1})["error"] == {"code": -5, "message": "no", "data": 1}
    assert talk.send_request("x")["error"] == {"code": -5, "message": "no"}


def test_an_answer_that_is_none_is_the_servers_mistake() -> None:
    """Ours: nobody waits for the deadline because of it."""
    talk = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": asked["id"], "result": None}]))

    for ask in (
        lambda: talk.request("x", None, Deadline(5)),
        lambda: talk.send_request("x"),
        lambda: talk.want_logs("info", Deadline(5)),
    ):
        with pytest.raises(RemoteProtocolError):
            ask()


def test_a_server_that_is_there_says_so() -> None:
    """Spec, ping."""
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
def test_a_server_that_cannot_say_that_it_is_there_is_reported(
    answer: Callable[[Message], Message], kind: type[Exception]
) -> None:
    """Spec, ping: every server must answer it."""
    talk = opened()
    talk.script = lambda asked: [answer(asked)] if asked["method"] == "ping" else []

    with pytest.raises(kind):
        talk.check_alive(Deadline(5))


def test_logs_are_asked_for_and_arrive_at_the_host() -> None:
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


def test_a_refused_log_level_is_raised() -> None:
    """Ours: as any other request."""
    talk = opened(with_answers(lambda asked: [error(asked, -32602, "no such level")]))

    with pytest.raises(PeerError):
        talk.want_logs("loud", Deadline(5))


def test_stray_output_and_breaches_of_the_rules_arrive_at_the_host() -> None:
    """Ours: a line that is no message is another fault than a message that should not be."""
    host = Host()
    talk = opened(host=host)

    talk.arrives(b"Hello!")
    talk.arrives({"jsonrpc": "2.0", "error": {"code": -1, "message": "for hunter22"}})

    assert host.strays == ["Hello!"]
    assert host.breaches == ["an error without an id: for ****"]


def test_changed_lists_are_the_business_of_their_own_connection() -> None:
    """Spec, tools; ours: a host may serve several servers."""
    host = Host()
    talk, other = opened(host=host), opened(host=host)
    heard: list[str] = []
    talk.on_change = lambda change: heard.append(change.kind)

    for kind in ("tools", "prompts", "tools"):
        talk.arrives({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})
    other.arrives({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})

    assert (talk.list_changes, heard) == ({"tools", "prompts"}, ["tools", "prompts", "tools"])
    assert other.list_changes == {"resources"}


SECRET = {"why": ["hunter22"], "hunter22": 1}
MASKED = {"why": ["****"], "****": 1}


def test_what_a_server_refuses_with_is_told_without_its_secrets() -> None:
    """Ours: never a secret in an error, neither in its words nor in its data."""
    talk = opened(with_answers(lambda asked: [error(asked, -5, "no hunter22", data=SECRET)]))
    broken = opened(with_answers(lambda asked: [{"jsonrpc": "2.0", "id": "hunter22", "result": {}}]))

    with pytest.raises(PeerError) as caught:
        talk.request("x", None, Deadline(5))
    with pytest.raises(RemoteProtocolError) as wrong:
        broken.request("x", None, Deadline(5))

    assert (caught.value.text, caught.value.data) == ("no ****", MASKED)
    assert "hunter22" not in caught.value.message + wrong.value.message


def test_a_refused_opening_is_told_without_the_secrets() -> None:
    """Ours."""
    talk = Talk(lambda message: [error(message, -5, "401 for hunter22", data=SECRET)])

    with pytest.raises(PeerError) as caught:
        talk.open(probe=False, deadline=Deadline(5))

    assert (caught.value.asked, caught.value.code, caught.value.text) == ("initialize", -5, "401 for ****")
    assert caught.value.data == MASKED


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


def test_a_listener_that_asks_while_it_is_told_hears_that_this_cannot_be() -> None:
    """Ours: it is told by the one who reads, who would wait in vain for what he does not read. Others may ask."""
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


def test_a_notification_is_sent() -> None:
    """JSON-RPC."""
    talk = opened()

    talk.send_notification("notifications/roots/list_changed", {"a": 1})

    assert talk.sent == [{"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {"a": 1}}]


def test_time_that_runs_out_cancels_the_request() -> None:
    """Spec, cancellation: the server learns that nobody waits any more."""
    talk = opened()

    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "slow"}, Deadline(0.05))

    assert (caught.value.stage, caught.value.seconds) == ("tools/call 'slow'", 0.05)
    assert talk.methods() == ["tools/call", "notifications/cancelled"]
    assert talk.sent[1]["params"]["requestId"] == talk.sent[0]["id"]


def test_a_late_answer_is_ignored() -> None:
    """Spec, cancellation."""
    talk = opened()
    with pytest.raises(DeadlineError):
        talk.request("tools/call", {"name": "slow"}, Deadline(0.05))

    talk.arrives(result(talk.sent[0], {}))

    assert talk.host is not None
    assert talk.host.strays == []
    talk.check_alive(Deadline(5))


def test_an_answer_for_which_nobody_waits_any_more_disturbs_nobody() -> None:
    """Ours: whoever asked may have left at this very moment."""
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


def progress_of(asked: Message, *steps: float) -> list[Message]:
    token = asked["params"]["_meta"]["progressToken"]
    return [
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}
        for step in steps
    ]


def test_progress_is_told_and_extends_the_deadline_up_to_its_ceiling() -> None:
    """Spec, progress: a timeout may be reset, but there must be a longest."""
    now = [0.0]
    deadline = Deadline(10, ceiling=25, clock=lambda: now[0])
    heard: list[float] = []
    talk = opened(with_answers(lambda asked: progress_of(asked, 1)))

    def on_progress(progressed: Progressed) -> None:
        heard.append(deadline.remaining())
        asked = talk.sent[0]
        for message in progress_of(asked, progressed.progress + 1) if len(heard) < 3 else [result(asked, {})]:
            talk.arrives(message)

    now[0] = 9.0
    assert talk.request("tools/call", {"name": "t"}, deadline, on_progress=on_progress) == {}
    now[0] = 18.0
    deadline.extend()

    assert heard == [10.0, 10.0, 10.0]
    assert deadline.remaining() == 7.0


def test_of_news_of_progress_only_the_newest_is_kept() -> None:
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


def test_time_that_progress_has_added_is_told_too() -> None:
    """Ours: the error says how long was really waited."""
    now = [0.0]
    deadline = Deadline(1, ceiling=25, clock=lambda: now[0])
    talk = opened(with_answers(lambda asked: progress_of(asked, 1)))

    def on_progress(progressed: Progressed) -> None:
        now[0] = 100.0

    now[0] = 0.75
    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "t"}, deadline, on_progress=on_progress)

    assert caught.value.seconds == 1.8


def test_a_call_that_was_out_is_said_to_have_perhaps_run() -> None:
    """Ours: it is never sent again, and whoever might call again must know."""
    late, gone, asked = opened(), opened(), opened()
    thread, outcomes = in_thread(lambda: gone.request("tools/call", {"name": "pay"}, Deadline(20)))
    wait_until(lambda: gone.sent)
    gone.channels[0].end(lambda stage: ServerExitedError("server", stage, 3))
    thread.join(5)

    with pytest.raises(DeadlineError) as caught:
        late.request("tools/call", {"name": "pay"}, Deadline(0.05))
    with pytest.raises(DeadlineError) as harmless:
        asked.request("tools/list", None, Deadline(0.05))

    assert (type(caught.value), type(outcomes[0])) == (CallLateError, CallLostError)
    assert [error.tool for error in (caught.value, outcomes[0]) if isinstance(error, OutcomeUnknownError)] == 2 * [
        "pay"
    ]
    assert type(harmless.value) is DeadlineError


def test_a_call_that_was_never_out_is_not_said_to_have_run() -> None:
    """Ours."""
    talk = opened()
    talk.fails = DeadlineError("server", "tools/call", 1)

    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/call", {"name": "pay"}, Deadline(5))

    assert type(caught.value) is DeadlineError


def test_the_reason_for_the_end_of_a_pipe_is_not_about_one_call() -> None:
    """Ours: all who wait are given the same one."""
    talk = opened()
    ended = DeadlineError("server", "tools/list (it does not read its input)", 1)
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "pay"}, Deadline(20)))
    wait_until(lambda: talk.sent)
    talk.ends(ended)
    thread.join(5)

    assert outcomes == [ended]
    assert type(ended) is DeadlineError


def test_progress_is_not_asked_for_when_nobody_listens() -> None:
    """Spec, progress: only with a token."""
    talk = opened(with_answers(lambda asked: [result(asked, {})]))

    talk.request("tools/call", {"name": "t"}, Deadline(5))

    assert "_meta" not in talk.sent[0]["params"]


def test_a_listener_that_fails_ends_and_cancels_the_request() -> None:
    """Ours: the caller's own mistake is the caller's to see."""

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


def test_a_late_end_of_an_old_pipe_does_not_touch_the_next_one() -> None:
    """Ours: the thread that read it may come late."""
    talk = opened(with_answers(lambda asked: [result(asked, {})]))
    (old,) = talk.channels
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))

    old.end(lambda _: ConnectError("gone again"))
    old.arrive(b'{"jsonrpc": "2.0", "id": 2, "result": {"old": true}}')

    assert talk.is_open
    assert talk.request("x", None, Deadline(5)) == {}


def test_a_request_of_an_old_pipe_does_not_take_the_next_ones_answer() -> None:
    """Ours: ids begin anew with every pipe."""
    talk = opened()
    first, failed = in_thread(lambda: talk.request("old", None, Deadline(20)))
    wait_until(lambda: "old" in talk.methods())
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    second, got = in_thread(lambda: talk.request("new", None, Deadline(20)))
    wait_until(lambda: "new" in talk.methods())

    talk.channels[0].arrive(b'{"jsonrpc": "2.0", "id": 3, "result": {"for": "old"}}')
    first.join(5)
    talk.arrives(result(talk.sent[-1], {"for": "new"}))
    second.join(5)

    assert str(failed[0]) == "gone"
    assert got == [{"for": "new"}]


def test_a_ping_is_answered_at_once() -> None:
    """Spec, ping: promptly."""
    talk = opened()

    talk.arrives({"jsonrpc": "2.0", "id": "p", "method": "ping"})

    assert talk.sent == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


def test_a_servers_question_is_answered_by_the_host() -> None:
    """Spec, roots."""
    talk = opened(host=Host(roots=[{"uri": "file:///a"}]))

    talk.arrives(asks("roots/list"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///a"}]}}]


def test_an_unsupported_question_is_refused() -> None:
    """Spec: with -32601, or the server's tool would hang."""
    talk = opened()

    talk.arrives(asks("sampling/createMessage", "s"))
    wait_until(lambda: talk.sent)

    assert (talk.sent[0]["id"], talk.sent[0]["error"]["code"]) == ("s", -32601)


@pytest.mark.parametrize("problem", ["raises", "answers with no JSON"])
def test_a_host_that_fails_to_answer_still_lets_the_server_hear_something(problem: str) -> None:
    """Ours: -32603 without a word of the reason, which is not the server's to know."""

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        if problem == "raises":
            raise ValueError("secret")
        return {"action": "accept", "content": {"when": object()}}

    talk = opened(host=Host(elicit=elicit))

    talk.arrives(asks("elicitation/create"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"]["code"] == -32603
    assert "secret" not in json.dumps(talk.sent)


def test_a_deadline_stands_still_while_a_person_answers() -> None:
    """Ours: nobody types against the clock."""
    now = [0.0]
    deadline = Deadline(10, clock=lambda: now[0])
    is_asked, may_answer = threading.Event(), threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    thread, outcomes = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("elicitation/create", "q"))
    assert is_asked.wait(5)
    now[0] = 1000.0
    assert not deadline.expired
    may_answer.set()
    wait_until(lambda: len(talk.sent) == 2)

    assert deadline.remaining() == 10.0
    talk.arrives(result(talk.sent[0], {}))
    thread.join(5)
    assert outcomes == [{}]


def test_roots_do_not_stop_the_clock() -> None:
    """Ours: only people may take long."""
    held: list[bool] = []
    deadline = Deadline(20)

    class Watching(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            held.append(deadline._holds > 0)
            return super().answer(method, params)

    talk = opened(host=Watching())
    thread, _ = in_thread(lambda: talk.request("tools/call", {"name": "ask"}, deadline))
    wait_until(lambda: talk.sent)
    talk.arrives(asks("roots/list", "r"))
    talk.arrives(asks("elicitation/create", "e"))
    wait_until(lambda: len(talk.sent) == 3)
    talk.arrives(result(talk.sent[0], {}))
    thread.join(5)

    assert sorted(held) == [False, True]


def test_a_question_that_was_taken_back_is_not_answered() -> None:
    """Spec, cancellation: a cancelled request gets no response."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.arrives({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    may_answer.set()
    wait_until(lambda: not any(thread.name == "server request" for thread in threading.enumerate()))

    assert talk.sent == []


def test_an_answer_is_not_written_to_the_next_pipe() -> None:
    """Ours: the next server has asked nothing."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
        return {"action": "accept"}

    talk = opened(host=Host(elicit=elicit))
    talk.arrives(asks("elicitation/create", "q"))
    talk.ends(ConnectError("gone"))
    talk.open(probe=True, deadline=Deadline(5))
    may_answer.set()
    wait_until(lambda: not any(thread.name == "server request" for thread in threading.enumerate()))

    assert "(answer)" not in talk.methods()


def test_a_flood_of_questions_is_refused() -> None:
    """Ours: each has a thread, and a server must not take the machine with it."""
    may_answer = threading.Event()

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        may_answer.wait(5)
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


def test_logs_that_are_not_offered_are_not_asked_for() -> None:
    """Spec, logging: a capability."""
    talk = opened(
        lambda message: [result(message, {})] if message.get("method") == "initialize" else handshake(message)
    )

    talk.want_logs("debug", Deadline(5))

    assert talk.sent == []


def test_changes_are_listened_for_where_the_server_offers_it() -> None:
    """Spec 2026-07-28, subscriptions: changes are announced only to those who asked."""
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}}
    talk = Talk(lambda message: [result(message, found)] if message.get("method") == "server/discover" else [])
    assert talk.open(probe=True, deadline=Deadline(5)).era == "stateless"

    talk.conversation.watch_lists(Deadline(5))
    talk.conversation.watch_lists(Deadline(5))

    assert talk.methods() == ["server/discover", "subscriptions/listen"]
    assert talk.sent[1]["params"]["notifications"] == {"toolsListChanged": True}


def test_what_strays_is_told_in_words_without_secrets() -> None:
    """Ours: words for an error."""
    talk = opened()
    talk.arrives(b"token hunter22")

    with pytest.raises(DeadlineError) as caught:
        talk.request("x", None, Deadline(0))

    assert "it wrote 1 line to stdout that is not MCP: 'token ****'" in caught.value.message
