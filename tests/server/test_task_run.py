"""A tool that runs as a task: what it reports, asks and returns, and what goes wrong with that."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.asking.questions import Elicit, ListRoots
from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, MISSING_CAPABILITY
from gaia_mcp.protocol.server import Description
from gaia_mcp.protocol.tasks import RUNNING_SECONDS, TaskState
from gaia_mcp.server.http.workers import Workers
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.task_run import BY_CLIENT, BY_TOOL, TaskStates
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore, StoreFullError
from tests.server.stores import FailingStore
from tests.server.task_client import ADA, EXTENSIONS, NAME, Jobs, TaskClient, text_of
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until


class Gate:
    """Tools wait here, each step of the way."""

    def __init__(self) -> None:
        self._steps = threading.Semaphore(0)

    def wait(self) -> None:
        assert self._steps.acquire(timeout=PATIENCE_SECONDS)

    def open(self) -> None:
        self._steps.release()


class Raw:
    """A provider whose calls become tasks, and return or raise something."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def describe(self) -> Description:
        return Description({"name": "raw", "version": "1"}, {"tools": {}, "extensions": EXTENSIONS})

    def answer(self, _method: str, _params: dict[str, Any], call: Call) -> Any:
        assert call.continue_as_task()
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def on_change(self, _listener: Any, _wanted: Any = ()) -> Any:
        return lambda: None

    def close(self) -> None:
        """Nothing."""


def ended(client: TaskClient, task: str) -> dict[str, Any]:
    """The final state."""
    wait_until(lambda: client.state(task)["status"] in ("completed", "failed", "cancelled"))
    return client.state(task)


# Reporting.


def test_progress_becomes_the_status_message() -> None:
    """Extension, statusMessage: progress and log messages do not exist for tasks."""
    gate = Gate()

    def work(call: Call) -> str:
        for report in ((1.0, None, ""), (2.0, 3.0, ""), (3.0, 3.0, "nearly there")):
            call.progress(*report)
            call.log("error", "not for this")
            call.close_stream()
            gate.wait()
        return "done"

    client = TaskClient(Jobs(work=work))
    task = client.task("work")

    for message in ("1", "2 of 3", "nearly there"):
        wait_until(lambda message=message: client.state(task).get("statusMessage") == message)
        gate.open()
    assert "statusMessage" not in client.until(task, "completed")
    assert [message for message in client.sent if "method" in message] == []


def test_progress_before_the_task_is_sent_for_the_request() -> None:
    """Ours: the tool decides when it goes on without it."""
    gate = Gate()

    def work(call: Call) -> str:
        call.progress(1, 2, "looking")
        size = "large"
        assert call.continue_as_task() is True
        assert call.continue_as_task(required=True) is True
        call.progress(2, 2, size)
        gate.wait()
        return "done"

    client = TaskClient(Jobs("forbidden", work=work))
    task = client.task("work")

    wait_until(lambda: client.state(task).get("statusMessage") == "large")
    assert [report["message"] for report in client.notified("notifications/progress")] == ["looking"]
    gate.open()
    assert text_of(client.until(task, "completed")["result"]) == "done"


# Asking.


def test_input_requests_are_answered_one_by_one() -> None:
    """Extension: the task asks until the last is answered."""
    client = TaskClient(Jobs(ask=lambda call: str(call.ask_all(Elicit("Who?", NAME, name="who"), ListRoots()))))
    task = client.task("ask")
    keys = list(client.until(task, "input_required")["inputRequests"])
    assert [key.rpartition("-")[0] for key in keys] == ["who", "2"]

    client.update(task, **{keys[0]: ADA})
    state = client.state(task)
    assert (state["status"], list(state["inputRequests"])) == ("input_required", keys[1:])
    client.update(task, **{keys[1]: {"roots": []}})

    assert text_of(ended(client, task)["result"]) == "[Accepted(value={'name': 'Ada'}), []]"


def test_a_repeated_input_request_has_a_new_key() -> None:
    """Extension: a key is unique over the lifetime of a task. The first response does not fit the question."""
    client = TaskClient(Jobs(ask=lambda call: str(call.elicit("Who?", NAME))))
    task = client.task("ask")
    seen: list[str] = []
    for response in ("nonsense", None, {"action": "accept", "content": {"name": 5}}, ADA):
        (key,) = client.until(task, "input_required")["inputRequests"]
        seen.append(key)
        client.update(task, **{key: response})
        wait_until(lambda key=key: key not in client.state(task).get("inputRequests", {}))

    assert "Ada" in text_of(ended(client, task)["result"])
    assert len(set(seen)) == 4


