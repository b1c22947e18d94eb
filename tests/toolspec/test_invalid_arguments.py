"""What is reported of arguments that do not fit."""

from __future__ import annotations

from typing import Any

from gaia_mcp.toolspec import invalid_arguments
from gaia_mcp.toolspec.invalid_arguments import details_of, near_misses, report, unknown_names
from gaia_mcp.toolspec.validation import as_text, schema_of

CLOSED = {
    "type": "object",
    "properties": {"hotel": {"type": "string"}, "nights": {"type": "integer"}},
    "required": ["hotel"],
    "additionalProperties": False,
}
OPEN = {key: value for key, value in CLOSED.items() if key != "additionalProperties"}


def problems_in(schema: Any, arguments: dict[str, Any]) -> list[str]:
    return invalid_arguments.problems_in(schema_of(as_text(schema)).errors(arguments), schema, arguments)


def test_a_report_has_the_words_that_the_documents_promise() -> None:
    """GAIA's documents: programs look for them."""
    assert report("book", ["'hotel' is missing"], {"type": "object"}, {"n": 1}).splitlines() == [
        "MCP tool 'book' input validation failed.",
        "",
        "Error details:",
        "'hotel' is missing",
        "",
        "Expected tool schema:",
        "{",
        '  "type": "object"',
        "}",
        "",
        "Your arguments:",
        "{",
        '  "n": 1',
        "}",
    ]


def test_what_is_not_json_is_shown_all_the_same() -> None:
    """Ours: the report is about a mistake, and must not raise another."""
    endless: list[object] = []
    endless.append(endless)

    assert '"{1}"' in report("t", [], {}, {"a": {1}})
    assert "(it cannot be shown as JSON)" in report("t", [], {}, endless)


def test_arguments_that_fit_have_no_problem() -> None:
    """Ours."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": 2}) == []


def test_a_name_that_is_almost_right_is_suggested() -> None:
    """Ours: whether the schema refuses unknown names or allows them."""
    refused, allowed = problems_in(CLOSED, {"hotl": "Ritz"}), problems_in(OPEN, {"hotl": "Ritz"})

    assert len(refused) == 2
    assert any("there is no 'hotl'" in problem and "'hotel'" in problem for problem in refused)
    assert any("does not mention 'hotl'" in problem and "'hotel'" in problem for problem in allowed)
    assert "there is no 'x'" in " ".join(problems_in(CLOSED, {"hotel": "Ritz", "x": 1}))


def test_other_problems_are_told_as_they_are() -> None:
    """Ours."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": "two"}) != []


def test_near_misses_are_names_that_the_schema_does_not_mention() -> None:
    """Ours: one that fits, and one like no other, is none."""
    found = near_misses(OPEN, {"hotl": "Ritz", "nights": 1, "zzz": 1})

    assert len(found) == 1
    assert found[0].startswith("'hotl', ")


def test_the_details_of_a_report_are_found_again() -> None:
    """Ours: a person is shown these, without the schema and the arguments."""
    details = ["- day: '2024-13-45' is not a date", "- 'hotel' is missing"]
    found = ["day: '2024-13-45' is not a date", "'hotel' is missing"]
    assert details_of(report("book", details, {"type": "object"}, {"n": 1})) == found
    assert details_of("out of cheese") == []
    assert details_of("x\n\nError details:\n- and no schema") == []


def test_a_name_that_the_schema_does_not_mention_is_found() -> None:
    """Ours: with what may have been meant, also where a part of a union mentions the others."""
    assert unknown_names(OPEN, {"hotl": "Ritz", "zzz": 1, "nights": 2}) == ["'hotl', did you mean 'hotel'?", "'zzz'"]
    union = {"anyOf": [OPEN, {"properties": {"zzz": {}}}]}
    assert unknown_names(union, {"zzz": 1, "nights": 2, "y": 3}) == ["'y'"]
    assert unknown_names({"properties": {}}, {"zzz": 1}) == []
    assert unknown_names({"type": "object"}, {"zzz": 1}) == []


def test_a_schema_that_takes_any_name_mentions_all() -> None:
    """JSON Schema: by `additionalProperties`, or by a pattern. A likely mistake is told all the same."""
    for more in ({"additionalProperties": True}, {"additionalProperties": {"type": "integer"}}):
        assert unknown_names({**OPEN, **more}, {"zzz": 1}) == []
        assert unknown_names({**OPEN, **more}, {"hotl": 1}) == ["'hotl', did you mean 'hotel'?"]
    assert unknown_names({"patternProperties": {"^z": {}}}, {"zzz": 1}) == []
