"""Converts what an agent returns to an MCP result: a plain value, content blocks, or a complete result, and checks
every block before it is sent.

Anything that MCP does not allow is a `ResultError`, because clients drop the whole result for one invalid member.

A complete result is passed on, without the members that the protocol reserves (`inputRequests`, `requestState`,
`nextCursor` and others). Every result is validated before it is sent.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from gaia_mcp.core.content import NotJSONError, as_json_value
from gaia_mcp.protocol.jsonrpc import as_text
from gaia_mcp.server.definitions import json_problem, member_problem
from gaia_mcp.server.provider import ResultError
from gaia_mcp.text.uri_templates import uri_problem

# The required members of each type of block, all of them strings. Unknown types are passed on unchecked.
_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
Wire = dict[str, Any]
# Returns the validation errors of a value by an output schema.
Validator = Callable[[Any], Sequence[object]]
# The members of results that the server sets itself.
_PROTOCOL = frozenset({"resultType", "inputRequests", "requestState", "nextCursor", "ttlMs", "cacheScope"})
# Members that have a check of their own.
_CHECKED = frozenset({"content", "structuredContent", "messages", "contents"})
# The caching hints of a resource.
_CACHING = ("ttlMs", "cacheScope")
# The prefix of the protocol's own names in `_meta`.
_RESERVED = "io.modelcontextprotocol/"


def checked_blocks(content: Any) -> list[Wire]:
    """The content blocks of a result; a string becomes a text block. Raises `ResultError`."""
    if not isinstance(content, list):
        raise ResultError("an invalid result: content is not a list of blocks")
    return [checked_block(block, f"content[{number}]") for number, block in enumerate(content)]


def checked_block(block: Any, where: str) -> Wire:
    """The block at `where`, without members that are None; a string becomes a text block. Raises `ResultError`."""
    if isinstance(block, str):
        return {"type": "text", "text": str(block)}
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise ResultError(f"an invalid result: {where} is not a content block, which has a type")
    for member in _REQUIRED.get(kind, ()):
        if not isinstance(block.get(member), str):
            raise ResultError(f"an invalid result: {where}, of the type {kind}, has no {member}, a text")
    if kind == "resource_link":
        _check_uri(block["uri"], where)
    if kind != "resource":
        return checked_members(block, where)
    members = {key: value for key, value in block.items() if key != "resource"}
    return {**checked_members(members, where), "resource": checked_contents(block.get("resource"), f"{where}.resource")}


def checked_contents(contents: Any, where: str) -> Wire:
    """The contents of a resource, without members that are None. Raises `ResultError`."""
    if not isinstance(contents, dict):
        raise ResultError(f"an invalid result: {where} is not an object")
    if not isinstance(contents.get("uri"), str):
        raise ResultError(f"an invalid result: {where} has no uri, a text")
    _check_uri(contents["uri"], where)
    held = [contents[member] for member in ("text", "blob") if contents.get(member) is not None]
    if not held or not all(isinstance(value, str) for value in held):
        raise ResultError(f"an invalid result: {where} has neither a text nor a blob, a text in base64")
    return checked_members(contents, where)


def _check_uri(uri: str, where: str) -> None:
    # Clients drop a result with a relative URI, the official SDK for Python among them.
    if (problem := uri_problem(uri)) is not None:
        raise ResultError(f"an invalid result: {where}.uri is {uri!r}, which {problem}")


def checked_members(members: Wire, where: str) -> Wire:
    """The members of a part of a result, without those that are None: MCP does not allow null for an absent member.

    Raises `ResultError` for an optional member of a wrong type, and for one that is not JSON-serializable.
    """
    complete = {key: value for key, value in members.items() if value is not None}
    for key, value in complete.items():
        if (problem := member_problem(key, value)) is not None:
            raise ResultError(f"an invalid result: {where}.{key} {problem}")
    if "annotations" in complete:
        complete["annotations"] = checked_members(complete["annotations"], f"{where}.annotations")
    return complete


_DUMP_NESTED = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).encode
_DUMP_FLAT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",\n  ", ": ")).encode
_SCALARS = frozenset({str, int, float, bool, type(None)})


def call_result(tool: str, value: Any, validate: Validator | None = None) -> Wire:
    """The result of `tools/call` for the return value of the tool `tool`. `validate` checks a value against its output
    schema.

    A dict with a list of content blocks is taken as a complete result, and so is one with MCP's `isError`,
    `structuredContent` or `resultType`. None becomes empty content; a string becomes text; images, audio, files and
    bytes become content of their type. Any other value becomes JSON, as text and as structured content. With an output
    schema, structured content is the value, or `{"result": value}`, whichever is valid. A value that is not
    JSON-serializable or not valid, or an invalid complete result, is a failure of the tool.
    """
    try:
        if isinstance(value, dict) and _is_result(value):
            return checked_result(value, validate)
        if validate is None:
            if value is None:
                return {"content": [], "isError": False}
            if isinstance(value, str):
                return {"content": [_text(str(value))], "isError": False}
        content = _content_result(value)
        return checked_result(content, validate) if content is not None else _json_result(value, validate)
    except ResultError as problem:
        return failure(f"tool {tool!r} returned {problem}")
    except (NotJSONError, ValueError) as problem:
        return failure(f"tool {tool!r} returned a value that is not JSON: {problem}")
    except RecursionError:
        return failure(f"tool {tool!r} returned a value that is not JSON: it contains itself, or is nested too deeply")
    except OSError as problem:
        return failure(f"tool {tool!r} returned a file that cannot be read: {problem}")


def checked_result(value: Wire, validate: Validator | None = None) -> Wire:
    """A complete result of `tools/call`, without the protocol's own members. Raises `ResultError`."""
    result: Wire = {"isError": False, **_own_members(value)}
    if type(result["isError"]) is not bool:
        raise ResultError("an invalid result: isError is not true or false")
    content = result.get("content")
    structured = _as_json(value.get("structuredContent"), "structuredContent")
    if content is None and "structuredContent" in value:
        content = _dump(structured)
    result["content"] = checked_blocks([content] if isinstance(content, str) else content)
    # The output schema may require null.
    if structured is not None or (validate is not None and "structuredContent" in value):
        result["structuredContent"] = structured
    if validate is not None and not result["isError"]:
        if "structuredContent" not in value:
            raise ResultError("no structured content, which its output schema requires")
        if problems := validate(structured):
            raise ResultError(f"structured content that does not fit its output schema: {problems[0]}")
    return result


