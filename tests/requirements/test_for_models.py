"""Advice on the definitions of tools."""

from __future__ import annotations

from typing import Any

from gaia_mcp.requirements.for_models import MAX_DESCRIPTION_CHARS, MAX_NAMED, advice_on


def tool(name: str = "greet", **members: Any) -> dict[str, Any]:
    """A tool that needs no advice, but for what is given."""
    schema = {"type": "object", "properties": {"who": {"type": "string", "description": "Whom."}}}
    return {"name": name, "description": "Greets.", "inputSchema": schema, **members}


def test_a_tool_with_all_that_a_model_needs_gets_no_advice() -> None:
    """Ours: advice on what is right is advice that is ignored."""
    hints = ({"readOnlyHint": True}, {"destructiveHint": True}, {}, "none")
    tools = [
        tool("get_x", annotations=hints[0]),
        tool("delete_x", annotations=hints[1]),
        tool("x", annotations=hints[3]),
    ]
    others = [tool("commit_history", annotations=hints[0]), tool("inputs", inputSchema="none"), tool("_")]

    assert not any(advice_on([*tools, *others]).values())


def test_each_kind_of_advice_names_its_tool() -> None:
    """Ours: what an author has to change."""
    long = "x" * (MAX_DESCRIPTION_CHARS + 1)
    cases: dict[str, dict[str, Any]] = {
        "'greet' has none": tool(description=" "),
        "that of 'greet' has 2,001 characters": tool(description=long),
        "'greet': 'a' has no description": tool(
            inputSchema={"type": "object", "properties": {"a": {}, "b": {"$ref": "#"}}}
        ),
        "'a.b' is refused by APIs of models": tool("a.b"),
        "'delete_all' is said to be read-only, and its name begins with 'delete'": tool(
            "delete_all", annotations={"readOnlyHint": True}
        ),
        "'getAll' is said to be destructive, and its name begins with 'get'": tool(
            "getAll", annotations={"destructiveHint": True}
        ),
        "'greet' is both read-only and destructive": tool(annotations={"readOnlyHint": True, "destructiveHint": True}),
        "'greet': inputSchema has anyOf at its root, which is left out: the API does not allow it there": tool(
            inputSchema={"type": "object", "anyOf": [{"required": ["a"]}]}
        ),
    }

    found = {words: [one for kind in advice_on([each]).values() for one in kind] for words, each in cases.items()}

    assert found == {words: [words] for words in cases}


def test_of_many_tools_the_first_are_named() -> None:
    """Ours: a line has no room for more."""
    found = advice_on([tool(f"t{number}", description="") for number in range(MAX_NAMED + 2)])["descriptions"]

    assert len(found) == MAX_NAMED + 1
    assert found[-1] == "2 more"