def test_too_many_invalid_responses_fail_the_tool() -> None:
    """Ours: after ten rounds, with the reason."""
    client = TaskClient(Jobs(ask=lambda call: str(call.elicit("Who?", NAME))))
    task = client.task("ask")
    while True:
        wait_until(lambda: client.state(task)["status"] != "working")
        state = client.state(task)
        if state["status"] != "input_required":
            break
        (key,) = state["inputRequests"]
        client.update(task, **{key: {}})
        wait_until(lambda key=key: key not in client.state(task).get("inputRequests", {}))

    assert state["result"]["isError"]
    assert "action must be accept, decline or cancel" in text_of(state["result"])


def test_input_requests_before_the_task_belong_to_the_call() -> None:
    """Extension: questions before the task travel with the request, which is sent again."""
    runs: list[str] = []

    def work(call: Call) -> str:
        name = call.elicit("Who?", NAME)
        runs.append(call.once("stamp", lambda: f"stamp {len(runs)}"))
        call.continue_as_task()
        return f"{name} {call.roots()}"

    client = TaskClient(Jobs("forbidden", work=work))
    first = client.call("work")["result"]
    assert (first["resultType"], "taskId" in first) == ("input_required", False)
    params = {"name": "work", "arguments": {}, "inputResponses": {"1": ADA}, "requestState": first["requestState"]}
    second = client.ask("tools/call", params)["result"]
    assert second["resultType"] == "task"
    assert not {"requestState", "inputRequests"} & set(second)

    (key,) = client.until(second["taskId"], "input_required")["inputRequests"]
    client.update(second["taskId"], **{key: {"roots": []}})

    assert text_of(ended(client, second["taskId"])["result"]) == "Accepted(value={'name': 'Ada'}) []"
    assert runs == ["stamp 0"]


