"""The commands as the manual shows them."""

from __future__ import annotations

from gaia_mcp.cli.app import COMMANDS, HEADINGS
from gaia_mcp.cli.manual.tree import Option, commands

# Where an option has another meaning, which the manual then gives beside the command.
OF_THEIR_OWN = {
    ("login", "--timeout"): "a person has more time than a server",
    ("watch", "--timeout"): "waiting is what it is for, so the end of that is no failure",
}
FOUND = {command.name: command for command in commands()}


def test_commands_are_in_the_order_of_the_help() -> None:
    """Ours: and each group of the help begins with an existing command."""
    assert list(FOUND) == list(COMMANDS)
    assert next(iter(HEADINGS)) == next(iter(COMMANDS))
    assert set(HEADINGS) <= set(COMMANDS)


def test_every_command_has_a_summary_help_and_an_example() -> None:
    """Ours: a summary that is a sentence, help for each argument and option, an example."""
    for command in FOUND.values():
        assert command.summary.endswith("."), command
        assert command.examples, command
        assert all(example.startswith("gaia mcp ") for example in command.examples), command
        for said in (*command.arguments, *command.options):
            assert said.help.endswith((".", ")", "…")), said


def test_the_same_option_means_the_same_in_every_command() -> None:
    """Ours: and is described with the same words."""
    for name in ("--config", "--json", "--quiet", "--timeout", "--debug", "-o, --output", "--output-dir", "--raw"):
        held = {
            option
            for command in FOUND.values()
            for option in command.options
            if option.name == name and (command.name, name) not in OF_THEIR_OWN
        }
        assert len(held) == 1, held


def test_an_argument_in_brackets_is_optional() -> None:
    """Ours: whether Typer or a help text wrote the brackets."""
    (names,) = FOUND["prompts"].arguments
    assert (names.shown, names.is_required) == ("NAME...", False)
    assert [argument.shown for argument in FOUND["call"].arguments] == ["NAME", "TOOL [ARG...]"]
    assert [argument.is_required for argument in FOUND["call"].arguments] == [True, False]


def test_options_have_their_values_and_ranges() -> None:
    """Ours: with ranges, repetition and flags."""
    options = {option.name: option for option in FOUND["add"].options}

    assert options["--force"] == Option("--force", "", False, "Replace a server of the same name.")
    assert (options["-e, --env"].value, options["-e, --env"].is_repeatable) == ("K[=V]", True)
    assert options["--request-timeout"].help.endswith("From 0.01 to 600.")
