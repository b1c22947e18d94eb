from __future__ import annotations

import json
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import asking as toolcall
from gaia_mcp.asking import CallCancelledError, current_call
from gaia_mcp.server import calls
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.stdio import pipe_client as leader_follower
from gaia_mcp.server.stdio import pipe_client as loading
from gaia_mcp.server.stdio import pipe_client as reading
from gaia_mcp.server.stdio.pipe_client import MAX_CALLS, Leadership, LoadingProvider, StdioSession
from tests.interleavings import explore
from tests.server.talk import DISCOVER, Session, call, cancel, initialize, plain, stateless
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interleavings import Run, Threads
    from tests.server.talk import Wire

    Open = Callable[..., Session]


class Agent:
    """Tools that wait for the test, and record what happens to them."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go_later = threading.Event()
        self.running: list[str] = []
        self.cancelled: list[str] = []
        self.prompts: list[dict[str, Any]] = [{"name": "p"}]

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": name} for name in dir(self) if not name.startswith(("_", "get_", "execute"))]

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return self.prompts

    def get_mcp_prompt(self, name: str, arguments: dict[str, Any]) -> Any:
        return {"messages": [{"role": "user"}]}

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        return getattr(self, name)(**arguments)

    def quick(self, say: str = "quick") -> str:
        return say

    def slow(self, mark: str = "") -> str:
        self.running.append(mark)
        assert self.go.wait(PATIENCE_SECONDS)
        return f"slow {mark}"

    def patient(self) -> str:
        self.running.append("patient")
        try:
            current_call().wait(PATIENCE_SECONDS)
        finally:
            self.cancelled.append("patient")
        return "not cancelled"

    def stubborn(self) -> str:
        self.running.append("stubborn")
        assert self.go.wait(PATIENCE_SECONDS)
        current_call().log("error", "still here")
        self.running.remove("stubborn")
        return "old answer"

    def slower(self) -> str:
        self.running.append("slower")
        assert self.go_later.wait(PATIENCE_SECONDS)
        return "new answer"

    def working(self) -> str:
        for done in (1, 2, 2, 1, 3):
            current_call().progress(done, 3, f"step {done}")
        current_call().log("warning", {"done": True})
        current_call().log("debug", "details")
        current_call().log("error", {"what": object})
        return "worked"

    def exits(self) -> None:
        raise SystemExit(3)

    def interrupts(self) -> None:
        raise KeyboardInterrupt("no")

    def bad_block(self) -> Any:
        return {"content": [{"type": "text", "text": "x", "own": object()}]}

    def bad_shape(self) -> Any:
        return {"content": [{"type": "text", "text": "x"}], "_meta": "no object"}

    def cancels_itself(self) -> None:
        raise CallCancelledError

    def fail_in_list(self) -> None:
        raise AssertionError("not called")


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def talk(open_session: Open, agent: Agent) -> Session:
    return open_session(agent)


def _text(answer: dict[str, Any]) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


# Order and concurrency.


def test_a_call_is_answered_with_its_request_id(talk: Session) -> None:
    """Spec: by its own id, whatever the type of that."""
    talk.send(call("7", "quick"))

    assert _text(talk.answer("7")) == "quick"


def test_a_slow_tool_does_not_delay_other_calls_of_the_same_read(talk: Session, agent: Agent) -> None:
    """Ours: reading goes on while tools run, also when both calls arrived at once."""
    for number in range(0, 40, 2):
        talk.send(call(number, "slow"), call(number + 1, "quick"))
        assert _text(talk.answer(number + 1)) == "quick"
        agent.go.set()
        talk.answer(number)
        agent.go.clear()


def test_a_slow_tool_does_not_delay_later_requests(talk: Session, agent: Agent) -> None:
    """Ours: a leader goes on leading while it runs a single call, but not for long. Again and again, for both threads
    have to find their way back.
    """
    for number in range(0, 10, 2):
        talk.send(call(number, "slow"))
        wait_until(lambda: agent.running == [""])
        talk.send(plain(number + 1, "ping"))
        assert talk.answer(number + 1)["result"] == {}
        agent.go.set()
        talk.answer(number)
        agent.go.clear()
        agent.running.clear()


def test_a_slow_tool_does_not_delay_pings_and_lists(talk: Session, agent: Agent) -> None:
    """Spec, ping: answered promptly."""
    talk.send(call(1, "slow"), plain(2, "ping"), stateless(3, "tools/list"))

    assert talk.answer(2)["result"] == {}
    assert talk.answer(3)["result"]["tools"]
    agent.go.set()
    talk.answer(1)


def test_forty_concurrent_calls_are_each_answered(talk: Session, agent: Agent) -> None:
    """Ours: more than there are threads for; the others wait, reading goes on, nothing is lost or mixed up."""
    talk.send(*(call(number, "slow", {"mark": str(number)}) for number in range(40)))
    wait_until(lambda: len(agent.running) == MAX_CALLS)
    talk.send(plain("ping", "ping"))
    talk.answer("ping")
    assert len(agent.running) == MAX_CALLS

    agent.go.set()

    assert [_text(talk.answer(number)) for number in range(40)] == [f"slow {number}" for number in range(40)]
    assert _text(talk.answer(39)) == "slow 39"


def test_a_full_server_is_reported_once_until_it_is_idle(open_session: Open, agent: Agent) -> None:
    """Ours: a client whose calls all block would hang without an explanation."""
    full: list[int] = []
    talk = open_session(agent, max_calls=2, on_full=full.append)

    for number in range(0, 10, 5):
        talk.send(*(call(each, "slow") for each in (number, number + 1)))
        wait_until(lambda: len(agent.running) == 2)
        assert full == [2] * (number // 5)
        talk.send(*(call(each, "slow") for each in (number + 2, number + 3)))
        talk.result(plain(number + 4, "ping"))
        assert full == [2] * (number // 5 + 1)
        assert len(agent.running) == 2
        agent.go.set()
        for each in range(number, number + 4):
            talk.answer(each)
        wait_until(lambda: talk.result(plain("idle", "ping")) == {})
        agent.go.clear()
        agent.running.clear()


def test_the_limit_of_running_calls_can_be_raised_while_serving(
    open_session: Open, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: an agent knows how many it can run, and is loaded after the first request has come."""
    talk = open_session(agent, max_calls=1)
    talk.send(call(1, "slow"), call(2, "slow"))
    talk.result(plain("full", "ping"))
    assert len(agent.running) == 1
    assert capsys.readouterr().err == "note: the limit of 1 running calls is reached; further calls wait\n"

    talk.server.max_calls = 2
    talk.result(plain("seen", "ping"))

    wait_until(lambda: len(agent.running) == 2)
    agent.go.set()
    talk.answer(1)
    talk.answer(2)


