"""The owners of tools by name, for one server or for several behind a gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gaia_mcp.gateway.naming import Owner
from gaia_mcp.toolspec.tool_filter import is_match

# Returns the owner of a tool by the provider's name for it; None if no known tool has this name.
Owners: TypeAlias = "Callable[[str], Owner | None]"


def is_meant(pattern: str, name: str, owner: Owner) -> bool:
    """Whether a pattern such as `read_*` matches a tool: by its listed name, by its own name, or, if the pattern has a
    slash, by `SERVER/TOOL`.
    """
    # Also its own name, because the listed name may depend on the tools of other servers.
    if is_match(name, pattern) or is_match(owner.name, pattern):
        return True
    return "/" in pattern and is_match("/".join(owner), pattern)


def of_one(server: str) -> Owners:
    """The owners of the tools of a single server, which keep their names."""
    return lambda tool: Owner(server, tool)
