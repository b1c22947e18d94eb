"""A command line that calls a server, read before Typer is loaded: while Typer is loaded, the server starts."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.calls.plan import planned
from gaia_mcp.cli.grammar.leading import with_group
from gaia_mcp.cli.grammar.parsing import parse_line
from gaia_mcp.cli.grammar.server_words import ServerWords
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import MCPError
from gaia_mcp.session.prestart import Prestarted, prestarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gaia_mcp.cli.grammar.parsing import ParsedLine
    from gaia_mcp.config.entries import ServerEntry

# With other parameters, Typer reads the line first: `--debug`; `--interactive`, which needs a terminal; and `--locked`
# and `--lock-file`, because a server whose tools are not approved is not even started.
_PARAMETERS = frozenset(
    {"target", "words", "args", "output", "output_dir", "raw", "read_only", "config", "as_json", "timeout", "quiet"}
)


@contextmanager
def prestarted_for_call(words: Sequence[str]) -> Iterator[Prestarted | None]:
    """The server that the command line `words` will call, started if there is no doubt about it, else None. It is ended
    at the end of the `with` at the latest.
    """
    entry = _entry_to_call(words)
    server = None
    with ExitStack() as running:
        if entry is not None:
            with suppress(MCPError):  # The command finds the same, and reports it.
                server = running.enter_context(prestarted(entry, "call"))
        yield server


def call_of(words: Sequence[str]) -> ParsedLine | None:
    """The `call` in the command line `words`; None if Typer refuses it, or has to see it first."""
    line = parse_line(with_group(words))
    if line.path != ("mcp", "call") or not line.is_valid or line.is_eager or not line.values.keys() <= _PARAMETERS:
        return None
    if "timeout" in line.values and not line.options["--timeout"].accepts(line.values["timeout"]):
        return None
    return line


def _entry_to_call(words: Sequence[str]) -> ServerEntry | None:
    """The entry of the server that `words` call; None if something is wrong with them, which the command reports."""
    line = call_of(words)
    if line is None:
        return None
    call = line.values
    args, config = call.get("args"), call.get("config")
    try:
        # What is not a regular file, such as standard input or `<(…)`, can be read once, by the command.
        if args == "-" or any(not Path(name).expanduser().is_file() for name in _files(args, config)):
            return None
        store = ConfigStore.locate(Path(config) if config is not None else None)
        typed = ServerWords.of([call["target"], *call.get("words", [])], line.after)
        return planned(store, typed, args).entry
    except (MCPError, OSError, ValueError, RuntimeError):
        return None


def _files(args: str | None, config: str | None) -> Iterator[str]:
    """The files that must be read to know which server is called."""
    if args is not None and args.startswith("@"):
        yield args[1:]
    if config is not None:
        yield config
