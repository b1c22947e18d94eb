"""MCP results made of what an agent returns: a plain value, content blocks, or a whole result."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.jsonvalues import NotJSONError, as_json_value
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.checking.checker import Checker

Wire = dict[str, Any]

_DUMP = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).encode


def call_result(tool: str, value: Any, output: Checker | None = None) -> Wire:
    """The result of `tools/call` for whatever the tool of this name returned. `output` is its output schema.

    A dict with a list of content blocks is a result already. None becomes no content, a string text, images, sounds,
    files and bytes the content of their kind, and any other value the JSON that stands for it, as text and as
    structured content. With an output schema, structured content is what fits it: the value, or an object with the
    value as its member `result`. What has no JSON or does not fit is a failure of the tool.
    """
    if isinstance(value, dict) and _is_content(value.get("content")):
        return {"isError": False, **value}
    if output is None:
        if value is None:
            return {"content": [], "isError": False}
        if isinstance(value, str):
            return {"content": [_text(str(value))], "isError": False}
    try:
        return _content_result(value) or _json_result(value, output)
    except (NotJSONError, ValueError) as problem:
        return failure(f"tool {tool!r} returned a value that {_wrong(problem)}")
    except RecursionError:
        return failure(f"tool {tool!r} returned a value that is not JSON: it contains itself, or is nested too deeply")
    except OSError as problem:
        return failure(f"tool {tool!r} returned a file that cannot be read: {problem}")


class _MismatchError(ValueError):
    """A value that does not fit the output schema of its tool."""


def _content_result(value: Any) -> Wire | None:
    if isinstance(value, (dict, int, float)):
        return None
    from gaia_mcp.content import content_blocks

    blocks = content_blocks(value)
    return {"content": blocks, "isError": False} if blocks is not None else None


def _json_result(value: Any, output: Checker | None) -> Wire:
    is_error = _reports_failure(value)
    try:
        text = _DUMP(value)
    except TypeError:
        value = as_json_value(value)
        text = _DUMP(value)
    if isinstance(value, str):
        text = str(value)
    result: Wire = {"content": [_text(text)] if value is not None else [], "isError": is_error}
    if output is not None and not is_error:
        result["structuredContent"] = _fitting(as_json_value(value), output)
    elif not isinstance(value, str):
        result["structuredContent"] = value
    return result


def _fitting(value: Any, output: Checker) -> Any:
    """The value as the output schema has it. Raises `_MismatchError`."""
    try:
        errors = output.validation_errors(value)
        if not errors:
            return value
        wrapped = {"result": value}
        errors_of_wrapped = output.validation_errors(wrapped)
    except SchemaError:
        return value  # `serve` has reported it.
    if not errors_of_wrapped:
        return wrapped
    raise _MismatchError(str((errors if isinstance(value, dict) else errors_of_wrapped)[0]))


def _wrong(problem: Exception) -> str:
    if isinstance(problem, _MismatchError):
        return f"does not fit its output schema: {problem}"
    return f"is not JSON: {problem}"


def json_problem(value: Any) -> str | None:
    """Why `value` cannot be written as JSON, None if it can."""
    try:
        _DUMP(value)
    except (TypeError, ValueError, RecursionError) as problem:
        return str(problem)
    return None


def failure(text: str) -> Wire:
    """The result of `tools/call` for a tool that failed."""
    return {"content": [_text(text)], "isError": True}


def failure_of(error: BaseException) -> Wire:
    """The result of `tools/call` for a tool that raised."""
    text = str(error)
    # The text of a KeyError is the key, that of a SystemExit a number.
    if not text or isinstance(error, (KeyError, SystemExit)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return failure(text)


def prompt_result(value: Any, description: str) -> Wire:
    """The result of `prompts/get` for a text, a list of messages, or a complete result.

    Raises `TypeError` for anything else.
    """
    result: Wire = {"description": description} if description else {}
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        result, value = {**result, **value}, value["messages"]
    elif isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise TypeError(f"a prompt is a text, a list of messages or a result, not {type(value).__name__}")
    return {**result, "messages": [_message(message) for message in value]}


def resource_result(value: Any, uri: str, mime_type: str | None) -> Wire:
    """The result of `resources/read` for a text, bytes, a JSON value, or a complete result.

    Raises `TypeError` or `ValueError` for a value that is not JSON.
    """
    contents: Wire = {"uri": uri}
    if mime_type:
        contents["mimeType"] = mime_type
    if isinstance(value, dict) and isinstance(value.get("contents"), list):
        return {**value, "contents": [{**contents, **item} for item in value["contents"]]}
    if isinstance(value, (bytes, bytearray, memoryview)):
        contents["blob"] = base64.b64encode(value).decode("ascii")
    elif isinstance(value, str):
        contents["text"] = value
    else:
        contents["text"] = _DUMP(value)
        contents.setdefault("mimeType", "application/json")
    return {"contents": [contents]}


def _message(message: Any) -> Wire:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        content = _text(content)
    if not isinstance(content, dict):
        raise TypeError("a prompt's message is a dict with a role and a content")
    return {**message, "content": content}


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _is_content(value: Any) -> bool:
    # An empty list may just as well be a member of the agent's own value.
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in value)
    )


def _reports_failure(value: Any) -> bool:
    """Whether the value reports a failure in one of the three ways that GAIA's agents use."""
    if not isinstance(value, dict):
        return False
    return bool(value.get("error")) or value.get("success") is False or value.get("status") == "error"
