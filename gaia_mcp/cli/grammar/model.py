"""What the table is made of: commands, their arguments and their options.

Annotations are evaluated here: those of a named tuple would be compiled one by one, which takes 2 ms of every TAB.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, "Command"] = MappingProxyType({})


class Argument(NamedTuple):
    """A positional argument. `parameter` is its name in the command's function.

    `completers` are functions of `cli/completion`, as `module.function`: the first that knows a candidate answers.
    """

    parameter: str
    completers: tuple[str, ...] = ()
    is_required: bool = False
    takes_many: bool = False


class Option(NamedTuple):
    """An option. `metavar` names its value, and is empty for a flag; `bounds` are the least and the greatest number
    that it takes. An eager option, such as `--help`, ends the program before the command runs.
    """

    parameter: str
    names: tuple[str, ...]
    help: str
    metavar: str = ""
    completers: tuple[str, ...] = ()
    is_repeatable: bool = False
    is_required: bool = False
    is_eager: bool = False
    bounds: tuple[float, float] | None = None

    def accepts(self, value: str) -> bool:
        """Whether `value` is a number within the bounds, if there are any."""
        if self.bounds is None:
            return True
        try:
            return self.bounds[0] <= float(value) <= self.bounds[1]
        except ValueError:
            return False


class Command(NamedTuple):
    """A command, or a group of `commands`. One that is not listed is in no help and completed by no TAB."""

    summary: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    commands: Mapping[str, "Command"] = _NONE
    is_listed: bool = True
