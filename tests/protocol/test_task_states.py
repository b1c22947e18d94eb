"""The life of a task: what changes its state, and what its client gets to see of it."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.task_states import (
    FINISHED_SECONDS,
    LONGEST_POLL_MS,
    RUNNING_SECONDS,
    SHORTEST_POLL_MS,
    TaskState,
)
from gaia_mcp.protocol.tasks import Task, read_task
from tests.task_support import problems_of_created, problems_of_detailed

WIRE = dict[str, Any]
# 2026-11-20T08:00:00Z
BEGAN = 1_795_161_600.0
BEGUN = TaskState.begun("t-1", "Ada", BEGAN)
QUESTION = {"method": "elicitation/create", "params": {"message": "Which city?"}}
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


def test_a_task_that_begins_is_described_without_anything_else() -> None:
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


@pytest.mark.parametrize("status", STATES)
def test_each_state_is_described_in_full(status: str) -> None:
    """Extension, DetailedTask: it has the members of its status and no others."""
    detailed = STATES[status].as_detailed(BEGAN + 6)
    members = {
        "working": {"statusMessage": "half of it"},
        "input_required": {"inputRequests": {"city-1": QUESTION}},
        "completed": {"result": DONE},
        "failed": {"statusMessage": "no room", "error": {"code": -32603, "message": "no room", "data": {"free": 0}}},
        "cancelled": {"statusMessage": "cancelled by the client"},
    }

    assert detailed["status"] == status
    assert detailed["lastUpdatedAt"] == "2026-11-20T08:00:05.000Z"
    times = {"createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"}
    assert {key: value for key, value in detailed.items() if key not in {"taskId", "status", *times}} == members[status]
    assert problems_of_detailed(detailed) == []
    assert isinstance(read_task(detailed), Task)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_state_is_kept_as_bytes(state: TaskState) -> None:
    """Ours: another worker reads it."""
    assert TaskState.loaded(state.dumped()) == state


def test_a_result_that_is_not_json_is_not_kept() -> None:
    """Ours."""
    with pytest.raises(ValueError, match="JSON compliant"):
        BEGUN.completed({"content": [], "structuredContent": float("nan")}, BEGAN).dumped()
    with pytest.raises(TypeError):
        BEGUN.completed({"content": [object()]}, BEGAN).dumped()


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_final_state_changes_no_more(status: str) -> None:
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


def test_each_response_is_taken_once_and_only_for_an_open_request() -> None:
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
    """Ours: the tool has gone on without it."""
    asked = BEGUN.asked({"a-1": QUESTION, "b-2": ROOTS}, BEGAN + 1)

    first = asked.withdrawn(["a-1", "x"], BEGAN + 2)

    assert (first.status, dict(first.requests)) == ("input_required", {"b-2": ROOTS})
    assert first.withdrawn(["a-1"], BEGAN + 3) is first
    assert first.withdrawn(["b-2"], BEGAN + 3).status == "working"


def test_an_end_closes_what_was_asked() -> None:
    """Extension, DetailedTask: only input_required has requests."""
    ended = STATES["input_required"].cancelled("", BEGAN + 9)

    assert "inputRequests" not in ended.as_detailed(BEGAN + 9)
    assert "statusMessage" not in ended.as_detailed(BEGAN + 9)
    assert "data" not in BEGUN.failed(-1, "x", None, BEGAN).as_detailed(BEGAN)["error"]


def test_a_running_task_is_kept_as_long_as_something_happens() -> None:
    """Extension, ttlMs: it counts from the creation, and may change."""
    hours = 3600.0

    assert BEGUN.reported("x", BEGAN + 5 * hours).kept == 5 * hours + RUNNING_SECONDS
    assert BEGUN.seen(BEGAN + 6 * hours).kept == 6 * hours + RUNNING_SECONDS
    assert BEGUN.seen(BEGAN + 6 * hours).updated == BEGAN
    ended = BEGUN.completed(DONE, BEGAN + 7 * hours)
    assert ended.as_detailed(BEGAN + 8 * hours)["ttlMs"] == (7 * hours + FINISHED_SECONDS) * 1000


@pytest.mark.parametrize(
    ("age", "milliseconds"), [(-3, SHORTEST_POLL_MS), (0, SHORTEST_POLL_MS), (10, 1000), (1e6, LONGEST_POLL_MS)]
)
def test_the_older_a_task_the_more_rarely_it_is_polled(age: float, milliseconds: int) -> None:
    """Ours: a short one ends at once, and a long one costs little."""
    assert BEGUN.as_detailed(BEGAN + age)["pollIntervalMs"] == milliseconds
