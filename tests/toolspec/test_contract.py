"""What a server promises, and how two promises differ."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from gaia_mcp.toolspec.contract import (
    MAX_TEXT_LINES,
    SHOWN_CHARS,
    Undefinable,
    as_lines,
    as_objects,
    canonical_tool,
    contract_of,
    differences,
    fingerprint,
    tool_difference,
)

TOOL: dict[str, Any] = {
    "name": "forecast",
    "description": "Tomorrow's weather.",
    "inputSchema": {"type": "object", "properties": {"days": {"type": "integer", "minimum": 1}}},
}


def changed(**members: Any) -> list[str]:
    """The lines about a tool that these members have changed."""
    return as_lines(as_objects(differences(contract_of([TOOL]), contract_of([{**TOOL, **members}]))))


def test_equivalent_definitions_have_the_same_hash() -> None:
    """Ours: key order, 1 and 1.0, null members, and members that are not shown do not matter."""
    other = {
        "_meta": {"x": 1},
        "icons": [],
        "outputSchema": None,
        "inputSchema": {"properties": {"days": {"minimum": 1.0, "type": "integer"}}, "type": "object"},
        "description": "Tomorrow's weather.",
        "name": "forecast",
    }

    assert fingerprint(canonical_tool(TOOL)) == fingerprint(canonical_tool(other))
    assert canonical_tool(other) == TOOL
    assert canonical_tool(canonical_tool(TOOL)) == canonical_tool(TOOL)
    assert differences(contract_of([TOOL]), contract_of([other])) == []


def test_an_input_schema_may_list_no_properties_or_leave_them_out() -> None:
    """Ours: both promise the same. A served tool had none before, and its locks stay valid."""
    bare: dict[str, Any] = {"name": "a", "inputSchema": {"type": "object"}}
    listed: dict[str, Any] = {"name": "a", "inputSchema": {"type": "object", "properties": {}}}

    assert differences(contract_of([bare]), contract_of([listed])) == []
    assert differences(contract_of([listed]), contract_of([bare])) == []
    assert differences(contract_of([bare]), contract_of([{**bare, "outputSchema": {"properties": {}}}])) != []


def test_the_hash_is_that_of_the_canonical_json() -> None:
    """Ours: it must be the same next year."""
    text = '{"description":"\\u00fc","inputSchema":{"a":1,"b":0.5},"name":"a"}'

    found = canonical_tool({"name": "a", "inputSchema": {"b": 0.5, "a": 1.0}, "description": "ü"})

    assert fingerprint(found) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_every_member_that_is_shown_is_part_of_the_hash() -> None:
    """Ours. For Python true equals 1; for JSON it does not."""
    cases = [
        {"description": "Tomorrow's weather"},
        {"title": "Forecast"},
        {"inputSchema": {**TOOL["inputSchema"], "required": ["days"]}},
        {"inputSchema": {"type": "object", "properties": {"days": {"type": "integer", "minimum": True}}}},
        {"outputSchema": {}},
        {"annotations": {"readOnlyHint": True}},
    ]

    wrong = [
        members
        for members in cases
        if not (
            fingerprint(canonical_tool({**TOOL, **members})) != fingerprint(canonical_tool(TOOL)) and changed(**members)
        )
    ]

    assert not wrong


def test_added_and_removed_tools_are_listed() -> None:
    """Ours: by name, in order."""
    then, now = contract_of([TOOL, {"name": "b"}]), contract_of([{"name": "a"}, TOOL])

    changes = differences(then, now)

    assert [(change.tool, change.kind) for change in changes] == [("a", "added"), ("b", "removed")]
    assert as_lines(as_objects(changes)) == ["added a", "removed b"]
    assert [str(change) for change in changes] == ["'a' added", "'b' removed"]
    assert differences(now, now) == []
    assert tool_difference("x", None, None) is None


def test_a_description_is_compared_line_by_line() -> None:
    """Ours: with a line around it, and what does not show made visible."""
    many = "\n".join(f"line {number}" for number in range(9))
    then, now = {"name": "a", "description": many}, {"name": "a", "description": many.replace("line 5", "lin\u200be 5")}

    (change,) = differences(contract_of([then]), contract_of([now]))

    assert str(change) == "'a' changed (description)"
    assert as_lines(as_objects([change])) == [
        "changed a",
        "  description",
        "      line 4",
        "    - line 5",
        "    + lin\\u200be 5",
        "      line 6",
    ]


def test_a_schema_is_compared_path_by_path() -> None:
    """Ours: what was, and what is."""
    schema = {
        "type": ["object"],
        "properties": {"days": {"type": "number"}, "city": {"type": "string"}},
        "anyOf": [{"a": 1}],
    }

    assert changed(inputSchema=schema) == [
        "changed forecast",
        "  inputSchema",
        '    + anyOf: [{"a": 1}]',
        '    + properties.city: {"type": "string"}',
        "    - properties.days.minimum: 1",
        '    ~ properties.days.type: "integer" → "number"',
        '    ~ type: "object" → ["object"]',
    ]


def test_lists_of_objects_are_compared_item_by_item() -> None:
    """Ours: others as a whole."""
    old = {**TOOL, "inputSchema": {"anyOf": [{"a": 1}, {"b": 2}], "required": ["x"]}}
    new = {**TOOL, "inputSchema": {"anyOf": [{"a": 1}, {"b": 3}], "required": ["x", "y"]}}

    lines = as_lines(as_objects(differences(contract_of([old]), contract_of([new]))))

    assert lines[2:] == ["    ~ anyOf[1].b: 2 → 3", '    ~ required: ["x"] → ["x", "y"]']


def test_lists_of_objects_that_grow_are_compared_as_a_whole() -> None:
    """Ours: it cannot be told which item is the new one."""
    old, new = ({**TOOL, "inputSchema": {"anyOf": items}} for items in ([{"a": 1}], [{"b": 2}, {"a": 1}]))

    lines = as_lines(as_objects(differences(contract_of([old]), contract_of([new]))))

    assert lines[2:] == ['    ~ anyOf: [{"a": 1}] → [{"b": 2}, {"a": 1}]']


def test_a_long_text_in_a_schema_is_compared_as_a_description_is() -> None:
    """Ours: its change may stand at its end."""
    old, new = ("word " * 20 + end for end in ("a", "b"))
    lines = as_lines(
        as_objects(differences(contract_of([{"name": "n", "inputSchema": {"description": old}}]),
                               contract_of([{"name": "n", "inputSchema": {"description": new}}])))
    )  # fmt: skip

    assert lines[2:] == ["    ~ description:", f"      - {old}", f"      + {new}"]


def test_a_short_text_that_becomes_a_long_one_is_shown_to_its_end() -> None:
    """Ours: an order to a model may stand there."""
    long = "word " * 40 + "END"
    old, new = ({"name": "n", "inputSchema": {"description": text}} for text in ("short", long))

    lines = as_lines(as_objects(differences(contract_of([old]), contract_of([new]))))

    assert lines[2:] == ["    ~ description:", "      - short", f"      + {long}"]


def test_long_values_are_shown_from_where_they_differ() -> None:
    """Ours: a change that is cut away is no change to a reader."""
    lines = changed(
        inputSchema={"type": "object", "properties": {"days": {"type": "integer", "minimum": 1, "enum": [*range(200)]}}}
    )
    assert lines[2].startswith("    + properties.days.enum: [0, 1")
    assert lines[2].endswith("…")

    old, new = ({"name": "n", "inputSchema": {"enum": [*range(100), last]}} for last in (7, 8))
    (line,) = as_lines(as_objects(differences(contract_of([old]), contract_of([new]))))[2:]
    assert line.startswith("    ~ enum: …")
    assert line.count(" 7]") == line.count(" 8]") == 1

    # One that goes on where the other ends.
    old, new = ({"name": "n", "inputSchema": {"maximum": int("1" * 150 + tail)}} for tail in ("", "7"))
    (line,) = as_lines(as_objects(differences(contract_of([old]), contract_of([new]))))[2:]
    assert line.endswith("17")


def test_a_value_is_cut_only_where_it_is_too_long() -> None:
    """Ours: and then fills the room there is."""

    def lines(title: str) -> list[str]:
        return changed(inputSchema={**TOOL["inputSchema"], "title": title})[2:]

    # Between two quotation marks.
    fitting = "x" * (SHOWN_CHARS - 2)
    assert lines(fitting) == [f'    + title: "{fitting}"']
    assert lines(fitting + "x") == [f'    + title: "{fitting}…']


def test_an_added_or_removed_member_is_shown_whole() -> None:
    """Ours: also one of the wrong type."""
    assert changed(title="Fore\ncast")[1:] == ["  title", "    + Fore", "    + cast"]
    assert changed(description=None)[1:] == ["  description", "    - Tomorrow's weather."]
    assert changed(outputSchema={"type": "object"})[1:] == ["  outputSchema", '    + {"type": "object"}']
    assert changed(inputSchema=7)[2:] == [f"    - {json.dumps(canonical_tool(TOOL)['inputSchema'])}", "    + 7"]


def test_texts_too_long_to_read_are_compared_as_a_whole() -> None:
    """Ours: comparing them line by line would take minutes."""
    assert changed(description="x\n" * MAX_TEXT_LINES)[2:] == [
        f"    ~ 1 lines → {MAX_TEXT_LINES + 1} lines, compared as a whole"
    ]
    assert changed(description="\n".join("x" * MAX_TEXT_LINES))[2:] == [
        "    - Tomorrow's weather.",
        *["    + x"] * MAX_TEXT_LINES,
    ]


def test_an_empty_line_shows_without_white_space_behind_its_sign() -> None:
    """Ours: as all lines end."""
    assert changed(description="Tomorrow's weather.\n\nToday's.")[2:] == [
        "      Tomorrow's weather.",
        "    +",
        "    + Today's.",
    ]


def test_a_difference_in_invisible_characters_alone_is_reported() -> None:
    """Ours: an empty difference explains nothing."""
    assert changed(description="Tomorrow's weather. ")[2:] == ["    ~ only in invisible characters, such as line ends"]


def test_a_definition_that_is_not_json_has_no_canonical_form() -> None:
    """Ours: a hostile definition is an error of its own kind."""
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}

    for value in (deep, float("inf"), {1, 2}):
        with pytest.raises(Undefinable):
            canonical_tool({"name": "x", "inputSchema": value})


def test_a_schema_is_compared_as_a_whole_below_the_limit_of_depth() -> None:
    """Ours: it must not end us."""
    old: Any = 1
    new: Any = 2
    for _ in range(200):
        old, new = {"a": old}, {"a": new}

    (line,) = as_lines(
        as_objects(differences(contract_of([{"name": "n", "inputSchema": old}]),
                               contract_of([{"name": "n", "inputSchema": new}])))
    )[2:]  # fmt: skip

    assert line.startswith("    ~ a.a.a.")


def test_control_characters_and_line_ends_of_a_difference_are_escaped() -> None:
    """Ours: names, keys, texts and values are the server's own."""
    schema = {"k\n\x1b": {"v": "\x1b\n\u202e"}}
    tool = {"name": "a\nremoved b\x1b", "description": "x\rgood\x9b", "inputSchema": schema}

    lines = as_lines(
        as_objects(differences(contract_of([{"name": tool["name"], "inputSchema": {}}]), contract_of([tool])))
    )

    assert lines == [
        "changed a\\nremoved b\\x1b",
        "  description",
        "    + x\\rgood\\x9b",
        "  inputSchema",
        '    + k\\n\\x1b: {"v": "\\u001b\\n\\u202e"}',
    ]
    (added,) = differences({}, contract_of([tool]))
    assert str(added) == "'a\\nremoved b\\x1b' added"


def test_a_change_that_breaks_says_why() -> None:
    """Ours: the first reason on the line, all of them below."""
    (change,) = differences(contract_of([TOOL]), {})
    broken = change._replace(breaks=("it is gone", "another"))

    assert str(broken) == "'forecast' is breaking (it is gone and 1 more)"
    assert str(broken._replace(breaks=("it is gone",))) == "'forecast' is breaking (it is gone)"
    assert as_lines(as_objects([broken])) == [
        "removed forecast", "  breaking: it is gone", "  breaking: another"
    ]  # fmt: skip
