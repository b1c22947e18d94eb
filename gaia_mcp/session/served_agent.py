"""Errors of code that a child cannot load: the child reports the error and exits, and here it becomes an exception."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gaia_mcp.errors import AgentError, HandlerError, ServerExitedError

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.errors import MCPError

# The two lines of an error report of the command line.
_REPORT = r"(?m)^error: (?P<kind>agent|handler) (?P<target>'.*?'|\".*?\") (?P<problem>.*)\nhint: (?P<hint>.*)$"


def explained(error: MCPError, entry: ServerEntry) -> MCPError:
    """`error` from the server of `entry`, or an `AgentError` or `HandlerError` in its place if the server's code could
    not be loaded.
    """
    if type(error) is not ServerExitedError or not error.returncode:
        return error
    from gaia_mcp.config.served import Served

    if not isinstance(entry.target, Served):
        return error
    reports = list(re.finditer(_REPORT, error.stderr_tail))
    if not reports:
        return error
    problem, hint = reports[-1]["problem"], reports[-1]["hint"].replace(entry.target.anchored(), entry.name)
    if reports[-1]["kind"] == "handler":
        return HandlerError(entry.name, problem, hint=hint)
    if problem.endswith("contains no agent class"):
        # Many Python files are MCP servers themselves.
        return AgentError(entry.name, problem, case="agent-missing")
    if problem.startswith("cannot be created: "):
        # The child was given its arguments by another command line than the one that was typed.
        return AgentError(entry.name, problem, case="agent-arguments")
    return AgentError(entry.name, problem, hint=hint)
