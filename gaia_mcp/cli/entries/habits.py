"""The command lines with which other programs add a server, as found in READMEs, translated for our `add`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import dropwhile

# Programs whose `mcp add` has nearly the same form, and this program.
_PROGRAMS = frozenset(("claude", "codex", "gemini", "qwen", "amp", "droid", "copilot", "opencode", "gaia", "gmcp"))
_VERBS = ("add", "add-json")
# Editors that take the entry, including its name, as the value of an option.
_EDITORS = frozenset(("code", "code-insiders", "cursor", "codium", "windsurf"))
_PROMPT = re.compile(r"\s*(?:[$%>]\s+)?")
# A variable for the other program alone, such as `MCP_CLIENT_SECRET=…`: a secret, to which an entry only refers.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,99}=.*", re.DOTALL)


def own_words(args: Sequence[str]) -> list[str]:
    """The words after `add`, without a leading command such as `claude mcp add`: `time -- uvx x` for `claude mcp add
    time -- uvx x`, given as several words or as one.
    """
    for at, word in enumerate(args):
        if word == "--":
            break
        if (inner := _inside(args[at:])) is not None:
            return [*args[:at], *inner]
        if not word.startswith("-"):
            line = _split(word)
            inner = _inside(line) if len(line) > 1 else None
            # The words after the quoted line are our options. They must come before the dashes in the line.
            return [*args[:at], *args[at + 1 :], *inner] if inner is not None else list(args)
    return list(args)


def _inside(words: Sequence[str]) -> list[str] | None:
    match list(dropwhile(_ASSIGNMENT.fullmatch, words)):
        case [program, "mcp", verb, *rest] if program in _PROGRAMS and verb in _VERBS:
            return rest
        case [program, "--add-mcp", entry] if program in _EDITORS:
            return [entry]
    return None


def _split(line: str) -> list[str]:
    """The words of a command line that may begin with a shell prompt and contain escaped line breaks."""
    try:
        return shlex.split(_PROMPT.sub("", line, count=1).replace("\\\n", " "))
    except ValueError:
        return []
