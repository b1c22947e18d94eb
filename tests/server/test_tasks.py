"""Tasks as a client uses them: whose they are, how many there may be, and what it may send about them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY
from gaia_mcp.protocol.tasks import FINISHED_SECONDS, RUNNING_SECONDS
from gaia_mcp.server.http.workers import Workers
from gaia_mcp.server.tasks import HAS_ENDED, Tasks, TaskWatch
from gaia_mcp.store import MemoryStore, StoreError
from tests.server.stores import FailingStore
from tests.server.task_client import ADA, EXTENSIONS, NAME, Jobs, TaskClient, text_of
from tests.task_support import problems_of_detailed
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call

METHODS = GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"
UNKNOWN = "unknown task: it does not exist, or has expired"


def wait_for_ever(call: Call) -> None:
    call.wait(3600)


def client_with(tasks: Tasks, *, principal: str | None = None, **tools: Callable[[Call], Any]) -> TaskClient:
    client = TaskClient(Jobs(**tools), tasks=tasks)
    if principal is not None:
        receive = client.calls.receive

        def receive_of_principal(record: bytes) -> Any:
            jobs = receive(record)
            for job in jobs:
                job.call.principal = principal
            return jobs

        client.calls.receive = receive_of_principal  # type: ignore[assignment,method-assign]
    return client


def test_a_call_continues_as_a_task() -> None:
    """Extension: the request is answered at once, and the result is fetched."""
    go_on = threading.Event()
    client = TaskClient(Jobs(work=lambda _: go_on.wait(PATIENCE_SECONDS) and "done"))

    task = client.task("work")

    assert client.state(task)["status"] == "working"
    go_on.set()
    completed = client.until(task, "completed")
    assert text_of(completed["result"]) == "done"
    assert completed["result"]["isError"] is False


def test_a_task_is_saved_before_its_id_is_sent() -> None:
    """Extension, durable creation."""
    tasks = Tasks(MemoryStore())
    client = client_with(tasks, work=wait_for_ever)
    send = client.calls._send
    states: list[str] = []

    def look(outgoing: Any) -> None:
        result = outgoing.message.get("result", {})
        if result.get("resultType") == "task":
            state = tasks._states.get(result["taskId"])
            states.append("none" if state is None else state.status)
        send(outgoing)

    client.calls._send = look
    client.task("work")

    assert states == ["working"]
    tasks.close()


def test_an_input_request_is_answered_by_tasks_update() -> None:
    """Extension, tasks/update: an empty acknowledgement, and the task goes on."""
    client = TaskClient(Jobs(ask=lambda call: str(call.elicit("Who?", NAME))))
    task = client.task("ask")
    ((key, asked),) = client.until(task, "input_required")["inputRequests"].items()
    assert asked["params"]["message"] == "Who?"

    acknowledged = client.update(task, **{key: ADA, "never-asked": ADA})["result"]

    assert set(acknowledged) == {"resultType", "_meta"}
    assert text_of(client.until(task, "completed")["result"]) == "Accepted(value={'name': 'Ada'})"
    # Late, and twice.
    assert set(client.update(task, **{key: ADA})["result"]) == {"resultType", "_meta"}


def test_cancelling_a_task_cancels_its_tool() -> None:
    """Extension, tasks/cancel: an empty acknowledgement, also for a task that has ended."""
    ended = threading.Event()

    def work(call: Call) -> str:
        try:
            call.wait(3600)
        except CallCancelledError:
            ended.set()
            raise
        return "done"

    client = TaskClient(Jobs(work=work))
    task = client.task("work")

    for _ in range(2):
        assert set(client.ask(CANCEL, {"taskId": task})["result"]) == {"resultType", "_meta"}

    assert ended.wait(PATIENCE_SECONDS)
    state = client.state(task)
    assert (state["status"], state["statusMessage"]) == ("cancelled", "cancelled by the client")
    assert client.update(task, key=ADA)["result"]["resultType"] == "complete"


def test_a_tool_that_ignores_its_cancellation_does_not_change_the_final_state() -> None:
    """Extension: a final state stays. Its thread counts until it ends."""
    go_on = threading.Event()
    tasks = Tasks(MemoryStore())
    client = client_with(tasks, work=lambda _: go_on.wait(PATIENCE_SECONDS) and "done")
    task = client.task("work")
    client.ask(CANCEL, {"taskId": task})
    assert tasks.running == 1

    go_on.set()
    wait_until(lambda: tasks.running == 0)

    assert client.state(task)["status"] == "cancelled"


def test_an_unknown_task_is_refused() -> None:
    """Extension, protocol errors."""
    client = TaskClient(Jobs())

    for method in METHODS:
        for task_id in ("forged", "", "a" * 10_000, "task/x", "\x00"):
            error = client.ask(method, {"taskId": task_id, "inputResponses": {}})["error"]
            assert (error["code"], error["message"]) == (INVALID_PARAMS, UNKNOWN), (method, task_id)


def test_the_task_of_another_caller_is_unknown() -> None:
    """Extension, authorization binding: the message is that for a task that does not exist."""
    tasks = Tasks(MemoryStore())
    ada = client_with(tasks, principal="Ada", work=wait_for_ever)
    task = ada.task("work")

    for method in METHODS:
        for other in ("Bob", None):
            client = client_with(tasks, principal=other)
            error = client.ask(method, {"taskId": task, "inputResponses": {}})["error"]
            assert (error["code"], error["message"]) == (INVALID_PARAMS, UNKNOWN), (method, other)

    assert client_with(tasks, principal="Ada").state(task)["status"] == "working"
    tasks.close()


def test_an_invalid_request_is_refused() -> None:
    """JSON-RPC, invalid params."""
    client = TaskClient(Jobs())
    requests: list[tuple[str, dict[str, Any], str]] = [
        (GET, {}, "tasks/get needs params.taskId, a string"),
        (CANCEL, {"taskId": 5}, "tasks/cancel needs params.taskId, a string"),
        (UPDATE, {"taskId": "x"}, "tasks/update needs params.inputResponses, an object"),
        (UPDATE, {"taskId": "x", "inputResponses": []}, "tasks/update needs params.inputResponses, an object"),
    ]
    errors = [client.ask(method, params)["error"] for method, params, _ in requests]

    assert [(error["code"], error["message"]) for error in errors] == [
        (INVALID_PARAMS, text) for _, _, text in requests
    ]


def test_a_client_that_does_not_declare_the_extension_is_refused() -> None:
    """Extension, missing required client capabilities."""
    client = TaskClient(Jobs())

    for method in METHODS:
        error = client.ask(method, {"taskId": "x", "inputResponses": {}}, {"elicitation": {}})["error"]
        assert error["code"] == MISSING_CAPABILITY, method
        assert error["data"] == {"requiredCapabilities": {"extensions": EXTENSIONS}}, method
        assert error["message"].endswith("extensions.io.modelcontextprotocol/tasks, which this request needs"), method


def test_removed_task_methods_are_unknown() -> None:
    """Extension: an earlier revision of it had them."""
    client = TaskClient(Jobs())

    for method in ("tasks/list", "tasks/result"):
        assert client.ask(method, {"taskId": "x"})["error"]["code"] == METHOD_NOT_FOUND, method


def test_reading_a_task_needs_only_the_tasks_extension() -> None:
    """Ours: what the task asks was decided by what the call declared."""
    client = TaskClient(Jobs(ask=lambda call: str(call.elicit("Who?", NAME))))
    task = client.task("ask")
    client.until(task, "input_required")

    state = client.ask(GET, {"taskId": task}, {"extensions": EXTENSIONS})["result"]

    assert len(state["inputRequests"]) == 1
    client.ask(CANCEL, {"taskId": task})


def test_a_client_without_the_tasks_extension_waits_for_the_result() -> None:
    """Extension: it waits for the result, unless the tool is for tasks alone."""
    client = TaskClient(Jobs(work=lambda _: "done"))
    required = TaskClient(Jobs("required", work=lambda _: "done"))
    params = {"name": "work", "arguments": {}}

    assert text_of(client.ask("tools/call", params, {})["result"]) == "done"
    error = required.ask("tools/call", params, {})["error"]
    assert error["code"] == MISSING_CAPABILITY
    assert error["data"] == {"requiredCapabilities": {"extensions": EXTENSIONS}}


# Limits.


def test_the_number_of_running_tasks_is_limited() -> None:
    """Ours: then the call's client waits for the result, unless it must be a task."""
    tasks = Tasks(MemoryStore(), max_running=1)
    client = client_with(tasks, work=wait_for_ever, small=lambda _: "small")
    required = TaskClient(Jobs("required", work=wait_for_ever), tasks=tasks)
    first = client.task("work")

    assert text_of(client.call("small")["result"]) == "small"
    error = required.call("work")["error"]
    assert (error["code"], error["message"]) == (-32603, "too many tasks are running; repeat this call later")

    client.ask(CANCEL, {"taskId": first})
    wait_until(lambda: tasks.running == 0)
    second = client.task("small")
    assert client.until(second, "completed")
    assert second != first


