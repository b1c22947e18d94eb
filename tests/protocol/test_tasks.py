"""What a server's description of a task means."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.tasks import (
    FINISHED_SECONDS,
    LONGEST_POLL_MS,
    LONGEST_POLL_SECONDS,
    RUNNING_SECONDS,
    SHORTEST_POLL_MS,
    SHORTEST_POLL_SECONDS,
    USUAL_POLL_SECONDS,
    Task,
    TaskState,
    is_task,
    read_task,
)
from tests.protocol_support import check_each, check_rows
from tests.task_support import problems_of_created, problems_of_detailed

WORKING = {"taskId": "t-1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None}
QUESTION = {"method": "elicitation/create", "params": {"message": "Which city?"}}


def task(**members: Any) -> Task:
    read = read_task({**WORKING, **members})
    assert isinstance(read, Task), read
    return read


def test_a_result_of_type_task_is_a_task() -> None:
    """Extension, CreateTaskResult."""
    assert is_task({**WORKING, "resultType": "task"})
    assert not is_task({**WORKING, "resultType": "complete"})
    assert not is_task({"content": []})


def test_a_task_status_may_be_final() -> None:
    """Extension, TaskStatus."""
    assert (task().status, task().is_final, task(statusMessage="half").message) == ("working", False, "half")
    assert task(status="completed", result={"content": []}).result == {"content": []}
    assert [task(status=status).is_final for status in ("input_required", "failed", "cancelled")] == [False, True, True]


def test_input_requests_and_results_require_their_status() -> None:
    """Extension, DetailedTask: what another state leaves behind has no meaning."""
    assert task(status="input_required", inputRequests={"q": QUESTION}).requests == {"q": QUESTION}
    assert task(inputRequests={"q": QUESTION}).requests == {}
    assert task(result={"content": []}).result == {}


def test_a_created_task_may_already_be_completed() -> None:
    """Extension, CreateTaskResult: it never has a result, which is asked for."""
    assert task(resultType="task", status="completed").result == {}


def test_the_poll_interval_has_bounds() -> None:
    """Ours: a server must make us neither poll without a pause nor wait for hours."""
    cases = [
        (None, USUAL_POLL_SECONDS),
        ("200", USUAL_POLL_SECONDS),
        (True, USUAL_POLL_SECONDS),
        (200, 0.2),
        (-5, SHORTEST_POLL_SECONDS),
        (10**400, LONGEST_POLL_SECONDS),
    ]

    wrong = [
        (milliseconds, seconds, found)
        for milliseconds, seconds in cases
        if (found := task(pollIntervalMs=milliseconds).poll_seconds) != seconds
    ]

    assert not wrong


@pytest.mark.parametrize(
    ("error", "read"),
    [
        ({"code": -32603, "message": "no room", "data": 1}, (-32603, "no room", 1)),
        ({"code": True}, (INTERNAL_ERROR, "the task failed", None)),
        (None, (INTERNAL_ERROR, "the task failed", None)),
    ],
)
def test_a_failed_task_has_an_error(error: Any, read: tuple[Any, ...]) -> None:
    """Extension, FailedTask; a server that omits the error has failed all the same."""
    assert task(status="failed", error=error).error == read


def test_an_invalid_task_is_reported() -> None:
    """Ours: the error names the member that the author of the server has to correct."""
    cases = [
        ({"taskId": 7}, "without a taskId"),
        ({"status": "asleep"}, "unknown state 'asleep'"),
        ({"status": ["working"]}, "unknown state"),
        ({"status": "input_required", "inputRequests": {"q": 1}}, "in an invalid form"),
        ({"status": "completed"}, "without its result"),
    ]

    def check(members: dict[str, Any], problem: str) -> None:
        read = read_task({**WORKING, **members})

        assert isinstance(read, str)
        assert problem in read

    check_rows(check, cases)


WIRE = dict[str, Any]

# 2026-11-20T08:00:00Z
BEGAN = 1_795_161_600.0

BEGUN = TaskState.begun("t-1", "Ada", BEGAN)

ROOTS = {"method": "roots/list"}

DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}

# Each kind of state, as it is five seconds after the beginning.
STATES = {
    "working": BEGUN.reported("half of it", BEGAN + 5),
    "input_required": BEGUN.asked({"city-1": QUESTION}, BEGAN + 5),
    "completed": BEGUN.completed(DONE, BEGAN + 5),
    "failed": BEGUN.failed(-32603, "no room", {"free": 0}, BEGAN + 5),
    "cancelled": BEGUN.cancelled("cancelled by the client", BEGAN + 5),
}


def test_a_new_task_has_only_the_required_members() -> None:
    """Extension, CreateTaskResult."""
    created = BEGUN.as_created()

    assert created == {
        "resultType": "task",
        "taskId": "t-1",
        "status": "working",
        "createdAt": "2026-11-20T08:00:00.000Z",
        "lastUpdatedAt": "2026-11-20T08:00:00.000Z",
        "ttlMs": RUNNING_SECONDS * 1000,
        "pollIntervalMs": SHORTEST_POLL_MS,
    }
    assert problems_of_created(created) == []


def test_each_state_has_the_members_of_its_status() -> None:
    """Extension, DetailedTask: it has the members of its status and no others."""

    def check(status: str) -> None:
        detailed = STATES[status].as_detailed(BEGAN + 6)
        members = {
            "working": {"statusMessage": "half of it"},
            "input_required": {"inputRequests": {"city-1": QUESTION}},
            "completed": {"result": DONE},
            "failed": {
                "statusMessage": "no room",
                "error": {"code": -32603, "message": "no room", "data": {"free": 0}},
            },
            "cancelled": {"statusMessage": "cancelled by the client"},
        }

        assert detailed["status"] == status
        assert detailed["lastUpdatedAt"] == "2026-11-20T08:00:05.000Z"
        times = {"createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"}
        assert {key: value for key, value in detailed.items() if key not in {"taskId", "status", *times}} == members[
            status
        ]
        assert problems_of_detailed(detailed) == []
        assert isinstance(read_task(detailed), Task)

    check_each(check, STATES)


def test_a_state_survives_serialization() -> None:
    """Ours: another worker reads it."""
    wrong = [(state, found) for state in STATES.values() if (found := TaskState.loaded(state.dumped())) != state]

    assert not wrong


def test_a_result_that_is_not_json_is_not_serialized() -> None:
    """Ours: the worker that finished the task gets the error, and not the one that reads it later."""
    with pytest.raises(ValueError, match="JSON compliant"):
        BEGUN.completed({"content": [], "structuredContent": float("nan")}, BEGAN).dumped()
    with pytest.raises(TypeError):
        BEGUN.completed({"content": [object()]}, BEGAN).dumped()


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_final_state_does_not_change(status: str) -> None:
    """Extension, state diagram: what comes too late has no effect."""
    state, now = STATES[status], BEGAN + 10

    assert state.is_final
    for later in (
        state.seen(now),
        state.reported("more", now),
        state.asked({"k": QUESTION}, now),
        state.answered({"city-1": {}}, now),
        state.withdrawn(["city-1"], now),
        state.completed({"content": []}, now),
        state.failed(-1, "x", None, now),
        state.cancelled("again", now),
    ):
        assert later is state


def test_an_input_response_is_accepted_once_for_an_open_request() -> None:
    """Extension, tasks/update: unknown and answered keys are ignored, and some may be answered before others."""
    asked = BEGUN.asked({"a-1": QUESTION}, BEGAN + 1).asked({"b-2": ROOTS}, BEGAN + 2)
    assert asked.as_detailed(BEGAN)["inputRequests"] == {"a-1": QUESTION, "b-2": ROOTS}

    first = asked.answered({"a-1": {"action": "decline"}, "c-3": {}}, BEGAN + 3)

    assert (first.status, dict(first.requests)) == ("input_required", {"b-2": ROOTS})
    assert first.answered({"a-1": {"action": "accept"}}, BEGAN + 4) is first
    both = first.answered({"b-2": {"roots": []}}, BEGAN + 4)
    assert (both.status, dict(both.requests), both.updated) == ("working", {}, BEGAN + 4)
    assert both.responses == {"a-1": {"action": "decline"}, "b-2": {"roots": []}}


def test_a_request_that_needs_no_response_is_withdrawn() -> None:
    """Ours: the tool has continued without it."""
    asked = BEGUN.asked({"a-1": QUESTION, "b-2": ROOTS}, BEGAN + 1)

    first = asked.withdrawn(["a-1", "x"], BEGAN + 2)

    assert (first.status, dict(first.requests)) == ("input_required", {"b-2": ROOTS})
    assert first.withdrawn(["a-1"], BEGAN + 3) is first
    assert first.withdrawn(["b-2"], BEGAN + 3).status == "working"


def test_a_final_state_has_no_input_requests() -> None:
    """Extension, DetailedTask: only input_required has requests."""
    ended = STATES["input_required"].cancelled("", BEGAN + 9)

    assert "inputRequests" not in ended.as_detailed(BEGAN + 9)
    assert "statusMessage" not in ended.as_detailed(BEGAN + 9)
    assert "data" not in BEGUN.failed(-1, "x", None, BEGAN).as_detailed(BEGAN)["error"]


def test_activity_extends_the_ttl_of_a_running_task() -> None:
    """Extension, ttlMs: it counts from the creation, and may change."""
    hours = 3600.0

    assert BEGUN.reported("x", BEGAN + 5 * hours).kept == 5 * hours + RUNNING_SECONDS
    assert BEGUN.seen(BEGAN + 6 * hours).kept == 6 * hours + RUNNING_SECONDS
    assert BEGUN.seen(BEGAN + 6 * hours).updated == BEGAN
    ended = BEGUN.completed(DONE, BEGAN + 7 * hours)
    assert ended.as_detailed(BEGAN + 8 * hours)["ttlMs"] == (7 * hours + FINISHED_SECONDS) * 1000


def test_the_poll_interval_grows_with_the_age_of_a_task() -> None:
    """Ours: a short one ends at once, and a long one costs little."""
    cases = [(-3, SHORTEST_POLL_MS), (0, SHORTEST_POLL_MS), (10, 1000), (1e6, LONGEST_POLL_MS)]

    wrong = [
        (age, milliseconds, found)
        for age, milliseconds in cases
        if (found := BEGUN.as_detailed(BEGAN + age)["pollIntervalMs"]) != milliseconds
    ]

    assert not wrong