def test_calls_beyond_the_queue_are_refused(open_session: Open, agent: Agent) -> None:
    """Spec, B-11: the queue does not grow without end. Other requests are answered meanwhile."""
    talk = open_session(agent, max_calls=1, max_waiting=3)
    talk.send(call(0, "slow"))
    wait_until(lambda: len(agent.running) == 1)

    talk.send(*(call(number, "slow") for number in range(1, 7)), plain("ping", "ping"))

    for number in (4, 5, 6):
        assert talk.answer(number)["error"] == {
            "code": -32603,
            "message": "3 calls are waiting already; repeat this one later",
        }
    assert talk.answer("ping")["result"] == {}
    agent.go.set()
    assert [_text(talk.answer(number)) for number in range(4)] == ["slow "] * 4
    assert len(agent.running) == 4
    assert talk.result(call("again", "quick"))


def test_a_cancelled_call_leaves_its_place_in_the_queue(open_session: Open, agent: Agent) -> None:
    """Spec, B-11: also while none of those that run comes to an end."""
    talk = open_session(agent, max_calls=1, max_waiting=2)
    talk.send(call(0, "slow"))
    wait_until(lambda: len(agent.running) == 1)

    talk.send(call(1, "slow"), call(2, "slow"), cancel(1), call(3, "slow"), call(4, "slow"))

    assert "2 calls are waiting already" in talk.answer(4)["error"]["message"]
    agent.go.set()
    assert [_text(talk.answer(number)) for number in (0, 2, 3)] == ["slow "] * 3


def test_a_queued_call_can_be_cancelled(talk: Session, agent: Agent) -> None:
    """Spec, cancellation: there is no response, and the tool does not run."""
    talk.send(*(call(number, "slow", {"mark": str(number)}) for number in range(MAX_CALLS + 1)), cancel(MAX_CALLS))
    wait_until(lambda: len(agent.running) == MAX_CALLS)
    talk.result(plain("read that far", "ping"))
    agent.go.set()
    for number in range(MAX_CALLS):
        talk.answer(number)

    talk.result(call("next", "quick"))

    assert str(MAX_CALLS) not in agent.running
    assert not [message for message in talk.seen if message["id"] == MAX_CALLS]


# Cancellation.


def test_a_cancelled_tool_stops_and_gets_no_response(talk: Session, agent: Agent) -> None:
    """Spec, MS-18: stop the work, send nothing more for it."""
    talk.send(call(1, "patient"))
    wait_until(lambda: agent.running == ["patient"])
    talk.send(cancel(1))
    wait_until(lambda: agent.cancelled == ["patient"])

    talk.result(call(2, "quick"))

    assert [message["id"] for message in talk.seen] == [2]


def test_a_request_id_reused_after_a_cancellation_gets_its_own_response(talk: Session, agent: Agent) -> None:
    """Spec, B-1: ids are unique among the open requests only. The old call still runs and must not answer the new."""
    talk.send(call(1, "stubborn", **{"io.modelcontextprotocol/logLevel": "debug"}))
    wait_until(lambda: agent.running == ["stubborn"])
    talk.send(cancel(1), call(1, "slow", {"mark": "new"}, **{"io.modelcontextprotocol/logLevel": "debug"}))
    wait_until(lambda: agent.running == ["stubborn", "new"])

    agent.go.set()

    assert _text(talk.answer(1)) == "slow new"
    talk.result(call(2, "quick"))
    assert [message["id"] for message in talk.seen] == [1, 2]


