"""`gaia mcp search`: which server has a tool for that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.options import CONFIG, JSON, Invocation
from gaia_mcp.cli.screen.output import remark, say, say_json

if TYPE_CHECKING:
    from gaia_mcp.config.store import ConfigStore

Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="What the tool is about; all of these occur.")]

# The name says most about a tool, its description much, and its parameters a little.
_WEIGHTS = (8, 3, 1)
# "person" is not what "impersonation" is about. Where it stands still says more.
_WHOLE_WORD, _PART_OF_WORD = 3, 2

COMMON = (CONFIG, JSON)


def search(invocation: Invocation, words: Words) -> None:
    """Find tools by words, among those of all servers.

    Looks at names, descriptions and parameters, the best first. Never connects: it knows what add, tools and
    test-client have seen. Exit code 7 if nothing is found.

    Example: gaia mcp search issue create
    """
    from gaia_mcp.errors import ToolError

    wanted = [(word, _whole(word)) for part in words for word in part.casefold().split()]
    found, unknown = _found(invocation.open_store(), wanted)
    if unknown:
        listed = ", ".join(unknown[:5]) + (" and others" if len(unknown) > 5 else "")
        remark(f"not known yet, and not searched: {listed}; look at them once with: gaia mcp tools")
    if not found:
        raise ToolError(f"no tool is about {' '.join(words)!r}", hint="use fewer words, or parts of them")
    if invocation.as_json:
        say_json({"tools": [{"server": server, **tool} for _, server, tool in found]})
        return
    for _, server, tool in found:
        for line in _lines(server, tool):
            say(line)


def _whole(word: str) -> re.Pattern[str]:
    """`word` where no letter or digit stands before or after it."""
    return re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")


def _found(
    store: ConfigStore, wanted: list[tuple[str, re.Pattern[str]]]
) -> tuple[list[tuple[int, str, dict[str, Any]]], list[str]]:
    """The tools in which all words occur, with how well they fit, and the servers whose tools are not known."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import EntryError
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.tool_cache import ToolCache

    cache = ToolCache(cache_folder())
    found: list[tuple[int, str, dict[str, Any]]] = []
    unknown: list[str] = []
    for name, raw in store.servers().items():
        try:
            entry = read_entry(name, raw)
        except EntryError:
            continue  # Other commands say what is wrong with it.
        tools = cache.lookup(entry)
        if tools is None:
            unknown.append(name)
        else:
            found += [(fit, name, tool) for tool in tools if (fit := _fit(tool, wanted))]
    return sorted(found, key=lambda one: (-one[0], one[1], one[2]["name"])), unknown


def _fit(tool: dict[str, Any], wanted: list[tuple[str, re.Pattern[str]]]) -> int:
    """How well a tool fits; 0 if a word does not occur in it at all."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    texts = (
        f"{tool['name']} {tool.get('title', '')}".casefold(),
        str(tool.get("description", "")).casefold(),
        " ".join(properties).casefold() if isinstance(properties, dict) else "",
    )
    fit = 0
    for word, whole in wanted:
        text, weight = next((each for each in zip(texts, _WEIGHTS, strict=True) if word in each[0]), ("", 0))
        if not weight:
            return 0
        fit += weight * (_WHOLE_WORD if whole.search(text) else _PART_OF_WORD)
    return fit


def _lines(server: str, tool: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines
    from gaia_mcp.toolspec.schema import signature

    lines = signature_lines(f"{server} {signature(tool['name'], tool.get('inputSchema'))}")
    return lines + description_lines(tool.get("description"))
