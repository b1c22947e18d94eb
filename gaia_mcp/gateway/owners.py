"""Whose tool a name stands for, of one server or of several behind a gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gaia_mcp.gateway.naming import Owner
from gaia_mcp.toolspec.tool_filter import is_match

# Finds the owner of a tool by a name that the provider understands; None for one that no known tool has.
Owners: TypeAlias = "Callable[[str], Owner | None]"


def is_meant(pattern: str, name: str, owner: Owner) -> bool:
    """Whether a pattern such as `read_*` matches the tool of this name and owner: the name, the tool's own name, or, if
    the pattern has a slash, `SERVER/TOOL`.
    """
    # Also its own name: under which other one it is listed may depend on the tools of other servers.
    if is_match(name, pattern) or is_match(owner.name, pattern):
        return True
    return "/" in pattern and is_match("/".join(owner), pattern)


def of_one(server: str) -> Owners:
    """The owners of the tools of a single server, which keep their names."""
    return lambda tool: Owner(server, tool)