def test_a_cancelled_tool_logs_nothing_under_a_reused_request_id(talk: Session, agent: Agent) -> None:
    """Spec, B-1: a log message of the old call is not the new one's, at whose level it would be sent."""
    talk.send(call(1, "stubborn"))
    wait_until(lambda: agent.running == ["stubborn"])
    talk.send(cancel(1), call(1, "slower", **{"io.modelcontextprotocol/logLevel": "debug"}))
    wait_until(lambda: agent.running == ["stubborn", "slower"])

    agent.go.set()
    wait_until(lambda: agent.running == ["slower"])
    agent.go_later.set()

    assert _text(talk.answer(1)) == "new answer"
    assert len(talk.seen) == 1


def test_an_unknown_cancellation_is_ignored(talk: Session) -> None:
    """Spec, B-9."""
    talk.send(cancel(99), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": None}})

    assert talk.result(call(1, "quick"))


def test_a_cancellation_error_without_a_cancellation_is_an_internal_error(talk: Session) -> None:
    """Ours: its client waits."""
    assert talk.error(call(1, "cancels_itself"))["code"] == -32603


# Progress and log.


def test_progress_and_log_messages_are_sent_before_the_response(talk: Session) -> None:
    """Spec, B-7: only ever growing, nothing after the answer. MS-14: logs from the level that was asked for."""
    talk.send(call(1, "working", **{"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"}))
    talk.answer(1)

    sent = [(message["method"], message["params"]) for message in talk.seen[:-1]]
    assert sent == [
        *(
            ("notifications/progress", {"progressToken": "t", "progress": done, "total": 3, "message": f"step {done}"})
            for done in (1, 2, 3)
        ),
        ("notifications/message", {"level": "warning", "logger": "working", "data": {"done": True}}),
        ("notifications/message", {"level": "error", "logger": "working", "data": "{'what': <class 'object'>}"}),
    ]


def test_progress_and_log_messages_are_sent_only_on_request(talk: Session) -> None:
    """Spec: no progress without a token, no log without a level."""
    talk.result(call(1, "working"))

    assert len(talk.seen) == 1


# Whatever an agent does.


def test_a_tool_that_exits_or_interrupts_does_not_end_the_server(
    talk: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours: an agent's own code may do anything."""
    assert talk.result(call(1, "exits"))["isError"] is True
    assert talk.result(call(2, "interrupts"))["isError"] is True
    assert talk.result(call(3, "quick"))
    assert "KeyboardInterrupt" in capfd.readouterr().err


def test_an_unknown_tool_is_refused(talk: Session) -> None:
    """Spec, tools: -32602."""
    assert talk.error(call(1, "nope"))["code"] == -32602


def test_a_content_block_that_is_not_json_is_a_tool_error(talk: Session) -> None:
    """Ours: the caller must not be left waiting, and the error names the member."""
    result = talk.result(call(1, "bad_block"))

    assert result["isError"] is True
    assert "content[0].own is not JSON" in result["content"][0]["text"]


def test_an_invalid_result_is_answered_with_an_error(talk: Session) -> None:
    """Ours: the caller must not be left waiting."""
    assert "an invalid result: _meta" in talk.result(call(1, "bad_shape"))["content"][0]["text"]
    assert talk.error(stateless(2, "prompts/get", {"name": "p"}))["code"] == -32603
    assert talk.result(call(3, "quick"))


def test_an_exception_in_a_list_is_an_internal_error(
    talk: Session, agent: Agent, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spec, MS-15: internal faults are -32603. One line goes to stderr."""
    agent.prompts = 7  # type: ignore[assignment]

    assert talk.error(stateless(1, "prompts/list"))["code"] == -32603
    assert capfd.readouterr().err == "error: prompts/list raised TypeError: 'int' object is not iterable\n"


# Both eras, batches, subscriptions.


def test_both_eras_are_served_on_one_pipe(talk: Session) -> None:
    """Spec, DE-1: an enveloped request is stateless, the others belong to the handshake; DE-4: each in its shape."""
    discovered = talk.result(DISCOVER)
    assert "resultType" in discovered
    began = talk.result(initialize())
    assert began["protocolVersion"] == "2025-11-25"

    handshake, stateless_result = talk.result(plain(1, "tools/list")), talk.result(stateless(2, "tools/list"))

    assert "resultType" not in handshake
    assert stateless_result["resultType"] == "complete"
    assert handshake["tools"] == stateless_result["tools"]
    assert talk.result(plain(3, "tools/call", {"name": "quick", "arguments": {}}))["isError"] is False
    assert talk.result(call(4, "quick"))["resultType"] == "complete"


def everything(talk: Session) -> list[Wire]:
    """The responses to a client without capabilities: every method in both eras, without `initialized`."""
    lists = ("tools/list", "prompts/list")
    params = {"name": "working", "arguments": {}, "_meta": {"progressToken": "t"}}
    talk.send(initialize(), *(plain(method, method) for method in lists), plain("call", "tools/call", params))
    talk.send(*(stateless(f"s {method}", method) for method in ("server/discover", *lists)))
    talk.send(stateless("s listen", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    talk.send(call("s call", "working", **{"progressToken": "s", "io.modelcontextprotocol/logLevel": "debug"}))
    ids = ("initialize", *lists, "call", "s server/discover", *(f"s {method}" for method in lists), "s call")
    return [talk.answer(request_id) for request_id in ids]


def test_a_client_without_capabilities_gets_no_requests(talk: Session) -> None:
    """Spec 2026-07-28, MS-7 and IO-4: a server sends no requests. MS-4: nothing depends on a capability. LS-2: also not
    before `initialized`.
    """
    answers = everything(talk)
    talk.end()

    assert all(answer["result"].get("resultType", "complete") == "complete" for answer in answers)
    sent = [*talk.seen, *map(json.loads, talk.rest())]
    assert [message for message in sent if "method" in message and "id" in message] == []


def test_a_list_is_the_same_on_every_connection(open_session: Open, agent: Agent, talk: Session) -> None:
    """Spec 2026-07-28, MS-12: also in its order, whatever went on before on one of them."""
    names = [tool["name"] for tool in agent.get_mcp_tool_definitions()]
    everything(talk)
    fresh = open_session(agent)

    for method in ("tools/list", "prompts/list"):
        assert fresh.result(stateless(method, method)) == talk.result(stateless(f"again {method}", method))
    assert [tool["name"] for tool in fresh.result(stateless(2, "tools/list"))["tools"]] == names


def test_failures_are_not_logged_to_the_client(talk: Session) -> None:
    """Spec, B-12: a traceback may hold secrets; only the log messages of the tool itself are sent."""
    tools = ("fail_in_list", "exits", "bad_block", "bad_shape")
    talk.result(initialize())
    talk.result(plain("level", "logging/setLevel", {"level": "debug"}))
    for tool in tools:
        talk.send(plain(f"{tool} 1", "tools/call", {"name": tool, "arguments": {}}))
        talk.send(call(f"{tool} 2", tool, **{"io.modelcontextprotocol/logLevel": "debug"}))
    for tool in tools:
        talk.answer(f"{tool} 1")
        talk.answer(f"{tool} 2")
    talk.end()

    sent = [*talk.seen, *map(json.loads, talk.rest())]
    assert [message for message in sent if "method" in message] == []


def test_a_batch_is_answered_with_one_array(talk: Session) -> None:
    """Spec 2025-03-26: the answers to a batch come in one array."""
    talk.result(initialize("2025-03-26"))
    params = {"name": "quick", "arguments": {}}
    talk.send([plain(1, "tools/call", params), plain(2, "ping"), plain(3, "tools/call", params)])

    answers = talk.next()

    assert {answer["id"] for answer in answers} == {1, 2, 3}


def test_a_batch_with_a_result_that_is_not_json_is_answered(talk: Session) -> None:
    """Ours: the one is a failure, the others are what they are."""
    talk.result(initialize("2025-03-26"))
    talk.send(
        [
            plain(1, "tools/call", {"name": "quick", "arguments": {}}),
            plain(2, "tools/call", {"name": "bad_block", "arguments": {}}),
        ]
    )

    answers = {answer["id"]: answer for answer in talk.next()}

    assert [answers[number]["result"]["isError"] for number in (1, 2)] == [False, True]


def test_a_subscription_is_notified_of_a_replaced_agent_and_ends_with_the_server(
    open_session: Open, agent: Agent
) -> None:
    """Spec, MS-13: acknowledged first, then the notifications with its id, at the end its result."""
    talk = open_session()
    provider = AgentProvider(agent, list_changes=True)
    talk.provider.load(provider)
    talk.send(stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    acknowledged = talk.next()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"

    provider.replace_agent(Agent())
    changed = talk.next()
    assert changed["method"] == "notifications/tools/list_changed"
    assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}

    talk.end()
    talk.server.finish(PATIENCE_SECONDS)
    assert talk.answer("s")["result"]["resultType"] == "complete"


def test_a_handshake_client_is_notified_of_a_replaced_agent(open_session: Open, agent: Agent) -> None:
    """Spec: list_changed for each kind that is offered."""
    talk = open_session()
    provider = AgentProvider(agent, list_changes=True)
    talk.provider.load(provider)
    talk.result(initialize())
    talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    provider.replace_agent(Agent())

    assert [talk.next()["method"] for _ in range(2)] == [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    ]


# Loading.


def test_a_probe_is_answered_before_a_slow_agent_has_loaded(open_session: Open, agent: Agent) -> None:
    """Ours: a probe is answered before its client gives up; the calls that follow wait for the agent."""
    talk = open_session(loading_seconds=0.0)

    early = talk.result(DISCOVER)
    assert early["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "early name"
    assert set(early["capabilities"]) == {"tools", "prompts", "resources", "completions", "logging", "extensions"}
    talk.send(initialize(), call(1, "quick"), plain(2, "ping"))
    talk.answer(2)
    assert not talk.provider.has_loaded_within(0)

    agent.prompts = []
    talk.provider.load(AgentProvider(agent))

    assert _text(talk.answer(1)) == "quick"
    late = talk.result({**DISCOVER, "id": "again"})
    assert late["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "Agent"
    assert set(late["capabilities"]) == set(early["capabilities"])
    assert talk.result(stateless(3, "prompts/list"))["prompts"] == []


@pytest.mark.parametrize("sends_at_once", [True, False])
def test_further_input_ends_the_wait_for_a_loading_agent(open_session: Open, sends_at_once: bool) -> None:
    """Ours: the client may have given up on its probe; whether its next message was read already or not."""
    talk = open_session(loading_seconds=3600.0, impatient_seconds=0.0, has_input=lambda: not sends_at_once)

    if sends_at_once:
        talk.send(DISCOVER, initialize())
    else:
        talk.send(DISCOVER)

    early = talk.answer(DISCOVER["id"])["result"]
    assert early["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "early name"


def test_an_agent_that_loads_in_time_is_described(open_session: Open, agent: Agent) -> None:
    """Ours: a request that comes first waits a little for the real description."""
    talk = open_session()
    talk.send(DISCOVER)

    talk.provider.load(AgentProvider(agent))

    assert set(talk.answer("discover")["result"]["capabilities"]) == {"tools", "prompts", "logging", "extensions"}


# The end.


def test_calls_that_run_at_the_end_of_input_are_answered(talk: Session, agent: Agent) -> None:
    """Ours: a script writes its requests, closes, and reads the answers."""
    talk.send(call(1, "slow"))
    wait_until(lambda: agent.running == [""])
    talk.end()
    finishing = threading.Thread(target=talk.server.finish, args=(60.0,), daemon=True)
    finishing.start()
    finishing.join(0.05)
    assert finishing.is_alive()
    agent.go.set()

    finishing.join(PATIENCE_SECONDS)

    assert not finishing.is_alive()
    assert _text(talk.answer(1)) == "slow "


def test_a_last_line_without_a_newline_is_read(talk: Session) -> None:
    """Ours: `printf` without a newline."""
    talk.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    talk.end()

    assert talk.answer(1)["result"] == {}


def test_calls_that_outlast_the_grace_period_are_cancelled(talk: Session, agent: Agent) -> None:
    """Ours: nothing is sent about them, and they may clean up."""
    talk.send(call(1, "patient"))
    wait_until(lambda: agent.running == ["patient"])
    talk.end()

    talk.server.finish(0.0, PATIENCE_SECONDS)

    assert agent.cancelled == ["patient"]
    assert talk.seen == []


def test_a_call_that_outlasts_the_session_sends_nothing_and_leaves_no_thread(open_session: Open, agent: Agent) -> None:
    """Ours: also when it ignores its cancellation; the threads of the other calls end too."""
    before = set(threading.enumerate())
    talk = open_session(agent)
    talk.send(*(call(number, "stubborn") for number in range(3)))
    wait_until(lambda: len(agent.running) == 3)
    talk.end()

    talk.server.finish(0.0)
    agent.go.set()

    wait_until(lambda: not [one for one in set(threading.enumerate()) - before if one.name.startswith("server ")])
    assert talk._arrived.empty()


def test_one_line_is_written_at_a_time(agent: Agent) -> None:
    """Ours: two that are written at once could be mixed, and nothing about a call may follow its answer."""
    incoming: SimpleQueue[bytes] = SimpleQueue()
    begun: list[int] = []

    def write(line: bytes) -> None:
        begun.append(json.loads(line)["id"])
        assert agent.go_later.wait(PATIENCE_SECONDS)

    provider = LoadingProvider("name")
    server = StdioSession(incoming.get, write, provider)
    provider.load(AgentProvider(agent))
    server.start()
    incoming.put(b"".join(json.dumps(call(number, "slow")).encode() + b"\n" for number in range(3)))
    wait_until(lambda: len(agent.running) == 3)
    agent.go.set()
    wait_until(lambda: len(begun) + len(server._calls._outbox) == 3)
    in_line = [outgoing.about for outgoing in server._calls._outbox]

    assert len(begun) == 1
    agent.go_later.set()
    wait_until(lambda: len(begun) == 3)
    assert begun[1:] == in_line
    incoming.put(b"")
    server.wait()


def test_nothing_is_written_after_a_broken_pipe(agent: Agent) -> None:
    """Ours: each write might block for ever."""
    incoming: SimpleQueue[bytes] = SimpleQueue()
    written: list[bytes] = []

    def write(line: bytes) -> None:
        written.append(line)
        raise BrokenPipeError

    provider = LoadingProvider("name")
    server = StdioSession(incoming.get, write, provider)
    provider.load(AgentProvider(agent))
    server.start()
    incoming.put(b"".join(json.dumps(call(tool, tool)).encode() + b"\n" for tool in ("slow", "quick")))
    server.wait()
    agent.go.set()

    server.finish(PATIENCE_SECONDS)

    assert [json.loads(line)["id"] for line in written] == ["quick"]
    incoming.put(b"")


def test_a_broken_pipe_ends_the_session(talk: Session, capfd: pytest.CaptureFixture[str]) -> None:
    """Ours: the client has disconnected, which is not worth a traceback."""
    talk.broken = True
    talk.send(call(1, "quick"), call(2, "quick"))

    talk.end()

    talk.server.finish(0.0)
    assert capfd.readouterr().err == ""


def test_a_line_beyond_the_limit_ends_the_session(
    open_session: Open, agent: Agent, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours: a client that never ends its line does not take the machine with it."""
    talk = open_session(agent, max_line_bytes=1000)

    talk.write(b"x" * 2000)
    talk.end()

    assert "a line of more than 1000 bytes" in capfd.readouterr().err


def test_a_read_error_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a server that cannot read would never answer again. The exception is reported."""
    reasons: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: reasons.append(arguments.exc_value))

    def read() -> bytes:
        raise OSError("input/output error")

    server = StdioSession(read, lambda _: None, LoadingProvider("name"))
    server.start()
    server.wait()

    wait_until(lambda: len(reasons) == 1)
    assert isinstance(reasons[0], OSError)


def test_an_invalid_line_is_answered_with_an_error(talk: Session) -> None:
    """Spec: a parse error is -32700; reading goes on."""
    talk.write(b"{nonsense\n\n[1]\n")

    assert talk.next()["error"]["code"] == -32700
    assert talk.next()["error"]["code"] == -32600
    assert talk.result(call(1, "quick"))


class Waiting:
    """An agent of which one tool waits for another, and one for being cancelled."""

    def __init__(self, threads: Threads) -> None:
        self._released = threads.Event()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": name} for name in ("quick", "slow", "release", "patient")]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "slow":
            self._released.wait()
        elif name == "release":
            self._released.set()
        elif name == "patient":
            current_call().wait(PATIENCE_SECONDS)
        return name


ORDERS: dict[str, tuple[list[list[Wire]], set[int]]] = {
    "one after another": ([[call(1, "quick")], [call(2, "quick")], [call(3, "quick")]], {1, 2, 3}),
    "a call that lasts": ([[call(1, "slow")], [call(2, "release")]], {1, 2}),
    "calls that come together": ([[call(1, "slow"), call(2, "slow"), call(3, "release")]], {1, 2, 3}),
    "a cancellation": ([[call(1, "patient")], [cancel(1)], [call(2, "quick")]], {2}),
    "more calls than threads": (
        [[call(1, "quick")], [call(2, "slow"), call(3, "quick")], [call(4, "quick")], [call(5, "release")]],
        {1, 2, 3, 4, 5},
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_in_every_order_each_request_is_answered_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: whichever thread leads, is deposed or follows; and the end of input ends all of them. No wait times out."""
    sent, expected = ORDERS[name]

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        for module in (reading, leader_follower, loading, calls, toolcall):
            monkeypatch.setattr(module, "threading", threads)
        monkeypatch.setattr(toolcall, "_creating", threads.Lock())
        monkeypatch.setattr(leader_follower, "time", threads)
        answers: list[Wire] = []
        incoming = threads.SimpleQueue()
        provider = LoadingProvider("name", 60)
        server = StdioSession(incoming.get, lambda line: answers.append(json.loads(line)), provider, max_calls=3)
        provider.load(AgentProvider(Waiting(threads)))

        def ask() -> None:
            for messages in sent:
                incoming.put(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
            run.step(lambda: len(answers) == len(expected))
            incoming.put(b"")
            server.wait()
            server.finish(60)

        server.start()
        run.spawn(ask, "client")

        def check() -> None:
            assert sorted(answer["id"] for answer in answers) == sorted(expected)

        return check

    # With two detours they hold as well; that takes a minute.
    assert explore(scenario, detours=1) > 40


# Output that is not taken.


def session_of(agent: Agent, write: Callable[[bytes], None]) -> StdioSession:
    """A session whose client sends a ping, and closes our input."""
    provider = LoadingProvider("early name")
    provider.load(AgentProvider(agent))
    sent = iter([json.dumps(plain(1, "ping")).encode() + b"\n"])
    return StdioSession(lambda: next(sent, b""), write, provider)


@pytest.mark.parametrize(("error", "is_problem"), [(BrokenPipeError(), False), (OSError(28, "full"), True)])
def test_a_write_error_is_a_problem_and_a_broken_pipe_is_not(agent: Agent, error: OSError, is_problem: bool) -> None:
    """Ours: both end the session."""

    def write(_: bytes) -> None:
        raise error

    session = session_of(agent, write)
    session.start()
    session.wait()
    session.finish(PATIENCE_SECONDS)

    assert session.problem is (error if is_problem else None)


def test_giving_up_ends_a_session_with_a_blocked_write(agent: Agent) -> None:
    """Ours: the client does not read it."""
    writing, taken = threading.Event(), threading.Event()

    def write(_: bytes) -> None:
        writing.set()
        taken.wait(PATIENCE_SECONDS)

    session = session_of(agent, write)
    session.start()
    assert writing.wait(PATIENCE_SECONDS)

    session.give_up()
    session.wait()
    session.finish(PATIENCE_SECONDS)

    assert not taken.is_set()
    taken.set()


# Calls that ask their client.


class AskingAgent:
    """A tool that asks for the folders, and one that does not."""

    def get_mcp_tool_definitions(self) -> list[Wire]:
        """As every agent."""
        return [{"name": "ask"}, {"name": "quick"}]

    def execute_mcp_tool(self, name: str, arguments: Wire) -> str:
        """As every agent."""
        return current_call().roots()[0].uri if name == "ask" else "quick"


def asking_session(open_session: Open, agent: AskingAgent | None = None, **options: Any) -> Session:
    """A session with a client that has folders."""
    talk = open_session(agent or AskingAgent(), **options)
    opening = initialize()
    opening["params"]["capabilities"] = {"roots": {}}
    talk.result(opening)
    talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return talk


def call_tool(request_id: str, name: str) -> Wire:
    """A call in the handshake era."""
    return plain(request_id, "tools/call", {"name": name, "arguments": {}})


def text_of(answer: Wire) -> str:
    """The text of a tool's result."""
    text: str = answer["result"]["content"][0]["text"]
    return text


def test_calls_that_wait_for_their_client_take_no_place(open_session: Open) -> None:
    """Ours: a person may take an hour; others are served meanwhile, and afterwards no thread is left over."""
    before = threading.active_count()
    talk = asking_session(open_session, max_calls=2)

    talk.send(*(call_tool(f"ask {number}", "ask") for number in range(20)))
    asked = [talk.next() for _ in range(20)]
    assert {one["method"] for one in asked} == {"roots/list"}
    talk.send(*(call_tool(f"quick {number}", "quick") for number in range(5)))
    assert [text_of(talk.answer(f"quick {number}")) for number in range(5)] == ["quick"] * 5

    answers = [{"jsonrpc": "2.0", "id": one["id"], "result": {"roots": [{"uri": "file:///a"}]}} for one in asked]
    talk.send(*answers)
    assert {text_of(talk.answer(f"ask {number}")) for number in range(20)} == {"file:///a"}
    # The leader, its followers up to the limit, and the watch.
    wait_until(lambda: threading.active_count() <= before + 4)


def test_a_call_that_waits_for_its_client_continues_with_the_response(open_session: Open) -> None:
    """Ours: while no other call is there."""
    talk = asking_session(open_session)

    talk.send(call_tool("ask", "ask"))
    asked = talk.next()
    talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}})

    assert text_of(talk.answer("ask")) == "file:///a"


def test_a_call_that_waits_for_its_client_makes_room_for_a_queued_call(open_session: Open) -> None:
    """Ours: at the limit, the next call runs as soon as another one asks."""
    gate = threading.Event()

    class Gated(AskingAgent):
        def execute_mcp_tool(self, name: str, arguments: Wire) -> str:
            """Holds back the first call."""
            assert gate.wait(PATIENCE_SECONDS)
            return super().execute_mcp_tool(name, arguments)

    talk = asking_session(open_session, Gated(), max_calls=1, on_full=lambda _: gate.set())

    talk.send(call_tool("ask", "ask"), call_tool("quick", "quick"))

    assert text_of(talk.answer("quick")) == "quick"
    # The place is left before the question is sent.
    while not (questions := [one for one in talk.seen if one.get("method") == "roots/list"]):
        talk.next()
    (asked,) = questions
    talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}})
    assert text_of(talk.answer("ask")) == "file:///a"


