"""A2A in AgentVault's form: reads its JSON-RPC requests, and describes our tasks in its format.

A client sends one message, whose first data part names a tool. The message becomes a task, whose only answer is a
message with one data part: the *outcome*, `{"success", "mcp_result", "error"}`. A2A in the official SDK differs: its
methods, states and parts have other names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import INVALID_REQUEST, is_number
from gaia_mcp.protocol.tasks import TaskState, as_time

Wire = dict[str, Any]

# Errors of the agent itself, and for a task that the caller does not own.
AGENT_ERROR = -32000
TASK_UNKNOWN = -32001

# The source of an error.
PROXY = "A2A_PROXY"
PROTOCOL = "MCP_PROTOCOL"
TOOL = "MCP_TOOL"

# The codes of its errors; those of MCP_PROTOCOL are the numbers of JSON-RPC, as text.
TOOL_FAILED = "TOOL_EXECUTION_FAILED"
NOT_CONNECTED = "MCP_CONNECTION_ERROR"
TIMEOUT = "MCP_TIMEOUT"
INVALID_RESPONSE = "MCP_INVALID_RESPONSE"
INVALID_RESULT = "MCP_INVALID_RESULT"
INTERNAL = "PROXY_INTERNAL_ERROR"
CANCELED = "TASK_CANCELED"

_ROLES = ("user", "assistant", "system", "tool")
_STATES = {"working": "WORKING", "input_required": "INPUT_REQUIRED", "cancelled": "CANCELED"}


class Request(NamedTuple):
    """A request. Its `id` is returned in the response, and may be null or missing, as with AgentVault's servers."""

    id: Any
    method: str
    params: Any


