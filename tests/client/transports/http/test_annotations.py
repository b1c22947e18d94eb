"""What a channel keeps of listed tools."""

from __future__ import annotations

from typing import Any

from gaia_mcp.client.transports.http.annotations import Annotations


def tool(name: Any, annotation: Any = None, key: str = "region") -> dict[str, Any]:
    schema = {"type": "string", **({"x-mcp-header": annotation} if annotation is not None else {})}
    return {"name": name, "inputSchema": {"type": "object", "properties": {key: schema}}}


def test_arguments_are_sent_as_headers_by_the_newest_tool_list() -> None:
    """Spec, HC-4: each list may change what a tool wants."""
    annotations = Annotations()
    call = {"name": "t", "arguments": {"region": "x"}}
    assert annotations.headers(call) == {}

    annotations.learn({"tools": [tool("t", "Region")]})
    assert annotations.headers(call) == {"Mcp-Param-Region": "x"}

    annotations.learn({"tools": [tool("t")]})
    assert annotations.headers(call) == {}


def test_a_tool_with_an_invalid_annotation_is_dropped() -> None:
    """Spec, HC-4: one malformed tool must not sink the list. The reader of the list reports it."""
    good, bad = tool("good", "Region"), tool("bad", "no token")
    annotations = Annotations()

    assert annotations.learn({"tools": [good, bad], "nextCursor": "2"}) == {"tools": [good], "nextCursor": "2"}
    assert list(annotations.left_out) == ["bad"]
    assert "no token" in annotations.left_out["bad"]


def test_the_validation_errors_of_one_list_are_collected_across_its_pages() -> None:
    """Ours: further pages of a list add to it, another list begins anew."""
    annotations = Annotations()

    annotations.learn({"tools": [tool("one", "no token")]})
    annotations.learn({"tools": [tool("two", "no token")]}, is_first=False)
    assert list(annotations.left_out) == ["one", "two"]
    assert "no token" in annotations.left_out["one"]

    annotations.learn({"tools": [tool("one")]})
    assert annotations.left_out == {}


def test_other_invalid_lists_are_passed_on_unchanged() -> None:
    """Ours: the reader of the list reports it."""
    results: list[dict[str, Any]] = [{}, {"tools": "x"}, {"tools": ["x", {"name": 7}]}, {"tools": [tool("t")]}]

    assert [result for result in results if Annotations().learn(result) is not result] == []
