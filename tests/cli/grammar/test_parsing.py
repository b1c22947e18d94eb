"""The parser of the table, compared with Typer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from hypothesis import example, given
from hypothesis import strategies as st

from gaia_mcp.cli.app import app
from gaia_mcp.cli.grammar import with_group
from gaia_mcp.cli.grammar.parsing import PROGRAM, parse_line, with_option
from tests.protocol_support import steady

if TYPE_CHECKING:
    from gaia_mcp.cli.grammar import Command

COMMANDS: dict[str, Command] = dict(PROGRAM.commands["mcp"].commands)
OPTIONS = sorted({name for command in COMMANDS.values() for each in command.options for name in each.names})
VALUES = (
    "demo",
    "demo.greet",
    "greet",
    "name=Ada",
    "3",
    "nan",
    "",
    "-",
    "--",
    "-x",
    "-f=1",
    "--=",
    "=",
    "--nonsense",
    "ä",
)


def lines() -> st.SearchStrategy[tuple[str, list[str]]]:
    """Commands, each with words of which most are its own options or may be their values."""

    def words(name: str) -> st.SearchStrategy[tuple[str, list[str]]]:
        own = [option for each in COMMANDS[name].options for option in each.names]
        word = st.one_of(
            st.sampled_from(own),
            st.sampled_from(own).flatmap(lambda option: st.sampled_from(VALUES).map(lambda value: f"{option}={value}")),
            st.sampled_from(VALUES),
            st.sampled_from(OPTIONS),
            st.text(max_size=5),
        )
        return st.tuples(st.just(name), st.lists(word, max_size=8))

    return st.sampled_from(sorted(COMMANDS)).flatmap(words)


def parsed_by_typer(name: str, words: list[str]) -> dict[str, Any] | None:
    """What was given, by parameter, before values are converted; None for a line that Typer refuses for its form."""
    command: Any = typer.main.get_command(app)
    context = None
    for each in ("mcp", name):
        context = command.context_class(command, info_name=each, parent=context, **command.context_settings)
        command = command.get_command(context, each)
    context = command.context_class(command, info_name=name, parent=context)
    try:
        values, left, _ = command.make_parser(context).parse_args(list(words))
    except typer.BadParameter.__mro__[2]:
        return None
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    given = {name: value for name, value in given.items() if isinstance(value, (str, bool)) or value}
    missing = [each for each in command.params if each.required and each.name not in given]
    return None if left or missing else given


@steady
@given(lines())
@example(("call", ["--timeout", "--json", "demo", "greet"]))
@example(("call", ["--json=yes", "demo", "greet"]))
@example(("call", ["demo", "--", "greet", "--json", "--"]))
@example(("logs", ["-f", "demo", "-f"]))
@example(("record", ["demo"]))
@example(("add", ["--keep-alive", "x", "--", "--keep-alive"]))
@example(("edit", ["x", "--keep-alive=2h", "--env", "--keep-alive"]))
@example(("edit", ["x", "--keep-alive=", "--keep-alive"]))
@example(("show", ["one", "two"]))
def test_both_parsers_agree_on_every_line(line: tuple[str, list[str]]) -> None:
    """Ours: completion and a fast `call` must read a line as Typer does."""
    name, words = line

    parsed = parse_line(["mcp", name, *words])

    assert parsed.path == ("mcp", name)
    assert (parsed.values if parsed.is_valid else None) == parsed_by_typer(name, words)


def test_a_line_without_a_command_is_not_valid() -> None:
    """Ours: nothing would run."""
    lines = ["", "mcp", "mcp nonsense", "nonsense", "call", "--version", "--x mcp"]

    assert not [line for line in lines if parse_line(line.split()).is_valid]


def test_an_eager_option_is_noticed_at_every_level() -> None:
    """Typer: it ends the program before the command runs."""
    for words in (["--version", "mcp", "list"], ["mcp", "--help", "list"], ["mcp", "list", "--help"]):
        assert parse_line(words).is_eager
    assert not parse_line(["mcp", "call", "x", "--", "--help"]).is_eager


def test_help_and_aliases_lead_to_the_command() -> None:
    """Ours: completion after them offers what the command takes."""
    for words in (
        ["help", "mcp", "call", "demo"],
        ["mcp", "help", "call", "demo"],
        with_group(["help", "call", "demo"]),
    ):
        line = parse_line(words)
        assert (line.path, line.values, line.is_eager) == (("mcp", "call"), {"target": "demo"}, True)
    assert parse_line(["mcp", "rm", "demo"]).path == ("mcp", "remove")
    assert parse_line(["mcp", "rm", "demo"]).is_valid


def test_an_incomplete_line_is_parsed() -> None:
    """Ours: what is invalid is skipped, and an option waits for its value."""
    line = parse_line(["mcp", "watch", "--nonsense", "demo", "--json=yes", "a:1", "--config"])

    assert line.values == {"name": "demo", "as_json": True, "uris": ["a:1"]}
    assert line.awaited is not None
    assert line.awaited.names == ["--config"]
    assert not line.is_valid
    line.take("x.json")
    assert line.values["config"] == "x.json"


def test_an_unknown_option_of_a_call_is_an_argument() -> None:
    """Ours: it may be an argument of the tool, the prompt or the resource template."""
    line = parse_line(["mcp", "prompt", "demo", "greet", "--name", "Ada"])
    assert line.values == {"name": "demo", "prompt": "greet", "words": ["--name", "Ada"]}
    line = parse_line(["mcp", "call", "demo", "greet", "--name", "Ada", "--json", "--x=1", "-1"])

    assert line.values == {"target": "demo", "words": ["greet", "--name", "Ada", "--x=1", "-1"], "as_json": True}
    assert line.is_valid


def test_short_options_may_be_combined() -> None:
    """POSIX, utility syntax guideline 5: `-fh` is `-f -h`."""
    assert parse_line(["mcp", "logs", "demo", "-fh"]).is_eager
    assert not parse_line(["mcp", "logs", "demo", "-fx"]).is_valid


def test_an_optional_value_follows_an_equals_sign() -> None:
    """GNU getopt: the next word is not the value of an option whose value is optional."""
    line = parse_line(["mcp", "edit", "--keep-alive", "x"])
    assert (line.values, line.is_valid) == ({"keep_alive": "true", "name": "x"}, True)
    line = parse_line(["mcp", "edit", "--keep-alive=30m", "x"])
    assert (line.values, line.is_valid) == ({"keep_alive": "30m", "name": "x"}, True)


def test_the_next_argument_is_the_first_unfilled_one() -> None:
    """Ours: the last argument may take several words."""
    line = parse_line(["mcp", "call"])
    found = []
    for word in ("demo", "greet", "name=Ada"):
        assert line.next_argument is not None
        found.append(line.next_argument.parameter)
        line.take(word)

    assert found == ["target", "words", "words"]
    assert parse_line(["mcp", "replay", "file"]).next_argument is None


def test_an_option_is_added_or_gets_another_value() -> None:
    """Ours: a hint is the typed line with one change; an option that takes one value may be given once."""
    rows = [
        ("call s t", ["--timeout", "9"], "call s t --timeout 9"),
        ("call s --timeout 5 t", ["--timeout", "9"], "call s t --timeout 9"),
        ("call s t --timeout=5 --json", ["--timeout", "9"], "call s t --json --timeout 9"),
        ("call s t -o a", ["--output", "b"], "call s t --output b"),
        ("call s t -oa", ["-o", "b"], "call s t -o b"),
        ("call s t --args --timeout x=1", ["--timeout", "9"], "call s t --args --timeout x=1 --timeout 9"),
        ("add s --env A=1 -- node x", ["--env", "B=2"], "add s --env A=1 --env B=2 -- node x"),
        ("add s --cwd a -- node --cwd c", ["--cwd", "b"], "add s --cwd b -- node --cwd c"),
        ("list --check", ["--debug"], "list --check --debug"),
    ]

    assert [" ".join(with_option(line.split(), option)) for line, option, _ in rows] == [line for *_, line in rows]
