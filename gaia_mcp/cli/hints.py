"""What to type next: the hint that a command prints under an error.

An error of the library holds plain values and knows no command line. For each class there is a function here that makes
a hint of those values. A hint that an error brings along is used as it is.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import (
    AgentError,
    ArgumentsError,
    CancelledError,
    ConfigFileError,
    DeadlineError,
    EntryError,
    MCPError,
    NotOfferedError,
    OfferUnknownError,
    OutcomeUnknownError,
    PeerError,
    ReadOnlyError,
    RemoteProtocolError,
    ServerExistsError,
    ServerExitedError,
    ServerUnknownError,
    SpawnError,
    ToolUnknownError,
    VariableUnsetError,
    VersionError,
)
from gaia_mcp.names import typeable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Typed:
    """The command that runs: its name, and the file that its `--config` names."""

    command = ""
    config: Path | None = None


def to_type(command: str, *names: str, more: str = "") -> str:
    """A command line of ours that can be typed as it is, about the same configuration file.

    `names` are quoted where a shell needs it, `more` is taken as it is.
    """
    config = [f"--config {shlex.quote(str(Typed.config))}"] if Typed.config is not None else []
    return " ".join(["gaia mcp", command, *config, *map(typeable, names), *([more] if more else [])])


def hint_for(error: MCPError) -> str:
    """What to do about an error, empty if nothing is known."""
    made = next((HINTS[kind] for kind in type(error).__mro__ if kind in HINTS), None)
    after = made(error) if made is not None else ""
    if isinstance(error, OutcomeUnknownError):
        return f"{error.hint}; {after}"
    return error.hint or after


def _exited(error: ServerExitedError) -> str:
    # The commands keep a server's stderr, and it holds more than the one line that the message quotes.
    if len(error.stderr_tail.strip().splitlines()) > 1:
        return f"read all that it wrote with: {to_type('logs', error.server)}"
    # A server that ends before its first message was most often started in a wrong way.
    if error.stage == "at its start":
        return _unsaved() or f"check its command with: {to_type('show', error.server)}"
    return _steps(error, "see each step with")


def _late(error: DeadlineError) -> str:
    more = "allow more time with --timeout SECONDS"
    return f"a first start may download a lot: {more}" if error.stage == "at its start" else more


def _steps(error: MCPError, reason: str) -> str:
    """Send the person to `test-client`, unless the command is that one or has saved nothing."""
    if Typed.command == "test-client":
        return "see all that it writes to stderr with --debug"
    return _unsaved() or f"{reason}: {to_type('test-client', error.server)}"


def _unsaved() -> str:
    if Typed.command in ("add", "edit"):
        return "nothing was saved; mend the command, or save it as it is with --no-check"
    return ""


def _refused(error: PeerError) -> str:
    if error.asked == "initialize":
        return _steps(error, "see each step with")
    kind = error.asked.partition("/")[0]
    listed = kind if kind in ("prompts", "resources") else "tools"
    return f"see what it offers with: {to_type(listed, error.server)}"


HINTS: dict[type, Callable[[Any], str]] = {
    ConfigFileError: lambda _: "mend or move the file; it was left as it is",
    ServerUnknownError: lambda _: f"see the names with: {to_type('list')}",
    ServerExistsError: lambda _: f"choose another name, or replace it: {to_type('add', more='--force')}",
    EntryError: lambda _: "see what an entry holds: gaia mcp add --help",
    VariableUnsetError: lambda e: f"export {e.variable}=… first, or write a default: ${{{e.variable}:-value}}",
    AgentError: lambda _: "write package.module:Class or path/to/file.py:Class",
    SpawnError: lambda e: _steps(e, "try the entry alone with"),
    ServerExitedError: _exited,
    DeadlineError: _late,
    CancelledError: lambda _: "ask again if you still want the result",
    RemoteProtocolError: lambda e: _steps(e, "tell its author; see each step with"),
    VersionError: lambda _: "update the older of the two",
    NotOfferedError: lambda e: _steps(e, "see what it offers with"),
    PeerError: _refused,
    ToolUnknownError: lambda e: f"see its tools with: {to_type('tools', e.server)}",
    OfferUnknownError: lambda e: f"see its {e.offer}s with: {to_type(f'{e.offer}s', e.server)}",
    ArgumentsError: lambda e: f"see its parameters with: {to_type('tools', e.server)}",
    ReadOnlyError: lambda _: "call it without --read-only if it may change something",
}
