"""Results of handlers as results of MCP, and back."""

from __future__ import annotations

from typing import Any

from gaia_mcp.handlers.base import MCPToolResult
from gaia_mcp.manager.tool_results import capped, tool_result, wire_result

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
TEXT = {"type": "text", "text": "a"}


RESULTS: list[dict[str, Any]] = [
    {"content": [TEXT], "isError": False},
    {"content": [TEXT], "isError": True},
    {"content": [TEXT, IMAGE], "isError": False, "structuredContent": {"a": [1]}, "_meta": {"key": 1}},
    {"content": [TEXT, TEXT], "isError": True, "structuredContent": None},
    {"content": [{**TEXT, "annotations": {"audience": ["user"]}}], "isError": False},
    {"content": [IMAGE], "isError": True},
]


def test_a_result_passes_through_a_handler_unchanged() -> None:
    """DESIGN, 1.4: structured content, images, and what else a server or an agent returns."""
    assert [wire_result(tool_result(wire)) for wire in RESULTS] == RESULTS


TEXTS: list[tuple[Any, str]] = [
    ([TEXT, {"type": "text", "text": "b"}], "a\nb"),
    ([IMAGE], "[image image/png]"),
    ([{"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}], "inside"),
    ([{"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "a/b"}}], "[resource x:y a/b]"),
    ([{"type": "resource_link", "name": "file", "uri": "x:y"}], "[resource_link file]"),
    ([5, {}, {"type": 5}], "[]\n[]"),
    ("text", ""),
    (None, ""),
]


def test_content_blocks_become_text() -> None:
    """A11: a model that reads text gets all texts, and the names of what else there is."""
    assert [(content, tool_result({"content": content}).content) for content, _ in TEXTS] == TEXTS


def test_structured_content_alone_is_shown_as_json() -> None:
    """Ours: some servers leave out the text that the specification recommends."""
    assert tool_result({"content": [], "structuredContent": {"é": 1}}).content == '{"é": 1}'


def test_a_failure_is_in_the_error_message() -> None:
    """The handlers' contract; one without a text is described."""
    assert tool_result({"content": [TEXT], "isError": True}) == MCPToolResult("", True, "a")
    assert tool_result({"isError": True}).error_message == "the tool reported an error without a text"


def test_metadata_of_the_connection_is_left_out() -> None:
    """Ours: the name of the server is not part of the result."""
    about = {"io.modelcontextprotocol/serverInfo": {"name": "x"}}

    assert tool_result({"content": [TEXT], "_meta": about}).metadata == {}
    assert tool_result({"content": [TEXT], "_meta": {**about, "own": 1}}).metadata == {"_meta": {"own": 1}}
    assert tool_result({"content": [TEXT], "_meta": "odd"}).metadata == {}


CONTENTS: list[tuple[MCPToolResult, list[Any]]] = [
    (MCPToolResult(""), []),
    (MCPToolResult("a"), [TEXT]),
    (MCPToolResult("ignored", metadata={"content": [IMAGE]}), [IMAGE]),
    (MCPToolResult("a", metadata={"content": "text/html"}), [TEXT]),
    (MCPToolResult("a", metadata={"content": [{"no": "type"}]}), [TEXT]),
    (MCPToolResult("a", error_message="not shown"), [TEXT]),
    (MCPToolResult("", True, "a"), [TEXT]),
    (MCPToolResult("half", True, "failed"), [{"type": "text", "text": "half\nfailed"}]),
]


def test_the_result_of_a_handler_becomes_content_blocks() -> None:
    """Ours: its text, or the content blocks in its metadata."""
    assert [(result, wire_result(result)) for result, _ in CONTENTS] == [
        (result, {"content": content, "isError": result.is_error}) for result, content in CONTENTS
    ]


def test_the_limit_applies_to_all_texts_together() -> None:
    """A9: of a result from any source; images and structured content stay whole."""
    blocks = [IMAGE, {"type": "text", "text": "aé"}, {"type": "text", "text": "bcd"}, {"type": "text", "text": "e"}]
    metadata = {"content": blocks, "structuredContent": {"long": "x" * 100}}

    result = capped(MCPToolResult("aé\nbcd\ne", False, "", metadata), 4)

    assert result.content == "aé\n...(truncated)"
    assert result.metadata["content"] == [
        IMAGE,
        {"type": "text", "text": "aé"},
        {"type": "text", "text": "b...(truncated)"},
    ]
    assert result.metadata["structuredContent"] == {"long": "x" * 100}
    assert blocks[2] == {"type": "text", "text": "bcd"}


def test_a_short_result_is_returned_unchanged() -> None:
    """A9: the very object."""
    result = MCPToolResult("a" * 8, metadata={"content": [IMAGE], "key": 1})

    assert capped(result, 8) is result
