"""What language models need of the definitions of tools, and the specification does not require: advice, never a fault.

Each kind of advice has a name, and names the tools that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gaia_mcp.toolspec.poisoning import visible
from gaia_mcp.toolspec.repair import MAX_LENGTH, openai_function
from gaia_mcp.toolspec.schema import properties_of

Wire = dict[str, Any]

# A description is a part of every conversation: about 500 tokens.
MAX_DESCRIPTION_CHARS = 2000
# Tools that are named for one kind of advice.
MAX_NAMED = 5
# The rule of the APIs of OpenAI and Anthropic, of which the latter allows longer names.
_FUNCTION = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}")
# Words that are a verb wherever a name begins with them; "commit" and "post" are not.
_CHANGING = frozenset(
    ("create", "delete", "drop", "insert", "overwrite", "remove", "rename", "truncate", "upload", "write")
)
_READING = frozenset(
    ("describe", "fetch", "find", "get", "inspect", "list", "lookup", "read", "search", "show", "view")
)
_WORD = re.compile("[A-Z]?[a-z]+")

KINDS = ("descriptions", "parameters", "function names", "hints", "API schemas")


def advice_on(tools: Sequence[Wire]) -> dict[str, list[str]]:
    """The advice on the definitions of tools, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for tool in tools:
        name = tool["name"]
        shown = repr(visible(name))
        description, schema = tool.get("description"), tool.get("inputSchema")
        text = description.strip() if isinstance(description, str) else ""
        if not text:
            found["descriptions"].append(f"{shown} has none")
        elif len(text) > MAX_DESCRIPTION_CHARS:
            found["descriptions"].append(f"that of {shown} has {len(text):,} characters")
        found["parameters"] += [f"{shown}: {each!r} has no description" for each in _undescribed(schema)]
        if _FUNCTION.fullmatch(name) is None:
            found["function names"].append(f"{shown} is refused by APIs of models")
        if contradiction := _contradiction(tool):
            found["hints"].append(f"{shown} {contradiction}")
        if isinstance(schema, dict):
            notes: list[str] = []
            openai_function(name, text, schema, notes.append)
            found["API schemas"] += [f"{shown}: {note}" for note in notes]
    return {kind: _cut(advice) for kind, advice in found.items()}


def _cut(advice: list[str]) -> list[str]:
    more = len(advice) - MAX_NAMED
    return [*advice[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]


def _undescribed(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    return [
        name
        for name, held in properties_of(schema).items()
        if isinstance(held, dict) and not held.get("description") and "$ref" not in held
    ]


def _contradiction(tool: Wire) -> str:
    """How the hints of a tool contradict the first word of its name."""
    annotations = tool.get("annotations")
    words = [word.lower() for word in _WORD.findall(tool["name"])]
    if not isinstance(annotations, dict) or not words:
        return ""
    if annotations.get("readOnlyHint") is True:
        if annotations.get("destructiveHint") is True:
            return "is both read-only and destructive"
        if words[0] in _CHANGING:
            return f"is said to be read-only, and its name begins with {words[0]!r}"
    elif annotations.get("destructiveHint") is True and words[0] in _READING:
        return f"is said to be destructive, and its name begins with {words[0]!r}"
    return ""
