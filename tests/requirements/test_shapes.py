"""What messages look like, compared with the official types."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from pydantic import ValidationError

from gaia_mcp.protocol import ALL_VERSIONS
from gaia_mcp.requirements import shapes
from gaia_mcp.requirements.shapes import MAX_PROBLEMS, MAX_VALUES, notification_problems, result_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

Wire = dict[str, Any]

NEWEST = "2026-07-28"
TOOL = {
    "name": "a", "title": "A", "description": "x", "inputSchema": {"type": "object", "properties": {}, "required": []},
    "outputSchema": {"type": "object"}, "annotations": {"title": "A", "readOnlyHint": True}, "_meta": {},
    "icons": [{"src": "https://x.example/a.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "light"}],
}  # fmt: skip
RESOURCE = {
    "uri": "x://a", "name": "a", "mimeType": "text/plain", "size": 2,
    "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-11-01T00:00:00Z"},
}  # fmt: skip
BLOCKS = [
    {"type": "text", "text": "x"},
    {"type": "image", "data": "AAE=", "mimeType": "image/png"},
    {"type": "audio", "data": "AAE=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "x://a", "name": "a"},
    {"type": "resource", "resource": {"uri": "x://a", "text": "x"}},
    {"type": "resource", "resource": {"uri": "x://a", "blob": "AAE="}},
]
INFO = {"name": "s", "version": "1", "title": "S"}
CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": False}, "completions": {}, "logging": {}}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
# The results of each method, with the official type that reads them.
RESULTS: dict[str, tuple[type[Any], Wire]] = {
    "tools/list": (mcp_types.ListToolsResult, {**CACHED, "tools": [TOOL], "nextCursor": "a"}),
    "prompts/list": (
        mcp_types.ListPromptsResult,
        {**CACHED, "prompts": [{"name": "p", "arguments": [{"name": "a", "required": True, "description": "x"}]}]},
    ),
    "resources/list": (mcp_types.ListResourcesResult, {**CACHED, "resources": [RESOURCE]}),
    "resources/templates/list": (
        mcp_types.ListResourceTemplatesResult,
        {**CACHED, "resourceTemplates": [{"uriTemplate": "x://{a}", "name": "a"}]},
    ),
    "tools/call": (mcp_types.CallToolResult, {"content": BLOCKS, "isError": False}),
    "prompts/get": (
        mcp_types.GetPromptResult,
        {"description": "x", "messages": [{"role": "user", "content": block} for block in BLOCKS]},
    ),
    "resources/read": (mcp_types.ReadResourceResult, {**CACHED, "contents": [{"uri": "x://a", "text": "x"}]}),
    "completion/complete": (
        mcp_types.CompleteResult, {"completion": {"values": ["a"], "total": 1, "hasMore": False}},
    ),
    "initialize": (
        mcp_types.InitializeResult,
        {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": INFO, "instructions": "x"},
    ),
    "server/discover": (
        mcp_types.DiscoverResult, {**CACHED, "supportedVersions": [NEWEST], "capabilities": CAPABILITIES},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _afresh() -> None:
    """The schemas are made in each test, whatever was asked for before."""
    for made in (shapes._item_schema, shapes._blocks, shapes._result_schema, shapes._notification_schema):
        made.cache_clear()
    shapes._CHECKERS.clear()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every member of a value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in members:
        yield (*path, key)
        yield from places(held, (*path, key))


def changed(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy of a value with one member changed, or without it if `change` is None."""
    copied = copy.deepcopy(value)
    at = copied
    for key in path[:-1]:
        at = at[key]
    if change is None:
        del at[path[-1]]
    else:
        at[path[-1]] = change
    return copied


def is_official(kind: type[Any], result: Wire) -> bool:
    """Whether the official type reads a result, without turning one type into another."""
    try:
        kind.model_validate(result, strict=True)
    except ValidationError:
        return False
    return True


def test_a_result_with_all_members_is_as_it_should_be() -> None:
    """B-14: in every revision; what one does not know, it does not forbid."""
    for method, (kind, result) in RESULTS.items():
        assert is_official(kind, result), method
        assert not [version for version in ALL_VERSIONS if result_problems(version, method, result)], method