def test_a_substitute_thread_stays_when_the_limit_was_raised(open_session: Open) -> None:
    """Ours: where more calls are allowed by then, it serves others."""
    is_full, is_running, may_end = threading.Event(), threading.Event(), threading.Event()

    class Gated(AskingAgent):
        def execute_mcp_tool(self, name: str, arguments: Wire) -> str:
            """Asks when another call waits, which runs until the test lets it end."""
            if name == "ask":
                assert is_full.wait(PATIENCE_SECONDS)
            else:
                is_running.set()
                assert may_end.wait(PATIENCE_SECONDS)
            return super().execute_mcp_tool(name, arguments)

    talk = asking_session(open_session, Gated(), max_calls=1, on_full=lambda _: is_full.set())
    talk.send(call_tool("ask", "ask"), call_tool("quick", "quick"))
    asked = talk.next()
    assert is_running.wait(PATIENCE_SECONDS)
    talk.server.max_calls = 3
    may_end.set()

    assert text_of(talk.answer("quick")) == "quick"
    talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}})
    assert text_of(talk.answer("ask")) == "file:///a"


def test_a_substitute_thread_ends_when_both_calls_run(open_session: Open) -> None:
    """Ours: with the call that it was made for, if it is the first to end."""
    before = threading.active_count()
    is_full, has_answer, may_end = threading.Event(), threading.Event(), threading.Event()

    class Gated(AskingAgent):
        def execute_mcp_tool(self, name: str, arguments: Wire) -> str:
            """Asks when another call waits, and runs on until that one has ended."""
            if name == "quick":
                assert has_answer.wait(PATIENCE_SECONDS)
                return super().execute_mcp_tool(name, arguments)
            assert is_full.wait(PATIENCE_SECONDS)
            result = super().execute_mcp_tool(name, arguments)
            has_answer.set()
            assert may_end.wait(PATIENCE_SECONDS)
            return result

    talk = asking_session(open_session, Gated(), max_calls=1, on_full=lambda _: is_full.set())

    talk.send(call_tool("ask", "ask"), call_tool("quick", "quick"))
    asked = talk.next()
    talk.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}})

    assert text_of(talk.answer("quick")) == "quick"
    # The leader, the call that still runs, and the watch.
    wait_until(lambda: threading.active_count() <= before + 3)
    may_end.set()
    assert text_of(talk.answer("ask")) == "file:///a"


