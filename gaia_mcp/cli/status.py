"""Exit codes, and the errors that they stand for. The manual prints this enum."""

from __future__ import annotations

from enum import IntEnum

from gaia_mcp.core.errors import MCPError


class ExitStatus(IntEnum):
    """What a command's exit code means."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    CONFIG = 3
    CONNECTION = 4
    TIMEOUT = 5
    PROTOCOL = 6
    TOOL = 7
    REFUSED = 8
    TOOL_FAILED = 9
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS = {
    ExitStatus.DONE: "done",
    ExitStatus.FAILURE: "any other error; a bug in gaia mcp (traceback with --debug)",
    ExitStatus.USAGE: "wrong command line",
    ExitStatus.CONFIG: "configuration: file unreadable, server unknown, existing or invalid; agent not loadable",
    ExitStatus.CONNECTION: "connection: the server could not be started or reached, requires authorization, or the "
    "connection was lost; --json tells which",
    ExitStatus.TIMEOUT: "timeout",
    ExitStatus.PROTOCOL: "protocol: an invalid message, no common revision, or a JSON-RPC error",
    ExitStatus.TOOL: "no such tool, prompt or resource, or invalid arguments",
    ExitStatus.REFUSED: "refused: the tool changed since it was locked, is not read-only or excluded by its entry, or "
    "the server's question was not answered",
    ExitStatus.TOOL_FAILED: "the tool ran and reported an error",
    ExitStatus.INTERRUPTED: "Ctrl-C; servers that were started are stopped first",
    ExitStatus.TERMINATED: "SIGTERM (129 SIGHUP, 131 SIGQUIT); servers that were started are stopped first",
}


class UsageError(MCPError, kind="usage"):
    """The command line is invalid."""


def status_of(error: MCPError) -> ExitStatus:
    """The exit code for an error."""
    # Nothing is imported for a plain `MCPError`, because it may report a lack of memory.
    if type(error) is MCPError:
        return ExitStatus.FAILURE
    from gaia_mcp.core.errors import ConfigError, ConnectError, DeadlineError, ProtocolError, RefusedError, ToolError

    by_error: tuple[tuple[type[MCPError], ExitStatus], ...] = (
        (UsageError, ExitStatus.USAGE),
        (ConfigError, ExitStatus.CONFIG),
        (ConnectError, ExitStatus.CONNECTION),
        (DeadlineError, ExitStatus.TIMEOUT),
        # Before `ProtocolError`: an unknown resource is both.
        (ToolError, ExitStatus.TOOL),
        (ProtocolError, ExitStatus.PROTOCOL),
        (RefusedError, ExitStatus.REFUSED),
    )
    return next((status for kind, status in by_error if isinstance(error, kind)), ExitStatus.FAILURE)
