"""The meaning of two dashes in a command that uses a server."""

from __future__ import annotations

from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.grammar.parsing import parse_line

NAMES = ["fetch", "time"]


def test_two_dashes_begin_a_command_unless_a_server_is_named_before_them() -> None:
    """Ours: `call NAME TOOL -- key=value` ends the options, and `call TOOL -- COMMAND` names a server."""
    lines: list[tuple[list[str], list[str], bool]] = [
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
    ]

    found = [(before, after, ServerWords(before, after).has_command(NAMES)) for before, after, _ in lines]
    assert found == lines


def test_words_after_a_server_belong_to_it_in_commands_without_a_tool() -> None:
    """Ours: `watch NAME [URI...]`, and `watch [URI...] -- COMMAND`."""
    assert not ServerWords(["time"], ["a:1", "b:2"]).has_command(NAMES, has_item=False)
    assert ServerWords(["a:1"], ["uvx", "x"]).has_command(NAMES, has_item=False)
    assert ServerWords([], ["uvx", "x"]).has_command(NAMES, has_item=False)


def test_words_are_split_at_the_two_dashes() -> None:
    """Ours: Typer removes the dashes and passes all words on."""
    assert ServerWords.of(["a", "b", "c"], ["b", "c"]) == ServerWords(["a"], ["b", "c"])
    assert ServerWords.of(["a"], []).words == ["a"]


def test_two_dashes_as_the_value_of_an_option_begin_no_command() -> None:
    """Typer: an option takes the next word as its value, also `--`."""
    after = {
        "now -- uvx --x -- y": ["uvx", "--x", "--", "y"],
        "now --args -- x": [],
        "now --args -- -- x": ["x"],
        "now --json": [],
    }

    assert {line: parse_line(["mcp", "call", *line.split()]).after for line in after} == after