class Deposed:
    """Counts how often a leader was deposed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def acquired_by_another(leadership: Leadership) -> threading.Event:
    """Set when another thread leads."""
    acquired = threading.Event()

    def wait_for_it() -> None:
        leadership.acquire()
        acquired.set()

    threading.Thread(target=wait_for_it, daemon=True).start()
    return acquired


def test_one_thread_leads_until_it_releases() -> None:
    """Ours: two threads that read one pipe would each have half of it."""
    leadership = Leadership(Deposed())
    leadership.acquire()
    acquired = acquired_by_another(leadership)
    assert not acquired.wait(0.02)

    leadership.release()
    assert acquired.wait(PATIENCE_SECONDS)


def test_a_leader_still_leads_after_a_quick_call() -> None:
    """Ours: waking a follower each time would cost more than the call."""
    deposed = Deposed()
    leadership = Leadership(deposed, tick_seconds=60)
    leadership.acquire()
    for _ in range(100):
        call = object()
        leadership.keep(call)
        assert leadership.is_kept(call)
    assert deposed.times == 0


def test_a_leader_is_deposed_while_its_call_lasts() -> None:
    """Ours: a ping must be answered and a cancellation received while a tool runs."""
    deposed = Deposed()
    leadership = Leadership(deposed)
    leadership.acquire()
    call = object()
    leadership.keep(call)

    assert acquired_by_another(leadership).wait(PATIENCE_SECONDS)
    assert deposed.times == 1
    assert not leadership.is_kept(call)


def test_leaders_are_deposed_again_and_again() -> None:
    """Ours: also after the watch has slept."""
    deposed = Deposed()
    leadership = Leadership(deposed)
    leadership.acquire()
    for number in (1, 2, 3):
        leadership.keep(object())
        leadership.acquire()
        assert deposed.times == number
        wait_until(lambda: not leadership._is_watched)


def test_a_deposed_leader_does_not_take_the_lead_of_another_call() -> None:
    """Ours: a slow call may end while a later one is kept."""

    def on_depose() -> None:
        leadership._tick_seconds = 60  # The next leader is not deposed while we look.

    leadership = Leadership(on_depose)
    leadership.acquire()
    slow, quick = object(), object()
    leadership.keep(slow)
    leadership.acquire()  # By another thread, after the first was deposed.
    leadership.keep(quick)

    assert not leadership.is_kept(slow)
    assert leadership.is_kept(quick)


def test_the_watch_sleeps_when_there_are_no_calls() -> None:
    """Ours: an idle server must not wake its machine."""
    leadership = Leadership(Deposed())
    leadership.acquire()
    call = object()
    leadership.keep(call)
    leadership.is_kept(call)  # Ends the call; on a busy machine the watch may have been quicker.

    wait_until(lambda: not leadership._is_watched)
    assert not leadership._wake.is_set()


@pytest.mark.parametrize("sleeps", [False, True])
def test_the_watch_ends_with_the_session(sleeps: bool) -> None:
    """Ours: a keeper serves a session for each command, and would have a thread more after each of them."""
    leadership = Leadership(Deposed(), tick_seconds=0.0)
    leadership.acquire()
    call = object()
    leadership.keep(call)
    leadership.is_kept(call)
    if sleeps:
        wait_until(lambda: not leadership._is_watched)
    leadership.close()
    leadership._watch.join(PATIENCE_SECONDS)
    leadership.keep(call)

    assert not leadership._watch.is_alive()


def test_a_leader_whose_call_waits_steps_down_at_once() -> None:
    """Ours: the answer that it waits for is read by another thread; the watch would take a moment."""
    deposed = Deposed()
    leadership = Leadership(deposed, tick_seconds=60)
    leadership.acquire()
    call = object()
    leadership.keep(call)
    acquired = acquired_by_another(leadership)

    leadership.step_down(object())
    assert deposed.times == 0
    leadership.step_down(call)

    assert acquired.wait(PATIENCE_SECONDS)
    assert deposed.times == 1
    assert not leadership.is_kept(call)
    leadership.step_down(call)
    assert deposed.times == 1
