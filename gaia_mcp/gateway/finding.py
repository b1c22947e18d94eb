"""The results of a tool search for a model: one line for each tool, ranked as by `gaia mcp search`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.safetext import first_line, one_line
from gaia_mcp.toolspec.in_words import score, search_words, signature

if TYPE_CHECKING:
    from gaia_mcp.gateway.owners import Owners
    from gaia_mcp.toolspec.in_words import SearchWord

Wire = dict[str, Any]

# Longer texts are shortened: the tool's definition has the full text.
SIGNATURE_CHARS, DESCRIPTION_CHARS = 200, 120


class _Match(NamedTuple):
    """A tool, the number of words that it matches, and its score."""

    words: int
    points: int
    tool: Wire


def found_tools(tools: Iterable[Wire], words: str, limit: int, owners: Owners) -> list[str]:
    """The lines for the tools that match all of `words`: at most `limit` tools, and a last line with the number of
    others. If no tool matches all words, a first line says so, and the tools that match some of them follow.
    """
    wanted = search_words([words])
    matches = _matches(tools, wanted, owners)
    if not matches:
        return ["No tool matches any of these words. Use others, or no words at all."]
    lines = [] if matches[0].words == len(wanted) else ["No tool matches all of these words. The closest:"]
    lines += [_line(match.tool) for match in matches[:limit]]
    if len(matches) > limit:
        lines.append(f"… and {len(matches) - limit} more: use more words, or a higher limit.")
    return lines


def counted_tools(tools: Iterable[Wire], owners: Owners) -> list[str]:
    """A line for each server, with the number of its tools."""
    counts = Counter(_server_of(tool, owners) for tool in tools)
    lines = [f"{one_line(server)}: {count} tool{'s' if count > 1 else ''}" for server, count in sorted(counts.items())]
    return lines or ["There are no tools."]


def _matches(tools: Iterable[Wire], wanted: Sequence[SearchWord], owners: Owners) -> list[_Match]:
    found = []
    for tool in tools:
        server = _server_of(tool, owners)
        points = [score(tool, [word], server) for word in wanted]
        if any(points):
            found.append(_Match(sum(map(bool, points)), sum(points), tool))
    found.sort(key=lambda match: (-match.words, -match.points, match.tool["name"]))
    return [match for match in found if match.words == len(wanted)] or found


def _server_of(tool: Wire, owners: Owners) -> str:
    owner = owners(tool["name"])
    return owner.server if owner is not None else ""


def _line(tool: Wire) -> str:
    shown = one_line(signature(tool["name"], tool.get("inputSchema"), SIGNATURE_CHARS), SIGNATURE_CHARS)
    described = first_line(tool.get("description"))
    return f"{shown}  {one_line(described, DESCRIPTION_CHARS)}" if described else shown