def test_a_missing_client_capability_fails_the_task() -> None:
    """Extension, failed: it is a JSON-RPC error."""
    client = TaskClient(Jobs(work=lambda call: call.sample("Think.")))

    state = ended(client, client.task("work"))

    assert (state["status"], state["error"]["code"]) == ("failed", MISSING_CAPABILITY)
    assert state["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert state["statusMessage"] == state["error"]["message"]


def test_a_coroutine_elicits_input_in_a_task() -> None:
    """Ours: the loop goes on with other calls meanwhile."""

    async def ask(call: Call) -> str:
        call.continue_as_task()
        await asyncio.sleep(0)
        return str(await call.elicit("Who?", NAME))  # type: ignore[misc]

    client = TaskClient(Jobs("forbidden", ask=ask))
    task = client.task("ask")
    (key,) = client.until(task, "input_required")["inputRequests"]
    client.update(task, **{key: ADA})

    assert "Ada" in text_of(ended(client, task)["result"])


def test_cancelling_a_task_ends_its_input_request() -> None:
    """Extension, tasks/cancel; and async code as well."""
    outcomes: list[str] = []

    def ask(call: Call) -> None:
        try:
            call.elicit("Who?", NAME)
        except CallCancelledError:
            outcomes.append("cancelled")
            raise

    async def sleep(_call: Call) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            outcomes.append("slept")
            raise

    client = TaskClient(Jobs(ask=ask, sleep=sleep))
    asking, sleeping = client.task("ask"), client.task("sleep")
    client.until(asking, "input_required")

    for task in (asking, sleeping):
        client.ask("tasks/cancel", {"taskId": task})

    wait_until(lambda: sorted(outcomes) == ["cancelled", "slept"])
    assert "inputRequests" not in client.state(asking)


def test_an_unanswered_input_request_times_out() -> None:
    """Ours: a person who has left does not come back. The input request is removed from the task."""
    gate = Gate()

    def ask(call: Any) -> str:
        call.answer_seconds = 0.01
        try:
            call.elicit("Who?", NAME)
        except QuestionError as problem:
            call.progress(1, text="unanswered")
            gate.wait()
            return str(problem)
        return "answered"

    client = TaskClient(Jobs(ask=ask))
    task = client.task("ask")

    wait_until(lambda: client.state(task).get("statusMessage") == "unanswered")
    assert client.state(task)["status"] == "working"
    gate.open()
    assert "was not answered within" in text_of(ended(client, task)["result"])


# Ends.


def test_an_exception_of_a_tool_is_a_result_of_the_task() -> None:
    """Extension: failed is for JSON-RPC errors only."""

    def work(_call: Call) -> None:
        raise KeyError("no such note")

    client = TaskClient(Jobs(work=work))
    state = ended(client, client.task("work"))

    assert (state["status"], state["result"]["isError"]) == ("completed", True)
    assert "no such note" in text_of(state["result"])
    assert client.failures == ["tool 'work' raised KeyError: 'no such note'"]


def failed(outcome: Any) -> tuple[dict[str, Any], list[str]]:
    """The error of a task with this outcome, and the failures that were reported of it."""
    client = TaskClient(Raw(outcome))
    state = ended(client, client.task("any"))
    assert (state["status"], state["statusMessage"]) == ("failed", state["error"]["message"]), outcome
    assert client.calls.wait_until_over(PATIENCE_SECONDS)
    return state["error"], client.failures


def test_an_error_fails_the_task() -> None:
    """Extension, failed: as it would the request. An error of the request itself is not reported as a failure."""
    assert failed(RequestError("no such tool")) == ({"code": -32602, "message": "no such tool"}, [])
    for outcome, message in (
        (ResultError("nothing"), "tools/call returned nothing"),
        (SystemExit(3), "tools/call raised SystemExit: 3"),
    ):
        assert failed(outcome) == ({"code": INTERNAL_ERROR, "message": message}, [message])


def test_an_invalid_result_fails_the_task() -> None:
    """Extension, failed: as it would the request."""
    results: list[Any] = [
        {"content": 5},
        {"content": [object()]},
        {"content": [], "requestState": "x"},
        {"resultType": "task"},
        {"content": [], "structuredContent": float("nan")},
    ]

    assert [result for result in results if len(failed(result)[1]) != 1] == []


def test_a_result_that_does_not_fit_into_the_store_fails_the_task() -> None:
    """Ours: its client learns why."""
    tasks = Tasks(MemoryStore(max_bytes=5000))
    client = TaskClient(Jobs(work=lambda _: "x" * 10_000), tasks=tasks)

    state = ended(client, client.task("work"))

    assert state["error"]["message"].startswith("tools/call returned a result that cannot be kept: the store has no")
    assert client.failures == [state["error"]["message"]]


def test_a_full_store_refuses_input_requests_and_ignores_progress() -> None:
    """Ours: progress is not worth ending the work for."""
    store = MemoryStore(max_bytes=5000)
    full = threading.Event()

    def work(call: Call) -> str:
        assert full.wait(PATIENCE_SECONDS)
        call.progress(1, text="a message")
        try:
            call.elicit("Who?", NAME)
        except QuestionError as problem:
            store.remove("rest")
            return str(problem)
        return "asked"

    client = TaskClient(Jobs(work=work), tasks=Tasks(store))
    task = client.task("work")
    store.put("rest", bytes(5000 - store.size - 500), 60)
    with suppress(StoreFullError):
        for number in range(100):
            store.put(f"rest {number}", b"", 60)
    full.set()

    assert "the question cannot be asked: the store has no room" in text_of(ended(client, task)["result"])


def test_an_expired_task_cancels_its_tool() -> None:
    """Ours: no caller can ask for it any more."""
    clock = Clock()
    gate, outcomes = Gate(), []

    def work(call: Call) -> None:
        gate.wait()
        call.progress(1)
        outcomes.append(call.is_cancelled)

    client = TaskClient(Jobs(work=work), tasks=Tasks(MemoryStore(clock=clock), clock=clock))
    client.task("work")

    clock.now += RUNNING_SECONDS
    gate.open()

    wait_until(lambda: outcomes == [True])


def test_a_task_lost_by_the_store_is_saved_again() -> None:
    """Ours: a client that knows the id of a task finds it, also after the store was emptied."""
    store = MemoryStore()
    gate = Gate()

    def work(call: Call) -> str:
        gate.wait()
        call.progress(1, text="half")
        gate.wait()
        return "done"

    client = TaskClient(Jobs(work=work), tasks=Tasks(store))
    task = client.task("work")

    for message in ("half", ""):
        store.remove(f"task/{task}")
        gate.open()
        wait_until(lambda: store.get(f"task/{task}"))
        state = client.until(task, "completed") if not message else client.state(task)
        assert state.get("statusMessage", "") == message


@pytest.mark.parametrize("outcome", [{"content": []}, ValueError("no")])
def test_the_final_state_is_saved_once_the_store_recovers(outcome: Any) -> None:
    """Ours: its client knows the task, and finds the result or the error."""
    store = FailingStore()
    client = TaskClient(Raw(outcome), tasks=(tasks := Tasks(store, retry_seconds=0.01)))
    put = store.put

    def keep_and_fail(*given: Any) -> None:
        put(*given)
        if given[0].startswith("task/"):
            store.failing.add("get")

    store.put = keep_and_fail  # type: ignore[method-assign]
    task = client.task("work")
    assert tasks.running == 1
    store.failing.clear()

    state = client.until(task, "failed" if isinstance(outcome, Exception) else "completed")

    assert ("error" in state) == isinstance(outcome, Exception)
    wait_until(lambda: tasks.running == 0)


def test_closing_ends_the_retries_of_a_failing_store() -> None:
    """Ours: at once, although its state cannot be saved."""
    store = FailingStore()
    gate = Gate()
    client = TaskClient(Jobs(work=lambda _: gate.wait()), tasks=(tasks := Tasks(store, retry_seconds=3600.0)))
    client.task("work")
    asked = threading.Event()
    store.get = lambda *_: asked.set() or store._try("get")  # type: ignore[method-assign,func-returns-value]
    store.failing.add("get")
    gate.open()
    assert asked.wait(PATIENCE_SECONDS)

    tasks.close()

    wait_until(lambda: tasks.running == 0)


def test_a_failing_store_does_not_raise_in_a_listener() -> None:
    """Ours: a listener must not raise."""

    class Failing(MemoryStore):
        fails = False

        def get(self, name: str, seconds: float | None = None) -> bytes | None:
            if self.fails:
                self.append("full", bytes(10**9), 1)
            return super().get(name, seconds)

    store = Failing()
    client = TaskClient(Jobs(work=lambda call: call.wait(3600)), tasks=(tasks := Tasks(store)))
    client.task("work")
    (run,) = tasks._running

    store.fails = True
    run._hear(b"client")
    run.cancel("the end")

    wait_until(lambda: tasks.running == 0)


# Where no task begins.


def test_a_cancelled_call_does_not_become_a_task() -> None:
    """Ours: its client waits for nothing, and knows no id."""
    store = MemoryStore()
    gate, outcomes = Gate(), []

    def work(call: Call) -> None:
        gate.wait()
        try:
            call.continue_as_task()
        except CallCancelledError:
            outcomes.append(len(store))
            raise

    client = TaskClient(Jobs("forbidden", work=work), tasks=Tasks(store))
    number = client.start("tools/call", {"name": "work"})
    client.calls.cancel(number)
    gate.open()

    wait_until(lambda: outcomes == [0])
    assert client.sent == []


def test_a_call_cancelled_while_its_task_is_saved_leaves_no_task() -> None:
    """Ours: its client does not know the id, so that it could not cancel the task."""

    class Cancelling(MemoryStore):
        def put(self, name: str, value: bytes, seconds: float) -> None:
            super().put(name, value, seconds)
            client.calls.cancel(1)

    store = Cancelling()
    tasks = Tasks(store)
    client = TaskClient(Jobs(work=lambda _: "done"), tasks=tasks)

    client.run("tools/call", {"name": "work"})

    assert (len(store), tasks.running, client.sent) == (0, 0, [])


def test_a_task_that_cannot_start_releases_its_place() -> None:
    """Ours: a place that is never released would be missing until the server ends."""
    store, places = FailingStore(), Workers(1, 0, 1)
    client = TaskClient(Jobs(small=lambda _: "small"), tasks=Tasks(store), waiting=places.asking)
    store.failing.add("subscribe")

    assert text_of(client.call("small")["result"]) == "small"
    assert places.unfinished == 0


def test_only_tool_calls_become_tasks() -> None:
    """Extension, supported methods."""
    result = TaskClient(Jobs()).ask("prompts/get", {"name": "ask"})["result"]

    assert result["messages"][0]["content"]["text"] == "False"


@pytest.mark.parametrize("support", ["optional", "forbidden"])
def test_a_client_without_tasks_waits_for_the_result(support: str) -> None:
    """Extension: a server must not answer such a client with a task."""
    work = {"work": lambda call: str(call.continue_as_task())}
    client = TaskClient(Jobs(support, **work), {"elicitation": {}})

    assert text_of(client.call("work")["result"]) == "False"


def test_a_tool_that_requires_a_task_refuses_a_client_without_tasks() -> None:
    """Extension, -32021: marked so, or decided by the tool."""
    ran: list[str] = []
    marked = TaskClient(Jobs("required", work=lambda _: ran.append("marked")), {})
    decided = TaskClient(Jobs("forbidden", work=lambda call: call.continue_as_task(required=True)), {})

    for client in (marked, decided):
        error = client.call("work")["error"]
        assert error["code"] == MISSING_CAPABILITY
        assert error["data"] == {"requiredCapabilities": {"extensions": EXTENSIONS}}
        assert error["message"].endswith("which this call needs")
    assert ran == []


def test_a_server_without_the_tasks_extension_creates_no_task() -> None:
    """Extension, capability negotiation."""
    client = TaskClient(Jobs(work=lambda call: str(call.continue_as_task())))
    description = client.calls._connection.description
    client.calls._connection.description = description._replace(capabilities={"tools": {}})

    assert text_of(client.call("work")["result"]) == "False"


def states_with(clock: Clock) -> TaskStates:
    return TaskStates(MemoryStore(clock=clock), clock)


def test_a_state_is_saved_changed_and_removed() -> None:
    """Ours: every worker reads and changes the same state."""
    clock = Clock()
    states = states_with(clock)
    assert states.get("t") is states.change("t", TaskState.seen) is None

    begun = TaskState.begun("t", "", clock.now)
    states.add(begun)
    assert states.get("t") == begun
    changed = states.change("t", lambda state, now: state.reported("half", now))

    assert changed == begun.reported("half", clock.now) == states.get("t")
    states.remove("t")
    assert states.get("t") is None


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"{}", b"[]", b"1", b'["t","",1,1,"long"]', b'["t","",1,1,1,1]'])
def test_a_damaged_state_is_no_task(damaged: bytes) -> None:
    """Ours: a client gets the error of an unknown task, and a worker that reads it goes on."""
    store = MemoryStore()
    states = TaskStates(store, Clock())
    states.add(TaskState.begun("t", "", 1000.0))
    (name,) = store._entries

    store.put(name, damaged, 60)

    assert states.get("t") is states.change("t", TaskState.seen) is None


