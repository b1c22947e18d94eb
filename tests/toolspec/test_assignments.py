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

    @pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '{"b": [{"a": {}, "a": {}}]}'])
    def test_a_key_that_appears_twice_is_named(self, text: str) -> None:
        """Ours: of two values one would be lost without a word."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: the key 'a' appears twice in one object$"):
            read_object(text, "--args")

    @pytest.mark.parametrize("text", [r'{"a": "\ud800"}', r'{"a": [{"\udfff": 1}]}'])
    def test_half_of_a_surrogate_pair_is_refused(self, text: str) -> None:
        """Ours: what is typed is what is sent, and it cannot be sent."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: half of a surrogate pair"):
            read_object(text, "--args")

    def test_bytes_that_are_not_text_are_refused(self) -> None:
        """Ours: Python reads them as halves of surrogate pairs."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: not UTF-8$"):
            read_object('{"a": "\udcff"}', "--args")

    def test_a_pair_and_what_only_looks_like_a_half_are_read(self) -> None:
        """RFC 8259, section 7."""
        assert read_object(r'{"a": "\ud83d\ude00 \\ud800"}', "--args") == {"a": "\U0001f600 \\ud800"}
