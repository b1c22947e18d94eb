"""What a model reads of a search among many tools."""

from __future__ import annotations

from gaia_mcp.fleet.gateway.search import counted_tools, found_tools
from tests.fleet.gateway.shelf import owners, tool


def found(words: str, *tools: dict[str, object], limit: int = 10) -> list[str]:
    """The lines, of the tools their names alone."""
    return [line.partition("(")[0] for line in found_tools(tools, words, limit, owners)]


def test_tools_are_ranked_by_the_words_that_they_match() -> None:
    """Ours: as `gaia mcp search` ranks them, with the name of the server as one of the words."""
    tools = [
        tool("close_issue", "Close an issue."),
        tool("create_issue", "Create an issue, or many."),
        tool("hub__notes", "What was noted when one was created."),
        tool("hub__create_label", inputSchema={"type": "object", "properties": {"issue": {"type": "integer"}}}),
    ]

    assert found("issue create", *tools) == ["create_issue", "hub__create_label"]
    assert found("ISSUE", *tools) == ["close_issue", "create_issue", "hub__create_label"]
    assert found("hub create", *tools) == ["hub__create_label", "hub__notes"]
    assert found("*_issue", *tools) == ["close_issue", "create_issue"]
    assert found_tools(tools, "label", 10, owners) == ["hub__create_label([issue: integer])"]


def test_the_closest_tools_are_listed_if_none_matches_all_words() -> None:
    """Ours: a model guesses words, and must not end with nothing."""
    tools = [tool("create_issue"), tool("close_issue"), tool("read")]

    assert found("create issue quickly", *tools) == [
        "No tool matches all of these words. The closest:", "create_issue", "close_issue",
    ]  # fmt: skip
    assert found("weather", *tools) == ["No tool matches any of these words. Use others, or no words at all."]


def test_long_lists_and_descriptions_are_truncated() -> None:
    """Ours: the last line names the way to see the rest."""
    text = "First line.\nSecond \x1b line." * 100
    schema = {"type": "object", "properties": {f"parameter{number}": {} for number in range(100)}}
    tools = [tool(f"tool{number}", text, inputSchema=schema) for number in range(60)]

    lines = found_tools(tools, "tool", 10, owners)

    assert lines[-1] == "… and 50 more: use more words, or a higher limit."
    assert max(map(len, lines)) < 400
    assert "Second" not in "".join(lines)


def test_a_line_break_in_a_name_starts_no_new_line() -> None:
    """Ours: a name could pretend to be another tool."""
    odd = tool("a\nrm(all)\x1b[2J", "\n\n Fine.\r\nNot.")

    assert found_tools([odd], "fine", 10, owners) == ["a rm(all)\\x1b[2J()  Fine."]


def test_the_tools_of_each_server_are_counted() -> None:
    """Ours: a model has to learn somehow what there is."""
    assert counted_tools(map(tool, ("a", "hub__a", "hub__b")), owners) == ["hub: 2 tools", "one: 1 tool"]
    assert counted_tools([tool("a")], lambda _: None) == [": 1 tool"]
    assert counted_tools([], owners) == ["There are no tools."]
