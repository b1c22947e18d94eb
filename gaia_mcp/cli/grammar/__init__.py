"""The command line as plain data, with one parser. It is for the fast paths, and does not load Typer.

Typer defines the commands and parses most lines. Completion and a plain `call` cannot wait the 30 ms that loading Typer
takes. Both read `table.json`, which `gaia mcp generate` writes from the Typer commands, and use `parsing`. A test
compares the table with the commands byte for byte; others compare the results of the two parsers for the same lines.

The words are here: the commands of the table with their arguments and options, the words before a command's name, and
the words that name servers. Annotations are evaluated: as strings, those of a named tuple would be compiled one by one,
which takes 2 ms at every TAB.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

# The former names of options by their names. They are accepted where no other option has the name, and shown nowhere.
FORMER_NAMES = {"--agent": "--as"}
# The value of an option whose value is optional, if none is given.
IMPLIED = "true"
# The metavar of such an option begins so.
OPTIONAL = "[="
# Words that belong to the program, not to `mcp`.
_OF_PROGRAM = ("mcp", "help", "version")


class Argument(NamedTuple):
    """A positional argument. `parameter` is its name in the command's function.

    `completers` are functions of `cli/completion`, as `module.function`: the first one that has a match is used.
    """

    parameter: str
    completers: Sequence[str] = ()
    is_required: bool = False
    takes_many: bool = False


class Option(NamedTuple):
    """An option. `metavar` names its value, and is empty for a flag. Where it begins with `[=`, the value is
    optional and follows an equals sign, as in `--color[=WHEN]` of ls(1). `bounds` are the least and the greatest valid
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

    @property
    def has_optional_value(self) -> bool:
        """Whether the option may be given without its value, which is then `IMPLIED`."""
        return self.metavar.startswith(OPTIONAL)

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
    def commands(self) -> "dict[str, Command]":
        """The commands of a group, by name."""
        return {name: Command(part, self._options) for name, part in self._part["commands"].items()}


def with_group(words: Sequence[str]) -> list[str]:
    """`words`, with a missing `mcp` added before the command: for `gmcp call …`, `gmcp help call`.

    `help` belongs after `mcp`, because it explains the commands of `mcp`.
    """
    if words[:2] == ["help", "mcp"]:
        return ["mcp", "help", *words[2:]]
    lead = words[1:2] if words[:1] == ["help"] else words[:1]
    is_command = bool(lead) and lead[0] not in _OF_PROGRAM and not lead[0].startswith("-")
    return ["mcp", *words] if is_command else list(words)


class ServerWords(NamedTuple):
    """The arguments `before` two dashes and those `after` them. The latter are a server's command, unless the line is
    valid without the dashes.
    """

    before: Sequence[str]
    after: Sequence[str] = ()

    @classmethod
    def of(cls, words: Sequence[str], after: Sequence[str]) -> "ServerWords":
        """Split `words`, of which the last are those `after` the dashes."""
        return cls(words[: len(words) - len(after)], after)

    @property
    def words(self) -> list[str]:
        """All words."""
        return [*self.before, *self.after]

    def of_names(self, servers: Collection[str]) -> "ServerWords":
        """These words, for a command that takes only names: joined if all words after the dashes are `servers`."""
        return ServerWords(self.words) if set(self.after) <= set(servers) else self

    def has_command(self, servers: Collection[str], *, has_item: bool = True) -> bool:
        """Whether the words after the dashes are a command, as in `ITEM [ARG...] -- COMMAND [ARG...]`. They are not if
        the line without the dashes names one of `servers`: `NAME ITEM [ARG...]`.

        With `has_item` the command takes an item, such as a tool, followed only by `key=value`.
        """
        if not self.after or not _is_word(self.after[0]):
            return False
        if has_item and not self.before:
            return False
        first, *rest = self.words
        if first in servers and any(map(_is_word, self.before[1:2])):
            return False  # `NAME ITEM`, with the dashes before the arguments.
        return first not in servers or (has_item and any("=" not in word for word in rest[1:]))


def _is_word(word: str) -> bool:
    """Whether `word` cannot be a tool's argument."""
    return "=" not in word and not word.startswith(("-", "{"))