def test_a_call_does_not_become_a_task_when_no_waiting_place_is_free() -> None:
    """Ours: its thread would take a call's place otherwise. The call is answered all the same."""

    tasks = Tasks(store := MemoryStore())
    places = Workers(0, 0, 0)
    client = TaskClient(Jobs(small=lambda _: "small"), tasks=tasks, waiting=places.asking)

    assert text_of(client.call("small")["result"]) == "small"
    assert (len(store), tasks.running) == (0, 0)


def test_a_call_does_not_become_a_task_when_the_store_is_full() -> None:
    """Ours: the call is answered all the same."""
    tasks = Tasks(MemoryStore(max_bytes=10))

    assert text_of(client_with(tasks, small=lambda _: "small").call("small")["result"]) == "small"
    assert tasks.running == 0


def test_ten_thousand_finished_tasks_fit_into_memory() -> None:
    """Ours: within 100 MB, and each is saved until it expires. Their client never asks for them."""
    store = MemoryStore()
    client = client_with(Tasks(store), work=lambda _: "x" * 500)
    ids = []
    for _ in range(10_000):
        client.run("tools/call", {"name": "work"})
        ids.append(client.sent.pop()["result"]["taskId"])

    assert len(set(ids)) == len(store) == 10_000
    assert store.size < 100 * 2**20
    assert client.state(ids[0])["status"] == client.state(ids[-1])["status"] == "completed"


