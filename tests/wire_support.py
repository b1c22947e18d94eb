"""Messages with everything that there is, and checks of messages by the types of the official SDK."""

from __future__ import annotations

from typing import Any

from mcp_types import methods
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from gaia_mcp.protocol import ALL_VERSIONS
from tests.protocol_support import SERVER_INFO

Wire = dict[str, Any]
V2024, V2025_03, V2025_06, V2025_11, V2026 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
# The members that came after the first revision, with the revision that brought them.
NEWER = {
    "outputSchema": V2025_06,
    "structuredContent": V2025_06,
    "title": V2025_06,
    "lastModified": V2025_06,
    "icons": V2025_11,
    "websiteUrl": V2025_11,
    "completions": V2025_03,
    "resultType": V2026,
    "ttlMs": V2026,
    "cacheScope": V2026,
    "supportedVersions": V2026,
    "extensions": V2026,
    SERVER_INFO: V2026,
}

ICONS = [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "light"}]
ANNOTATIONS = {"audience": ["user", "assistant"], "priority": 0.9, "lastModified": "2026-11-20T08:00:00Z"}
META = {"com.example/tier": "gold"}
BLOCKS: list[Wire] = [
    {"type": "text", "text": "Grüße\n", "annotations": ANNOTATIONS, "_meta": META},
    {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": ANNOTATIONS, "_meta": META},
    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav", "_meta": META},
    {
        "type": "resource_link",
        "uri": "file:///r/log.txt",
        "name": "log.txt",
        "title": "Log",
        "mimeType": "text/plain",
        "size": 512,
        "icons": ICONS,
        "annotations": ANNOTATIONS,
        "_meta": META,
    },
    {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "hi", "_meta": META}},
    {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAE="}, "annotations": ANNOTATIONS},
]
# What an agent answers, in the newest shape and with everything that there is.
ANSWERS: dict[str, list[Wire]] = {
    "tools/list": [
        {
            "nextCursor": "p2",
            "tools": [
                {"name": "bare", "inputSchema": {"type": "object"}},
                {
                    "name": "rich",
                    "title": "Rich",
                    "description": "Has it all",
                    "icons": ICONS,
                    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    "outputSchema": {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]},
                    "annotations": {"readOnlyHint": True, "openWorldHint": False},
                    "execution": {"taskSupport": "forbidden"},
                    "_meta": META,
                },
                {"name": "array", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
            ],
        }
    ],
    "tools/call": [
        {"content": BLOCKS, "structuredContent": {"b": 4.5}, "isError": False, "_meta": META},
        {"content": [BLOCKS[0]], "structuredContent": [1, "two"]},
        {"content": [], "structuredContent": None},
        {"content": [], "isError": True},
    ],
    "prompts/list": [
        {
            "prompts": [
                {"name": "bare"},
                {
                    "name": "rich",
                    "title": "Rich",
                    "description": "d",
                    "icons": ICONS,
                    "arguments": [{"name": "lang", "title": "Language", "description": "d", "required": True}],
                    "_meta": META,
                },
            ]
        }
    ],
    "prompts/get": [
        {"description": "d", "messages": [{"role": "assistant", "content": block} for block in BLOCKS]},
        {"messages": []},
    ],
    "resources/list": [
        {
            "resources": [
                {"uri": "file:///a", "name": "a"},
                {
                    "uri": "file:///b",
                    "name": "b",
                    "title": "B",
                    "description": "d",
                    "mimeType": "text/plain",
                    "size": 2,
                    "icons": ICONS,
                    "annotations": ANNOTATIONS,
                    "_meta": META,
                },
            ]
        }
    ],
    "resources/templates/list": [
        {
            "resourceTemplates": [
                {
                    "uriTemplate": "file:///{path}",
                    "name": "files",
                    "title": "Files",
                    "icons": ICONS,
                    "annotations": ANNOTATIONS,
                    "_meta": META,
                }
            ]
        },
        {"resourceTemplates": []},
    ],
    "resources/read": [
        {
            "contents": [
                {"uri": "file:///a", "mimeType": "text/plain", "text": "hi", "_meta": META},
                {"uri": "file:///b", "blob": "AAE="},
            ]
        }
    ],
    "completion/complete": [{"completion": {"values": ["python", "pypy"], "total": 2, "hasMore": False}}],
}
# What a client asks for.
QUESTIONS: dict[str, list[Wire | None]] = {
    "tools/list": [None, {"cursor": "p2"}, {"cursor": ""}],
    "tools/call": [{"name": "rich"}, {"name": "rich", "arguments": {"a": "ü", "n": [1.5, None]}}],
    "prompts/list": [None, {"cursor": "p2"}],
    "prompts/get": [{"name": "rich"}, {"name": "rich", "arguments": {"lang": "python"}}],
    "resources/list": [None, {"cursor": "p2"}],
    "resources/templates/list": [None, {"cursor": "p2"}],
    "resources/read": [{"uri": "file:///a"}],
    "completion/complete": [
        {"ref": {"type": "ref/prompt", "name": "rich"}, "argument": {"name": "lang", "value": "py"}},
        {"ref": {"type": "ref/resource", "uri": "file:///{path}"}, "argument": {"name": "path", "value": ""}},
        {
            "ref": {"type": "ref/prompt", "name": "rich"},
            "argument": {"name": "style", "value": ""},
            "context": {"arguments": {"lang": "python"}},
        },
    ],
}
# What a host's `sample` may answer with.
SAMPLED: list[Wire] = [
    {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"},
    {"role": "assistant", "content": BLOCKS[1], "model": "m", "stopReason": "maxTokens"},
]


def members_of(value: object) -> set[str]:
    """The names of all members, at every depth, without those of a tool's own data."""
    if isinstance(value, dict):
        return set(value).union(*(members_of(held) for name, held in value.items() if name != "structuredContent"))
    return set().union(*map(members_of, value)) if isinstance(value, list) else set()


def assert_not_newer(version: str, message: Wire) -> None:
    later = {member for member, first in NEWER.items() if ALL_VERSIONS.index(first) < ALL_VERSIONS.index(version)}
    assert members_of(message) & later == set()


def is_request(version: str, message: Wire) -> None:
    """The SDK's server would take it."""
    assert isinstance(jsonrpc_message_adapter.validate_python(message), JSONRPCRequest)
    assert set(message) <= {"jsonrpc", "id", "method", "params"}
    methods.validate_client_request(message["method"], version, message.get("params"))


def is_notification(version: str, message: Wire, *, by: str) -> None:
    """The SDK's other end would take it."""
    assert isinstance(jsonrpc_message_adapter.validate_python(message), JSONRPCNotification)
    assert set(message) <= {"jsonrpc", "method", "params"}
    if by == "client":
        methods.validate_client_notification(message["method"], version, message.get("params"))
    else:
        methods.parse_server_notification(message["method"], version, message.get("params"))
        assert_not_newer(version, message)


def is_result(version: str, method: str, message: Wire) -> None:
    """The SDK's client would take it."""
    assert isinstance(jsonrpc_message_adapter.validate_python(message), JSONRPCResponse)
    assert set(message) == {"jsonrpc", "id", "result"}
    methods.validate_server_result(method, version, message["result"])
    methods.parse_server_result(method, version, message["result"])
    assert_not_newer(version, message)


def is_error(message: Wire) -> None:
    """The SDK would take it; it wants a null where the schemas want nothing."""
    assert isinstance(JSONRPCError.model_validate({"id": None, **message}), JSONRPCError)
    assert set(message) <= {"jsonrpc", "id", "error"}
    assert message.get("id", "absent") is not None
