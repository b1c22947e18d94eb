"""The model of the table: commands, their arguments and their options.

Annotations are evaluated here: as strings, those of a named tuple would be compiled one by one, which takes 2 ms at
every TAB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

# The former names of options by their names. They are accepted where no other option has the name, and shown nowhere.
FORMER_NAMES = {"--agent": "--as"}


class Argument(NamedTuple):
    """A positional argument. `parameter` is its name in the command's function.

    `completers` are functions of `cli/completion`, as `module.function`: the first one that has a match is used.
    """

    parameter: str
    completers: Sequence[str] = ()
    is_required: bool = False
    takes_many: bool = False


class Option(NamedTuple):
    """An option. `metavar` names its value, and is empty for a flag; `bounds` are the least and the greatest valid
    number. An eager option, such as `--help`, ends the program before the command runs.
    """

    parameter: str
    names: Sequence[str]
    help: str
    metavar: str = ""
    completers: Sequence[str] = ()
    is_repeatable: bool = False
    is_required: bool = False
    is_eager: bool = False
    bounds: Sequence[float] | None = None

    def accepts(self, value: str) -> bool:
        """Whether `value` is a number within the bounds; always true without bounds."""
        if self.bounds is None:
            return True
        from gaia_mcp.toolspec.arguments import number_in

        number = number_in(value)
        return number is not None and self.bounds[0] <= number <= self.bounds[1]


class Command:
    """A command, or a group of `commands`, read lazily from its `part` of the table; `options` are the options of all
    commands, by name. `aliases` are alternative names of a group's commands. An unknown option is refused, unless the
    command `takes_other_options` as arguments.

    A command that is not listed appears neither in help nor in completion.
    """

    def __init__(self, part: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._part = part
        self._options = options
        self.summary: str = part["summary"]
        self.is_listed: bool = part["is_listed"]
        self.takes_other_options: bool = part.get("takes_other_options", False)
        self.aliases: Mapping[str, str] = part.get("aliases", {})

    @cached_property
    def arguments(self) -> list[Argument]:
        """The positional arguments of the command."""
        return [Argument(**each) for each in self._part["arguments"]]

    @cached_property
    def options(self) -> list[Option]:
        """The options of the command."""
        return [Option(**self._options[name]) for name in self._part["options"]]

    @cached_property
    def commands(self) -> dict[str, Command]:
        """The commands of a group, by name."""
        return {name: Command(part, self._options) for name, part in self._part["commands"].items()}


# Words that belong to the program, not to `mcp`.
_OF_PROGRAM = ("mcp", "help", "version")


def with_group(words: Sequence[str]) -> list[str]:
    """`words`, with a missing `mcp` added before the command: for `gmcp call …`, `gmcp help call`.

    `help` belongs after `mcp`, because it explains the commands of `mcp`.
    """
    if words[:2] == ["help", "mcp"]:
        return ["mcp", "help", *words[2:]]
    lead = words[1:2] if words[:1] == ["help"] else words[:1]
    is_command = bool(lead) and lead[0] not in _OF_PROGRAM and not lead[0].startswith("-")
    return ["mcp", *words] if is_command else list(words)