# Time.


def test_a_finished_task_expires_after_its_ttl() -> None:
    """Extension, ttlMs: not earlier than that, either."""
    clock = Clock()
    client = client_with(Tasks(MemoryStore(clock=clock), clock=clock), small=lambda _: "small")
    task = client.task("small")
    client.until(task, "completed")

    clock.now += FINISHED_SECONDS - 1
    assert client.state(task)["status"] == "completed"
    clock.now += 1

    assert client.ask(GET, {"taskId": task})["error"]["message"] == UNKNOWN


def test_reading_a_running_task_renews_its_ttl() -> None:
    """Ours: its client is still there, and shall find the result."""
    clock = Clock()
    tasks = Tasks(MemoryStore(clock=clock), clock=clock)
    client = client_with(tasks, work=wait_for_ever)
    task = client.task("work")

    for _ in range(3):
        clock.now += RUNNING_SECONDS - 1
        assert client.state(task)["ttlMs"] > (clock.now - 1000 + RUNNING_SECONDS - 1) * 1000

    clock.now += RUNNING_SECONDS
    assert client.ask(GET, {"taskId": task})["error"]["message"] == UNKNOWN
    tasks.close()


# The end.


def test_closing_cancels_running_tasks() -> None:
    """Ours: no thread is left, and no further task starts."""
    tasks = Tasks(MemoryStore())
    client = client_with(tasks, work=wait_for_ever, small=lambda _: "small")
    running = [client.task("work") for _ in range(3)]

    tasks.close()
    tasks.close()

    wait_until(lambda: tasks.running == 0)
    states = [client.state(task) for task in running]
    assert {state["status"] for state in states} == {"cancelled"}
    assert states[0]["statusMessage"] == "the server has ended"
    assert text_of(client.call("small")["result"]) == "small"


def test_closing_a_connection_with_its_own_tasks_cancels_them() -> None:
    """Ours: over stdio the server's process ends with its client."""
    ended = threading.Event()

    def work(call: Call) -> None:
        try:
            call.wait(3600)
        finally:
            ended.set()

    client = TaskClient(Jobs(work=work))
    client.task("work")

    client.calls.close()

    assert ended.wait(PATIENCE_SECONDS)


