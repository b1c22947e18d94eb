"""A `call` without Typer, which takes longer to load than everything that the call itself needs.

The line is parsed with the table of options generated from the Typer command (`cli/grammar`). Typer handles invalid
lines and all lines that are not plain.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.grammar.model import with_group
from gaia_mcp.cli.grammar.parsing import parse_line
from gaia_mcp.cli.lines import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.grammar.parsing import ParsedLine

# A line with any other parameter goes to Typer: `--debug`; `--interactive`, which needs a terminal; `--locked` and
# `--lock-file`, because a server whose tools are not approved must not be started.
_PARAMETERS = frozenset((
    "target", "words", "args", "output", "output_dir", "raw", "read_only", "stage", "agent", "config", "as_json",
    "timeout", "quiet", "answer", "answers", "decline", "root", "sample", "header", "token_env", "env",
))  # fmt: skip


def run_if_plain(words: Sequence[str]) -> int | None:
    """Run the command line `words` if it is a plain `call`. Returns the exit code, or None for any other line."""
    line = call_of(words)
    return _run(line, with_group(words)) if line is not None else None


def call_of(words: Sequence[str]) -> ParsedLine | None:
    """The `call` in the command line `words`; None if Typer must report an error in it or parse it."""
    line = parse_line(with_group(words))
    if line.path != ("mcp", "call") or not line.is_valid or line.is_eager or not line.values.keys() <= _PARAMETERS:
        return None
    if "timeout" in line.values and not line.options["--timeout"].accepts(line.values["timeout"]):
        return None
    return line


def _run(line: ParsedLine, words: list[str]) -> int:
    from gaia_mcp.cli.calls.prestart import prestarted_for

    Typed.enter(words)
    # The built-in hub serves the servers of this configuration file.
    Typed.begin("call", Path(line.values["config"]) if "config" in line.values else None)
    with prestarted_for(line) as server:
        # Imported late, while the server is starting.
        from gaia_mcp.cli.calls.calling import make_call
        from gaia_mcp.cli.invocation import Invocation, status_of_run

        given = dict(line.values)
        typed = [given.pop("target"), *given.pop("words", [])]
        args, read_only = given.pop("args", None), given.pop("read_only", False)
        for name, kind in (("config", Path), ("output_dir", Path), ("timeout", float)):
            if name in given:
                given[name] = kind(given[name])
        invocation = Invocation(**given, after=line.after)
        return status_of_run(
            "call",
            invocation,
            lambda: make_call(invocation, typed, args, read_only=read_only, prestarted=server),
        )
