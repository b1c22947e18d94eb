"""Command lines with which other programs add a server, as READMEs show them, in the words of our `add`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# Programs with an `mcp add` of nearly the same form, and ours.
_PROGRAMS = frozenset(("claude", "codex", "gemini", "qwen", "amp", "droid", "copilot", "opencode", "gaia", "gmcp"))
_VERBS = ("add", "add-json")
# Editors that take the entry, with its name, as the value of an option.
_EDITORS = frozenset(("code", "code-insiders", "cursor", "codium", "windsurf"))
_PROMPT = re.compile(r"\s*(?:[$%>]\s+)?")


def own_words(args: Sequence[str]) -> list[str]:
    """The words after `add` without the program and the verb of another one, as in `claude mcp add time -- uvx x`,
    whether that is one word or many.
    """
    for at, word in enumerate(args):
        if word == "--":
            break
        if (inner := _inside(args[at:])) is not None:
            return [*args[:at], *inner]
        if not word.startswith("-"):
            line = _split(word)
            inner = _inside(line) if len(line) > 1 else None
            # What follows the line is ours, and would belong to the command behind the dashes of the line.
            return [*args[:at], *args[at + 1 :], *inner] if inner is not None else list(args)
    return list(args)


def _inside(words: Sequence[str]) -> list[str] | None:
    match list(words):
        case [program, "mcp", verb, *rest] if program in _PROGRAMS and verb in _VERBS:
            return rest
        case [program, "--add-mcp", entry] if program in _EDITORS:
            return [entry]
    return None


def _split(line: str) -> list[str]:
    """The words of a command line that may be continued on the next line, or begin with a prompt."""
    try:
        return shlex.split(_PROMPT.sub("", line, count=1).replace("\\\n", " "))
    except ValueError:
        return []