class InvalidRequestError(ValueError):
    """A message is not a request, or its parameters are invalid. The response is an error with `code`."""

    def __init__(self, text: str, code: int, request_id: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.id = request_id


class Sent(NamedTuple):
    """The parameters of `tasks/send`: the task that the message continues, if any; the content of its first data part,
    None without one; and the part of its metadata for MCP servers, None without one.
    """

    task_id: str | None
    content: Wire | None
    context: Any


def read_request(value: Any) -> Request:
    """Read a request from a JSON value. Raises `InvalidRequestError`."""
    if not isinstance(value, dict):
        raise InvalidRequestError("Invalid Request: an object is needed", INVALID_REQUEST)
    request_id, method = value.get("id"), value.get("method")
    is_text = request_id is None or isinstance(request_id, str)
    if not is_text and not is_number(request_id):
        raise InvalidRequestError("Invalid Request: 'id' must be a string or a number", INVALID_REQUEST)
    if not isinstance(method, str) or not method:
        raise InvalidRequestError("Invalid Request: 'method' must be a string", INVALID_REQUEST, request_id)
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequestError("Invalid Request: 'jsonrpc' must be '2.0'", INVALID_REQUEST, request_id)
    return Request(request_id, method, value.get("params"))


def read_sent(params: Any) -> Sent:
    """The parameters of `tasks/send`. Raises `ValueError`."""
    params = _object(params, "params")
    task_id = params.get("id")
    if task_id is not None and not isinstance(task_id, str):
        raise ValueError("'id' must be a string")
    message = _object(params.get("message"), "message")
    if message.get("role") not in _ROLES:
        raise ValueError(f"'message.role' must be one of {', '.join(_ROLES)}")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise ValueError("'message.parts' must be a list that is not empty")
    contents = [_data(part, at) for at, part in enumerate(parts)]
    metadata = message.get("metadata")
    context = None if metadata is None else _object(metadata, "message.metadata").get("mcp_context")
    return Sent(task_id, next((content for content in contents if content is not None), None), context)


def read_task_id(params: Any) -> str:
    """The task that a request is about. Raises `ValueError`."""
    task_id = _object(params, "params").get("id")
    if not isinstance(task_id, str) or not task_id:
        raise ValueError("'id' must be a string that is not empty")
    return task_id


def succeeded(result: Wire) -> Wire:
    """The outcome of a call with this result."""
    return {"success": True, "mcp_result": result, "error": None}


def failed(source: str, code: str, message: str, details: Wire | None = None) -> Wire:
    """The outcome of a call that has failed."""
    error: Wire = {"source": source, "code": code, "message": message, "details": details}
    return {"success": False, "mcp_result": None, "error": error}


def tool_failed(tool: str, result: Wire) -> Wire:
    """The outcome of a call whose result reports that the tool failed."""
    message = f"the tool {tool!r} has failed" if tool else "the tool has failed"
    return failed(TOOL, TOOL_FAILED, message, {"mcp_tool_error_content": result.get("content")})


def described(state: TaskState) -> Wire:
    """A task, as `tasks/get` returns it."""
    outcome = _outcome(state)
    return {
        "id": state.id,
        "state": _state(state, outcome),
        "createdAt": as_time(state.created),
        "updatedAt": as_time(state.updated),
        "messages": [] if outcome is None else [_message(outcome)],
        "artifacts": [],
        "metadata": None,
    }


def events(state: TaskState, shown: TaskState | None = None) -> list[tuple[str, Wire]]:
    """The events to send to a subscriber that last saw the task in the state `shown`, as names with data. The last
    event of a task is its final state; the message comes before it.
    """
    outcome, about = _outcome(state), {"taskId": state.id, "timestamp": as_time(state.updated)}
    found: list[tuple[str, Wire]] = []
    if outcome is not None:
        found.append(("task_message", {**about, "message": _message(outcome)}))
    elif shown is not None and (shown.status, shown.message) == (state.status, state.message):
        return found
    status = {**about, "state": _state(state, outcome), "message": _reason(outcome) or state.message or None}
    return [*found, ("task_status", status)]


def _object(value: Any, name: str) -> Wire:
    if not isinstance(value, dict):
        raise ValueError(f"{name!r} must be an object")
    return value


def _data(part: Any, at: int) -> Wire | None:
    """The content of a data part, None for a part of another kind."""
    part = _object(part, f"message.parts[{at}]")
    content = part.get("content")
    if (kind := part.get("type")) is None:
        kind = "file" if "url" in part else "data" if isinstance(content, dict) else "text"
    if kind == "data" and isinstance(content, dict):
        return content
    if (kind == "text" and isinstance(content, str)) or (kind == "file" and isinstance(part.get("url"), str)):
        return None
    raise ValueError(f"'message.parts[{at}]' is not a valid part of type text, file or data")


def _outcome(state: TaskState) -> Wire | None:
    """The outcome of a task, None while it runs. It depends on the state alone, not on the caller."""
    if not state.is_final:
        return None
    if state.status == "completed":
        return _completed(state.outcome["result"])
    if state.status == "cancelled":
        return failed(PROXY, CANCELED, state.message)
    return failed(PROXY, INTERNAL, state.outcome["error"]["message"])


def _completed(result: Wire) -> Wire:
    """The outcome that a result contains; for a task begun over MCP, the outcome that corresponds to its result."""
    held = result.get("structuredContent")
    if isinstance(held, dict) and held.keys() == {"success", "mcp_result", "error"}:
        return held
    return tool_failed("", result) if result.get("isError") is True else succeeded(result)


def _state(state: TaskState, outcome: Wire | None) -> str:
    if outcome is None or state.status == "cancelled":
        return _STATES[state.status]
    return "COMPLETED" if outcome["success"] else "FAILED"


def _reason(outcome: Wire | None) -> str:
    error = outcome["error"] if outcome is not None else None
    return "" if error is None else f"[{error['source']}/{error['code']}] {error['message']}"


def _message(outcome: Wire) -> Wire:
    part = {"type": "data", "content": outcome, "mediaType": "application/json"}
    return {"role": "assistant", "parts": [part], "metadata": None}
