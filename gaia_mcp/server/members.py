"""Checks the optional members of an agent's definitions and results. A name has the same rule wherever it occurs.

Strict clients drop a whole list, or a whole result, for one member of a wrong type.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gaia_mcp.protocol.jsonrpc import is_number

Wire = dict[str, Any]

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_ROLES = ("user", "assistant")
_TASK_SUPPORT = ("forbidden", "optional", "required")


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _are_roles(value: Any) -> bool:
    return isinstance(value, list) and all(role in _ROLES for role in value)


# By member name: the check of its value, and the description of valid values.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("title", "description", "mimeType", "lastModified", "theme", "websiteUrl"), (_is(str), "a text")),
    **dict.fromkeys(("outputSchema", "annotations", "execution", "_meta"), (_is(dict), "an object")),
    **dict.fromkeys(("icons", "arguments", "sizes"), (_is(list), "a list")),
    **dict.fromkeys(
        ("required", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), (_is(bool), "true or false")
    ),
    "audience": (_are_roles, "a list of 'user' and 'assistant'"),
    "priority": (lambda value: is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "size": (lambda value: is_number(value) and float(value).is_integer(), "a whole number"),
    "taskSupport": (lambda value: value in _TASK_SUPPORT, "'forbidden', 'optional' or 'required'"),
}
_ANY: tuple[Callable[[Any], bool], str] = (lambda _: True, "")


def member_problem(name: Any, value: Any) -> str | None:
    """The problem with the value of the member `name`, such as `is not a text`; None if it is valid."""
    is_allowed, described = _RULES.get(name, _ANY)
    if not is_allowed(value):
        return f"is not {described}"
    is_text = isinstance(value, str) and isinstance(name, str)
    if not is_text and (problem := json_problem({name: value})) is not None:
        return f"is not JSON: {problem}"
    return None


def json_problem(value: Any) -> str | None:
    """Why `value` cannot be written as JSON, None if it can."""
    try:
        _ENCODE(value)
    except (TypeError, ValueError, RecursionError) as problem:
        return str(problem)
    return None
