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
from tests.protocol_support import check_rows

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
