"""YAML, read: an error names what is wrong, and quotes no value."""

from __future__ import annotations

from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.text.yaml import offset_of, parse

SECRET = "lpd_8fK2mQ9xZ7wQ"
TAGS = ("bool", "int", "float", "timestamp", "null", "binary", "omap", "pairs", "set", "map", "seq", "unknown", "merge")


def test_no_value_is_part_of_an_error() -> None:
    """A12: a secret is in no output; line and column lead to the place."""
    cases = [
        (f"key: {SECRET}\nkey: {SECRET}2\n", 'not YAML: found duplicate key "key"'),
        (f"key: *{SECRET}\n", "not YAML: found undefined alias"),
        (f"key: !{SECRET} x\n", "not YAML: could not determine a constructor for the tag"),
        (f"key: !!int {SECRET}\n", "not YAML: invalid literal for int() with base 10:"),
        (f"key: !!bool {SECRET}\n", "not YAML: a value is not of the type that its tag tells"),
        (f"key: %{SECRET}\n", "not YAML: found character '%' that cannot start any token"),
        (f'key: "\\q{SECRET}\n', "not YAML: found unknown escape character 'q'"),
        ("a: 1\n\tb: 2", "not YAML: found character '\\t' that cannot start any token"),
    ]

    wrong = []
    for text, problem in cases:
        try:
            parse(text)
        except TextProblemError as error:
            if not (error.problem == problem and SECRET not in str(error)):
                wrong.append((text, problem, error))
        else:
            wrong.append((text, problem, None))

    assert not wrong


def test_a_tag_on_any_value_is_read_or_refused() -> None:
    """A12, bad input: never an exception of the reader, and never a value in the message."""
    values = [SECRET, f'"{SECRET}"', f"[{SECRET}]", f"{{{SECRET}: 1}}", f"[{{a: {SECRET}}}, 1]", ""]

    quoted = []
    for text in (f"a: !!{tag} {value}\n" for tag in TAGS for value in values):
        try:
            parse(text)
        except TextProblemError as problem:
            if SECRET in problem.problem:
                quoted.append((text, problem))
        except Exception as error:
            error.add_note(repr(text))
            raise

    assert not quoted


def test_the_offset_of_a_missing_value_is_that_of_its_nearest_parent() -> None:
    """Ours: for an error about a value that may be missing."""
    cases = [
        ((), "a:"),
        (("a",), "- b"),
        (("a", 0), "b: 1"),
        (("a", 0, "b"), "1"),
        (("a", 5), "- b"),
        (("x", "y"), "a:"),
    ]

    text = "a:\n  - b: 1\n"
    wrong = [(path, found) for path, found in cases if not text[offset_of(text, path) :].startswith(found)]

    assert not wrong
