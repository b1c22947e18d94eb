"""Arguments that are typed like options."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from gaia_mcp.toolspec.arguments import (
    ArgumentSyntaxError,
    Assignment,
    NoKeyError,
    OptionUnknownError,
    given_keys,
    key_of,
    read_arguments,
)

SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "loud": {"type": "boolean"},
        "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "either": {"type": ["boolean", "string"]},
        "get_all": {"type": "string"},
        "dryRun": {"type": "boolean"},
        "a-b": {},
        "a_b": {},
        "--odd": {},
    },
    "required": ["text"],
}


def given(*words: str, schema: Any = SCHEMA) -> list[tuple[str, str]]:
    """Keys and values."""
    return [(key, value) for key, value, _ in read_arguments(words, schema).assignments]


def test_an_option_is_the_argument_of_that_name() -> None:
    """Ours: as `key=value` is. That of a boolean needs no value."""
    cases = [
        (("--count", "1", "--text=x"), [("count", "1"), ("text", "x")]),
        (("--count", "-1"), [("count", "-1")]),
        (("--text=--x",), [("text", "--x")]),
        (("--text", ""), [("text", "")]),
        (("--text", "a=b", "count=2"), [("text", "a=b"), ("count", "2")]),
        (("--text", "{}"), [("text", "{}")]),
        (("--loud",), [("loud", "true")]),
        (("--loud", "--count", "1"), [("loud", "true"), ("count", "1")]),
        (("--loud", "text=x"), [("loud", "true"), ("text", "x")]),
        (("--loud", "No"), [("loud", "No")]),
        (("--sure", "text=x"), [("sure", "true"), ("text", "x")]),
        (("--either", "text=x"), [("either", "text=x")]),
        (("--get-all", "x"), [("get_all", "x")]),
        (("--getAll", "x"), [("get_all", "x")]),
        (("--dry-run",), [("dryRun", "true")]),
        (("--a-b", "x"), [("a-b", "x")]),
        (("--odd=x",), [("--odd", "x")]),
    ]

    wrong = [(words, found) for words, expected in cases if (found := given(*words)) != expected]

    assert not wrong


def test_json_may_be_given_to_an_option() -> None:
    """Ours: behind `:=`, as without dashes."""
    assert read_arguments(["--count:=1"], SCHEMA).assignments == [Assignment("count", "1", raw=True)]


def test_an_option_that_is_not_an_argument_is_refused() -> None:
    """Ours: also if the schema allows any key: it may be one of ours, misspelt, such as `--lockd`."""
    cases = [("--nonsense", "1"), ("--nonsense",), ("--aB", "x"), ("-x",), ("-x=1",), ("-1",)]

    def problem(words: tuple[str, ...]) -> Any:
        try:
            read_arguments(words, {**SCHEMA, "additionalProperties": True})
        except OptionUnknownError as error:
            return error.option
        return None

    wrong = [(words, found) for words in cases if (found := problem(words)) != words[0].partition(" ")[0]]

    assert not wrong


@pytest.mark.parametrize("words", [("--text",), ("--text", "--count", "1"), ("--either",)])
def test_an_option_without_its_value_is_refused(words: tuple[str, ...]) -> None:
    """Ours, bad input."""
    with pytest.raises(ArgumentSyntaxError, match=f"{words[0]} needs a value"):
        read_arguments(words, SCHEMA)


def test_a_value_without_a_key_is_refused() -> None:
    """Ours: also behind the option of a boolean."""
    for words in (["x"], ["--count", "1", "x"], ["--loud", "x"]):
        with pytest.raises(NoKeyError, match="'x' is not key=value"):
            read_arguments(words, SCHEMA)


def test_a_json_object_is_the_base_of_the_other_arguments() -> None:
    """Ours: as that of `--args`."""
    read = read_arguments(['{"count": 1}', "--text", "x"], SCHEMA)

    assert (read.base, read.assignments) == ({"count": 1}, [Assignment("text", "x", raw=False)])
    assert read_arguments(["--loud", " {}"], SCHEMA).base == {}
    assert read_arguments([], SCHEMA).base is None
    for words in (["{}", "{}"], ['{"a"'], ["{a=1}"]):
        with pytest.raises(ArgumentSyntaxError):
            read_arguments(words, SCHEMA)


def test_without_a_schema_only_impossible_options_are_refused() -> None:
    """Ours: a mistake that can be seen before the server is started."""
    for words in (["--x", "y", "z=1"], ["--x"], ["--x", "--y"], ["-x=1"], ["--x=1", "{}"]):
        read_arguments(words)
    for words in (["y"], ["--x", "y", "z"]):
        with pytest.raises(NoKeyError):
            read_arguments(words)
    with pytest.raises(OptionUnknownError):
        read_arguments(["-x"])


def test_a_key_is_found_under_its_exact_name_first() -> None:
    """Ours: and under a similar one only if that is the only one."""
    known = SCHEMA["properties"]

    found = {option: key_of(option, known) for option in ("a-b", "a_b", "ab", "GETALL", "x")}

    assert found == {"a-b": "a-b", "a_b": "a_b", "ab": None, "GETALL": "get_all", "x": None}


def test_given_keys_are_read_from_every_notation() -> None:
    """Ours: for a TAB, whose line may be wrong."""
    words = ["text=x", "count:=1", "--dry-run", "--get-all", "y", "stray", "--other", "z", "--loud"]

    assert given_keys(words, SCHEMA) == ["text", "count", "dryRun", "get_all", "other", "loud"]


def test_an_invalid_schema_has_no_options() -> None:
    """Ours, bad input: a server may send any schema."""
    accepted = []
    for schema in ({}, [], "x", {"properties": 7}, {"properties": {"a": 7}}):
        assert given("b=1", schema=schema) == [("b", "1")], schema
        with suppress(OptionUnknownError):
            given("--b=1", schema=schema)
            accepted.append(schema)

    assert not accepted
