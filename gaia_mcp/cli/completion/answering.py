"""The hidden command that the shells' scripts run at a TAB: `gaia complete SHELL -- WORD...`, with the last word
unfinished.

Reads the line as the shell would, finds the candidates for its last word, and prints the format that the script of each
shell reads. Prints nothing on an error, since an error message would garble the line being typed. Loads neither Typer
nor other modules that the line does not need.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.cli.completion.file_names import Candidate
from gaia_mcp.cli.grammar import Argument, Command, Option, with_group
from gaia_mcp.cli.grammar.parsing import ParsedLine, parse_line
from gaia_mcp.core.internals import bare_signal
from gaia_mcp.text import clean, encodable, one_line

# Longer than a person waits at a TAB. Reading a pipe or a remote disk may block forever.
PATIENCE_SECONDS = 5.0
# Bash prints its list in columns; long lines would leave room for only one.
MIN_DESCRIPTION_COLUMNS = 20
# The completion types (`COMP_TYPE`) in which bash inserts the candidates in turn, so descriptions must not be added.
CYCLING = ("37", "42")
_BLANKS = " \t\n"
# Each ends a word without being part of it; the next word is the name of a file.
_REDIRECTIONS = "<>"
# Safe in addition to letters and digits. Every other ASCII character is special in some shell, at some position.
_SAFE = "_%+,./:=@^-"
# Special within double quotes, too.
_SPECIAL_IN_QUOTES = '"\\$`'
# The limit for a description in a list.
DESCRIPTION_CHARS = 120
# A person does not read more lines, and sanitizing them takes longer than finding them.
MAX_DESCRIBED = 500


def answer(words: Sequence[str], *, patience_seconds: float = PATIENCE_SECONDS) -> int:
    """Print the completions of the line in `words`. Returns the exit code, always 0."""
    signal = bare_signal()
    # Ctrl-C ends it without a message.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, patience_seconds)
    try:
        shell, _, *line = words
        program = Path(sys.argv[0]).stem
        lines = answered(shell, line, program, os.environ)
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001, S110 (whatever is broken: the line stays as it is)
        pass
    return 0


def answered(shell: str, line: Sequence[str], program: str, environ: Mapping[str, str]) -> list[str]:
    """The lines that the script of `shell` reads.

    Raises `ValueError` for a shell without a script, and any error that an invalid configuration causes.
    """
    if shell == "bash":
        return _for_bash(line[0], line[1], program, environ)
    if shell == "zsh":
        return [_for_zsh(one) for one in candidates(line, program)]
    if shell == "fish":
        *before, current = line
        found = candidates([*before, read_line(current).words[-1]], program)
        return [f"{one.value}\t{one.description}" for one in found]
    if shell == "powershell":
        *before, current = line
        # PowerShell drops an empty argument, so the script puts a dot before the word.
        return [f"{one.value}\t{one.description or one.value}" for one in candidates([*before, current[1:]], program)]
    raise ValueError(shell)


def _for_bash(line: str, tail: str, program: str, environ: Mapping[str, str]) -> list[str]:
    """First `open` if a candidate continues within the same word, otherwise `whole`; then the replacements for `tail`.

    Readline replaces only the text after the last `=`, `:`, `@` or opening quote, and does no quoting itself.
    """
    read = read_line(line)
    kept = read_line(line.removesuffix(tail))
    _, *words = read.words
    begun = kept.words[-1]
    if read.is_file:
        from gaia_mcp.cli.completion.file_names import file_names

        found = [Candidate(path) for path, _ in file_names(words[-1])]
    else:
        found = candidates(words, program)
    found = [one for one in found if one.value.startswith(begun)]
    # A shell does not expand a tilde after a backslash.
    home = _home_of(tail)
    typed = [home + quoted(one.value[len(begun + home) :], kept.quote) for one in found]
    ending = "open" if any(one.is_open for one in found) else "whole"
    if len(found) > 1 and environ.get("COMP_TYPE") not in CYCLING:
        typed = _with_descriptions(typed, found, environ)
    return [ending, *typed]


def _with_descriptions(typed: list[str], found: list[Candidate], environ: Mapping[str, str]) -> list[str]:
    """The list that bash displays. Bash inserts the common prefix of the lines, which ends before the descriptions."""
    from gaia_mcp.cli.screen import cell_width, cells_cut, fits

    columns = environ.get("COLUMNS", "")
    longest = max(map(cell_width, typed))
    room = (int(columns) if columns.isdecimal() else 80) - longest - 5
    if room < MIN_DESCRIPTION_COLUMNS:
        return typed
    lines = []
    for text, (_, description) in zip(typed, found, strict=True):
        if not fits(description, room):
            description = cells_cut(description, room - 1) + "…"
        lines.append(f"{text}{' ' * (longest - cell_width(text))}  ({description})" if description else text)
    return lines


def _for_zsh(one: Candidate) -> str:
    # Zsh prints two dashes for each colon, even without a description.
    described = f":{one.description}" if one.description else ""
    return f"{'+' if one.is_open else ' '}{_escaped(one.value)}{described}"


def _home_of(tail: str) -> str:
    """A leading `~` or `~NAME` of a path; empty if there is none."""
    home, slash, _ = tail.partition("/")
    is_home = slash and home.startswith("~") and all(each.isalnum() or each in "_.-" for each in home[1:])
    return home if is_home else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(":", "\\:")


class Line(NamedTuple):
    """A line up to the cursor: its words without quotes, the last one unfinished, possibly within an open `quote`."""

    words: list[str]
    quote: str
    is_file: bool = False


def read_line(text: str) -> Line:
    """The words of an unfinished command line, without the file names of redirections. If the last word is such a file
    name, it is included, and `is_file` is true.
    """
    words: list[str] = []
    word, quote = "", ""
    begun = is_file = False
    rest = iter(text)
    for character in rest:
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"':
                escaped = next(rest, "")
                word += escaped if escaped in ('"', "\\", "$", "`", "") else f"\\{escaped}"
            else:
                word += character
        elif character in _BLANKS or character in _REDIRECTIONS:
            if begun and not is_file and not (character in _REDIRECTIONS and word.rstrip("&").isdecimal()):
                words.append(word)
            is_file = character in _REDIRECTIONS or (is_file and not begun)
            word, begun = "", False
        else:
            begun = True
            if character in "\"'":
                quote = character
            else:
                word += next(rest, "") if character == "\\" else character
    return Line([*words, word], quote, is_file)


def quoted(text: str, quote: str = "") -> str:
    """`text` escaped for a shell: for use within the open `quote`, or with backslashes if there is none."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return "".join(f"\\{character}" if character in _SPECIAL_IN_QUOTES else character for character in text)
    return "".join(
        # Non-ASCII letters are not special in any shell.
        character if character in _SAFE or character.isalnum() or not character.isascii() else f"\\{character}"
        for character in text
    )


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
