"""Candidates for the last word of a command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.app import COMMANDS, app
from gaia_mcp.cli.completion.answering import MAX_DESCRIBED, Candidate, candidates
from tests.cli.completion.conftest import after, described

if TYPE_CHECKING:
    from collections.abc import Callable


def test_commands_are_offered_after_the_program(known: None) -> None:
    """Ours: under both of its names."""
    assert after("") == ["mcp"]
    assert after("--v") == ["--version"]
    assert after("mcp", "") == list(COMMANDS) == after("", program="gmcp")
    assert after("mcp", "te") == ["test-client"]
    assert after("te", program="gmcp") == ["test-client"]
    assert described("mcp", "call") == {"call": "Call a tool and print what it returns."}
    assert candidates([]) == candidates([""])


def test_a_command_is_described_as_in_the_help(known: None) -> None:
    """Ours: the description comes from the generated table, since loading a command takes too long."""
    program: Any = typer.main.get_command(app)
    group = program.get_command(None, "mcp")
    helps = {name: group.get_command(None, name).get_short_help_str(200) for name in COMMANDS}

    assert {name: described("mcp", name)[name] for name in COMMANDS} == helps


def test_mcp_may_be_omitted(known: None) -> None:
    """Ours: as on the command line itself."""
    assert after("call", "de") == ["demo", "deaf"] == after("mcp", "call", "de")


def test_options_of_the_command_are_offered_once(known: None) -> None:
    """Ours: with their help; a given option is omitted unless it may be repeated."""
    assert described("mcp", "list", "--ch") == {"--check": "Connect to every enabled server."}
    assert after("mcp", "list", "--check", "--ch") == []
    assert "--help" in after("mcp", "list", "")
    assert after("mcp", "serve", "demo", "--kwarg", "a=1", "--kw") == ["--kwarg"]
    assert after("mcp", "list", "--nonsense", "--ch") == ["--check"]


def test_the_value_of_an_option_is_not_an_argument(known: None) -> None:
    """Ours: whether it follows the option or is attached to it."""
    Path("servers.json").touch()
    assert after("mcp", "call", "--timeout", "3", "de") == ["demo", "deaf"]
    assert after("mcp", "call", "--timeout=3", "de") == ["demo", "deaf"]
    assert after("mcp", "list", "--config", "") == ["servers.json"]
    assert after("mcp", "list", "--config=s") == ["--config=servers.json"]
    assert after("mcp", "list", "--timeout", "") == []
    assert after("mcp", "edit", "--keep-alive", "de") == ["demo", "deaf"]


def test_arguments_of_a_tool_are_offered_after_the_options_of_the_command(known: None) -> None:
    """Ours: a tool's argument may be typed as an option."""
    assert after("mcp", "call", "demo", "greet", "--")[-3:] == ["--name", "--loud", "--style"]
    assert after("mcp", "call", "demo.greet", "--sty") == ["--style"]
    assert after("mcp", "call", "demo", "greet", "--style", "w") == ["warm"]
    assert after("mcp", "call", "demo", "greet", "--style=w") == ["--style=warm"]
    assert after("mcp", "call", "demo", "greet", "--style", "warm", "--json", "--sty") == []
    assert "--name" not in after("mcp", "call", "demo", "--")
    assert "--name" not in after("mcp", "prompt", "demo", "review", "--")


def test_an_unknown_command_or_argument_has_no_candidates(known: None) -> None:
    """Ours: a candidate that the command refuses would be wrong advice."""
    assert after("nonsense", "") == after("mcp", "nonsense", "") == after("mcp", "remove", "--", "--j") == []
    assert after("mcp", "show", "demo", "more", "x") == []
    assert after("mcp", "add", "new", "--", "") == []


def test_a_word_after_two_dashes_is_an_argument(known: None) -> None:
    """POSIX, utility syntax guideline 10: `--` ends the options, not the arguments."""
    assert after("mcp", "call", "--", "de") == ["demo", "deaf"]


def test_a_name_with_a_leading_dash_is_offered_only_after_two_dashes(
    configure: Callable[[dict[str, Any]], None],
) -> None:
    """Ours: before them it would be read as an option."""
    configure({"--json": {"command": "x"}, "-a": {"command": "x"}})

    assert after("mcp", "show", "") == []
    assert after("mcp", "show", "--", "") == ["--json", "-a"]


def test_names_with_control_characters_are_not_offered(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: such a name cannot be typed; control characters in descriptions are escaped."""
    entry = {"command": "x\x1b[2J", "args": ["\u202eabc", "a\nb"]}
    bad = ("bad\x1b[2J", "tab\tbed", "tab\t\u00e4", "two\n\u00e4", "turned\u202e", "half\ud800", "")
    good = ("good", "sch\u00f6n \U0001f600", "\U0001f469\u200d\U0001f4bb", "\u05e9\u05dc\u05d5\u05dd", "a b", "\\'\"$")
    configure(dict.fromkeys([*bad, *good], entry))

    found = described("mcp", "call", "")

    assert tuple(found) == good
    assert found["good"] == "x\\x1b[2J '\\u202eabc' 'a b'"


def test_long_lists_have_no_descriptions(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: a long list is scanned for a name, and descriptions would take several screens."""
    configure({f"s{number}": {"command": "x"} for number in range(MAX_DESCRIBED + 1)})

    assert candidates(["mcp", "call", ""])[0] == Candidate("s0", "")
    assert candidates(["mcp", "call", "s1"])[0] == Candidate("s1", "x")
