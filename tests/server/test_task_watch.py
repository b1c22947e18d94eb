"""Subscriptions to tasks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, MISSING_CAPABILITY
from gaia_mcp.server.task_watch import TaskWatch
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore, StoreError
from tests.server.stores import FailingStore
from tests.server.task_client import EXTENSIONS, Jobs, TaskClient
from tests.task_support import problems_of_detailed
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.asking import Call

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