def test_shared_tasks_outlive_a_connection() -> None:
    """Ours: over HTTP each request may have a connection of its own."""
    tasks = Tasks(MemoryStore())
    first = client_with(tasks, work=wait_for_ever)
    task = first.task("work")

    first.calls.close()

    assert client_with(tasks).state(task)["status"] == "working"
    tasks.close()


def test_another_worker_serves_the_tasks_of_this_one() -> None:
    """Ours, DESIGN: everything that both need is in the store."""
    store = MemoryStore()
    here, there = Tasks(store), Tasks(store)
    client = client_with(here, ask=lambda call: str(call.elicit("Who?", NAME)), work=wait_for_ever)
    other = client_with(there)
    asking, working = client.task("ask"), client.task("work")

    (key,) = other.until(asking, "input_required")["inputRequests"]
    other.update(asking, **{key: ADA})
    other.ask(CANCEL, {"taskId": working})

    assert "Ada" in text_of(other.until(asking, "completed")["result"])
    wait_until(lambda: here.running == 0)
    assert (there.running, client.state(working)["status"]) == (0, "cancelled")


def test_the_task_of_a_worker_that_has_ended_fails() -> None:
    """Ours: its client would wait for ever. A task that was completed before does not change."""
    store = FailingStore()
    here, there = (Tasks(store, beat_seconds=0.02) for _ in range(2))
    client, other = client_with(here, work=wait_for_ever, hi=lambda _: "hello"), client_with(there)
    ended, task = client.task("hi"), client.task("work")
    client.until(ended, "completed")
    leave = there.on_change(ended, lambda: None)

    here._leases.close()

    assert other.until(task, "failed")["error"]["message"] == HAS_ENDED
    assert other.state(ended)["status"] == "completed"
    leave()
    here.close()
    there.close()


# Subscriptions.


def test_a_subscription_is_limited_to_the_tasks_of_its_caller() -> None:
    """Extension, authorization binding: another one's are not acknowledged."""
    tasks = Tasks(MemoryStore())
    ada, bob = (client_with(tasks, principal=name, work=wait_for_ever) for name in ("Ada", "Bob"))
    task = ada.task("work")

    for client, granted in ((ada, {"taskIds": [task]}), (bob, {})):
        client.start("subscriptions/listen", {"notifications": {"taskIds": [task, "unknown"]}})
        wait_until(lambda client=client: client.notified("notifications/subscriptions/acknowledged"))
        (acknowledged,) = client.notified("notifications/subscriptions/acknowledged")
        assert acknowledged["notifications"] == granted
    wait_until(lambda: ada.notified("notifications/tasks"))
    assert bob.notified("notifications/tasks") == []
    for client in (ada, bob):
        client.calls.close()
    tasks.close()


def test_an_invalid_task_subscription_is_refused() -> None:
    """Extension, task status notifications."""
    client = TaskClient(Jobs())
    refused: list[tuple[Any, Any, int]] = [({}, ["t"], MISSING_CAPABILITY), (None, [5], INVALID_PARAMS)]

    for capabilities, named, code in refused:
        error = client.ask("subscriptions/listen", {"notifications": {"taskIds": named}}, capabilities)["error"]
        assert error["code"] == code


def test_described_returns_the_state_in_the_store() -> None:
    """Ours: None for an unknown task, and an error where the store does not answer, for that may pass."""
    store = FailingStore()
    client = client_with(tasks := Tasks(store), work=wait_for_ever)
    task = client.task("work")

    described = tasks.described(task)
    assert described is not None
    assert described["status"] == "working"
    assert tasks.described("unknown") is None
    store.failing.add("get")
    with pytest.raises(StoreError):
        tasks.described(task)
    store.failing.clear()
    tasks.close()


def test_a_task_that_cannot_be_saved_does_not_start() -> None:
    """Ours: the call is answered with its result; also where only the lease of the worker cannot be saved."""
    for operation in ("put", "subscribe"):
        store = FailingStore()
        store.failing.add(operation)
        client = client_with(tasks := Tasks(store), work=lambda call: str(call.continue_as_task()))
        assert text_of(client.ask("tools/call", {"name": "work"})["result"]) == "False"
        assert tasks.running == 0


