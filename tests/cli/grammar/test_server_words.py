"""What two dashes mean in a command that uses a server."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.grammar.parsing import parse_line
from gaia_mcp.cli.grammar.server_words import ServerWords

NAMES = ["fetch", "time"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # TOOL [ARG...] -- COMMAND [ARG...]
        (["fetch"], ["uvx", "mcp-server-fetch"], True),
        (["fetch", "url=x"], ["uvx", "mcp-server-fetch"], True),
        (["fetch", "url=x"], ["./server"], True),
        (["now"], ["./server", "--zone=UTC"], True),
        (["time.now"], ["uvx", "x"], True),
        # What the dashes mean elsewhere: no more options.
        (["time", "now"], ["zone=UTC"], False),
        (["time"], ["now", "zone=UTC"], False),
        (["./agent.py", "add"], ["--text=x"], False),
        (["./agent.py", "add"], ["--text", "x"], False),
        (["time", "now"], ["--zone", "UTC"], False),
        (["./agent.py", "add"], ['{"text": "x"}'], False),
        (["fetch", "--url", "x"], ["uvx", "mcp-server-fetch"], True),
        ([], ["time", "now", "zone=UTC"], False),
        ([], ["uvx", "x"], False),
        (["time", "now"], [], False),
        # A configured name wins.
        (["time"], ["now"], False),
        (["time", "now"], ["Oslo"], False),
    ],
)
def test_two_dashes_begin_a_command_unless_the_line_names_a_server_without_them(
    before: list[str], after: list[str], expected: bool
) -> None:
    """Ours: what worked before there were commands after the dashes works as it did."""
    assert ServerWords(before, after).has_command(NAMES) is expected


def test_without_a_tool_any_words_after_a_name_belong_to_it() -> None:
    """Ours: `watch NAME [URI...]`, and `watch [URI...] -- COMMAND`."""
    assert not ServerWords(["time"], ["a:1", "b:2"]).has_command(NAMES, has_item=False)
    assert ServerWords(["a:1"], ["uvx", "x"]).has_command(NAMES, has_item=False)
    assert ServerWords([], ["uvx", "x"]).has_command(NAMES, has_item=False)


def test_the_words_after_the_dashes_are_the_last() -> None:
    """Ours: Typer passes all of them on without the dashes."""
    assert ServerWords.of(["a", "b", "c"], ["b", "c"]) == ServerWords(["a"], ["b", "c"])
    assert ServerWords.of(["a"], []).words == ["a"]


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (["now", "--", "uvx", "--x", "--", "y"], ["uvx", "--x", "--", "y"]),
        (["now", "--args", "--", "x"], []),
        (["now", "--args", "--", "--", "x"], ["x"]),
        (["now", "--json"], []),
    ],
)
def test_dashes_that_are_the_value_of_an_option_begin_nothing(words: list[str], after: list[str]) -> None:
    """Typer takes them for the value."""
    assert parse_line(["mcp", "call", *words]).after == after