@pytest.mark.parametrize("change", [None, "text", 7, {"object": 1}])
def test_no_result_that_the_official_types_accept_is_refused(change: Any) -> None:
    """B-14: each member in turn is left out, or of another type; a false alarm would be one of these."""
    wrongly = []
    for method, (kind, result) in RESULTS.items():
        for path in places(result):
            other = changed(result, path, change)
            if is_official(kind, other) and (problems := result_problems(NEWEST, method, other)):
                wrongly.append((method, path, problems))

    # The official types are laxer than the official schema about the kind of a block, and about schemas.
    assert [one for one in wrongly if one[1][-1] != "type" and "inputSchema" not in one[1]] == []


def test_a_required_member_that_is_missing_is_found() -> None:
    """B-14: with the place of the mistake."""
    assert result_problems(NEWEST, "tools/list", {**CACHED, "tools": [TOOL, {"name": "b"}]}) == [
        "the result of tools/list: tools[1] ('b'): 'inputSchema' is missing"
    ]
    assert result_problems(NEWEST, "tools/list", {**CACHED}) == ["the result of tools/list: 'tools' is missing"]
    (problem,) = result_problems(NEWEST, "tools/call", {"content": [{"type": "image", "data": "AAE="}]})
    assert problem == "the result of tools/call: content[0]: 'mimeType' is missing"
    (problem,) = result_problems(NEWEST, "tools/call", {"content": [{"text": "x"}]})
    assert problem == "the result of tools/call: content[0]: 'type' is missing"
    (problem,) = result_problems(NEWEST, "tools/call", {"content": [{"type": "resource"}]})
    assert problem == "the result of tools/call: content[0]: 'resource' is missing"
    (problem,) = result_problems(NEWEST, "resources/read", {**CACHED, "contents": [{"uri": "x://a"}]})
    assert problem == "the result of resources/read: contents[0] ('x://a') has neither text nor blob"
    (problem,) = result_problems(NEWEST, "prompts/get", {"messages": [{"role": "user"}]})
    assert problem == "the result of prompts/get: messages[0]: 'content' is missing"


def test_of_many_mistakes_the_first_are_told() -> None:
    """Ours: a server with a thousand tools has the same mistake in each."""
    assert len(result_problems(NEWEST, "tools/list", {**CACHED, "tools": [{}] * 100})) == MAX_PROBLEMS
    values = {"completion": {"values": ["a"] * (MAX_VALUES + 1)}}
    assert len(result_problems(NEWEST, "completion/complete", values)) == 1


def test_members_are_judged_by_their_revision() -> None:
    """B-14: a revision says nothing about what came later; of what it does not know at all, nothing is said."""
    tool = {**TOOL, "outputSchema": {"type": "array"}, "execution": {"taskSupport": "maybe"}}
    listed = {"tools": [tool]}

    assert result_problems("2024-11-05", "tools/list", listed) == []
    assert len(result_problems("2025-06-18", "tools/list", listed)) == 1
    assert result_problems(NEWEST, "tools/list", {"tools": [{**TOOL, "outputSchema": True}]})
    assert len(result_problems("2025-11-25", "tools/list", listed)) == 2
    assert result_problems(NEWEST, "tools/list", {"tools": [tool]}) == []
    assert result_problems(NEWEST, "x/list", {"x": 1}) == []
    assert result_problems(NEWEST, "tools/call", {"content": [{"type": "hologram"}]}) == []
    assert result_problems(NEWEST, "skills/list", {"skills": [{}]}) == []


def test_notifications_are_judged() -> None:
    """B-14."""
    good = {"progressToken": "t", "progress": 0.5, "total": 1, "message": "x"}

    assert notification_problems({"method": "notifications/progress", "params": good}) == []
    assert notification_problems({"method": "notifications/x", "params": {"a": 1}}) == []
    assert notification_problems({"method": "notifications/message", "params": {"level": "loud", "data": 1}})
    assert notification_problems({"method": "notifications/message", "params": {"level": "info"}}) == [
        "notifications/message: 'data' is missing"
    ]
    assert notification_problems({"method": "notifications/resources/updated"}) == [
        "notifications/resources/updated: 'uri' is missing"
    ]