def test_a_failing_store_is_reported_as_a_temporary_error() -> None:
    """Ours: the client does not learn where the store is."""
    store = FailingStore()
    client = client_with(tasks := Tasks(store), work=wait_for_ever)
    task = client.task("work")
    store.failing.add("get")

    errors = [
        client.ask(GET, {"taskId": task})["error"],
        client.ask("subscriptions/listen", {"notifications": {"taskIds": [task]}})["error"],
    ]

    store.failing.clear()
    assert [each["message"] for each in errors] == ["the store of tasks does not answer; repeat this later"] * 2
    assert client.state(task)["status"] == "working"
    tasks.close()


LISTEN = "subscriptions/listen"


class Store(MemoryStore):
    """A store that knows how many subscriptions it has."""

    @property
    def listening(self) -> int:
        return sum(len(listeners) for listeners in self._listeners.values())


def until(step: threading.Event) -> None:
    assert step.wait(PATIENCE_SECONDS)
    step.clear()


def listen(client: TaskClient, *tasks: str) -> int:
    """Subscribe to tasks; the id of the request once it is acknowledged."""
    seen = len(client.notified("notifications/subscriptions/acknowledged"))
    number = client.start(LISTEN, {"notifications": {"taskIds": list(tasks)}})
    wait_until(lambda: len(client.notified("notifications/subscriptions/acknowledged")) > seen)
    return number


def statuses(client: TaskClient) -> list[str]:
    """What was announced, in order."""
    found = []
    for params in client.notified("notifications/tasks"):
        assert problems_of_detailed(params) == []
        found.append(params.get("statusMessage", params["status"]))
    return found


def test_a_subscriber_gets_a_notification_for_each_state() -> None:
    """Extension, notifications/tasks: the complete task, from its present state to its final one."""
    step = threading.Event()

    def work(call: Call) -> str:
        until(step)
        call.progress(1, text="half")
        until(step)
        return "done"

    store = Store()
    client = TaskClient(Jobs(work=work), tasks=Tasks(store))
    task = client.task("work")
    listen(client, task, "unknown")
    (acknowledged,) = client.notified("notifications/subscriptions/acknowledged")
    assert acknowledged["notifications"] == {"taskIds": [task]}

    for status in ("working", "half", "completed"):
        wait_until(lambda status=status: statuses(client)[-1:] == [status])
        step.set()

    assert client.notified("notifications/tasks")[-1]["result"]["content"][0]["text"] == "done"
    wait_until(lambda: store.listening == 0)


def test_many_changes_are_merged_into_one_notification() -> None:
    """Ours: a tool that reports very often does not flood its client, nor wait for it."""

    def work(call: Call) -> str:
        for number in range(2000):
            call.progress(number, text=str(number))
        return "done"

    go = threading.Event()
    client = TaskClient(
        Jobs("forbidden", work=lambda call: call.continue_as_task() and go.wait(PATIENCE_SECONDS) and work(call))
    )
    task = client.task("work")
    listen(client, task)
    go.set()

    wait_until(lambda: statuses(client)[-1:] == ["completed"])
    assert len(statuses(client)) < 200


def test_a_finished_task_is_announced_to_a_new_subscriber() -> None:
    """Ours: its client may have subscribed a moment too late."""
    store = Store()
    client = TaskClient(Jobs(work=lambda _: "done"), tasks=Tasks(store))
    task = client.task("work")
    client.until(task, "completed")

    for count in (1, 2):
        listen(client, task)
        wait_until(lambda count=count: len(statuses(client)) >= count)
        wait_until(lambda: store.listening == 0)

    assert set(statuses(client)) == {"completed"}


def test_a_cancelled_subscription_gets_no_more_notifications() -> None:
    """Ours: its watch ends with the next change."""
    step = threading.Event()

    def work(call: Call) -> None:
        for number in range(2):
            until(step)
            call.progress(number, text=str(number))
        call.wait(3600)

    store = Store()
    client = TaskClient(Jobs(work=work), tasks=(tasks := Tasks(store)))
    task = client.task("work")
    number = listen(client, task)
    wait_until(lambda: statuses(client) == ["working"])
    client.calls.cancel(number)

    step.set()
    wait_until(lambda: store.listening == 1)

    assert statuses(client) == ["working"]
    tasks.close()


def test_closing_a_connection_ends_its_task_subscriptions() -> None:
    """Ours: with the result of the subscription."""
    store = Store()
    client = TaskClient(Jobs(work=lambda call: call.wait(3600)), tasks=(tasks := Tasks(store)))
    task = client.task("work")
    number = listen(client, task)

    client.calls.close()

    assert client.response(number) is not None
    assert store.listening == 1
    tasks.close()


