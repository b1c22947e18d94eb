"""The hidden command that the shells' scripts run at a TAB: `gaia complete SHELL -- WORD...`, the last one unfinished.

Prints what the script of each shell reads, and nothing if anything goes wrong: an error has no place in a line that is
being typed. Loads neither Typer nor anything else that the line does not need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaia_mcp.cli.completion.candidate import Candidate
from gaia_mcp.cli.completion.candidates import candidates
from gaia_mcp.cli.completion.shell_words import quoted, read_line
from gaia_mcp.internals import bare_signal

# Longer than a person waits at a TAB. A pipe in a file's place, or a remote disk, may never answer.
PATIENCE_SECONDS = 5.0
# Bash arranges its list in columns; long lines would leave room for only one.
MIN_DESCRIPTION_COLUMNS = 20
# The types of completion in which bash inserts one candidate after the other into the line, without descriptions.
CYCLING = ("37", "42")


def answer(words: Sequence[str]) -> int:
    """Print how the line in `words` may go on. Returns the exit code, always 0."""
    signal = bare_signal()
    # Ctrl-C ends it without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)
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

    Raises `ValueError` for a shell that has no script, and whatever a broken configuration makes functions raise.
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
        # An empty word would not arrive, so there is a dot before it.
        return [f"{one.value}\t{one.description or one.value}" for one in candidates([*before, current[1:]], program)]
    raise ValueError(shell)


def _for_bash(line: str, tail: str, program: str, environ: Mapping[str, str]) -> list[str]:
    """`open` if more of the word follows a candidate, else `whole`; then what readline may put in place of `tail`.

    It replaces only what follows the last `=`, `:`, `@` or opening quote, and leaves quoting to us.
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
    # A tilde with a backslash before it is no home folder.
    home = _home_of(tail)
    typed = [home + quoted(one.value[len(begun + home) :], kept.quote) for one in found]
    ending = "open" if any(one.is_open for one in found) else "whole"
    if len(found) > 1 and environ.get("COMP_TYPE") not in CYCLING:
        typed = _with_descriptions(typed, found, environ)
    return [ending, *typed]


def _with_descriptions(typed: list[str], found: list[Candidate], environ: Mapping[str, str]) -> list[str]:
    """What bash shows as a list. The prefix that all have in common, which it inserts, ends before the descriptions."""
    from gaia_mcp.cli.screen.terminal import cell_width, cells_cut, fits

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
    # Zsh shows two dashes after every colon, even if nothing follows.
    described = f":{one.description}" if one.description else ""
    return f"{'+' if one.is_open else ' '}{_escaped(one.value)}{described}"


def _home_of(tail: str) -> str:
    """`~` or `~NAME` where a path begins so, else nothing."""
    home, slash, _ = tail.partition("/")
    is_home = slash and home.startswith("~") and all(each.isalnum() or each in "_.-" for each in home[1:])
    return home if is_home else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(":", "\\:")
