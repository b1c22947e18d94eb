"""A command line as its command understands it, word by word: what has been given, and what may come next.

Reads the command tree that Typer has, and asks each parameter's own `autocompletion`. Takes whatever is wrong as it
comes: it is still being typed.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.completion.file_names import file_names

if TYPE_CHECKING:
    from collections.abc import Iterator

# More than this has no place in a list.
DESCRIPTION_CHARS = 120
# What Typer calls a path, which it leaves to the shell.
PATH_TYPES = ("path", "filename", "file", "directory")
# What a parameter may be, if it is nothing else; a program and its arguments are often files.
_PATH_METAVAR = re.compile(r"\b(FILE|COMMAND)\b")


class CommandLine:
    """What a command has been given so far; it stands in the `params` of its context too."""

    def __init__(self, command: Any, context: Any) -> None:
        self.command = command
        self.context = context
        # The name of the subcommand, once it has been given.
        self.chosen: str | None = None
        parameters = command.get_params(context)
        self._options = [each for each in parameters if each.param_type_name == "option" and not each.hidden]
        self._by_name = {name: option for option in self._options for name in (*option.opts, *option.secondary_opts)}
        self._arguments = [each for each in parameters if each.param_type_name == "argument"]
        self._place = 0
        # The option whose value comes next.
        self._awaited: Any = None
        self._only_arguments = False

    def take(self, word: str) -> None:
        """Understand one more word."""
        name, equals, value = word.partition("=")
        if self._awaited is not None:
            self._give(self._awaited, word)
            self._awaited = None
        elif self._only_arguments or not word.startswith("-") or word == "-":
            self._take_argument(word)
        elif word == "--":
            self._only_arguments = True
        elif (option := self._by_name.get(name)) is None:
            return
        elif option.is_flag:
            self._give(option, True)
        elif equals:
            self._give(option, value)
        else:
            self._awaited = option

    def offers(self, word: str) -> Iterator[tuple[str, str]]:
        """What the next word may become, if it begins as `word` does, with descriptions."""
        name, equals, value = word.partition("=")
        if self._awaited is not None:
            yield from self._values(self._awaited, word)
        elif not word.startswith("-") or self._only_arguments:
            yield from self._argument_offers(word)
        elif equals and name in self._by_name:
            for text, description in self._values(self._by_name[name], value):
                yield f"{name}={text}", description
        else:
            yield from self._option_offers(word)

    def _take_argument(self, word: str) -> None:
        if hasattr(self.command, "get_command"):
            self.chosen = word
        elif self._place < len(self._arguments):
            argument = self._arguments[self._place]
            self._give(argument, word)
            if argument.nargs != -1:
                self._place += 1

    def _give(self, parameter: Any, value: Any) -> None:
        given = self.context.params
        if getattr(parameter, "multiple", False) or parameter.nargs == -1:
            given.setdefault(parameter.name, []).append(value)
        else:
            given[parameter.name] = value

    def _argument_offers(self, word: str) -> Iterator[tuple[str, str]]:
        if hasattr(self.command, "get_command"):
            for name in self.command.list_commands(self.context):
                if name.startswith(word):
                    yield name, self._summary(name)
        elif self._place < len(self._arguments):
            for value, description in self._values(self._arguments[self._place], word):
                # Before the two dashes it would be an option.
                if self._only_arguments or not value.startswith("-"):
                    yield value, description
        elif not word and not self._only_arguments:
            yield from self._option_offers(word)

    def _summary(self, name: str) -> str:
        """The first line of a command's help, from its source if possible: loading every command takes too long."""
        module, _, function = COMMANDS.get(name, "").partition(":")
        spec = find_spec(module) if module and self.context.info_name == "mcp" else None
        loader: Any = spec.loader if spec is not None else None
        source = loader.get_source(module) if hasattr(loader, "get_source") else None
        found = re.search(rf'^def {function}\(.*?^    """(.+?)(?:"""|$)', source or "", re.DOTALL | re.MULTILINE)
        if found is None:
            command = self.command.get_command(self.context, name)
            return str(command.get_short_help_str(DESCRIPTION_CHARS))
        return found[1]

    def _option_offers(self, word: str) -> Iterator[tuple[str, str]]:
        for name, option in self._by_name.items():
            is_open = option.multiple or option.name not in self.context.params
            if is_open and name.startswith(word) and name.startswith("--"):
                yield name, option.help or ""

    def _values(self, parameter: Any, word: str) -> Iterator[tuple[str, str]]:
        items = parameter.shell_complete(self.context, word)
        if not items and (parameter.type.name in PATH_TYPES or _PATH_METAVAR.search(parameter.metavar or "")):
            yield from file_names(word)
        for item in items:
            yield item.value, item.help or ""
