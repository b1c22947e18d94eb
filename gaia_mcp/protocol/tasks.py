"""The tasks extension (ext-tasks, draft): a tool call that the server continues as a task, which the client polls. Both
parts: the client's, and the state of a server's task.

The server alone decides which call becomes a task. The client then polls its state until that is final, responds to its
input requests, and cancels it with a request of its own.

A state is a value: its transitions, how it is stored, and how it is described to its client. Each transition returns
the next state. A final state never changes: a late transition returns it unchanged. Times are seconds since 1970.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from gaia_mcp.core.internals import compact_writer
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
Wire = dict[str, Any]
# How long a task is stored after its last change. While it runs, a client's poll counts as a change.
RUNNING_SECONDS = 24 * 3600
FINISHED_SECONDS = 3600
# A client polls after a tenth of the time that the task has taken so far, within these bounds: the end of a short task
# is noticed at once, and a long one costs little.
SHORTEST_POLL_MS = 200
LONGEST_POLL_MS = 5000
_AGES_PER_POLL = 10


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


_write = compact_writer()


class TaskState(NamedTuple):
    """A task. `owner` is its caller, empty where callers are not distinguished. `requests` are the open input requests
    by key, `responses` the client's responses to earlier ones. `outcome` has the member `result` or `error` of a final
    state, if there is one. `kept` is its time to live in seconds, from its creation. `worker` is the process that runs
    it, empty where there is only one.
    """

    id: str
    owner: str
    created: float
    updated: float
    kept: float
    status: str = "working"
    message: str = ""
    requests: Mapping[str, Wire] = {}
    responses: Mapping[str, Any] = {}
    outcome: Mapping[str, Any] = {}
    worker: str = ""

    @classmethod
    def begun(cls, task_id: str, owner: str, now: float, worker: str = "") -> TaskState:
        """A task that begins now."""
        return cls(task_id, owner, now, now, RUNNING_SECONDS, worker=worker)

    @classmethod
    def loaded(cls, kept: bytes) -> TaskState:
        """The state that `dumped` encoded."""
        return cls(*json.loads(kept))

    def dumped(self) -> bytes:
        """The state as JSON. Raises `ValueError` or `TypeError` for an outcome that JSON cannot express."""
        return _write(self).encode("ascii")

    @property
    def is_final(self) -> bool:
        """Whether it can no longer change."""
        return self.status in FINAL

    # Changes.

    def seen(self, now: float) -> TaskState:
        """The client has polled it."""
        return self if self.is_final else self._replace(kept=now - self.created + RUNNING_SECONDS)

    def reported(self, message: str, now: float) -> TaskState:
        """The tool has reported progress."""
        return self._changed(now, message=message)

    def asked(self, requests: Mapping[str, Wire], now: float) -> TaskState:
        """The tool requires input, in addition to the open requests. Keys must be unique over the task's lifetime."""
        return self._changed(now, status="input_required", requests={**self.requests, **requests})

    def withdrawn(self, keys: list[str], now: float) -> TaskState:
        """The tool no longer needs responses to these requests."""
        return self._closed(keys, now) if any(key in self.requests for key in keys) else self

    def answered(self, responses: Mapping[str, Any], now: float) -> TaskState:
        """The client has sent responses. A response to a request that is not open is ignored."""
        wanted = {key: response for key, response in responses.items() if key in self.requests}
        if not wanted:
            return self
        return self._closed([*wanted], now)._changed(now, responses={**self.responses, **wanted})

    def completed(self, result: Wire, now: float) -> TaskState:
        """The call has this result."""
        return self._ended("completed", "", {"result": result}, now)

    def failed(self, code: int, text: str, data: Any, now: float) -> TaskState:
        """The call has ended with a JSON-RPC error."""
        error: Wire = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        return self._ended("failed", text, {"error": error}, now)

    def cancelled(self, reason: str, now: float) -> TaskState:
        """The client has cancelled it, or it cannot continue."""
        return self._ended("cancelled", reason, {}, now)

    def _closed(self, keys: list[str], now: float) -> TaskState:
        requests = {key: request for key, request in self.requests.items() if key not in keys}
        return self._changed(now, requests=requests, status="input_required" if requests else "working")

    def _ended(self, status: str, message: str, outcome: Wire, now: float) -> TaskState:
        ended = self._changed(now, status=status, message=message, requests={}, responses={}, outcome=outcome)
        return ended if ended is self else ended._replace(kept=now - self.created + FINISHED_SECONDS)

    def _changed(self, now: float, **members: Any) -> TaskState:
        if self.is_final:
            return self
        return self._replace(**members, updated=now, kept=now - self.created + RUNNING_SECONDS)

    # As sent to its client.

    def as_created(self) -> Wire:
        """The result of the call that became this task, `CreateTaskResult`."""
        return {"resultType": "task", **self._described(self.created)}

    def as_detailed(self, now: float) -> Wire:
        """The full description, `DetailedTask`."""
        detailed = {**self._described(now), **self.outcome}
        if self.requests:
            detailed["inputRequests"] = dict(self.requests)
        return detailed

    def _described(self, now: float) -> Wire:
        described: Wire = {"taskId": self.id, "status": self.status}
        if self.message:
            described["statusMessage"] = self.message
        poll_ms = int(max(0.0, now - self.created) * 1000 / _AGES_PER_POLL)
        return {
            **described,
            "createdAt": as_time(self.created),
            "lastUpdatedAt": as_time(self.updated),
            "ttlMs": int(self.kept * 1000),
            "pollIntervalMs": min(max(poll_ms, SHORTEST_POLL_MS), LONGEST_POLL_MS),
        }


def as_time(seconds: float) -> str:
    """A time in the form of the protocol (RFC 3339), in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
