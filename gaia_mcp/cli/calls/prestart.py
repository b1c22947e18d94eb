"""Starts the server of a `call` while the modules for the call are loaded."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.calls.plan import planned
from gaia_mcp.cli.grammar.model import ServerWords
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import MCPError
from gaia_mcp.session.prestart import Prestarted, prestarted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.cli.grammar.parsing import ParsedLine
    from gaia_mcp.config.entries import ServerEntry

# The options that answer the server's requests.
_ANSWERING = frozenset(("answer", "answers", "root", "sample"))
# Those for the entry of a server that is not saved.
_OF_ENTRY = ("env", "header", "token_env")


@contextmanager
def prestarted_for(line: ParsedLine) -> Iterator[Prestarted | None]:
    """Start the server of the `call` in `line`, and yield it; yield None if the line is not certainly valid. The server
    is stopped when the `with` ends, at the latest.
    """
    entry = _entry_to_call(line)
    server = None
    with ExitStack() as running:
        if entry is not None:
            with suppress(MCPError):  # The command meets the same error and reports it.
                server = running.enter_context(prestarted(entry, "call"))
        yield server


def _entry_to_call(line: ParsedLine) -> ServerEntry | None:
    """The entry of the server to call; None if the line is invalid, which the command reports."""
    call = line.values
    args, config, answers = call.get("args"), call.get("config"), call.get("answers")
    try:
        # Anything but a regular file, such as standard input or `<(…)`, can be read only once: the command reads it.
        if "-" in (args, answers) or any(
            not Path(name).expanduser().is_file() for name in _files(args, config, answers)
        ):
            return None
        if not _ANSWERING.isdisjoint(call):
            from gaia_mcp.cli.calls.answering import Answering
            from gaia_mcp.cli.invocation import Invocation

            Answering.of(Invocation(**{name: call[name] for name in _ANSWERING if name in call}))
        store = ConfigStore.locate(Path(config) if config is not None else None)
        typed = ServerWords.of([call["target"], *call.get("words", [])], line.after)
        entry = planned(store, typed, args).entry
        if any(name in call for name in _OF_ENTRY):
            from gaia_mcp.cli.entries.targets import with_options

            if entry.source is not None:
                return None
            entry = with_options(entry, call.get("env", ()), call.get("header", ()), call.get("token_env"))
        return entry if entry.is_available(call.get("stage"), call.get("agent")) else None
    except (MCPError, OSError, ValueError, RuntimeError):
        return None


def _files(args: str | None, config: str | None, answers: str | None) -> Iterator[str]:
    """The files that must be read to find the server and to validate the line."""
    if answers is not None and not answers.startswith("{"):
        yield answers
    if args is not None and args.startswith("@"):
        yield args[1:]
    if config is not None:
        yield config
