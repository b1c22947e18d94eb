"""What the schema of the tasks extension (ext-tasks, draft) allows, for tests that look at what we send."""

from __future__ import annotations

import re
from typing import Any

Wire = dict[str, Any]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_REQUIRED = {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"}
_TASK = _REQUIRED | {"statusMessage", "pollIntervalMs"}
# What a task has beside that, by its status.
_MEMBERS = {
    "working": set[str](),
    "input_required": {"inputRequests"},
    "completed": {"result"},
    "failed": {"error"},
    "cancelled": set[str](),
}
_RESULT = {"resultType", "_meta"}


def problems_of_created(result: Wire) -> list[str]:
    """What is wrong with a `CreateTaskResult`."""
    problems = _problems(result, _RESULT)
    if result.get("resultType") != "task":
        problems.append("resultType is not 'task'")
    return problems


def problems_of_detailed(task: Wire) -> list[str]:
    """What is wrong with a `DetailedTask`: the result of `tasks/get`, or the params of `notifications/tasks`."""
    members = _MEMBERS.get(str(task.get("status")), set())
    problems = _problems(task, members | _RESULT) + [f"{key} is missing" for key in members - set(task)]
    if task.get("resultType", "complete") != "complete":
        problems.append("resultType is not 'complete'")
    for key, request in task.get("inputRequests", {}).items():
        if not isinstance(request.get("method"), str):
            problems.append(f"{key} has no method")
    error = task.get("error", {"code": 0, "message": ""})
    if type(error.get("code")) is not int or not isinstance(error.get("message"), str):
        problems.append("error is not one of JSON-RPC")
    if not isinstance(task.get("result", {}), dict):
        problems.append("result is not an object")
    return problems


def _problems(task: Wire, beside: set[str]) -> list[str]:
    problems = [f"{key} is missing" for key in _REQUIRED - set(task)]
    problems += [f"{key} does not belong there" for key in set(task) - _TASK - beside]
    if task.get("status") not in _MEMBERS:
        problems.append("status is unknown")
    problems += [
        f"{key} is not a text" for key in ("taskId", "statusMessage") if not isinstance(task.get(key, ""), str)
    ]
    problems += [
        f"{key} is not a time" for key in ("createdAt", "lastUpdatedAt") if not _TIME.fullmatch(str(task.get(key)))
    ]
    for key in ("ttlMs", "pollIntervalMs"):
        if type(value := task.get(key, 1)) is not int or value <= 0:
            problems.append(f"{key} is not a whole number of milliseconds")
    return problems
