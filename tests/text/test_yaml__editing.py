"""YAML: changed in single values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.text.yaml import REMOVED, Change, edited, parse, plain
from tests.protocol_support import steady

TEXT = """\
# a project
project: {name: shop}   # its name
mcp:
  # what the agents may use
  servers:
  - name: cost-lookup   # prices
    enabled: true
    stages: ["build", "design"]  # not deploy

    settings:
      url: "https://x"
      # a note
      depth: 2
  # the second
  - enabled: no
    name: other
    settings: {}
    notes: |
      several
      lines
  custom_dir: .prototype/mcp/
# the end
"""
SERVERS = ("mcp", "servers")
SETTINGS = TEXT[TEXT.index("settings:\n") : TEXT.index("\n  # the second")]
WHAT = "\n  # what the agents may use\n"


def change(text: str, *changes: tuple[tuple[str | int, ...], Any]) -> str:
    return edited(text, [Change(*each) for each in changes])


def test_setting_a_value_changes_only_its_own_lines() -> None:
    """A12: comments, order and every other line stay."""
    cases = [
        ((*SERVERS, 0, "enabled"), False, "enabled: true", "enabled: false"),
        ((*SERVERS, 0, "name"), "price list", "name: cost-lookup ", "name: price list "),
        ((*SERVERS, 0, "stages"), ["build"], '["build", "design"]', '["build"]'),
        ((*SERVERS, 0, "stages"), None, '["build", "design"]', "null"),
        ((*SERVERS, 0, "stages"), [], '["build", "design"]', "[]"),
        ((*SERVERS, 0, "settings", "url"), "a: b #", '"https://x"', '"a: b #"'),
        ((*SERVERS, 0, "timeout"), 5, "      depth: 2\n", "      depth: 2\n    timeout: 5\n"),
        ((*SERVERS, 0, "settings", "on"), "no", "      depth: 2\n", '      depth: 2\n      "on": "no"\n'),
        ((*SERVERS, 1, "settings", "a"), {"b": []}, "settings: {}\n", "settings:\n      a:\n        b: []\n"),
        ((*SERVERS, 1, "notes"), "one", "notes: |\n      several\n      lines\n", "notes: one\n"),
        (("project", "name"), "shop 2", "name: shop}", 'name: "shop 2"}'),
        (("project", "id"), [1], "{name: shop}", '{name: shop, "id": [1]}'),
        ((*SERVERS, 0, "settings"), {}, SETTINGS, "settings: {}"),
        (
            (*SERVERS, 2),
            {"name": "new", "agents": None, "list": [{"a": 1}]},
            "      lines\n",
            "      lines\n  - name: new\n    agents: null\n    list:\n      - a: 1\n",
        ),
        ((*SERVERS, 2, "name"), "new", "      lines\n", "      lines\n  - name: new\n"),
        (("new", "list", 0), {"a": 1}, ".prototype/mcp/\n", ".prototype/mcp/\nnew:\n  list:\n    - a: 1\n"),
        (SERVERS[:1], "x", f"mcp:{WHAT}{TEXT[TEXT.index('  servers:') : TEXT.index('# the end')]}", f"mcp: x{WHAT}"),
    ]

    wrong = [
        (path, value, old, new)
        for path, value, old, new in cases
        if not (TEXT.count(old) == 1 and change(TEXT, (path, value)) == TEXT.replace(old, new))
    ]

    assert not wrong


def test_removing_a_value_removes_only_its_own_lines() -> None:
    """A12: comments, order and every other line stay."""
    cases = [
        ((*SERVERS, 0, "stages"), '    stages: ["build", "design"]  # not deploy\n', ""),
        ((*SERVERS, 0, "stages", 0), '["build", "design"]', '["design"]'),
        ((*SERVERS, 0, "settings", "depth"), "      depth: 2\n", ""),
        ((*SERVERS, 0, "name"), "- name: cost-lookup   # prices\n    enabled", "- enabled"),
        ((*SERVERS, 1, "enabled"), "- enabled: no\n    name", "- name"),
        ((*SERVERS, 0), TEXT[TEXT.index("  - name: cost") : TEXT.index("  # the second")], ""),
        ((*SERVERS, 1), TEXT[TEXT.index("  - enabled: no") : TEXT.index("  custom_dir")], ""),
        (("project", "name"), "{name: shop}", "{}"),
        (("project",), "project: {name: shop}   # its name\n", ""),
        ((*SERVERS, 0, "missing"), "", ""),
        (("missing", "deep"), "", ""),
        (("project", "name", "deep"), "", ""),
        ((*SERVERS, 7), "", ""),
        ((*SERVERS, 7, "name"), "", ""),
    ]

    wrong = [(path, old, new) for path, old, new in cases if change(TEXT, (path, REMOVED)) != TEXT.replace(old, new, 1)]

    assert not wrong


def test_what_surrounds_a_removed_value_stays_in_every_form_of_a_file() -> None:
    """A12: an item on a line of its own, a first member before a comment, a member without a value."""
    cases: list[tuple[str, tuple[str | int, ...], str]] = [
        ("-\n  a: 1\n- b\n", (0,), "- b\n"),
        ("- a: 1\n\n  # c\n  b: 2\n", (0, "a"), "-\n\n  # c\n  b: 2\n"),
        ("a:\n  b:\n    c:\n  # x\n  d: 1\n", ("a", "b"), "a:\n  # x\n  d: 1\n"),
    ]

    assert {text: change(text, (path, REMOVED)) for text, path, _ in cases} == {text: new for text, _, new in cases}


def test_the_last_item_leaves_an_empty_list_and_the_last_member_an_empty_mapping() -> None:
    """Ours: null would mean another thing."""
    both = change(TEXT, ((*SERVERS, 0), REMOVED), ((*SERVERS, 0), REMOVED))
    assert "  servers: []\n  # the second\n  custom_dir" in both
    assert parse(both)["mcp"] == {"servers": [], "custom_dir": ".prototype/mcp/"}
    emptied = change(TEXT, ((*SERVERS, 0, "settings", "url"), REMOVED), ((*SERVERS, 0, "settings", "depth"), REMOVED))
    assert "    settings: {}\n" in emptied
    assert change("a: 1\n", (("a",), REMOVED)) == ""


def test_a_first_item_is_inserted_in_every_form_of_a_file() -> None:
    """A12: a file without servers, in every form that one can have; `servers: []` is what az prototype writes."""
    cases: list[tuple[str, str | None]] = [
        ("", "mcp:\n  servers:\n    - name: a\n"),
        ("# only a comment", "# only a comment\nmcp:\n  servers:\n    - name: a\n"),
        ("mcp:\n", "mcp:\n  servers:\n    - name: a\n"),
        ("mcp: ~  # later\n# end\n", "mcp:  # later\n  servers:\n    - name: a\n# end\n"),
        ("mcp:\n  servers:\nother: 1\n", "mcp:\n  servers:\n    - name: a\nother: 1\n"),
        ("mcp:\n  servers: []   # none\n", "mcp:\n  servers:   # none\n    - name: a\n"),
        ("mcp: {servers: []}\n", 'mcp: {servers: [{"name": "a"}]}\n'),
        ("mcp: {servers: [{name: b}]}", 'mcp: {servers: [{name: b}, {"name": "a"}]}'),
        ("x: 1\r\nmcp:\r\n- 1\r\n", None),
        ("x: 1\r\nmcp:\r\n  x: 1", "x: 1\r\nmcp:\r\n  x: 1\r\n  servers:\r\n    - name: a\r\n"),
        ("---\nx: 1\n...\n", "---\nx: 1\nmcp:\n  servers:\n    - name: a\n...\n"),
        ("mcp:\n  servers:\n  -   name: b\n", "mcp:\n  servers:\n  -   name: b\n  - name: a\n"),
        ("mcp: text\n", None),
        ("- 1\n", None),
    ]

    def with_item(text: str) -> str | None:
        try:
            return change(text, ((*SERVERS, 0 if "b" not in text else 1), {"name": "a"}))
        except TextProblemError:
            return None

    assert {text: with_item(text) for text, _ in cases} == dict(cases)


def test_a_value_that_cannot_be_changed_alone_is_refused() -> None:
    """A12: never a change of anything else, and never a loss."""
    cases = [
        # Another place shares the value.
        ("a: &x {b: 1}\nc: *x\n", ("c", "b"), 2),
        ("a: &x\n  b: 1\nc: *x\n", ("a", "b"), 2),
        ("a: &x\n  b: 1\nc: *x\n", ("a",), 2),
        ("base: &x {b: 1, d: 2}\nc:\n  <<: *x\n", ("c", "b"), REMOVED),
        # Comments would be lost.
        ("a: [1,  # one\n  2]\n", ("a",), [1]),
        ("a: {b: 1,  # one\n  c: 2}\n", ("a", "b"), REMOVED),
        ("a: {b: 1,  # one\n  c: 2}\n", ("a", "c"), REMOVED),
        ("a: &x\n  b: 1\n", ("a",), [1]),
        # A list in a list, and what is neither a list nor a mapping.
        ("- - a\n  - b\n", (0,), 1),
        ("- - a\n  - b\n", (0, 0), REMOVED),
        ("a: 1\n", ("a", "b"), 1),
        ("[1]\n", (0, "a"), 1),
        # A key without a colon.
        ("? a\n", ("a",), 1),
        ("b: 1\n? a\n", ("c",), 1),
        ("c: {d: 1, a}\n", ("c", "a"), REMOVED),
    ]

    accepted = []
    for text, path, value in cases:
        with suppress(TextProblemError):
            change(text, (path, value))
            accepted.append((text, path, value))

    assert not accepted


def test_changes_after_which_a_text_cannot_be_read_are_named() -> None:
    """A12: the last of them, or one before others."""
    text = "a: &x 1\nb: *x\n"

    for changes in ([(("a",), 2)], [(("a",), 2), (("d",), 1)]):
        with pytest.raises(TextProblemError, match=r"^'a': written in a form"):
            change(text, *changes)


def test_a_merged_mapping_is_overridden_in_its_own_place() -> None:
    """Ours: the anchor is for all who refer to it."""
    text = "base: &x {timeout: 1, a: 2}\nc:\n  <<: *x\n  name: c\n"
    assert change(text, (("c", "timeout"), 3)) == text + "  timeout: 3\n"


def test_a_text_that_cannot_be_read_is_not_changed() -> None:
    """A12: two documents, a repeated key, a tab, an unknown alias, a circle."""
    cases = ["a: 1\n---\nb: 2\n", "a: 1\na: 2\n", "\ta: 1\n", "a: *b\n", "a: &a [*a]\n"]

    accepted = []
    for text in cases:
        with suppress(TextProblemError):
            change(text, (("new",), 1))
            accepted.append(text)

    assert not accepted


def test_a_problem_has_line_and_column() -> None:
    """Ours: line and column, counted from 1."""
    with pytest.raises(TextProblemError) as caught:
        change("a:\n  b: 1\n", (("a", "b", "c"), 1))
    assert (caught.value.line, caught.value.column) == (2, 6)
    assert repr(REMOVED) == "REMOVED"


def test_plain_values_are_not_shared() -> None:
    """Ours: two servers may refer to one mapping, and only one of them is changed."""
    value = plain(parse("a: &x {b: [1]}\nc: *x\n"))
    value["a"]["b"].append(2)
    assert value["c"] == {"b": [1]}


scalars = (
    st.none() | st.booleans() | st.integers(-9, 99) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
names = st.text("abc-_ .:#é", min_size=1, max_size=4)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))


@steady
@given(st.dictionaries(names, values, max_size=3), names, values, names, values)
def test_any_value_is_set_and_removed_again(
    document: dict[str, Any], first: str, one: Any, second: str, two: Any
) -> None:
    """Ours: what is written is read as the same value, and nothing else has changed."""
    text = edited("# top\n", [Change((key,), value) for key, value in document.items()])
    assert (parse(text) or {}) == document
    put = edited(text, [Change((first,), {"x": 1, second: one, "y": [2]})])
    assert parse(put) == {**document, first: {"x": 1, second: one, "y": [2]}}
    replaced = edited(put, [Change((first, second), two)])
    assert parse(replaced) == {**document, first: {"x": 1, second: two, "y": [2]} | ({second: two})}
    removed = edited(replaced, [Change((first,), REMOVED)])
    assert (parse(removed) or {}) == {key: value for key, value in document.items() if key != first}
