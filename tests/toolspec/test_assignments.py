"""Arguments as they are typed in a shell."""

from __future__ import annotations

import pytest

from gaia_mcp.toolspec.assignments import ArgumentSyntaxError, Assignment, read_assignment, read_object


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a=b", Assignment("a", "b", False)),
        ("a=", Assignment("a", "", False)),
        ("a==b", Assignment("a", "=b", False)),
        ("a=b=c", Assignment("a", "b=c", False)),
        ("a:=1", Assignment("a", "1", True)),
        ("a=:=1", Assignment("a", ":=1", False)),
        ("a:b=c", Assignment("a:b", "c", False)),
        ("a::=1", Assignment("a:", "1", True)),
        ("a.b-c d=x", Assignment("a.b-c d", "x", False)),
        ("a=x\ny\n", Assignment("a", "x\ny\n", False)),
        ("a=@file", Assignment("a", "@file", False)),
        (":=1", Assignment(":", "1", False)),
    ],
)
def test_an_assignment_is_taken_apart_at_its_first_sign(text: str, read: Assignment) -> None:
    """Ours: `key=value` and `key:=JSON`."""
    assert read_assignment(text) == read


@pytest.mark.parametrize("text", ["", "a", "=b", "--flag", "a:b"])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    """Ours: exit code 2 says which word was wrong."""
    with pytest.raises(ArgumentSyntaxError, match="is not key=value"):
        read_assignment(text)


class TestReadObject:
    """`--args JSON`."""

    def test_an_object_is_read(self) -> None:
        """Ours."""
        assert read_object(' {"a": [1, null, 1.5]} ', "--args") == {"a": [1, None, 1.5]}

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("[1]", "a list"),
            ("null", "null"),
            ("true", "a boolean"),
            ("1", "a number"),
            ("1.5", "a number"),
            ('"a"', "a string"),
        ],
    )
    def test_anything_else_is_named(self, text: str, kind: str) -> None:
        """Ours: the commonest slip is to forget the braces."""
        with pytest.raises(ArgumentSyntaxError, match=f"--args holds {kind}"):
            read_object(text, "--args")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "{'a': 1}",
            '{"a": NaN}',
            '{"a": -Infinity}',
            '{"a": 1e999}',
            '{"a": ' + "9" * 5000 + "}",
            "[" * 100_000,
        ],
        ids=lambda text: text[:20],
    )
    def test_what_is_no_json_is_refused(self, text: str) -> None:
        """RFC 8259: no infinities; and Python's own limits are no crash."""
        with pytest.raises(ArgumentSyntaxError, match="--args"):
            read_object(text, "--args")
