"""The differences between two versions of an entry."""

from __future__ import annotations

from typing import Any

from gaia_mcp.cli.entries.remarks import Difference, differences, in_words, readable
from gaia_mcp.config.entries import read_entry


def between(before: Any, after: dict[str, Any]) -> dict[str, Difference]:
    return differences(before, readable("x", before), read_entry("x", after))


def test_variables_and_headers_are_compared_one_by_one() -> None:
    """Ours: their values are masked as secrets, except for references such as ${C}."""
    before = {"command": "x", "env": {"A": "hunter2222", "B": "1"}, "headers": 7}
    after = {"command": "x", "env": {"A": "hunter3333", "B": "1", "C": "${C}"}}

    assert between(before, after) == {
        "env.A": Difference("****", "****"),
        "headers": Difference("****", None),
        "env.C": Difference(None, "${C}"),
    }


def test_a_changed_unknown_member_is_shown_with_its_value_masked() -> None:
    """Ours: it may be a secret."""
    assert between({"command": "x", "x_mine": "a"}, {"command": "x", "x_mine": "b", "n": 1}) == {
        "x_mine": Difference("****", "****"),
        "n": Difference(None, "****"),
    }


def test_the_type_of_a_server_is_not_masked() -> None:
    """Ours: in a valid entry it can only name a transport."""
    assert between({"url": "https://x", "type": "sse"}, {"url": "https://x"}) == {"type": Difference("sse", None)}


def test_an_invalid_entry_is_not_shown() -> None:
    """Ours: any member of an entry that is not understood may be a secret."""
    assert between({"command": 7}, {"command": "x"}) == {"command": Difference("****", "x")}
    assert between("uvx x", {"command": "x"}) == {"command": Difference(None, "x")}


def test_secrets_among_the_arguments_are_masked() -> None:
    """Ours: as `list` does."""
    found = between({"command": "x"}, {"command": "x", "args": ["--token", "hunter2222"]})

    assert found == {"args": Difference(None, ["--token", "****"])}


def test_a_value_is_printed_on_one_line() -> None:
    """Ours: `edit` prints a line for each member that has changed."""
    assert [in_words(value) for value in (None, "a\nb", ["a", 1], True)] == ["nothing", "a b", '["a", 1]', "true"]
