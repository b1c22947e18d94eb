"""YAML: changed in one item."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.text.yaml import parse, with_item
from tests.protocol_support import steady

OLD = """# top
GOOSE: x
extensions:
  dev:   # d
    enabled: true
    text: |
      hello

  # about two
  two:
    a: [1, 2]
    b: "x"   # t

# end
other: 1
list:
- name: x
  k: v
-   name: z
# last
"""


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("dev", "  dev:", "\n  # about two"),
        ("two", "  two:", "\n# end"),
    ],
)
def test_only_the_lines_of_an_item_are_replaced(name: str, start: str, end: str) -> None:
    """Ours: what stands before and behind it stays, to the last blank line."""
    before, behind = OLD[: OLD.index(start)], OLD[OLD.index(end) :]
    new = with_item(OLD, "extensions", name, {"cmd": "u"}, listed=False)
    assert new == f"{before}  {name}:\n    cmd: u\n{behind}"


def test_an_item_ends_after_the_bracket_of_its_last_list() -> None:
    """Ours: such a list may go on over several lines."""
    old = "s:\n  b:\n    args: [a,\n      b\n    ]\n  d: {}\n"
    assert with_item(old, "s", "b", {"c": 1}, listed=False) == "s:\n  b:\n    c: 1\n  d: {}\n"


def test_empty_lists_and_mappings_are_preserved() -> None:
    """Ours: a list and a mapping of nothing, and no null."""
    value: dict[str, Any] = {"args": [], "env": {}}
    assert parse(with_item("", "s", "b", value, listed=False)) == {"s": {"b": value}}


def test_a_new_item_is_appended() -> None:
    """Ours: in a mapping and in a list."""
    at = OLD.index("\n# end")
    new = with_item(
        OLD, "extensions", "b c", {"args": ["-y", "yes", "1.5", ""], "on": True, "e": {"K": "a: b #"}}, listed=False
    )
    lines = '  b c:\n    args:\n      - "-y"\n      - "yes"\n      - "1.5"\n      - ""\n'
    lines += '    "on": true\n    e:\n      K: "a: b #"\n'
    assert new == OLD[:at] + lines + OLD[at:]
    at = OLD.index("# last")
    new = with_item(OLD, "list", "new", {"name": "new", "args": ["a"], "env": {}}, listed=True)
    assert new == OLD[:at] + "- name: new\n  args:\n    - a\n  env: {}\n" + OLD[at:]


def test_an_item_of_a_list_is_found_by_its_name() -> None:
    """Ours: Continue's list names its servers by a member."""
    new = with_item(OLD, "list", "x", {"name": "x", "new": 1}, listed=True)
    assert new == OLD.replace("- name: x\n  k: v\n", "- name: x\n  new: 1\n")
    new = with_item("list:\n- just text\n- name: x\n", "list", "x", {"name": "x", "new": 1}, listed=True)
    assert new == "list:\n- just text\n- name: x\n  new: 1\n"


def test_an_item_is_added_to_every_form_of_a_mapping() -> None:
    """Ours: also an empty one, which a file may write in several ways."""
    cases = [
        ("", "s:\n  b:\n    c: 1\n"),
        ("# only this\n", "# only this\ns:\n  b:\n    c: 1\n"),
        ("a: 1", "a: 1\ns:\n  b:\n    c: 1\n"),
        ("a: 1\r\n", "a: 1\r\ns:\r\n  b:\r\n    c: 1\r\n"),
        ("s: {} # x\na: 1\n", "s: # x\n  b:\n    c: 1\na: 1\n"),
        ("s:\na: 1\n", "s:\n  b:\n    c: 1\na: 1\n"),
        ("s: null", "s:\n  b:\n    c: 1\n"),
        ("s: ~\n", "s:\n  b:\n    c: 1\n"),
        ("s:\n    a: 1", "s:\n    a: 1\n    b:\n      c: 1\n"),
    ]

    wrong = []
    for old, new in cases:
        changed = with_item(old, "s", "b", {"c": 1}, listed=False)
        if not (
            [line.rstrip() for line in changed.splitlines()] == [line.rstrip() for line in new.splitlines()]
            and ("\r\n" in changed) == ("\r\n" in old)
            and parse(changed)["s"]["b"] == {"c": 1}
        ):
            wrong.append((old, new))

    assert not wrong


def test_a_document_that_cannot_be_changed_is_refused_with_the_reason() -> None:
    """Ours: the file stays as it is, and the user changes it by hand."""
    cases = [
        ("- a\n", "does not hold a mapping"),
        ("s: 5\n", "is not a mapping"),
        ("s: [1]\n", "is not a mapping"),
        ("s: {a: 1}\n", "within brackets"),
        ("s: [\n", "not YAML"),
    ]

    wrong = []
    for text, words in cases:
        try:
            with_item(text, "s", "b", {"c": 1}, listed=False)
        except TextProblemError as error:
            if not re.search(words, str(error)):
                wrong.append((text, words, error))
        else:
            wrong.append((text, words, None))

    assert not wrong


def test_a_syntax_error_has_its_place() -> None:
    """Ours: a person goes to the place in an editor."""
    cases = [
        ("a: [1", "not YAML: expected", (1, 6)),
        ("a: 1\n b: 2", "not YAML: mapping values", (2, 3)),
        ("a: 1\na: 2", "not YAML: found duplicate key", (2, 1)),
        ("x: *q", "not YAML: found undefined alias", (1, 4)),
        ("a: 1\n---\nb: 2", "another document", (2, 1)),
        ("a: \x07", "not YAML", (0, 0)),
        ("- " * 5000 + "a", "nested too deeply", (0, 0)),
    ]

    wrong = []
    for text, words, place in cases:
        try:
            parse(text)
        except TextProblemError as error:
            if not (re.search(words, str(error)) and (error.line, error.column) == place):
                wrong.append((text, words, place, error))
        else:
            wrong.append((text, words, place, None))

    assert not wrong


