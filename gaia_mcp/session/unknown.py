"""The error for a tool that a server does not list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gaia_mcp.errors import ToolUnknownError
from gaia_mcp.names import did_you_mean

if TYPE_CHECKING:
    from gaia_mcp.session.session import Session


def unknown_tool(session: Session, name: str, known: Iterable[str]) -> ToolUnknownError:
    """The error for the tool `name`, which is not in `known`, the names that `session` listed last. It contains the
    reason if the server has the tool but it cannot be called, or no tools at all, else a suggestion of a similar name.
    """
    server, tool = session.entry.name, f"tool {name!r} "
    for problem in session.problems:
        if problem.startswith(f"{tool}is left out"):
            reason = f"it {problem.removeprefix(tool)}"
            return ToolUnknownError(server, name, reason=reason, suggestion="its author has to change that")
    if not (names := list(known)) and session.entry.tool_filter is None:
        return ToolUnknownError(server, name, reason="it lists no tools", case="no-tools")
    return ToolUnknownError(server, name, suggestion=did_you_mean(name, names))
