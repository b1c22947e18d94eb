"""What the last word of a command line may become, as far as it is fit to be typed and shown. Knows no shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.app import COMMANDS, app
from gaia_mcp.cli.completion.command_line import DESCRIPTION_CHARS, CommandLine
from gaia_mcp.safetext import clean, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Nobody reads more lines than this, and cleaning them takes longer than finding them.
MAX_DESCRIBED = 500
# What ends so is not yet a whole word: a value, a name in that folder, or a class follows.
OPEN_ENDS = ("=", "@", "/", ":")


class Candidate(NamedTuple):
    """The whole of what the word may become, and what that means."""

    value: str
    description: str = ""

    @property
    def is_open(self) -> bool:
        """Whether more belongs to the same word, so that no space may follow."""
        return self.value.endswith(OPEN_ENDS)


def candidates(words: Sequence[str], program: str = "gaia") -> list[Candidate]:
    """What the last of `words`, which follow the name of the program, may become; each begins with it."""
    *before, word = words or [""]
    if (before and before[0] in COMMANDS) or (not before and program == "gmcp"):
        before.insert(0, "mcp")
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name=program)
    line = CommandLine(command, context)
    for given in before:
        line.take(given)
        if line.chosen is not None:
            command = line.command.get_command(context, line.chosen)
            if command is None:
                return []
            context = command.context_class(command, info_name=line.chosen, parent=context)
            line = CommandLine(command, context)
    return _presentable(line.offers(word), word)


def _presentable(offers: Iterator[tuple[str, str]], word: str) -> list[Candidate]:
    """Without what cannot be typed or shown as it is, without repetitions, and with harmless descriptions."""
    found: dict[str, str] = {}
    for value, description in offers:
        if value and value.startswith(word) and _is_typeable(value):
            found.setdefault(value, description)
    if len(found) > MAX_DESCRIBED:
        return [Candidate(value) for value in found]
    return [Candidate(value, one_line(encodable(text), DESCRIPTION_CHARS)) for value, text in found.items()]


def _is_typeable(value: str) -> bool:
    if value.isascii():
        return value.isprintable()
    return "\t" not in value and "\n" not in value and value == encodable(clean(value))