def test_a_recursive_alias_is_refused() -> None:
    """Ours: reading it would not end. It may stand anywhere: the document is read again after a change."""
    cases = [
        ("s: &e\n  x: *e\n", (1, 4)),
        ("s:\n  y: &e\n    a: *e\n", (2, 6)),
        ("s:\n  b: &e\n    a: [{c: *e}]\n", (2, 6)),
        ("x: &e\n  a: *e\ns: {}\n", (1, 4)),
        ("s: &e\n  <<: *e\n", (1, 4)),
        ("s: &e\n- *e\n", (1, 4)),
        ("&e\ns: *e\n", (1, 1)),
    ]

    wrong = []
    for text, place in cases:
        for act in (parse, partial(with_item, root="s", name="b", value={"c": 1}, listed=False)):
            try:
                act(text)
            except TextProblemError as error:
                placed = error.placed(text)
                if "'e' refers to itself" not in str(error) or (placed.line, placed.column) != place:
                    wrong.append((text, placed))
            else:
                wrong.append((text, None))

    assert not wrong


def test_an_anchor_may_be_used_several_times() -> None:
    """Ours: it refers to what is done, however often, and in whatever depth."""
    old = "x: &e {a: 1}\ny: &f [*e, *e]\nz: [*f, *f, *e]\ns:\n  a:\n    <<: *e\n    b: 2\n"
    new = with_item(old, "s", "b", {"c": 1}, listed=False)
    assert new == old + "  b:\n    c: 1\n"
    assert parse(new) == {**parse(old), "s": {"a": {"a": 1, "b": 2}, "b": {"c": 1}}}


def nine_each(anchors: int) -> str:
    """Anchors, each of which stands for nine times the one before."""
    lines = [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, anchors)]
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]", *lines, "s:", "  one:", "    cmd: x", ""])


@pytest.mark.parametrize(
    "text",
    [
        nine_each(13),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 13)),
        f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 20)}]\n",
    ],
    ids=["lists", "merged", "a long text"],
)
def test_aliases_that_expand_beyond_the_limit_are_refused(text: str) -> None:
    """Ours: 694 bytes took ten minutes, in which no signal was handled and the file was locked."""
    for act in (lambda: parse(text), lambda: with_item(text, "s", "b", {"c": 1}, listed=False)):
        with pytest.raises(TextProblemError, match="stand for more than 1000000 characters"):
            act()


def test_ordinary_aliases_are_expanded() -> None:
    """Ours: the limit is far beyond what is written by hand."""
    old = nine_each(5)
    new = with_item(old, "s", "b", {"c": 1}, listed=False)

    assert parse(new) == {**parse(old), "s": {"one": {"cmd": "x"}, "b": {"c": 1}}}


@pytest.mark.parametrize("value", ["9" * 5000, "2001-99-99", "1_" * 5000])
def test_a_value_that_python_cannot_read_is_a_syntax_error(value: str) -> None:
    """Ours: not an exception of the reader."""
    with pytest.raises(TextProblemError, match="not YAML"):
        parse(f"a: {value}\n")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
NAMES = TEXTS.filter(bool)
# What JSON, in which the old items are written here, and YAML escape alike.
PLAIN = st.text(st.characters(codec="latin-1"), max_size=8)


@steady
@given(
    entries=st.dictionaries(
        PLAIN.filter(bool), st.fixed_dictionaries({"cmd": PLAIN, "args": st.lists(PLAIN, max_size=3)}), max_size=3
    ),
    name=NAMES,
    value=st.fixed_dictionaries({"cmd": TEXTS, "n": st.integers(), "e": st.dictionaries(NAMES, TEXTS, max_size=2)}),
    listed=st.booleans(),
)
def test_the_surrounding_text_is_preserved(
    entries: dict[str, Any], name: str, value: dict[str, Any], listed: bool
) -> None:
    """Ours: every other item is there again, character for character."""
    before, behind = "a: 1 # c\ns:\n", "\n# end\nz: 2\n"
    if listed:
        value = {"name": name, **value}
        entries = {key: {"name": key, **held} for key, held in entries.items()}
    chunks = {
        key: ("- " if listed else f"  {json.dumps(key)}: ") + json.dumps(held) + " # mine\n"
        for key, held in entries.items()
    }
    text = before + "".join(chunks.values()) + behind

    new = with_item(text, "s", name, value, listed=listed)

    found = parse(new)
    merged = {**entries, name: value}
    assert found["s"] == (list(merged.values()) if listed else merged)
    assert new.startswith(before)
    assert new.endswith(behind)
    assert all(chunk in new for key, chunk in chunks.items() if key != name)


def test_a_date_is_preserved_and_a_set_becomes_text() -> None:
    """YAML: a date is no text. What cannot be written as it was is text, and the caller sees the difference."""
    value = {"day": date(2024, 1, 2), "time": datetime(2024, 1, 2, 3, 4, 5), "set": {"a"}}
    new = parse(with_item("", "s", "b", value, listed=False))["s"]["b"]
    assert (new["day"], new["time"], new["set"]) == (value["day"], value["time"], "{'a'}")


def test_a_redefined_anchor_causes_no_warning() -> None:
    """YAML 1.2: an alias refers to the last one before it. Warnings fail this test."""
    text = "root:\n  a: &x {k: 1}\n  b: &x {k: 2}\n  c: *x\n"

    assert parse(text) == {"root": {"a": {"k": 1}, "b": {"k": 2}, "c": {"k": 2}}}
    assert parse(with_item(text, "root", "d", {"k": "3"}, listed=False))["root"]["d"] == {"k": "3"}
