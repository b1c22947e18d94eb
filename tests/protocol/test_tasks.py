"""What a server's description of a task means."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.tasks import (
    LONGEST_POLL_SECONDS,
    SHORTEST_POLL_SECONDS,
    USUAL_POLL_SECONDS,
    Task,
    is_task,
    read_task,
)

WORKING = {"taskId": "t-1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None}
QUESTION = {"method": "elicitation/create", "params": {"message": "Which city?"}}


def task(**members: Any) -> Task:
    read = read_task({**WORKING, **members})
    assert isinstance(read, Task), read
    return read


def test_the_type_of_a_result_says_that_it_is_a_task() -> None:
    """Extension, CreateTaskResult."""
    assert is_task({**WORKING, "resultType": "task"})
    assert not is_task({**WORKING, "resultType": "complete"})
    assert not is_task({"content": []})


def test_a_task_has_a_state_that_may_be_final() -> None:
    """Extension, TaskStatus."""
    assert (task().status, task().is_final, task(statusMessage="half").message) == ("working", False, "half")
    assert task(status="completed", result={"content": []}).result == {"content": []}
    assert [task(status=status).is_final for status in ("input_required", "failed", "cancelled")] == [False, True, True]


def test_requests_and_results_belong_to_their_states() -> None:
    """Extension, DetailedTask: what another state leaves behind has no meaning."""
    assert task(status="input_required", inputRequests={"q": QUESTION}).requests == {"q": QUESTION}
    assert task(inputRequests={"q": QUESTION}).requests == {}
    assert task(result={"content": []}).result == {}


def test_a_call_may_be_completed_before_it_is_described() -> None:
    """Extension, CreateTaskResult: it never has a result, which is asked for."""
    assert task(resultType="task", status="completed").result == {}


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [
        (None, USUAL_POLL_SECONDS),
        ("200", USUAL_POLL_SECONDS),
        (True, USUAL_POLL_SECONDS),
        (200, 0.2),
        (-5, SHORTEST_POLL_SECONDS),
        (10**400, LONGEST_POLL_SECONDS),
    ],
)
def test_the_pause_between_polls_has_bounds(milliseconds: Any, seconds: float) -> None:
    """Ours."""
    assert task(pollIntervalMs=milliseconds).poll_seconds == seconds


@pytest.mark.parametrize(
    ("error", "read"),
    [
        ({"code": -32603, "message": "no room", "data": 1}, (-32603, "no room", 1)),
        ({"code": True}, (INTERNAL_ERROR, "the task failed", None)),
        (None, (INTERNAL_ERROR, "the task failed", None)),
    ],
)
def test_a_failed_task_has_an_error(error: Any, read: tuple[Any, ...]) -> None:
    """Extension, FailedTask; a server that forgets it has failed all the same."""
    assert task(status="failed", error=error).error == read


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"taskId": 7}, "without a taskId"),
        ({"status": "asleep"}, "unknown state 'asleep'"),
        ({"status": ["working"]}, "unknown state"),
        ({"status": "input_required", "inputRequests": {"q": 1}}, "in an invalid form"),
        ({"status": "completed"}, "without its result"),
    ],
)
def test_an_invalid_description_is_named(members: dict[str, Any], problem: str) -> None:
    """Ours."""
    read = read_task({**WORKING, **members})

    assert isinstance(read, str)
    assert problem in read
