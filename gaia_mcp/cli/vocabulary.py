"""Aliases of commands, and words from other programs for which a command is suggested.

No command runs here, so the `--config` on the line is parsed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gaia_mcp.cli.lines import Typed, to_type
from gaia_mcp.names import near_misses

# Neither in help nor in completion, where each command is listed once.
ALIASES = {"get": "show", "ls": "list", "rm": "remove", "test": "test-client"}

# The command to suggest, and its default arguments, which are replaced by those that were typed.
_MEANT = {
    "add-json": ("add", "NAME JSON"),
    "approve": ("trust", "FOLDER"),
    "change": ("edit", "NAME"),
    "create": ("add", "NAME -- COMMAND"),
    "del": ("remove", "NAME"),
    "delete": ("remove", "NAME"),
    "describe": ("show", "NAME"),
    "doctor": ("test-client", "--all"),
    "exec": ("call", "NAME TOOL"),
    "execute": ("call", "NAME TOOL"),
    "find": ("search", "WORD"),
    "health": ("test-client", "--all"),
    "info": ("show", "NAME"),
    "inspect": ("show", "NAME"),
    "install": ("add", "NAME -- COMMAND"),
    "invoke": ("call", "NAME TOOL"),
    "log": ("logs", "NAME"),
    "new": ("add", "NAME -- COMMAND"),
    "ping": ("test-client", "NAME"),
    "register": ("add", "NAME -- COMMAND"),
    "run": ("call", "NAME TOOL"),
    "servers": ("list", ""),
    "set": ("edit", "NAME"),
    "tail": ("logs", "NAME --follow"),
    "uninstall": ("remove", "NAME"),
    "update": ("edit", "NAME"),
    "validate": ("test-client", "NAME"),
}
# These take no names.
_STATUS = ("ps", "status")
_RENAME = ("mv", "rename")


def without_words(args: Sequence[str]) -> list[str]:
    """The arguments of a group of commands, with `help [COMMAND]` and `version` replaced by the equivalent options."""
    match args:
        case ["help", command, *rest]:
            return [command, "--help", *rest]
        case ["help" | "version" as word, *rest]:
            return [f"--{word}", *rest]
    return list(args)


def meant_by(word: str, rest: Sequence[str], commands: Iterable[str]) -> str:
    """The command line to suggest instead of the unknown `word`, followed by `rest`; empty if there is none."""
    rest = _without_config(rest)
    if word in _STATUS:
        return to_type("list", more="--check")
    if word in _RENAME:
        old, new = [*rest, *("NAME", "NEW")[len(rest) :]][:2]
        return to_type("edit", old, "--rename", new)
    command, following = _MEANT.get(word) or (next(iter(near_misses(word, commands, limit=1)), ""), "")
    if not command:
        return ""
    return to_type(command, *rest) if rest else to_type(command, more=following)


def _without_config(rest: Sequence[str]) -> list[str]:
    """`rest` without its `--config`, which the suggested line contains already."""
    found: list[str] = []
    waiting = list(rest)
    while waiting and (word := waiting.pop(0)) != "--":
        name, equals, value = word.partition("=")
        if name != "--config":
            found.append(word)
        elif equals or waiting:
            Typed.config = Path(value if equals else waiting.pop(0))
    return [*found, *rest[rest.index("--") :]] if "--" in rest else found
