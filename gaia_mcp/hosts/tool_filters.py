"""Tool filters of hosts' entries, and their conversion to and from ours. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaia_mcp.hosts.dialects import NotCarriedError, ToolKeys
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE, ToolFilter, is_match, is_pattern


def filter_from(raw: Mapping[str, Any], keys: ToolKeys) -> dict[str, list[str]]:
    """Our filter members for those of a host's entry, which may also use our names.

    Raises `NotCarriedError`, because without its filter a server would have more tools than intended.
    """
    found = {}
    for ours, theirs in ((INCLUDE, keys.include), (EXCLUDE, keys.exclude)):
        key = theirs if theirs in raw else ours
        held = raw.get(key)
        is_everything = ours == INCLUDE and keys.everything is not None and held == list(keys.everything)
        if held is None or is_everything or (ours == EXCLUDE and held == []):
            continue
        if not isinstance(held, list) or not all(isinstance(name, str) and name for name in held):
            raise NotCarriedError(f"its {key} is not a list of tool names")
        # Gemini reads `tool(arguments)` as the tool's name.
        found[ours] = [name.partition("(")[0] or name for name in held]
    return found


def has_patterns(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of ours filters tools by patterns, which most hosts would take as names."""
    return any(is_pattern(name) for member in (INCLUDE, EXCLUDE) for name in entry.get(member) or ())


def choice_by_names(entry: Mapping[str, Any], tools: Sequence[str]) -> dict[str, list[str]]:
    """Our filter members with names in place of patterns; `tools` are all tools of the server."""
    return {
        member: list(dict.fromkeys(name for pattern in entry[member] for name in _named(pattern, tools)))
        for member in (INCLUDE, EXCLUDE)
        if entry.get(member) is not None
    }


def filter_for(entry: Mapping[str, Any], keys: ToolKeys) -> tuple[dict[str, list[str]], list[str]]:
    """The filter members of a host's entry for ours, and the remarks. Raises `NotCarriedError`."""
    include, exclude = entry.get(INCLUDE), entry.get(EXCLUDE) or []
    patterns = [name for name in (*(include or ()), *exclude) if is_pattern(name)]
    takes_one = keys.is_exclusive or not keys.exclude
    if include is not None and keys.include and takes_one and not any(map(is_pattern, include)):
        # One list of names can tell both.
        include, exclude = [name for name in include if ToolFilter(include, exclude).allows(name)], []
    members, remarks = {}, []
    if include is not None and keys.include:
        if keys.everything == tuple(include) == ():
            raise NotCarriedError("it excludes all tools, and the host cannot")
        members[keys.include] = list(include)
    elif include is not None:
        remarks.append("includeTools is not exported: the host uses all tools")
    if exclude and keys.exclude and not (keys.is_exclusive and members):
        members[keys.exclude] = list(exclude)
    elif exclude:
        remarks.append("excludeTools is not exported: the host uses these tools too")
    if members and patterns:
        remarks.append(f"the host reads these patterns as names of tools: {', '.join(patterns)}")
    return members, remarks


def _named(pattern: str, tools: Sequence[str]) -> list[str]:
    return [tool for tool in tools if is_match(tool, pattern)] if is_pattern(pattern) else [pattern]
