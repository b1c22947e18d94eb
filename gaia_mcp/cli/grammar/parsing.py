"""Reads the commands from `table.json`, which `gaia mcp generate` writes, and parses a command line with them word by
word, as its command would.

Parsing never fails, because a line at a TAB is unfinished: a word that Typer would refuse makes the line invalid, and
parsing continues with the next word.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.grammar import FORMER_NAMES, IMPLIED, Argument, Command, Option

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


_UNKNOWN = Command({"summary": "", "is_listed": False, "arguments": [], "options": [], "commands": {}}, {})


FILE = Path(__file__).with_name("table.json")
_TABLE = json.loads(FILE.read_bytes())
PROGRAM = Command(_TABLE["program"], _TABLE["options"])


def parse_line(words: Iterable[str], command: Command = PROGRAM) -> ParsedLine:
    """Parse `words`, which follow the name of `command`."""
    line = ParsedLine(command)
    for word in words:
        line.take(word)
    return line


def plain_line(words: Iterable[str], path: tuple[str, ...], parameters: Collection[str]) -> ParsedLine | None:
    """The line of the command at `path`, with no other than these `parameters`; None for any other line, and if Typer
    must report an error in it.
    """
    line = parse_line(words)
    if line.path != path or not line.is_valid or line.is_eager or not line.values.keys() <= set(parameters):
        return None
    return line


def with_option(words: Sequence[str], option: Sequence[str]) -> list[str]:
    """A command with its `words`, and with `option` and its value at the end of its options, in the place of the same
    one if that takes one value.
    """
    line = parse_line(["mcp"])
    before: list[str] = []
    for number, word in enumerate(words):
        owner = line.awaited
        line.take(word)
        if line.only_arguments:
            # Options must come before two dashes.
            return [*before, *option, *words[number:]]
        owner = owner or line.awaited or line.options.get(word.partition("=")[0]) or line.options.get(word[:2])
        if not (option and owner and owner.metavar and not owner.is_repeatable and option[0] in owner.names):
            before.append(word)
    return [*before, *option]


class ParsedLine:
    """The parsed line: in `path` the names of the commands that lead to `command`, in `values` the values by parameter:
    the words as typed, True for a flag, and a list for a repeatable parameter.
    """

    def __init__(self, command: Command) -> None:
        self.path: tuple[str, ...] = ()
        # Whether the line has an option that ends the program before the command runs.
        self.is_eager = False
        # The option whose value is the next word.
        self.awaited: Option | None = None
        # Whether the two dashes were passed, and the arguments after them.
        self.only_arguments = False
        self.after: list[str] = []
        self._is_refused = False
        self._enter(command)

    @property
    def is_valid(self) -> bool:
        """Whether Typer would accept the line as it is, disregarding the values."""
        parameters: list[Argument | Option] = [*self.command.arguments, *self.command.options]
        return (
            not self._is_refused
            and self.awaited is None
            and not self.command.commands
            and all(each.parameter in self.values for each in parameters if each.is_required)
        )

    @property
    def next_argument(self) -> Argument | None:
        """The argument that the next word without dashes would be."""
        arguments = self.command.arguments
        return arguments[self._place] if self._place < len(arguments) else None

    def take(self, word: str) -> None:
        """Parse the next word."""
        name, equals, value = word.partition("=")
        if self.awaited is not None:
            self._give(self.awaited, word)
            self.awaited = None
        elif self.only_arguments or not word.startswith("-") or word == "-":
            self._take_argument(word)
        elif word == "--":
            self.only_arguments = True
        elif not word.startswith("--"):
            self._take_letters(word)
        elif (option := self.options.get(name)) is None:
            self._take_unknown(word)
        elif not option.metavar:
            self._is_refused = self._is_refused or bool(equals)
            self.is_eager = self.is_eager or option.is_eager
            self.values[option.parameter] = True
        elif equals:
            self._give(option, value)
        elif option.has_optional_value:
            self._give(option, IMPLIED)
        else:
            self.awaited = option

    def _take_letters(self, word: str) -> None:
        """Parse one-letter options combined in one word; the rest after an option that takes a value is its value."""
        unknown = ""
        for at, letter in enumerate(word[1:], 2):
            option = self.options.get(f"-{letter}")
            if option is None:
                unknown += letter
            elif not option.metavar:
                self.is_eager = self.is_eager or option.is_eager
                self.values[option.parameter] = True
            elif word[at:]:
                self._give(option, word[at:])
                break
            else:
                self.awaited = option
        if unknown:
            self._take_unknown(f"-{unknown}")

    def _take_unknown(self, word: str) -> None:
        """Parse an option that the command does not have."""
        if self.command.takes_other_options:
            self._take_argument(word)
        else:
            self._is_refused = True

    def _enter(self, command: Command) -> None:
        self.command = command
        self.options = {name: option for option in command.options for name in option.names}
        for name, former in FORMER_NAMES.items():
            if name in self.options:
                self.options.setdefault(former, self.options[name])
        self.values: dict[str, Any] = {}
        self.only_arguments = False
        self.after = []
        self._place = 0

    def _take_argument(self, word: str) -> None:
        argument = self.next_argument
        if self.command.commands:
            self._take_command(self.command.aliases.get(word, word))
            return
        if self.only_arguments:
            self.after.append(word)
        if argument is None:
            self._is_refused = True
        elif argument.takes_many:
            self.values.setdefault(argument.parameter, []).append(word)
        else:
            self.values[argument.parameter] = word
            self._place += 1

    def _take_command(self, name: str) -> None:
        if name == "help":
            # The words after it are the command to explain.
            self.is_eager = True
            return
        self.path = (*self.path, name)
        self._is_refused = self._is_refused or name not in self.command.commands
        self._enter(self.command.commands.get(name, _UNKNOWN))

    def _give(self, option: Option, value: str) -> None:
        if option.is_repeatable:
            self.values.setdefault(option.parameter, []).append(value)
        else:
            self._is_refused = self._is_refused or option.parameter in self.values
            self.values[option.parameter] = value
