"""The tasks extension (ext-tasks, draft): a tool call that the server continues as a task, which the client polls.
This is the client's part; the server's is in `task_states`.

The server alone decides which call becomes a task. The client then polls its state until that is final, responds to its
input requests, and cancels it with a request of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gaia_mcp.protocol.envelope import TASKS_EXTENSION
from gaia_mcp.protocol.input_required import RESULT_TYPES, ResultTypes, are_requests
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, as_text

# Declared by a client that accepts a task in place of a result.
EXTENSIONS: Mapping[str, Any] = MappingProxyType({TASKS_EXTENSION: {}})
TASK_RESULT_TYPES: ResultTypes = MappingProxyType({**RESULT_TYPES, "task": frozenset({"tools/call"})})

# The default interval between two polls, and the bounds for the interval that the server names: a task is neither
# polled without a pause, nor so rarely that its end goes unnoticed.
USUAL_POLL_SECONDS = 1.0
SHORTEST_POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 60.0

# The final states.
FINAL = frozenset({"completed", "failed", "cancelled"})
_STATUSES = FINAL | {"working", "input_required"}


class Task(NamedTuple):
    """A task as the server last described it. `status` is "working", "input_required", "completed", "failed" or
    "cancelled". A completed task has the `result` of the call, a failed one the JSON-RPC `error` as (code, message,
    data). `requests` are the input requests of `input_required`, by key.
    """

    id: str
    status: str
    message: str
    poll_seconds: float
    requests: dict[str, dict[str, Any]]
    result: dict[str, Any]
    error: tuple[int, str, Any]

    @property
    def is_final(self) -> bool:
        """Whether the state is final."""
        return self.status in FINAL


def is_task(result: dict[str, Any]) -> bool:
    """Whether this result of a call describes a task."""
    return result.get("resultType") == "task"


def read_task(described: dict[str, Any]) -> Task | str:
    """The task that a result describes, or a text with what is wrong with it."""
    task_id, status, message = described.get("taskId"), described.get("status"), described.get("statusMessage", "")
    if not isinstance(task_id, str):
        return "described a task without a taskId"
    if not isinstance(status, str) or status not in _STATUSES:
        return f"described a task in the unknown state {as_text(status)!r}"
    requests = described.get("inputRequests", {}) if status == "input_required" else {}
    if not are_requests(requests):
        return "asked for input in an invalid form"
    result = described.get("result") if status == "completed" else {}
    # `CreateTaskResult` has no result, even if the task is already completed.
    if not isinstance(result, dict) and not is_task(described):
        return "described a completed task without its result"
    text = message if isinstance(message, str) else ""
    poll = _poll_seconds(described.get("pollIntervalMs"))
    return Task(task_id, status, text, poll, requests, result or {}, _error(described.get("error")))


def _poll_seconds(milliseconds: Any) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return USUAL_POLL_SECONDS
    # In this order, since an integer from the server may be too large to divide.
    return min(max(milliseconds, SHORTEST_POLL_SECONDS * 1000), LONGEST_POLL_SECONDS * 1000) / 1000


def _error(error: Any) -> tuple[int, str, Any]:
    if not isinstance(error, dict):
        return INTERNAL_ERROR, "the task failed", None
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        code = INTERNAL_ERROR
    return code, as_text(message or "the task failed"), error.get("data")
