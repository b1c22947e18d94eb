from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.server.blocks import checked_block, checked_blocks, checked_contents
from gaia_mcp.server.provider import ResultError

BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "", "annotations": {"priority": 1}},
    {"type": "image", "data": "AA==", "mimeType": "image/png"},
    {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "x://a", "name": "a", "size": 5},
    {"type": "resource", "resource": {"uri": "x://a", "text": ""}},
    {"type": "resource", "resource": {"uri": "x://a", "blob": "AA==", "mimeType": "a/b"}},
    {"type": "of an extension", "own": None},
]


def test_content_blocks_of_every_type_are_valid() -> None:
    """Spec, ContentBlock: kinds that we do not know are for the client to judge."""
    given = [dict(block) for block in BLOCKS]

    assert checked_blocks(given) == [*BLOCKS[:-1], {"type": "of an extension"}]
    assert given == BLOCKS


def test_a_string_becomes_a_text_block() -> None:
    """Ours: so that an agent may mix texts with other blocks."""
    assert checked_blocks(["a"]) == [{"type": "text", "text": "a"}]


def test_null_members_are_left_out() -> None:
    """Ours: models that are dumped have them, and clients take a null for a wrong type."""
    contents = {"uri": "x://a", "text": "a", "mimeType": None, "_meta": None}

    assert checked_block({"type": "resource", "resource": contents, "annotations": None}, "b") == {
        "type": "resource", "resource": {"uri": "x://a", "text": "a"}
    }  # fmt: skip


def test_an_invalid_content_block_is_refused() -> None:
    """Spec, ContentBlock: the message names the index and the member."""
    problems: list[tuple[Any, str]] = [
        (5, "is not a content block"),
        ({"text": "x"}, "is not a content block"),
        ({"type": 5}, "is not a content block"),
        ({"type": "text", "text": 5}, "of the type text, has no text"),
        ({"type": "text", "text": None}, "of the type text, has no text"),
        ({"type": "image", "data": "AA=="}, "of the type image, has no mimeType"),
        ({"type": "image", "data": b"x", "mimeType": "a/b"}, "of the type image, has no data"),
        ({"type": "audio", "mimeType": "a/b"}, "of the type audio, has no data"),
        ({"type": "resource_link", "uri": "x://a"}, "of the type resource_link, has no name"),
        ({"type": "resource_link", "uri": "a", "name": "a"}, "].uri is 'a', which has no scheme"),
        (
            {"type": "resource", "resource": {"uri": "a/b:c", "text": ""}},
            ".resource.uri is 'a/b:c', which has no scheme",
        ),
        ({"type": "resource"}, ".resource is not an object"),
        ({"type": "resource", "resource": {"text": "x"}}, ".resource has no uri"),
        ({"type": "resource", "resource": {"uri": "x://a"}}, ".resource has neither a text nor a blob"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": "", "blob": b"x"}}, ".resource has neither a text"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": "", "mimeType": 5}}, "].resource.mimeType is not a"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": ""}, "_meta": []}, "]._meta is not an object"),
        ({"type": "text", "text": "x", "annotations": "user"}, "].annotations is not an object"),
        ({"type": "text", "text": "x", "annotations": {"audience": "user"}}, "].annotations.audience is not a list of"),
        ({"type": "text", "text": "x", "annotations": {"priority": 2}}, "].annotations.priority is not a number from"),
        ({"type": "resource_link", "uri": "x://a", "name": "a", "size": "12"}, "].size is not a whole number"),
        ({"type": "text", "text": "x", "when": {1}}, "].when is not JSON: "),
    ]

    def message_for(block: Any) -> str:
        try:
            checked_blocks(["a", block])
        except ResultError as error:
            return str(error)
        return ""

    messages = [(block, problem, message_for(block)) for block, problem in problems]

    assert [each for each in messages if each[1] not in each[2]] == []
    assert [each for each in messages if not each[2].startswith("an invalid result: content[1]")] == []


def test_content_is_a_list() -> None:
    """Spec, CallToolResult."""
    with pytest.raises(ResultError, match="content is not a list"):
        checked_blocks({"type": "text", "text": "x"})


def test_invalid_contents_of_a_resource_are_named_by_their_index() -> None:
    """Spec, ReadResourceResult."""
    with pytest.raises(ResultError, match=r"contents\[3\] has neither"):
        checked_contents({"uri": "x://a"}, "contents[3]")