def test_a_closed_watch_watches_no_task() -> None:
    """Ours: a job may subscribe just after the connection was closed."""
    store = Store()
    watch = TaskWatch(Tasks(store), lambda *_: True)
    watch.close()

    watch.add(["t"])

    assert store.listening == 0


def test_a_task_that_is_added_twice_is_watched_once() -> None:
    """Ours: a second subscription of its client needs no second watch. An unknown task is not an error."""
    store = Store()
    sent: list[str] = []
    client = TaskClient(Jobs(work=lambda call: call.wait(3600)), tasks=(tasks := Tasks(store)))
    task = client.task("work")
    watch = TaskWatch(tasks, lambda task_id, _: sent.append(task_id) is None)

    watch.add([task])
    watch.add([task, "gone"])

    wait_until(lambda: store.listening == 2)
    assert set(sent) == {task}
    watch.close()
    tasks.close()


@pytest.mark.parametrize(
    ("capabilities", "named", "code"),
    [({}, ["t"], MISSING_CAPABILITY), (None, "t", INVALID_PARAMS), (None, [5], INVALID_PARAMS)],
)
def test_an_invalid_subscription_to_tasks_is_refused(capabilities: Any, named: Any, code: int) -> None:
    """Extension, task status notifications."""
    client = TaskClient(Jobs())

    error = client.ask(LISTEN, {"notifications": {"taskIds": named}}, capabilities)["error"]

    assert error["code"] == code
    if code == MISSING_CAPABILITY:
        assert error["data"] == {"requiredCapabilities": {"extensions": EXTENSIONS}}
    assert client.notified("notifications/subscriptions/acknowledged") == []


def test_a_cancelled_request_subscribes_to_nothing() -> None:
    """Ours: its client expects no more messages for it."""

    class Cancelling(Store):
        def get(self, name: str) -> bytes | None:
            client.calls.cancel(1)
            return super().get(name)

    store = Cancelling()
    client = TaskClient(Jobs(), tasks=Tasks(store))

    client.run(LISTEN, {"notifications": {"taskIds": ["t"]}})

    assert (client.sent, store.listening, len(client.calls)) == ([], 0, 0)


def test_a_task_added_again_while_its_final_state_is_sent_stays_watched() -> None:
    """Ours: the later subscription is sent the state too, and ends by itself."""
    store = Store()
    client = TaskClient(Jobs(work=lambda _: "done"), tasks=(tasks := Tasks(store)))
    task = client.task("work")
    client.until(task, "completed")
    sent: list[str] = []

    def send(task_id: str, state: dict[str, Any]) -> bool:
        sent.append(state["status"])
        if len(sent) == 1:
            watch.add([task_id])
        return True

    watch = TaskWatch(tasks, send)
    watch.add([task])

    wait_until(lambda: len(sent) == 2)
    wait_until(lambda: store.listening == 0)
    assert sent == ["completed", "completed"]
    watch.close()
    tasks.close()


def test_a_subscription_survives_a_failing_store() -> None:
    """Ours: the changes of the meantime are announced once the store is reached again."""
    step = threading.Event()
    listeners: list[Any] = []

    class Listened(FailingStore):
        def subscribe(self, *given: Any) -> Any:
            listeners.append(given[1])
            return super().subscribe(*given)

    def work(call: Call) -> str:
        until(step)
        call.progress(1, text="half")
        until(step)
        return "done"

    store = Listened()
    client = TaskClient(Jobs(work=work), tasks=(tasks := Tasks(store)))
    task = client.task("work")
    listen(client, task)
    wait_until(lambda: statuses(client) == ["working"])
    failures: list[str] = []
    described = tasks.described

    def describe(task_id: str) -> Any:
        try:
            return described(task_id)
        except StoreError:
            failures.append(task_id)
            raise

    tasks.described = describe  # type: ignore[method-assign]
    store.failing.add("get")
    for listener in listeners:
        listener(None)
    wait_until(lambda: failures)
    store.failing.clear()
    step.set()

    wait_until(lambda: statuses(client)[-1:] == ["half"])
    step.set()
    wait_until(lambda: statuses(client)[-1:] == ["completed"])
    tasks.close()