def _content_result(value: Any) -> Wire | None:
    if value is None or isinstance(value, (str, dict, int, float)):
        return None
    from gaia_mcp.core.content import content_blocks

    blocks = content_blocks(value)
    return {"content": blocks} if blocks is not None else None


def _json_result(value: Any, validate: Validator | None) -> Wire:
    is_error = _reports_failure(value)
    try:
        text = _dump(value)
    except TypeError:
        value = as_json_value(value)
        text = _dump(value)
    if isinstance(value, str):
        text = str(value)
    result: Wire = {"content": [_text(text)] if value is not None else [], "isError": is_error}
    if validate is not None and not is_error:
        result["structuredContent"] = _fitting(as_json_value(value), validate)
    elif not isinstance(value, str):
        result["structuredContent"] = value
    return result


def _fitting(value: Any, validate: Validator) -> Any:
    """The value, or `{"result": value}`, whichever the output schema accepts. Raises `ResultError`."""
    problems = validate(value)
    if not problems:
        return value
    wrapped = {"result": value}
    problems_of_wrapped = validate(wrapped)
    if not problems_of_wrapped:
        return wrapped
    problem = (problems if isinstance(value, dict) else problems_of_wrapped)[0]
    raise ResultError(f"a value that does not fit its output schema: {problem}")


def _own_members(value: Wire) -> Wire:
    """The members of a complete result, without the protocol's own. Raises `ResultError`."""
    kind = value.get("resultType")
    if kind is not None and kind != "complete":
        raise ResultError(f"a result of the type {as_text(kind)!r}, where only a complete one may be returned")
    own = {key: member for key, member in value.items() if key not in _PROTOCOL | _CHECKED and member is not None}
    for key, member in own.items():
        if (problem := member_problem(key, member)) is not None:
            raise ResultError(f"an invalid result: {key} {problem}")
    if "_meta" in own:
        own["_meta"] = {key: member for key, member in own["_meta"].items() if not str(key).startswith(_RESERVED)}
    return own | {key: value[key] for key in _CHECKED & value.keys() if value[key] is not None}


