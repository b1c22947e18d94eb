"""A server written with the official Python SDK, 2.x, and its interface for extensions: each call becomes a task.

What happens is written to the file named by NOTES. It serves over stdio, or over HTTP at the port that is its argument.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.extension import Extension, MethodBinding
from mcp_types import RequestParams

STEPS = ("reading", "writing")


class TaskParams(RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


def note(text: str) -> None:
    with Path(os.environ["NOTES"]).open("a", encoding="utf-8") as notes:
        notes.write(text + "\n")


class Tasks(Extension):
    """`report` takes a few polls, and asks for a name first; `endless` takes for ever, and is polled at leisure."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.polls: dict[str, int] = {}
        self.names: dict[str, str] = {}

    def described(self, task_id: str, status: str, **members: Any) -> dict[str, Any]:
        now = "2026-11-20T08:00:00Z"
        times = {"createdAt": now, "lastUpdatedAt": now, "ttlMs": None}
        return {"taskId": task_id, "status": status, **times, "pollIntervalMs": 60, **members}

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name == "greet":
            return await call_next(ctx)
        task_id = f"{params.name}-{len(self.polls)}"
        self.polls[task_id] = 0
        return self.described(task_id, "working", resultType="task")

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskParams, self.get),
            MethodBinding("tasks/update", TaskParams, self.update),
            MethodBinding("tasks/cancel", TaskParams, self.cancel),
        ]

    async def get(self, _ctx: Any, params: TaskParams) -> dict[str, Any]:
        task_id = params.task_id
        done = self.polls[task_id]
        if not done:
            note(f"asked for {task_id}")
        self.polls[task_id] += 1
        if task_id.startswith("endless"):
            return self.described(task_id, "working", statusMessage="dawdling", pollIntervalMs=60_000)
        if done < len(STEPS):
            return self.described(task_id, "working", statusMessage=STEPS[done])
        if task_id not in self.names:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            asked = {"mode": "form", "message": "Whose report?", "requestedSchema": schema}
            request = {"method": "elicitation/create", "params": asked}
            return self.described(task_id, "input_required", inputRequests={"q": request})
        content = [{"type": "text", "text": f"the report of {self.names[task_id]}"}]
        return self.described(task_id, "completed", result={"content": content, "isError": False})

    async def update(self, _ctx: Any, params: TaskParams) -> dict[str, Any]:
        answer = (params.input_responses or {})["q"]
        self.names[params.task_id] = answer.get("content", {}).get("name", answer["action"])
        return {}

    async def cancel(self, _ctx: Any, params: TaskParams) -> dict[str, Any]:
        note(f"cancelled {params.task_id}")
        return {}


app = MCPServer("tasks", version="1", extensions=[Tasks()])


@app.tool()
def greet() -> str:
    """Say hello at once."""
    return "hello"


@app.tool()
def report() -> str:
    """Take a while."""
    return ""


@app.tool()
def endless() -> str:
    """Take for ever."""
    return ""


if __name__ == "__main__":
    if sys.argv[1:]:
        app.run("streamable-http", port=int(sys.argv[1]))
    else:
        app.run()
