"""A command line that calls a server, read before Typer is loaded: while Typer is loaded, the server starts."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.calls.plan import planned
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import MCPError
from gaia_mcp.session.prestart import prestarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.session.prestart import Prestarted

# Typer refuses less and more, as everything that is not a number.
MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 0.01, 86_400.0
# The options of `call`. Anything else that looks like an option lets Typer come first: `--help` and `--debug`; and
# `--locked` and `--lock-file`, for a server whose tools are not approved is not even started.
OPTIONS_WITH_VALUE = ("--args", "--config", "--output-dir", "--timeout")
OPTIONS_WITHOUT = ("--json", "--quiet", "--read-only")


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


def _entry_to_call(words: Sequence[str]) -> ServerEntry | None:
    """The entry of the server that `words` call; None if something is wrong with them, which the command reports."""
    taken = _taken_apart(words)
    if taken is None:
        return None
    (target, *rest), options = taken
    args, config = options.get("--args"), options.get("--config")
    try:
        # What is not a regular file, such as standard input or `<(…)`, can be read once, by the command.
        if args == "-" or any(not Path(name).expanduser().is_file() for name in _files(args, config)):
            return None
        if not MIN_TIMEOUT_SECONDS <= float(options.get("--timeout", MIN_TIMEOUT_SECONDS)) <= MAX_TIMEOUT_SECONDS:
            return None
        return planned(ConfigStore.locate(Path(config) if config is not None else None), target, rest, args).entry
    except (MCPError, ValueError, RuntimeError):
        return None


def _files(args: str | None, config: str | None) -> Iterator[str]:
    """The files that must be read to know which server is called."""
    if args is not None and args.startswith("@"):
        yield args[1:]
    if config is not None:
        yield config


def _taken_apart(words: Sequence[str]) -> tuple[list[str], dict[str, str]] | None:
    """What follows `call`, and its options with their values; None if Typer has to decide what that means."""
    left = list(words[words.index("call") + 1 :])
    found: list[str] = []
    options: dict[str, str] = {}
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            found += left
            break
        if word == "-" or not word.startswith("-"):
            found.append(word)
        elif word in OPTIONS_WITHOUT:
            continue
        elif name in OPTIONS_WITH_VALUE and (equals or left):
            options[name] = value if equals else left.pop(0)
        else:
            return None
    return (found, options) if found else None
