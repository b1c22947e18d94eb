"""The checks of `test-client` for tool poisoning: suspicious texts in definitions, and look-alike names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.checks.report import OK, WARN
from gaia_mcp.errors import EntryError
from gaia_mcp.jsontext import is_same
from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.toolspec.contract import Undefinable, canonical_tool
from gaia_mcp.toolspec.poisoning import folded_name, looks_like_another, suspicions, visible

if TYPE_CHECKING:
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.config.store import ConfigStore

# The format that the specification recommends for tool names.
_RECOMMENDED = re.compile(r"[A-Za-z0-9_.-]{0,128}")
# The number of tools that are named for one problem; a line has no room for more.
MAX_NAMED = 5


class Known(NamedTuple):
    """A tool of another server, from the cache."""

    server: str
    definition: Mapping[str, Any]


def known_tools(store: ConfigStore) -> dict[str, list[Known]]:
    """The cached tools of all configured servers, by their folded names."""
    found: dict[str, list[Known]] = {}
    for name, entry in store.entries().items():
        if isinstance(entry, EntryError):
            continue
        for tool in ServerCache(cache_folder(), entry).seen() or []:
            found.setdefault(folded_name(tool["name"]), []).append(Known(name, tool))
    return found


def texts_checked(tools: Sequence[MCPTool]) -> tuple[str, str]:
    """Outcome and detail of the check on the texts in the tools' definitions."""
    found = [f"{visible(tool.name)!r}: {one}" for tool in tools for one in suspicions(tool.definition)]
    if not found:
        return OK, "nothing suspicious"
    # The number comes first, because a long detail is cut.
    return WARN, (f"{len(found)} findings: " if len(found) > 1 else "") + "; ".join(found)


def names_checked(server: str, tools: Sequence[MCPTool], known: Mapping[str, Sequence[Known]]) -> tuple[str, str]:
    """Outcome and detail of the check on the tools' names: unusual, look-alike, or taken by another server."""
    problems = []
    if odd := [tool.name for tool in tools if not _RECOMMENDED.fullmatch(tool.name)]:
        problems.append(f"unusual: {', '.join(repr(visible(name)) for name in odd)}")
    if alike := [tool.name for tool in tools if looks_like_another(tool.name)]:
        problems.append(f"with letters that look like other letters: {', '.join(map(ascii, alike))}")
    taken: dict[str, list[str]] = {}
    for tool in tools:
        known_alike = (one for one in known.get(folded_name(tool.name), ()) if one.server != server)
        if rivals := {one.server for one in known_alike if not _is_same(tool, one)}:
            taken.setdefault(", ".join(map(repr, sorted(rivals))), []).append(repr(visible(tool.name)))
    for others, names in taken.items():
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        what = "a tool" if len(names) == 1 else "tools"
        problems.append(f"{', '.join(names[:MAX_NAMED])}{more} may be mistaken for {what} of {others}")
    return (WARN, "; ".join(problems)) if problems else (OK, "as recommended")


def _is_same(tool: MCPTool, other: Known) -> bool:
    """Whether two servers have the same tool, for example two entries for one program."""
    try:
        return is_same(canonical_tool(tool.definition), canonical_tool(other.definition))
    except Undefinable:
        return False
