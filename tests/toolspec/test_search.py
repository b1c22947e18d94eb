"""`toolspec.search`: which tools match the words of a search, and in which order."""

from __future__ import annotations

from typing import Any

from gaia_mcp.toolspec.search import closest_words, score, search_words


def points(tool: dict[str, Any], *words: str) -> int:
    return score({"name": "x", **tool}, search_words(words))


def test_every_word_has_to_occur() -> None:
    """Ours: each further search term narrows the list."""
    tool = {"name": "get_weather", "description": "The forecast for a city"}

    assert points(tool, "weather", "city")
    assert not points(tool, "weather", "tides")


def test_a_name_counts_more_than_a_description_and_that_more_than_a_parameter() -> None:
    """Ours: a title is part of the name."""
    in_name, in_title = points({"name": "weather"}, "weather"), points({"title": "Weather"}, "weather")
    in_description = points({"description": "the weather"}, "weather")
    in_parameter = points({"inputSchema": {"properties": {"weather": {}}}}, "weather")

    assert in_name == in_title > in_description > in_parameter > 0


def test_arguments_of_a_branch_and_members_of_a_list_count_as_parameters() -> None:
    """Ours: what a call may give is found, wherever its schema states it."""
    list_of = {"properties": {"edits": {"type": "array", "items": {"properties": {"oldText": {}}}}}}

    assert points({"inputSchema": {"oneOf": [{"properties": {"window": {}}}]}}, "window")
    assert points({"inputSchema": list_of}, "oldtext")


def test_a_word_that_stands_alone_counts_more_than_a_part_of_another() -> None:
    """Ours: an underscore ends a word, as it does in most names of tools."""
    assert points({"name": "find_person"}, "person") > points({"name": "impersonation"}, "person") > 0


def test_case_is_ignored_and_a_word_with_spaces_is_several() -> None:
    """Ours: quotes on a command line mean nothing else here."""
    tool = {"name": "add", "description": "Add two NUMBERS"}

    assert points(tool, "Two numbers") == points(tool, "two", "numbers") > 0


def test_a_regular_expression_in_a_search_term_is_literal() -> None:
    """Ours: only `*`, `?` and `[` have a meaning in a search."""
    assert points({"name": "a+b"}, "a+b")
    assert not points({"name": "aab"}, "a+b")


def test_an_invalid_input_schema_is_skipped() -> None:
    """Ours: it was kept as the server sent it."""
    cases = [None, [], {}, {"properties": None}, {"properties": []}]

    wrong = [schema for schema in cases if points({"inputSchema": schema}, "weather")]

    assert not wrong


def test_the_closest_words_match_a_tool() -> None:
    """Ours: a mistyped word is corrected, and one that no tool has is left out."""
    tools = [{"name": "create_issue"}, {"name": "list-labels", "description": "Of an issue"}, {"name": "read"}]
    cases = [
        (["creat", "issue", "quickly"], ["creat", "issue"]),
        (["isue"], ["issue"]),
        (["labels", "create", "issue"], ["create", "issue"]),
        (["*_isue", "read"], ["read"]),
        (["weather"], []),
    ]

    wrong = [(words, found) for words, want in cases if (found := closest_words(tools, search_words(words))) != want]

    assert not wrong
    assert closest_words([], search_words(["x"])) == []
