"""What is different between two versions of an entry."""

from __future__ import annotations

from typing import Any

from gaia_mcp.cli.entries.difference import Difference, differences, in_words, readable
from gaia_mcp.config.entries import read_entry


def between(before: Any, after: dict[str, Any]) -> dict[str, Difference]:
    return differences(before, readable("x", before), read_entry("x", after))


def test_each_variable_and_header_counts_on_its_own() -> None:
    """Ours: secrets are masked, references are none."""
    before = {"command": "x", "env": {"A": "hunter2222", "B": "1"}, "headers": 7}
    after = {"command": "x", "env": {"A": "hunter3333", "B": "1", "C": "${C}"}}

    assert between(before, after) == {
        "env.A": Difference("****", "****"),
        "headers": Difference("****", None),
        "env.C": Difference(None, "${C}"),
    }


def test_of_an_unknown_member_only_is_told_that_it_has_changed() -> None:
    """Ours: it may be a secret."""
    assert between({"command": "x", "x_mine": "a"}, {"command": "x", "x_mine": "b", "n": 1}) == {
        "x_mine": Difference("****", "****"),
        "n": Difference(None, "****"),
    }


def test_the_type_of_a_server_is_no_secret() -> None:
    """Ours: of an entry that is valid."""
    assert between({"url": "https://x", "type": "sse"}, {"url": "https://x"}) == {"type": Difference("sse", None)}


def test_an_entry_that_makes_no_sense_is_not_shown() -> None:
    """Ours."""
    assert between({"command": 7}, {"command": "x"}) == {"command": Difference("****", "x")}
    assert between("uvx x", {"command": "x"}) == {"command": Difference(None, "x")}


def test_secrets_among_the_arguments_are_masked() -> None:
    """Ours: as `list` does."""
    found = between({"command": "x"}, {"command": "x", "args": ["--token", "hunter2222"]})

    assert found == {"args": Difference(None, ["--token", "****"])}


def test_a_value_in_words_stands_on_one_line() -> None:
    """Ours."""
    assert [in_words(value) for value in (None, "a\nb", ["a", 1], True)] == ["nothing", "a b", '["a", 1]', "true"]
