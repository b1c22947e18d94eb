"""JSON with comments: read exactly, changed in one place."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text.jsonc import parse, with_member
from gaia_mcp.text.strict_json import Repeated, TextProblemError
from tests.protocol_support import steady

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
ENTRY = {"command": "uvx", "args": ["a"]}


def test_comments_and_trailing_commas_are_ignored() -> None:
    """Ours: as editors do."""
    cases = [
        ('{"a": 1}', {"a": 1}),
        ('// c\n{"a": 1, /* b */ "b": [1, 2,], // d\n}\n// e', {"a": 1, "b": [1, 2]}),
        ('{"a": "// no comment", "b": "/* nor this */",}', {"a": "// no comment", "b": "/* nor this */"}),
        ("[true, false, null, -1.5e3, 0, {}, [],]", [True, False, None, -1500.0, 0, {}, []]),
        ('/**/{"\\u00e9\\n": "\\ud83d\\ude00",}', {"é\n": "😀"}),
        ('"x" // y', "x"),
        # Where a line ends for VS Code, and where it does not.
        ('{"a": 1 // b\r, "c": 2}', {"a": 1, "c": 2}),
        ('{"a": 1, // b\r\n"c": 2, // d\n\r}', {"a": 1, "c": 2}),
        ('{"a": 1 // b\u2028, "c": 2\u2029\x85\x0b\x0c\n}', {"a": 1}),
    ]

    assert {text: parse(text) for text, _ in cases} == dict(cases)


@steady
@given(value=VALUES)
def test_plain_json_is_read_as_json_loads_does(value: Any) -> None:
    """Ours: with a comment behind it our own reader is used, and finds the same."""
    text = json.dumps(value, indent=1)
    assert parse(text) == parse(text + "// c") == json.loads(text)


def test_a_syntax_error_has_its_place() -> None:
    """Ours: a person goes to the place in an editor."""
    cases = [
        ("", "ends too early", 0),
        ('{"a": 1', "ends too early", 7),
        ('{"a"', "ends too early", 4),
        ('{"a" 1}', "a colon", 5),
        ("{a: 1}", "double quotes", 1),
        ('{"a": 1 "b": 2}', "a comma or '}'", 8),
        ("[1 2]", "a comma or ']'", 3),
        ("[,]", "a value", 1),
        ("[tru]", "a value", 1),
        ("[01]", "a comma", 2),
        ('{"a": 1}, 2', "goes on after its end", 8),
        ('{"a": 1} /* b', "a comment has no end", 9),
        ('{"a": "x\ny"}', "not JSON", 8),
        ('{"a": "x', "not JSON", 6),
        ("[" * 100_000, "nested too deeply", 201),
    ]

    wrong = []
    for text, words, at in cases:
        try:
            parse(text)
        except TextProblemError as error:
            if words not in str(error) or error.at != at:
                wrong.append((text, words, at, error))
        else:
            wrong.append((text, words, at, None))

    assert not wrong


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 3}', '{"a": 1, "b": 2, "a": 3} // c'])
def test_a_repeated_key_is_marked(text: str) -> None:
    """Ours: the caller decides whether that matters."""
    value = parse(text)
    assert isinstance(value, Repeated)
    assert value.key == "a"


OLD = '{\n  // mine\n  "x": 1, // c\n  "mcpServers": {\n    "a": {"command": "old"}, // last\n    // end\n  }\n}\n'


def test_a_member_is_added_behind_the_others_and_nothing_else_changes() -> None:
    """Ours: comments, order, indentation, trailing commas."""
    new = '    "b": {\n      "command": "uvx",\n      "args": [\n        "a"\n      ]\n    },\n'
    assert with_member(OLD, ("mcpServers", "b"), ENTRY) == OLD.replace("    // end", new + "    // end")


def test_no_trailing_comma_is_added() -> None:
    """Ours: hosts that read no comments read no trailing comma either. A comment behind a value stays with it."""
    old = '{\n  "s": {\n    "a": 1 // one\n  }\n}'
    assert with_member(old, ("s", "b"), 2) == '{\n  "s": {\n    "a": 1, // one\n    "b": 2\n  }\n}'


@pytest.mark.story
def test_many_comments_on_a_line_do_not_backtrack() -> None:
    """Ours: a project's file may be of any origin. In a process of its own, which can be ended."""
    program = (
        "from gaia_mcp.text.jsonc import with_member\n"
        "text = '{\\n \"m\": {\\n  \"a\": {}' + '/**//**/' * 40 + ' }\\n}\\n'\n"
        "print(with_member(text, ('m', 'b'), {'c': 1}).count('/**/'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert ran.stdout == b"80\n"


def test_a_member_is_replaced_in_its_place() -> None:
    """Ours: on one line if it was so."""
    new = '{"command": "uvx", "args": ["a"]}'
    assert with_member(OLD, ("mcpServers", "a"), ENTRY) == OLD.replace('{"command": "old"}', new)
    assert with_member('{\n\t"a": {\n\t\t"b": 1\n\t}\n}', ("a",), {"c": 2}) == '{\n\t"a": {\n\t\t"c": 2\n\t}\n}'
    # One that is empty had no form yet.
    assert with_member('{\n  "a": {}\n}', ("a",), {"c": 2}) == '{\n  "a": {\n    "c": 2\n  }\n}'


def test_a_member_is_added_to_every_form_of_an_object() -> None:
    """Ours; None: there is no object that could."""
    cases: list[tuple[str, str | None]] = [
        ("", '{\n  "s": {\n    "b": 1\n  }\n}\n'),
        (" \r\n", '{\r\n  "s": {\r\n    "b": 1\r\n  }\r\n}\r\n'),
        ("{}", '{\n  "s": {\n    "b": 1\n  }\n}'),
        ("{\n}\n", '{\n  "s": {\n    "b": 1\n  }\n}\n'),
        ('{"s":{}}', '{"s":{\n  "b": 1\n}}'),
        ('{\n "s": { // none\n }\n}', '{\n "s": { // none\n  "b": 1\n }\n}'),
        ('{"s":{"a":2}}', '{"s":{"a":2, "b": 1}}'),
        ('{"s":{"a":2,}}', '{"s":{"a":2, "b": 1,}}'),
        ('{"a": 1}', '{"a": 1, "s": {"b": 1}}'),
        (
            '{\r\n    "s": {\r\n        "a": 2\r\n    }\r\n}',
            '{\r\n    "s": {\r\n        "a": 2,\r\n        "b": 1\r\n    }\r\n}',
        ),
        ('{\n  "s": {\n    "a": 2 /* x */ }\n}', '{\n  "s": {\n    "a": 2,\n    "b": 1 /* x */ }\n}'),
        ('{\n  "s": null\n}', '{\n  "s": {\n    "b": 1\n  }\n}'),
        ('{"s": {"b": null}}', '{"s": {"b": 1}}'),
        ('{\n "e": {"a": {}}\n}', '{\n "e": {"a": {}},\n "s": {\n  "b": 1\n }\n}'),
        (
            '{\n      // mine\n  "a": 2\n}',
            '{\n      // mine\n  "a": 2,\n  "s": {\n    "b": 1\n  }\n}',
        ),
        ('{"s": 0}', None),
        ('{"s": []}', None),
        ("[]", None),
    ]

    def changed(old: str) -> str | None:
        try:
            return with_member(old, ("s", "b"), 1)
        except TextProblemError as error:
            assert "object" in str(error), old  # noqa: PT017
            return None

    assert {old: changed(old) for old, _ in cases} == dict(cases)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{\n  "s": {\n    "a": 1 // b\r  }\n}', '{\n  "s": {\n    "a": 1,\n    "b": 1 // b\r  }\n}'),
        ('{"s": {"a": 1 // b\r, "c": 2 // d\r}}', '{"s": {"a": 1 // b\r, "c": 2, "b": 1 // d\r}}'),
        ('{"s": {"b": 2 // b\r, "c": 2}}', '{"s": {"b": 1 // b\r, "c": 2}}'),
    ],
)
def test_a_carriage_return_ends_a_line_comment(old: str, new: str) -> None:
    """Ours: what VS Code reads behind it is not overlooked, or a comma would be missing."""
    assert with_member(old, ("s", "b"), 1) == new


@steady
@given(before=OBJECTS, servers=OBJECTS, after=OBJECTS, name=st.text(), value=VALUES, data=st.data())
def test_the_surrounding_text_is_preserved(
    before: dict[str, Any], servers: dict[str, Any], after: dict[str, Any], name: str, value: Any, data: st.DataObject
) -> None:
    """Ours: what was before and behind the one member is there again, byte for byte."""
    indent = data.draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    newline = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    document = {**before, "s": servers, **{key: held for key, held in after.items() if key != "s"}}
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)
    comment = f"// c {newline}"

    new = with_member(comment + text, ("s", name), value)

    assert parse(new) == {**document, "s": {**servers, name: value}}
    assert new.startswith(comment)
    if name not in servers:
        # A pure insertion: without what was put there, it is the old text.
        start = next((at for at, (a, b) in enumerate(zip(comment + text, new, strict=False)) if a != b), len(text))
        rest = (comment + text)[start:]
        assert new.endswith(rest) or not rest
