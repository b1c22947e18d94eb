"""`gaia mcp search`: which server has a tool for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.hints import to_type
from gaia_mcp.cli.options import CONFIG, JSON, Invocation
from gaia_mcp.cli.screen.output import print_json, print_line, remark

if TYPE_CHECKING:
    from gaia_mcp.config.store import ConfigStore

Words = Annotated[
    list[str], typer.Argument(metavar="WORD...", help="Words to find; a tool has to contain all of them.")
]

COMMON = (CONFIG, JSON)


def search(invocation: Invocation, words: Words) -> None:
    """Search the tools of all servers.

    Looks in names, descriptions and parameters, and prints the best match first. Never connects: it knows the tools
    that add, tools and test-client have seen. Exit code 7 if no tool is found.

    Example: gaia mcp search issue create
    """
    from gaia_mcp.errors import ToolError

    found, unknown = _found(invocation.open_store(), words)
    if unknown:
        listed = ", ".join(unknown[:5]) + (" and others" if len(unknown) > 5 else "")
        remark(f"not known yet, and not searched: {listed}; look at them once with: {to_type('tools')}")
    if not found:
        raise ToolError(f"no tool is about {' '.join(words)!r}", hint="use fewer words, or parts of them")
    if invocation.as_json:
        print_json({"tools": [{"server": server, **tool} for _, server, tool in found]})
        return
    for _, server, tool in found:
        for line in _lines(server, tool):
            print_line(line)


def _found(store: ConfigStore, words: list[str]) -> tuple[list[tuple[int, str, dict[str, Any]]], list[str]]:
    """The tools that match, best first, with their scores and servers; and the servers whose tools are not known."""
    from gaia_mcp.errors import EntryError
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.toolspec.search import score, search_words

    wanted = search_words(words)
    folder = cache_folder()
    found: list[tuple[int, str, dict[str, Any]]] = []
    unknown: list[str] = []
    for name, entry in store.entries().items():
        if isinstance(entry, EntryError):
            continue  # Other commands report it.
        tools = ServerCache(folder, entry).seen()
        if tools is None:
            unknown.append(name)
        else:
            found += [(points, name, tool) for tool in tools if (points := score(tool, wanted))]
    return sorted(found, key=lambda one: (-one[0], one[1], one[2]["name"])), unknown


def _lines(server: str, tool: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines
    from gaia_mcp.toolspec.schema import signature

    lines = signature_lines(f"{server} {signature(tool['name'], tool.get('inputSchema'))}")
    return lines + description_lines(tool.get("description"))
