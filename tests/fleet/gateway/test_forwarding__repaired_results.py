from __future__ import annotations

from typing import Any

from gaia_mcp.fleet.gateway.forwarding import repaired_result

Wire = dict[str, Any]


def repaired(method: str, result: Wire, **params: Any) -> tuple[Wire, list[str]]:
    """The repaired result, and what was noted."""
    noted: list[str] = []
    return repaired_result(method, params, result, noted.append), noted


def test_a_valid_result_is_returned_unchanged() -> None:
    """Ours: with members and blocks that no revision has, too."""
    text = {"type": "text", "text": "a", "_meta": {"x": None}}
    valid: list[tuple[str, Wire]] = [
        ("tools/call", {"content": [text, {"type": "hologram", "size": "9"}], "structuredContent": [], "own": None}),
        ("prompts/get", {"messages": [{"role": "user", "content": text, "own": 1}], "description": None}),
        ("resources/read", {"contents": [{"uri": "x:a", "blob": ""}], "ttlMs": 5}),
        ("completion/complete", {"completion": {"values": ["a"], "total": 3}}),
        ("anything/else", {"content": None}),
    ]

    assert [method for method, result in valid if repaired_result(method, {}, result, print) is not result] == []


def test_the_contents_of_an_embedded_resource_are_repaired() -> None:
    """Spec, EmbeddedResource."""
    block = {"type": "resource", "resource": {"uri": "x:a", "text": "a", "mimeType": None, "_meta": []}}

    assert repaired("tools/call", {"content": block}, name="t") == (
        {"content": [{"type": "resource", "resource": {"uri": "x:a", "text": "a"}}]},
        ["a result of 't': _meta is not an object, and is left out"],
    )
    assert repaired("tools/call", {"content": [{"type": "resource", "resource": 5}]}, name="t")[0] == {
        "content": [{"type": "text", "text": '{"type": "resource", "resource": 5}'}]
    }


def test_a_failure_remains_a_failure() -> None:
    """Ours: `isError` of a wrong type must not show a failed tool as a success."""
    told = {value: repaired("tools/call", {"content": [], "isError": value})[0]["isError"] for value in (1, "true", 0)}

    assert told == {1: True, "true": True, 0: False}


def test_only_texts_are_completions() -> None:
    """Spec, CompleteResult."""
    completion = {"values": ["a", 7, None], "total": 3}

    assert repaired("completion/complete", {"completion": completion})[0] == {
        "completion": {"values": ["a"], "total": 3}
    }
    assert repaired("completion/complete", {})[0] == {"completion": {"values": []}}


def test_a_block_that_is_none_becomes_text() -> None:
    """Ours: the tool has run, and its result must not be lost."""
    content = [None, "a", 5, {"type": "image"}, {"type": "resource_link", "uri": "x:a"}, {"type": "resource_link"}]

    found, noted = repaired("tools/call", {"content": content, "_meta": []}, name="t")

    texts = ["a", "5", '{"type": "image"}', '{"type": "resource_link"}']
    text = [{"type": "text", "text": each} for each in texts]
    link = {"type": "resource_link", "uri": "x:a", "name": "x:a"}
    assert found == {"content": [*text[:3], link, text[3]]}
    assert noted == [
        "a result of 't': _meta is not an object, and is left out",
        "a result of 't': a block without a type is invalid, and is passed as text",
        "a result of 't': a block of the type image is invalid, and is passed as text",
        "a result of 't': a block of the type resource_link is invalid, and is passed as text",
    ]


def test_messages_and_contents_that_are_none_are_left_out() -> None:
    """Ours: and a text is a message of the user, or the contents of the resource that was read."""
    text = {"type": "text", "text": "a"}

    assert repaired("prompts/get", {"messages": ["a", 5, {"role": "system"}]}, name="p") == (
        {"messages": [{"role": "user", "content": text}]},
        ["a result of 'p': a message is not of the user or the assistant, and is left out"] * 2,
    )
    assert repaired("resources/read", {"contents": ["a", 5, {"text": "b"}, {"uri": "x:c"}]}, uri="x:a") == (
        {"contents": [{"uri": "x:a", "text": "a"}, {"uri": "x:a", "text": "b"}]},
        ["a result of 'resources/read': contents without a uri, or a text or a blob, are left out"] * 2,
    )
