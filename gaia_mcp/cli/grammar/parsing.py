"""A command line as its command parses it, word by word. Pure: words in, values by parameter out.

It never fails, since a line at a TAB is unfinished: a word that Typer would refuse makes the line invalid, and the next
one is parsed as if nothing had happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.grammar.model import Argument, Command, Option
from gaia_mcp.cli.grammar.table import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable


_UNKNOWN = Command({"summary": "", "is_listed": False, "arguments": [], "options": [], "commands": {}}, {})


def parse_line(words: Iterable[str], command: Command = PROGRAM) -> ParsedLine:
    """The line of `words`, which follow the name of `command`."""
    line = ParsedLine(command)
    for word in words:
        line.take(word)
    return line


class ParsedLine:
    """The line so far: the names of the commands that lead to `command`, and in `values` what was given to
    that command, by parameter: the words as they are, True for a flag, and a list for what may be repeated.
    """

    def __init__(self, command: Command) -> None:
        self.path: tuple[str, ...] = ()
        # Whether an option was given that ends the program before the command runs.
        self.is_eager = False
        # The option whose value the next word is.
        self.awaited: Option | None = None
        # After two dashes, and the arguments among the words since then.
        self.only_arguments = False
        self.after: list[str] = []
        self._is_refused = False
        self._enter(command)

    @property
    def is_valid(self) -> bool:
        """Whether Typer accepts the form of the line, as complete as it is; values may still be wrong."""
        parameters: list[Argument | Option] = [*self.command.arguments, *self.command.options]
        return (
            not self._is_refused
            and self.awaited is None
            and not self.command.commands
            and all(each.parameter in self.values for each in parameters if each.is_required)
        )

    @property
    def next_argument(self) -> Argument | None:
        """The argument that a word without dashes would be."""
        arguments = self.command.arguments
        return arguments[self._place] if self._place < len(arguments) else None

    def take(self, word: str) -> None:
        """Parse one more word."""
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
        else:
            self.awaited = option

    def _take_letters(self, word: str) -> None:
        """Options of one letter, in one word; what follows one that takes a value is that value."""
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
        """An option that the command does not have."""
        if self.command.takes_other_options:
            self._take_argument(word)
        else:
            self._is_refused = True

    def _enter(self, command: Command) -> None:
        self.command = command
        self.options = {name: option for option in command.options for name in option.names}
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
            # What follows is the command that it explains.
            self.is_eager = True
            return
        self.path = (*self.path, name)
        self._is_refused = self._is_refused or name not in self.command.commands
        self._enter(self.command.commands.get(name, _UNKNOWN))

    def _give(self, option: Option, value: str) -> None:
        if option.is_repeatable:
            self.values.setdefault(option.parameter, []).append(value)
        else:
            self.values[option.parameter] = value
