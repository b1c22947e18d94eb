"""Compares answers with what is expected of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.checks.expectations import MAX_COMPARED, MAX_SHOWN, Answer, differences
from gaia_mcp.core.errors import DeadlineError, PeerError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def answer(text: str = "", *, kind: str = "tool", error: Any = None, **members: Any) -> Answer:
    return Answer(kind, {"content": [{"type": "text", "text": text}], **members}, error, 0.25)


REFUSED = PeerError("shop", "tools/call", -32602, "no such item")
STRUCTURED = {"total": 5, "items": [{"id": 1}, {"id": 2}], "a/b": {"~": None}, "is_paid": True}


@pytest.mark.parametrize(
    ("expect", "seen"),
    [
        ({}, answer("6")),
        ({"text": "6", "contains": "6", "matches": ["^6$", r"\d"], "isError": False}, answer("6")),
        ({"isError": True, "contains": "no"}, answer("no item", isError=True)),
        ({"exitCode": 9}, answer("no item", isError=True)),
        ({"exitCode": 0}, answer()),
        ({"code": -32602, "contains": "item"}, answer(error=REFUSED)),
        ({"exitCode": 6, "text": "no such item"}, answer(error=REFUSED)),
        ({"exitCode": 5}, answer(error=DeadlineError("shop", "tools/call", 1))),
        ({"structured": {"total": 5.0, "items": [{"id": 1}, {}]}}, answer(structuredContent=STRUCTURED)),
        ({"structured": {}}, answer(structuredContent=STRUCTURED)),
        ({"schema": {"required": ["total"]}}, answer(structuredContent=STRUCTURED)),
        ({"schema": {"items": {"type": "integer"}}}, answer("[1, 2]")),
        ({"max_ms": 250}, answer()),
        ({"text": 6, "contains": [6], "matches": 6}, answer("6")),
    ],
)
def test_an_answer_as_expected_has_no_differences(expect: dict[str, Any], seen: Answer) -> None:
    """Issue."""
    assert list(differences(expect, seen)) == []


@pytest.mark.parametrize(
    ("expect", "seen", "words", "lines"),
    [
        ({}, answer("no item", isError=True), 'isError: "no item" is true, not false', ["- false", "+ true"]),
        ({"isError": True}, answer("6"), "isError is false, not true", ["- true", "+ false"]),
        ({"code": -32602}, answer("6"), "code is null, not -32602", ["- -32602", "+ null"]),
        ({"code": -32601}, answer(error=REFUSED), "code is -32602, not -32601", ["- -32601", "+ -32602"]),
        ({"exitCode": 9}, answer("6"), "exitCode is 0, not 9", ["- 9", "+ 0"]),
        ({"text": "6 "}, answer("6"), "text: it is another one", ['- "6 "', '+ "6"']),
        (
            {"text": "a\nb\nc"},
            answer("a\nx\nc"),
            "text: it is another one",
            ["@@ -1,3 +1,3 @@", "  a", "- b", "+ x", "  c"],
        ),
        ({"contains": ["6", "7"]}, answer("6"), 'contains: "7" is not in the text', ['- "7"', '+ "6"']),
        ({"matches": "^7"}, answer("6"), 'matches: "^7" is not in the text', ['- "^7"', '+ "6"']),
        (
            {"matches": "("},
            answer("6"),
            'matches: "(" is no regular expression: missing ), unterminated subpattern at position 0',
            [],
        ),
        ({"structured": {"a": 1}}, answer(), 'structured is missing, not {"a": 1}', ['- {"a": 1}']),
        (
            {"structured": {"items": [{}, {"id": 3}]}},
            answer(structuredContent=STRUCTURED),
            "structured /items/1/id is 2, not 3",
            ["- 3", "+ 2"],
        ),
        (
            {"structured": {"items": [{}]}},
            answer(structuredContent=STRUCTURED),
            'structured /items is [{"id": 1}, {"id": 2}], not [{}]',
            ["- [{}]", '+ [{"id": 1}, {"id": 2}]'],
        ),
        (
            {"structured": {"a/b": {"~": 0}}},
            answer(structuredContent=STRUCTURED),
            "structured /a~1b/~0 is null, not 0",
            ["- 0", "+ null"],
        ),
        (
            {"structured": {"is_paid": 1}},
            answer(structuredContent=STRUCTURED),
            "structured /is_paid is true, not 1",
            ["- 1", "+ true"],
        ),
        (
            {"schema": {"required": ["tax"]}},
            answer(structuredContent=STRUCTURED),
            "schema: 'tax' is missing",
            [],
        ),
        ({"schema": True}, answer("six"), "schema: there is no structured result, and the text is no JSON", []),
        ({"max_ms": 249}, answer(), "max_ms: it took 250.0 ms, and 249 ms are allowed", []),
    ],
)
def test_a_difference_is_named_with_both_values(
    expect: dict[str, Any], seen: Answer, words: str, lines: list[str]
) -> None:
    """Issue: a diff of what was expected and seen."""
    (found,) = differences(expect, seen)

    assert (found.words, list(found.lines)) == (words, lines)


def test_many_differences_are_counted() -> None:
    """Ours: the first ones are shown, of a text as of a structured result."""
    many = {"structured": {str(number): number for number in range(100)}}
    (text,) = differences({"text": "\n".join("abc" * 20)}, answer("\n".join("xyz" * 20)))

    found = list(differences(many, answer(structuredContent={})))

    assert len(found) == MAX_SHOWN + 1
    assert found[-1].words == "structured: 80 more differences"
    assert len(text.lines) == MAX_SHOWN + 1
    assert text.lines[-1] == "… 101 more lines"


def test_a_text_of_any_size_is_compared_in_its_first_lines() -> None:
    """Ours: comparing takes quadratic time, and a server may send any number of lines."""
    same = "\n".join(map(str, range(MAX_COMPARED)))
    (far,) = differences({"text": f"{same}\na"}, answer(f"{same}\nb"))
    (many,) = differences({"text": "a\nb"}, answer("x\n" * 1_000_000))

    assert list(far.lines) == ["… they differ after line 1000"]
    assert len(many.lines) == MAX_SHOWN + 1


@pytest.mark.parametrize(
    ("kind", "result", "text"),
    [
        ("prompt", {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}, 1]}, "Hi"),
        ("prompt", {"messages": 1}, ""),
        ("resource", {"contents": [{"uri": "a:b", "text": "one"}, {"uri": "a:c", "blob": ""}]}, "one"),
        ("tool", {"content": 1}, ""),
        ("tool", {"content": [{"text": "a"}, 1, {"text": 2}, {"text": "b"}]}, "a\nb"),
    ],
)
def test_each_kind_of_answer_has_a_text(kind: str, result: dict[str, Any], text: str) -> None:
    """Ours: also one that is not as the specification says."""
    assert Answer(kind, result, None, 0).text == text


def test_a_value_is_found_by_its_pointer() -> None:
    """RFC 6901, section 4."""
    seen = answer("six", structuredContent=STRUCTURED)

    assert seen.at("text") == "six"
    assert seen.at("/structuredContent/items/1/id") == 2
    assert seen.at("/structuredContent/a~1b/~0") is None
    for missing in ("/none", "/structuredContent/items/2", "/structuredContent/items/x", "/structuredContent/total/x"):
        with pytest.raises(LookupError):
            seen.at(missing)


@given(VALUES)
def test_a_value_is_a_part_of_itself(value: Any) -> None:
    """Ours: whatever a server sends can be expected."""
    assert list(differences({"structured": value}, answer(structuredContent=value))) == []


@pytest.mark.story
def test_an_expression_that_takes_too_long_is_a_difference() -> None:
    """Ours: the other cases are run."""
    (found,) = differences({"matches": "^(a+)+$"}, answer("a" * 40 + "!"))

    assert found.words == 'matches: "^(a+)+$": checking against it takes more than 3.0 s'
