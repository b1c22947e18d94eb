"""Starting a server as early as possible: what a command still has to load is loaded while the server starts."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.cli.calls.plan import planned
from gaia_mcp.cli.servers.kept import KeptStderr
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gaia_mcp.config.entries import ServerEntry

# By the time this matters, the session has ended the child in its own way; here it only must not stay.
LEFT_OVER_GRACE_SECONDS = 0.3

# Starting a process takes a few milliseconds; only a file system that hangs takes longer.
START_SECONDS = 0.1
# Typer refuses less and more, as everything that is no number.
MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 0.01, 86_400.0
# The options of `call`. Whatever else looks like one lets Typer come first: `--help` and `--debug`; and `--locked` and
# `--lock-file`, for a server that nobody has approved is not even started.
OPTIONS_WITH_VALUE = ("--args", "--config", "--output-dir", "--timeout")
OPTIONS_WITHOUT = ("--json", "--quiet", "--read-only")


class Launched(NamedTuple):
    """A server's process, what hears its stderr, and what tells its secrets."""

    child: Child
    stderr: KeptStderr
    secrets: Callable[[], Sequence[str]]


class _Ahead:
    """The server that was started before the command that asks for it."""

    started: tuple[ServerEntry, Launched] | None = None


@contextmanager
def launched_ahead(words: Sequence[str]) -> Iterator[None]:
    """Start the server that the command line `words` will call, if there is no doubt about it; the command then finds
    it running. Ended at the end of the `with`, whatever the command has made of it.
    """
    entry = _entry_to_call(words)
    with ExitStack() as running:
        if entry is not None:
            with suppress(MCPError):  # The command finds the same, and says it.
                _Ahead.started = (entry, running.enter_context(launched(entry)))
        yield


@contextmanager
def launched(
    entry: ServerEntry, command: str = "call", show: Callable[[bytes], None] | None = None
) -> Iterator[Launched]:
    """The process of a server, being started for `command`; ended at the end of the `with`, if nobody has done so
    before. Its stderr is kept, and given to `show`.

    Raises `EntryError` and `VariableUnsetError`; that it cannot be started is told by whoever connects to it.
    """
    if _Ahead.started is not None and _Ahead.started[0] == entry:
        yield _Ahead.started[1]
        return
    ready = entry.resolved()

    def secrets() -> Sequence[str]:
        from gaia_mcp.redaction import secrets_in

        return secrets_in(ready.env, ready.args if ready.args is not None else ready.command.split())

    stderr = KeptStderr(entry, command, secrets, show)
    child = Child.of(entry.name, ready.command, ready.args, env=ready.env, cwd=ready.cwd, on_stderr=stderr.hear)
    try:
        # In a thread: a Ctrl-C can never fall between the making of a process and our knowing of it.
        starting = threading.Thread(target=_start, args=(child,), name=f"{entry.name} start", daemon=True)
        starting.start()
        # Two threads of Python that both work would hold each other up.
        starting.join(START_SECONDS)
        yield Launched(child, stderr, secrets)
    finally:
        stderr.end(child.stop(LEFT_OVER_GRACE_SECONDS).returncode)


def _start(child: Child) -> None:
    try:
        child.start()
    except MCPError:
        return  # The child keeps the reason and says it to whoever starts it again.


def _entry_to_call(words: Sequence[str]) -> ServerEntry | None:
    """The entry of the server that `words` call; None if something is wrong with them, which the command will say."""
    taken = _taken_apart(words)
    if taken is None:
        return None
    (target, *rest), options = taken
    args, config = options.get("--args"), options.get("--config")
    try:
        # What is no ordinary file, such as standard input or `<(…)`, can be read once, by the command.
        if args == "-" or any(not Path(name).expanduser().is_file() for name in _files(args, config)):
            return None
        if not MIN_TIMEOUT_SECONDS <= float(options.get("--timeout", MIN_TIMEOUT_SECONDS)) <= MAX_TIMEOUT_SECONDS:
            return None
        return planned(ConfigStore.locate(Path(config) if config is not None else None), target, rest, args).entry
    except (MCPError, ValueError, RuntimeError):
        return None


def _files(args: str | None, config: str | None) -> Iterator[str]:
    """The files that must be read to know whom to call."""
    if args is not None and args.startswith("@"):
        yield args[1:]
    if config is not None:
        yield config


def _taken_apart(words: Sequence[str]) -> tuple[list[str], dict[str, str]] | None:
    """What follows `call`, and its options with their values; None if that is for Typer to say."""
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
