"""What the results and notifications of each revision look like: the members that a revision requires, and the types of
those that it knows.

Members that a revision does not know are allowed, as in its schema. The schemas here are ours, in JSON Schema, for one
item each, so that a mistake is found where it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gaia_mcp.checking import Checker
from gaia_mcp.protocol import STATELESS_VERSIONS, TASK_VERSION, since
from gaia_mcp.protocol.envelope import LOG_LEVELS
from gaia_mcp.protocol.pagination import LISTS

Wire = dict[str, Any]

_TEXT: Wire = {"type": "string"}
_TRUTH: Wire = {"type": "boolean"}
_OBJECT: Wire = {"type": "object"}
_NUMBER: Wire = {"type": "number"}
# Of a list with thousands of mistakes, these are enough.
MAX_PROBLEMS = 5
# By the id of the schema.
_CHECKERS: dict[int, Checker] = {}
# The most suggestions in one result.
MAX_VALUES = 100


def result_problems(revision: str, method: str, result: Wire) -> list[str]:
    """How a complete result of `method` deviates from the schema of `revision`, the first few deviations. Of a method
    that is not known here, nothing is.
    """
    where = f"the result of {method}"
    problems = _problems(where, _result_schema(revision, method), result)
    member = LISTS.get(method) or {"tools/call": "content", "prompts/get": "messages"}.get(method)
    items = result.get(member) if member is not None else None
    if method == "resources/read":
        member, items = "contents", result.get("contents")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if len(problems) >= MAX_PROBLEMS:
            break
        named = item.get("name", item.get("uri")) if isinstance(item, dict) else None
        place = f"{member}[{number}]" + (f" ({named!r})" if isinstance(named, str) else "")
        problems += _item_problems(f"{where}: {place}", revision, str(member), item)
    return problems[:MAX_PROBLEMS]


def notification_problems(message: Wire) -> list[str]:
    """How a notification deviates from its schema, which is the same in all revisions."""
    method = message["method"]
    schema = _notification_schema(method)
    return _problems(str(method), schema, message.get("params", {})) if schema is not None else []


def _item_problems(where: str, revision: str, member: str, item: Any) -> list[str]:
    if member == "content":
        return _block_problems(where, revision, item)
    if member == "messages":
        problems = _problems(where, _MESSAGE, item)
        return problems or _block_problems(f"{where}: content", revision, item["content"])
    if member == "contents" and isinstance(item, dict) and not ("text" in item or "blob" in item):
        return [f"{where} has neither text nor blob"]
    return _problems(where, _item_schema(revision, member), item)


def _block_problems(where: str, revision: str, block: Any) -> list[str]:
    """A content block. Of a kind that is not known nothing is required but its name."""
    problems = _problems(where, _BLOCK, block)
    if problems:
        return problems
    known = _blocks(revision)
    kind = block["type"]
    if kind == "resource":
        problems = _problems(where, _EMBEDDED, block)
        return problems or _item_problems(f"{where}: resource", revision, "contents", block["resource"])
    return _problems(where, known[kind], block) if kind in known else []


def _problems(where: str, schema: Wire, value: Any) -> list[str]:
    # The schemas of this module are made once each, and stay.
    if (checker := _CHECKERS.get(id(schema))) is None:
        checker = _CHECKERS[id(schema)] = Checker(schema)
    return [f"{where}: {problem}" for problem in checker.validation_errors(value)[:MAX_PROBLEMS]]


def _object(required: Wire, optional: Wire) -> Wire:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Wire) -> Wire:
    return {"type": "array", "items": items}


def _known(revision: str, introduced: dict[str, tuple[str, Wire]]) -> Wire:
    """The members that a revision knows, of those with the revision that introduced each."""
    return {name: schema for name, (first, schema) in introduced.items() if since(revision, first)}


def _annotations(revision: str) -> Wire:
    return _object(
        {},
        {
            "audience": _list({"enum": ["user", "assistant"]}),
            "priority": {"type": "number", "minimum": 0, "maximum": 1},
            **_known(revision, {"lastModified": ("2025-06-18", _TEXT)}),
        },
    )


def _icons() -> Wire:
    icon = _object({"src": _TEXT}, {"mimeType": _TEXT, "sizes": _list(_TEXT), "theme": {"enum": ["light", "dark"]}})
    return _list(icon)


def _named(revision: str) -> Wire:
    """What items of all lists may have."""
    introduced = {"title": ("2025-06-18", _TEXT), "_meta": ("2025-06-18", _OBJECT), "icons": ("2025-11-25", _icons())}
    return {"description": _TEXT, **_known(revision, introduced)}


@cache
def _item_schema(revision: str, member: str) -> Wire:
    """One item of a list."""
    named = _named(revision)
    about = {"mimeType": _TEXT, "annotations": _annotations(revision)}
    if member == "tools":
        return _tool(revision, named)
    if member == "prompts":
        argument = _object({"name": _TEXT}, {"required": _TRUTH, "description": _TEXT})
        return _object({"name": _TEXT}, {**named, "arguments": _list(argument)})
    if member == "resources":
        return _object({"uri": _TEXT, "name": _TEXT}, {**named, **about, "size": _NUMBER})
    if member == "resourceTemplates":
        return _object({"uriTemplate": _TEXT, "name": _TEXT}, {**named, **about})
    if member == "contents":
        return _object({"uri": _TEXT}, {"mimeType": _TEXT, "text": _TEXT, "blob": _TEXT})
    return _OBJECT


def _tool(revision: str, named: Wire) -> Wire:
    root: Wire = {"type": {"const": "object"}}
    # The newest one allows every keyword, and says nothing about them.
    schema = _object(root, {} if revision in STATELESS_VERSIONS else {"properties": _OBJECT, "required": _list(_TEXT)})
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    annotations = _object({}, {"title": _TEXT, **dict.fromkeys(hints, _TRUTH)})
    of_output = _OBJECT if revision in STATELESS_VERSIONS else schema
    introduced = {"annotations": ("2025-03-26", annotations), "outputSchema": ("2025-06-18", of_output)}
    known = _known(revision, introduced)
    if revision == TASK_VERSION:
        known["execution"] = _object({}, {"taskSupport": {"enum": ["forbidden", "optional", "required"]}})
    return _object({"name": _TEXT, "inputSchema": schema}, {**named, **known})


@cache
def _blocks(revision: str) -> dict[str, Wire]:
    """The content blocks of a revision, by their `type`, but for embedded resources."""
    more = {"annotations": _annotations(revision)}
    data = _object({"data": _TEXT, "mimeType": _TEXT}, more)
    found = {"text": _object({"text": _TEXT}, more), "image": data}
    if since(revision, "2025-03-26"):
        found["audio"] = data
    if since(revision, "2025-06-18"):
        found["resource_link"] = _item_schema(revision, "resources")
    return found


def _capabilities(revision: str) -> Wire:
    changing = _object({}, {"listChanged": _TRUTH})
    known = {"tools": changing, "prompts": changing, "logging": _OBJECT, "experimental": _OBJECT}
    introduced = {"completions": ("2025-03-26", _OBJECT), "extensions": ("2026-07-28", _OBJECT)}
    resources = _object({}, {"listChanged": _TRUTH, "subscribe": _TRUTH})
    return _object({}, {**known, "resources": resources, **_known(revision, introduced)})


@cache
def _result_schema(revision: str, method: str) -> Wire:
    """A result, without the items of its list."""
    member = LISTS.get(method)
    if member is not None:
        return _object({member: {"type": "array"}}, {"nextCursor": _TEXT})
    info = _object({"name": _TEXT, "version": _TEXT}, _known(revision, {"title": ("2025-06-18", _TEXT)}))
    schemas = {
        "initialize": _object(
            {"protocolVersion": _TEXT, "capabilities": _capabilities(revision), "serverInfo": info},
            {"instructions": _TEXT},
        ),
        "server/discover": _object(
            {"supportedVersions": _list(_TEXT), "capabilities": _capabilities(revision)},
            {"instructions": _TEXT},
        ),
        "tools/call": _object({"content": {"type": "array"}}, {"isError": _TRUTH}),
        "prompts/get": _object({"messages": {"type": "array"}}, {"description": _TEXT}),
        "resources/read": _object({"contents": {"type": "array"}}, {}),
        "completion/complete": _object({"completion": _COMPLETION}, {}),
    }
    return schemas.get(method, _OBJECT)


_MESSAGE = _object({"role": {"enum": ["user", "assistant"]}, "content": _OBJECT}, {})
_BLOCK = _object({"type": _TEXT}, {})
_EMBEDDED = _object({"resource": _OBJECT}, {})
_COMPLETION = _object(
    {"values": {**_list(_TEXT), "maxItems": MAX_VALUES}}, {"total": {"type": "integer"}, "hasMore": _TRUTH}
)
_TOKEN: Wire = {"type": ["string", "integer"]}


@cache
def _notification_schema(method: str) -> Wire | None:
    schemas = {
        "notifications/progress": _object(
            {"progressToken": _TOKEN, "progress": _NUMBER}, {"total": _NUMBER, "message": _TEXT}
        ),
        "notifications/message": {
            **_object({"level": {"enum": list(LOG_LEVELS)}, "data": {}}, {"logger": _TEXT}),
        },
        "notifications/resources/updated": _object({"uri": _TEXT}, {}),
        "notifications/cancelled": _object({}, {"requestId": _TOKEN, "reason": _TEXT}),
    }
    return schemas.get(method)
