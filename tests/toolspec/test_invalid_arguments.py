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


def test_a_report_has_the_documented_wording() -> None:
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


def test_a_report_shows_arguments_that_are_not_json() -> None:
    """Ours: the report is about a mistake, and must not raise another."""
    endless: list[object] = []
    endless.append(endless)

    assert '"{1}"' in report("t", [], {}, {"a": {1}})
    assert "(it cannot be shown as JSON)" in report("t", [], {}, endless)


def test_valid_arguments_have_no_problems() -> None:
    """Ours: neither a validation error nor a remark on a name."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": 2}) == []


def test_a_name_that_is_almost_right_is_suggested() -> None:
    """Ours: whether the schema refuses unknown names or allows them."""
    refused, allowed = problems_in(CLOSED, {"hotl": "Ritz"}), problems_in(OPEN, {"hotl": "Ritz"})

    assert len(refused) == 2
    assert any("there is no 'hotl'" in problem and "'hotel'" in problem for problem in refused)
    assert any("does not mention 'hotl'" in problem and "'hotel'" in problem for problem in allowed)
    assert "there is no 'x'" in " ".join(problems_in(CLOSED, {"hotel": "Ritz", "x": 1}))


def test_a_validation_error_is_reported_as_a_problem() -> None:
    """Ours: a likely misspelling is a remark beside the errors of the validator, not in their place."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": "two"}) != []


def test_near_misses_are_names_that_the_schema_does_not_mention() -> None:
    """Ours: neither a known name, nor one that resembles no other."""
    found = near_misses(OPEN, {"hotl": "Ritz", "nights": 1, "zzz": 1})

    assert len(found) == 1
    assert found[0].startswith("'hotl', ")


def test_the_details_of_a_report_are_parsed() -> None:
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


def test_a_schema_that_allows_additional_properties_has_no_unknown_names() -> None:
    """JSON Schema: by `additionalProperties`, or by a pattern. A likely mistake is reported all the same."""
    for more in ({"additionalProperties": True}, {"additionalProperties": {"type": "integer"}}):
        assert unknown_names({**OPEN, **more}, {"zzz": 1}) == []
        assert unknown_names({**OPEN, **more}, {"hotl": 1}) == ["'hotl', did you mean 'hotel'?"]
    assert unknown_names({"patternProperties": {"^z": {}}}, {"zzz": 1}) == []
