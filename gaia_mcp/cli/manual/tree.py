"""The commands as the manual shows them: their own help, arguments and options, taken from Typer's tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import typer

from gaia_mcp.cli.app import COMMANDS, CommandGroup


class Argument(NamedTuple):
    """A positional argument of a command."""

    shown: str
    is_required: bool
    help: str


class Option(NamedTuple):
    """An option of a command. `value` is the name of its value, "" for a switch."""

    name: str
    value: str
    is_repeatable: bool
    help: str


class Command(NamedTuple):
    """One command."""

    name: str
    summary: str
    paragraphs: list[str]
    examples: list[str]
    arguments: list[Argument]
    options: list[Option]


def commands() -> list[Command]:
    """All commands, in the order of the help."""
    group = CommandGroup(name="mcp")
    return [_command(name, group.get_command(None, name)) for name in COMMANDS]


def _command(name: str, command: Any) -> Command:
    summary, *rest = re.split(r"\n\s*\n", command.help)
    examples = [part for part in rest if part.startswith("Example")]
    context = typer.Context(command, info_name=name)
    return Command(
        name,
        _joined(summary),
        [_joined(part) for part in rest if part not in examples],
        [line for part in examples for line in _examples(part)],
        [_argument(each, context) for each in command.params if each.param_type_name == "argument"],
        [_option(each, context) for each in command.params if each.param_type_name == "option" and not each.hidden],
    )


def _examples(part: str) -> Iterator[str]:
    for line in part.split("\n"):
        command = re.sub(r"^Examples?:", "", line).strip()
        if command:
            yield command


def _argument(parameter: Any, context: typer.Context) -> Argument:
    shown = parameter.metavar or parameter.make_metavar(context).strip("[]{}")
    # Some metavars have the brackets of an optional argument themselves.
    shown = shown[1:-1] if shown.startswith("[") else shown
    return Argument(shown, parameter.required, _joined(parameter.help or ""))


def _option(parameter: Any, context: typer.Context) -> Option:
    help_text = _joined(parameter.help or "")
    low, high = getattr(parameter.type, "min", None), getattr(parameter.type, "max", None)
    if low is not None and high is not None:
        help_text += f" From {low:g} to {high:.0f}."
    if parameter.show_default and parameter.default and not parameter.is_flag:
        help_text += f" Default: {parameter.default}."
    value = "" if parameter.is_flag else parameter.make_metavar(context).strip("<>")
    names = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda name: name.startswith("--"))
    return Option(", ".join(names), value, parameter.multiple, help_text)


def _joined(text: str) -> str:
    return " ".join(text.split())
