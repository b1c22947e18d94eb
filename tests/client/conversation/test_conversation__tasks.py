"""A call that its server continues as a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.conversation import CANCEL_SECONDS
from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CallCancelledError, CallLateError, OutcomeUnknownError, PeerError, RemoteProtocolError
from tests.client.eras import CAPABILITIES, ERAS, scripted
from tests.client.transports.talk import Message, Talk, error, in_thread
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

EXTENSION = "io.modelcontextprotocol/tasks"
DONE: Message = {"content": [{"type": "text", "text": "done"}]}
QUESTION = {"method": "elicitation/create", "params": {"message": "Which city?"}}


def described(status: str, **members: Any) -> Message:
    times = {"createdAt": "2026-11-20T08:00:00Z", "lastUpdatedAt": "2026-11-20T08:00:00Z", "ttlMs": None}
    return {"resultType": "complete", "taskId": "t-1", "status": status, "pollIntervalMs": 1, **times, **members}


class Tasks:
    """A server of the stateless era that makes each call a task. Polls return `states`, the last of them for ever."""

    def __init__(self, *states: Any) -> None:
        self.states = list(states)
        self.created = described("working", resultType="task")

    def __call__(self, message: Message) -> Any:
        method = message["method"]
        if method == "tools/call":
            return self.created
        if method == "tasks/get":
            return self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"resultType": "complete"}


def client_of(server: Callable[[Message], Any], **options: Any) -> tuple[MCPClient, Talk]:
    talk = Talk(scripted(ERAS[0], server, CAPABILITIES))
    client = MCPClient("odd", talk, timeout=5, **options)
    client.open()
    talk.sent.clear()
    return client, talk


def test_the_result_of_a_task_is_the_result_of_the_call() -> None:
    """Extension: the server alone decides, and a client that declared it accepts either result."""
    server = Tasks(described("working"), described("completed", result=DONE))
    client, talk = client_of(server)

    assert client.call("report", {}) == DONE
    assert talk.methods() == ["tools/call", "tasks/get", "tasks/get"]
    assert all(message["params"]["taskId"] == "t-1" for message in talk.sent[1:])
    meta = talk.sent[0]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] == {EXTENSION: {}}


def test_status_messages_of_a_task_are_reported_as_progress() -> None:
    """Ours: each once, since polls repeat them."""
    working = [described("working", statusMessage=text) for text in ("", "reading", "reading", "writing")]
    client, _ = client_of(Tasks(*working, described("completed", result=DONE)))
    seen: list[tuple[float, str]] = []

    client.call("report", {}, on_progress=lambda progress: seen.append((progress.progress, progress.text)))

    assert seen == [(1, "reading"), (2, "writing")]


def test_each_input_request_of_a_task_is_answered_once() -> None:
    """Extension: keys are unique for the task's life, and the server's state follows later."""
    asking = described("input_required", inputRequests={"q": QUESTION})
    more = described("input_required", inputRequests={"q": QUESTION, "r": {"method": "roots/list"}})
    server = Tasks(asking, asking, more, described("completed", result=DONE))
    accepted = {"action": "accept", "content": {"city": "Oslo"}}
    client, talk = client_of(server, host=Host(elicit=lambda _: accepted))

    assert client.call("report", {}) == DONE

    updates = [message["params"] for message in talk.sent if message["method"] == "tasks/update"]
    assert [update["inputResponses"] for update in updates] == [{"q": accepted}, {"r": {"roots": []}}]


def test_a_failed_task_is_a_peer_error() -> None:
    """Extension, FailedTask: a JSON-RPC error, not an error of the tool."""
    client, talk = client_of(Tasks(described("failed", error={"code": -32603, "message": "no room"})))

    with pytest.raises(PeerError, match="no room") as caught:
        client.call("report", {})

    assert caught.value.code == -32603
    assert "tasks/cancel" not in talk.methods()


def test_a_task_cancelled_by_the_server_is_an_error() -> None:
    """Ours: the caller must not take it for a result; the tool may have run in part."""
    client, talk = client_of(Tasks(described("cancelled")))

    with pytest.raises(CallCancelledError, match="the task of 'report'") as caught:
        client.call("report", {})

    assert caught.value.tool == "report"
    assert "tasks/cancel" not in talk.methods()


def test_a_task_whose_time_ran_out_is_cancelled() -> None:
    """Extension: with a request of its own, never with a notification."""
    client, talk = client_of(Tasks(described("working", pollIntervalMs=60_000)))
    clock = Clock()
    deadline = Deadline(0.2, clock=clock)

    def poll(message: Message) -> Any:
        clock.now += 0.1  # So long does each poll take on this clock.
        return Tasks(described("working"))(message)

    talk.script = scripted(ERAS[0], poll, CAPABILITIES)
    with pytest.raises(CallLateError) as caught:
        client.call("report", {}, deadline)

    assert caught.value.tool == "report"
    assert talk.sent[-1]["method"] == "tasks/cancel"
    assert "notifications/cancelled" not in talk.methods()


def test_each_poll_that_is_answered_extends_the_deadline() -> None:
    """Ours, as progress does: a task may take as long as its server responds."""
    clock = Clock()
    states = Tasks(*[described("working")] * 5, described("completed", result=DONE))

    def poll(message: Message) -> Any:
        clock.now += 0.6
        return states(message)

    client, _ = client_of(poll)

    assert client.call("report", {}, Deadline(1, ceiling=60, clock=clock)) == DONE


def test_cancelling_the_deadline_cancels_the_task() -> None:
    """Ours: at once, however long the poll interval of the server is."""
    server = Tasks(described("working"))
    server.created["pollIntervalMs"] = 60_000
    client, talk = client_of(server)
    deadline = Deadline(3600)
    thread, outcomes = in_thread(lambda: client.call("report", {}, deadline))
    wait_until(lambda: "tools/call" in talk.methods())

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], OutcomeUnknownError)
    assert talk.methods() == ["tools/call", "tasks/cancel"]


def test_a_keyboard_interrupt_cancels_the_task() -> None:
    """Ours: the user no longer wants the result. The exception is raised after that."""
    client, talk = client_of(Tasks(described("working", statusMessage="reading")))

    def interrupt(_progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.call("report", {}, on_progress=interrupt)

    assert talk.methods()[-1] == "tasks/cancel"


def test_a_refused_cancellation_does_not_hide_the_first_error() -> None:
    """Ours: the first error is the reason why the call failed."""

    def answer(message: Message) -> Any:
        if message["method"].startswith("tasks/"):
            return [error(message, -32602, f"no task for {message['method']}")]
        return described("working", resultType="task")

    client, talk = client_of(answer)

    with pytest.raises(PeerError, match="no task for tasks/get"):
        client.call("report", {})
    assert talk.methods()[-1] == "tasks/cancel"


def test_a_cancellation_without_a_response_ends_with_its_own_time_limit() -> None:
    """Ours: the deadline of the call, an hour here, does not apply to its cancellation."""

    def answer(message: Message) -> Any:
        return None if message["method"] == "tasks/cancel" else Tasks(described("asleep"))(message)

    client, talk = client_of(answer)

    with pytest.raises(RemoteProtocolError, match="asleep"):
        client.call("report", {}, Deadline(3600))
    assert talk.methods()[-2:] == ["tasks/cancel", "notifications/cancelled"]
    assert CANCEL_SECONDS < PATIENCE_SECONDS


@pytest.mark.parametrize("where", ["tools/call", "tasks/get"])
def test_an_invalid_task_is_an_unknown_outcome(where: str) -> None:
    """Ours: the server has accepted the call, so the tool may have run."""
    server = Tasks(described("asleep"))
    if where == "tools/call":
        server.created = described("asleep", resultType="task")
    client, _ = client_of(server)

    with pytest.raises(RemoteProtocolError, match="asleep") as caught:
        client.call("report", {})

    assert isinstance(caught.value, OutcomeUnknownError)


def test_only_a_call_may_become_a_task() -> None:
    """Extension: tools/call alone; and in the handshake era nothing does."""
    client, _ = client_of(lambda message: {**described("working"), "resultType": "task"})
    with pytest.raises(RemoteProtocolError, match="'task'"):
        client.request("prompts/get", {"name": "p"})

    handshake = Talk(scripted(ERAS[1], lambda _: {"content": [], "resultType": "task"}, CAPABILITIES))
    with MCPClient("old", handshake, timeout=5) as old:
        assert old.call("report", {}) == {"content": []}
