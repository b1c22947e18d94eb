"""YAML, read: what is wrong with a text is told without the values in it."""

from __future__ import annotations

import pytest

from gaia_mcp.textproblems import TextProblemError
from gaia_mcp.yamltext.reading import offset_of, parse

SECRET = "lpd_8fK2mQ9xZ7wQ"
TAGS = ("bool", "int", "float", "timestamp", "null", "binary", "omap", "pairs", "set", "map", "seq", "unknown", "merge")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"key: {SECRET}\nkey: {SECRET}2\n", 'not YAML: found duplicate key "key"'),
        (f"key: *{SECRET}\n", "not YAML: found undefined alias"),
        (f"key: !{SECRET} x\n", "not YAML: could not determine a constructor for the tag"),
        (f"key: !!int {SECRET}\n", "not YAML: invalid literal for int() with base 10:"),
        (f"key: !!bool {SECRET}\n", "not YAML: a value is not of the type that its tag tells"),
        (f"key: %{SECRET}\n", "not YAML: found character '%' that cannot start any token"),
        (f'key: "\\q{SECRET}\n', "not YAML: found unknown escape character 'q'"),
        ("a: 1\n\tb: 2", "not YAML: found character '\\t' that cannot start any token"),
    ],
)
def test_no_value_is_part_of_an_error(text: str, problem: str) -> None:
    """A12: a secret is in no output; line and column lead to the place."""
    with pytest.raises(TextProblemError) as caught:
        parse(text)
    assert caught.value.problem == problem
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize(
    "value", [SECRET, f'"{SECRET}"', f"[{SECRET}]", f"{{{SECRET}: 1}}", f"[{{a: {SECRET}}}, 1]", ""]
)
def test_a_tag_on_any_value_is_read_or_is_a_problem_of_the_text(tag: str, value: str) -> None:
    """A12, bad input: never an exception of the reader, and never a value in the message."""
    try:
        parse(f"a: !!{tag} {value}\n")
    except TextProblemError as problem:
        assert SECRET not in problem.problem  # noqa: PT017 (it may as well be read)


@pytest.mark.parametrize(
    ("path", "found"),
    [((), "a:"), (("a",), "- b"), (("a", 0), "b: 1"), (("a", 0, "b"), "1"), (("a", 5), "- b"), (("x", "y"), "a:")],
)
def test_the_place_of_a_value_or_of_the_last_one_before_it(path: tuple[str | int, ...], found: str) -> None:
    """Ours: for an error about a value that may be missing."""
    text = "a:\n  - b: 1\n"
    assert text[offset_of(text, path) :].startswith(found)