def test_listeners_are_notified_who_changed_a_state() -> None:
    """Ours: the tool or the client. Other tasks, and a change that had no effect, are not announced."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))
    states.add(TaskState.begun("u", "", clock.now))
    heard: list[bytes] = []
    end = states.on_change("t", heard.append)

    states.change("t", lambda state, now: state.reported("half", now))
    states.change("t", lambda state, now: state.answered({"k": 1}, now))
    states.change("u", lambda state, now: state.reported("half", now))
    states.change("t", lambda state, now: state.cancelled("", now), BY_CLIENT)
    end()
    states.remove("t")

    assert heard == [BY_TOOL, BY_CLIENT]


def test_a_state_expires_after_its_ttl() -> None:
    """Extension, ttlMs."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))

    clock.now += RUNNING_SECONDS - 1
    states.keep("t", 10)
    clock.now += 9
    assert states.get("t") is not None
    clock.now += 1

    assert states.get("t") is None
    states.keep("t", 10)
    assert states.get("t") is None


def test_a_change_is_repeated_after_a_concurrent_change() -> None:
    """Ours: on the state that the other change has saved."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))
    seen: list[str] = []

    def report(state: TaskState, now: float) -> TaskState:
        seen.append(state.message)
        if len(seen) == 1:
            states.change("t", lambda state, now: state.reported("first", now))
        return state.reported("second", now)

    assert states.change("t", report) == states.get("t")

    assert seen == ["", "first"]


def test_concurrent_changes_of_several_threads_are_all_applied() -> None:
    """Ours: a client and a tool may change a state at once."""
    clock = Clock()
    states = states_with(clock)
    states.add(TaskState.begun("t", "", clock.now))

    def ask(first: int) -> None:
        for number in range(first, first + 50):
            states.change("t", lambda state, now, key=f"k{number}": state.asked({key: {"method": "roots/list"}}, now))

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    state = states.get("t")
    assert state is not None
    assert len(state.requests) == 200


def test_a_lost_state_is_restored_until_it_expires() -> None:
    """Ours: a state that is still in the store is not overwritten."""
    clock = Clock()
    store = MemoryStore(clock=clock)
    states = TaskStates(store, clock)
    begun = TaskState.begun("a", "", clock.now)

    assert states.restore(begun)
    states.change("a", lambda state, now: state.reported("half", now))
    assert states.restore(begun)
    assert (states.get("a") or begun).message == "half"
    states.remove("a")
    clock.now += begun.kept

    assert not states.restore(begun)
    assert states.get("a") is None
