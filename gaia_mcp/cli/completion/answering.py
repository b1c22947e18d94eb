"""The hidden entry that the shells' scripts call at a TAB: `gaia complete SHELL -- WORD...`, the last one unfinished.

Each shell is told in the form that its script reads. Whatever goes wrong, it is told nothing: an error has no place in
a line that somebody is typing.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.completion.candidates import Candidate, candidates
from gaia_mcp.cli.completion.shell_words import quoted, read_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Nobody waits longer at a TAB. A pipe in a file's place, or a disk that is far away, may never answer.
PATIENCE_SECONDS = 5.0
# Bash puts its list into columns, which long lines would leave only one of.
MIN_DESCRIPTION_COLUMNS = 20
# What bash is at when it goes through the candidates one by one in the line: there they must be nothing else.
CYCLING = ("37", "42")
_HOME = re.compile(r"~[\w.-]*/")


def answer(words: Sequence[str]) -> int:
    """Print what the line that `words` tell of may go on with. The exit code, always 0."""
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
    except Exception:  # noqa: BLE001, S110 (whatever is corrupt: the line stays as it is)
        pass
    return 0


def answered(shell: str, line: Sequence[str], program: str, environ: Mapping[str, str]) -> list[str]:
    """The lines that the script of `shell` reads.

    Raises `ValueError` for a shell that has no script, and whatever a broken configuration makes functions raise.
    """
    if shell == "bash":
        return _for_bash(line[0], line[1], program, environ)
    if shell == "zsh":
        found = candidates(line, program)
        return [f"{'+' if one.is_open else ' '}{_escaped(one.value)}:{one.description}" for one in found]
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
    """First how the last word ends, `open` or `whole`, then what readline may put in place of `tail`.

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
    # With a backslash before it, it would be no home any more.
    home = tail.partition("/")[0] if _HOME.match(tail) else ""
    typed = [home + quoted(one.value[len(begun + home) :], kept.quote) for one in found]
    ending = "open" if any(one.is_open for one in found) else "whole"
    if len(found) > 1 and environ.get("COMP_TYPE") not in CYCLING:
        typed = _with_descriptions(typed, found, environ)
    return [ending, *typed]


def _with_descriptions(typed: list[str], found: list[Candidate], environ: Mapping[str, str]) -> list[str]:
    """What bash shows as a list. What all have in common, which it inserts, ends before the descriptions begin."""
    from gaia_mcp.cli.screen.terminal import cell_width, cells_cut

    columns = environ.get("COLUMNS", "")
    longest = max(map(cell_width, typed))
    room = (int(columns) if columns.isdecimal() else 80) - longest - 5
    if room < MIN_DESCRIPTION_COLUMNS:
        return typed
    lines = []
    for text, (_, description) in zip(typed, found, strict=True):
        if cell_width(description) > room:
            description = cells_cut(description, room - 1) + "…"
        lines.append(f"{text}{' ' * (longest - cell_width(text))}  ({description})" if description else text)
    return lines


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(":", "\\:")
