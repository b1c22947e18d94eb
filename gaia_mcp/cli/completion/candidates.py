"""The candidates for the last word of a command line that can be typed and printed. Independent of the shell."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.cli.completion.file_names import Candidate
from gaia_mcp.cli.grammar.model import with_group
from gaia_mcp.cli.grammar.parsing import ParsedLine, parse_line
from gaia_mcp.safetext import clean, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gaia_mcp.cli.grammar.model import Argument, Command, Option

# The limit for a description in a list.
DESCRIPTION_CHARS = 120
# A person does not read more lines, and sanitizing them takes longer than finding them.
MAX_DESCRIBED = 500


def candidates(words: Sequence[str], program: str = "gaia") -> list[Candidate]:
    """The candidates for the last of `words`, which follow the program's name. Each begins with that word."""
    *before, word = words or [""]
    before = with_group(before) if before or program != "gmcp" else ["mcp"]
    return _presentable(_candidates(parse_line(before), word), word)


def _candidates(line: ParsedLine, word: str) -> Iterable[Candidate]:
    name, equals, value = word.partition("=")
    if line.awaited is not None:
        return _values(line, line.awaited, word)
    if line.only_arguments or not word.startswith("-"):
        return _argument_candidates(line, word)
    if equals and name in line.options:
        return [Candidate(f"{name}={text}", about) for text, about in _values(line, line.options[name], value)]
    return _option_candidates(line, word)


def _argument_candidates(line: ParsedLine, word: str) -> Iterable[Candidate]:
    if line.command.commands:
        return [Candidate(name, each.summary) for name, each in _listed(line.command).items()]
    if line.next_argument is not None:
        found = _values(line, line.next_argument, word)
        # Before the two dashes such a value would be parsed as an option.
        return [each for each in found if line.only_arguments or not each.value.startswith("-")]
    return [] if word or line.only_arguments else _option_candidates(line, word)


def _option_candidates(line: ParsedLine, word: str) -> Iterator[Candidate]:
    for name, option in line.options.items():
        is_open = option.is_repeatable or option.parameter not in line.values
        if is_open and name.startswith(word) and name.startswith("--") and name in option.names:
            yield Candidate(name, option.help)
    if line.command.takes_other_options and line.next_argument is not None:
        yield from _values(line, line.next_argument, word)


def _values(line: ParsedLine, parameter: Argument | Option, word: str) -> list[Candidate]:
    """The matches of the first of a parameter's completers that has any."""
    ctx = CompletionContext(line.values, word, is_command=line.only_arguments)
    for completer in parameter.completers:
        module, _, function = completer.rpartition(".")
        found = getattr(import_module(f"gaia_mcp.cli.completion.{module}"), function)(ctx)
        if matching := [each for each in found if each.value.startswith(word)]:
            return matching
    return []


def _listed(group: Command) -> dict[str, Command]:
    return {name: each for name, each in group.commands.items() if each.is_listed}


def _presentable(found: Iterable[Candidate], word: str) -> list[Candidate]:
    """The candidates that can be typed and printed, without duplicates, with sanitized descriptions."""
    described: dict[str, str] = {}
    for value, description in found:
        if value and value.startswith(word) and _is_typeable(value):
            described.setdefault(value, description)
    if len(described) > MAX_DESCRIBED:
        return [Candidate(value) for value in described]
    return [Candidate(value, one_line(encodable(text), DESCRIPTION_CHARS)) for value, text in described.items()]


def _is_typeable(value: str) -> bool:
    if value.isascii():
        return value.isprintable()
    return "\t" not in value and "\n" not in value and value == encodable(clean(value))
