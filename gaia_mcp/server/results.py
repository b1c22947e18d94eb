"""MCP results made of what an agent returns: a plain value, content blocks, or a whole result."""

from __future__ import annotations

import base64
import json
from types import CoroutineType
from typing import Any

Wire = dict[str, Any]

_DUMP = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).encode


def call_result(value: Any) -> Wire:
    """The result of `tools/call` for whatever a tool returned.

    A dict with a list of content blocks is a result already. A string becomes text, None becomes no content, and any
    other JSON value becomes text and structured content.
    """
    if isinstance(value, dict) and _is_content(value.get("content")):
        return {"isError": False, **value}
    if value is None:
        return {"content": [], "isError": False}
    if isinstance(value, str):
        return {"content": [_text(value)], "isError": False}
    try:
        text = _DUMP(value)
    except (TypeError, ValueError, RecursionError) as problem:
        if isinstance(value, CoroutineType):
            value.close()
            return failure("execute_mcp_tool() is async, but has to return the result itself")
        return failure(f"the tool returned a value that is not JSON: {problem}")
    return {"content": [_text(text)], "structuredContent": value, "isError": _reports_failure(value)}


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