def _as_json(value: Any, where: str) -> Any:
    """`value` as JSON. Raises `ResultError`."""
    if json_problem(value) is None:
        return value
    try:
        plain = as_json_value(value, where)
    except (NotJSONError, RecursionError) as problem:
        raise ResultError(f"an invalid result: not JSON: {problem}") from problem
    if (remaining := json_problem(plain)) is not None:
        raise ResultError(f"an invalid result: {where} is not JSON: {remaining}")
    return plain


def failure(text: str) -> Wire:
    """The result of `tools/call` for a tool that failed."""
    return {"content": [_text(text)], "isError": True}


def failure_of(error: BaseException) -> Wire:
    """The result of `tools/call` for a tool that raised."""
    text = str(error)
    # The message of a KeyError is only the key, that of a SystemExit only a number.
    if not text or isinstance(error, (KeyError, SystemExit)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return failure(text)


def prompt_result(value: Any, description: str) -> Wire:
    """The result of `prompts/get` for a string, image, audio, file, a list of these and of messages, or a result.

    Raises `ResultError` for anything else, and `OSError` for a file that cannot be read.
    """
    result: Wire = {"description": description} if description else {}
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        result, value = {**result, **_own_members(value)}, value["messages"]
    elif not isinstance(value, list) and _content_of(value) is not None:
        value = [value]
    if not isinstance(value, list):
        raise ResultError(
            f"{type(value).__name__}, not a text, an image, a list of these and of messages, or a result with messages"
        )
    return {**result, "messages": [_message(message, f"messages[{number}]") for number, message in enumerate(value)]}


def resource_result(value: Any, uri: str, mime_type: str | None) -> Wire:
    """The result of `resources/read` for a string, bytes, a complete result, or any other value, which becomes JSON as
    that of a tool does.

    Raises `ResultError`, and `NotJSONError` (a `TypeError`) or `ValueError` for a value that JSON cannot express.
    """
    described: Wire = {"uri": uri}
    if mime_type:
        described["mimeType"] = mime_type
    if isinstance(value, dict) and isinstance(value.get("contents"), list):
        caching = {key: value[key] for key in _CACHING if value.get(key) is not None}
        contents = [
            checked_contents({**described, **item} if isinstance(item, dict) else item, f"contents[{number}]")
            for number, item in enumerate(value["contents"])
        ]
        return {**_own_members(value), **caching, "contents": contents}
    if isinstance(value, (bytes, bytearray, memoryview)):
        described["blob"] = base64.b64encode(value).decode("ascii")
    elif isinstance(value, str):
        described["text"] = value
    else:
        try:
            described["text"] = _dump(value)
        except TypeError:
            described["text"] = _dump(as_json_value(value))
        described.setdefault("mimeType", "application/json")
    return {"contents": [described]}


def _dump(value: Any) -> str:
    """`value` as JSON, indented by two."""
    # Most results have at most one level, and `json` encodes without `indent` in C, which is faster.
    if type(value) in _SCALARS:
        return _DUMP_FLAT(value)
    parts = value.values() if type(value) is dict else value if type(value) is list else ()
    if parts and _SCALARS.issuperset(map(type, parts)):
        text = _DUMP_FLAT(value)
        return f"{text[0]}\n  {text[1:-1]}\n{text[-1]}"
    return _DUMP_NESTED(value)


def _message(message: Any, where: str) -> Wire:
    if (shown := _content_of(message)) is not None:
        message = {"role": "user", "content": shown}
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("user", "assistant"):
        raise ResultError(f"an invalid result: {where} is not a message, whose role is user or assistant")
    members = {key: value for key, value in message.items() if key != "content"}
    content = message.get("content")
    return {
        **checked_members(members, where),
        "content": checked_block(_content_of(content) or content, f"{where}.content"),
    }


def _content_of(value: Any) -> str | Wire | None:
    """A string as it is; an image, audio, file or bytes as a content block; None for any other value."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (dict, list, tuple)):
        return None
    from gaia_mcp.core.content import content_blocks

    return next(iter(content_blocks(value) or ()), None)


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _is_result(value: Wire) -> bool:
    """Whether a dict is an MCP result rather than a value: agents also use the key `content` in plain values."""
    if "structuredContent" in value:
        return True
    if "content" in value and (isinstance(value.get("isError"), bool) or "resultType" in value):
        return True
    content = value.get("content")
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in content)
    )


def _reports_failure(value: Any) -> bool:
    """Whether the value reports a failure in one of the three ways that GAIA's agents use."""
    if not isinstance(value, dict):
        return False
    return bool(value.get("error")) or value.get("success") is False or value.get("status") == "error"
