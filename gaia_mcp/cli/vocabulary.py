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
    "audit": ("test-client", "--all"),
    "auth": ("login", "NAME"),
    "authenticate": ("login", "NAME"),
    "bridge": ("serve", "--all"),
    "cache": ("tools", "NAME"),
    "call-tool": ("call", "NAME TOOL"),
    "cat": ("read", "NAME URI"),
    "change": ("edit", "NAME"),
    "config": ("edit", "NAME"),
    "configure": ("edit", "NAME"),
    "connect": ("add", "NAME -- COMMAND"),
    "create": ("add", "NAME -- COMMAND"),
    "daemon": ("serve", "--all"),
    "deauth": ("logout", "NAME"),
    "del": ("remove", "NAME"),
    "delete": ("remove", "NAME"),
    "describe": ("show", "NAME"),
    "describe-tool": ("call", "NAME TOOL --help"),
    "disconnect": ("disable", "NAME"),
    "discover": ("import", ""),
    "doctor": ("test-client", "--all"),
    "exec": ("call", "NAME TOOL"),
    "execute": ("call", "NAME TOOL"),
    "find": ("search", "WORD"),
    "gateway": ("serve", "--all"),
    "get-prompt": ("prompt", "NAME PROMPT"),
    "grep": ("search", "WORD"),
    "health": ("test-client", "--all"),
    "history": ("logs", "NAME"),
    "info": ("show", "NAME"),
    "inspect": ("show", "NAME"),
    "install": ("add", "NAME -- COMMAND"),
    "invoke": ("call", "NAME TOOL"),
    "list-prompts": ("prompts", "NAME"),
    "list-resources": ("resources", "NAME"),
    "list-tools": ("tools", "NAME"),
    "log": ("logs", "NAME"),
    "logging": ("logs", "NAME"),
    "new": ("add", "NAME -- COMMAND"),
    "open": ("edit", "NAME"),
    "ping": ("test-client", "NAME"),
    "probe": ("test-client", "NAME"),
    "prompts-get": ("prompt", "NAME PROMPT"),
    "prompts-list": ("prompts", "NAME"),
    "proxy": ("serve", "--all"),
    "read-resource": ("read", "NAME URI"),
    "refresh": ("tools", "NAME"),
    "register": ("add", "NAME -- COMMAND"),
    "reload": ("test-client", "NAME"),
    "resources-list": ("resources", "NAME"),
    "resources-read": ("read", "NAME URI"),
    "restart": ("test-client", "NAME"),
    "run": ("call", "NAME TOOL"),
    "scan": ("test-client", "--all"),
    "servers": ("list", ""),
    "session": ("list", "--check"),
    "sessions": ("list", "--check"),
    "set": ("edit", "NAME"),
    "shell": ("call", "NAME TOOL --interactive"),
    "start": ("serve", "--all"),
    "stop": ("disable", "NAME"),
    "sync": ("export", "--to HOST"),
    "tail": ("logs", "NAME --follow"),
    "template": ("resources", "NAME"),
    "templates": ("resources", "NAME"),
    "tools-call": ("call", "NAME TOOL"),
    "tools-get": ("call", "NAME TOOL --help"),
    "tools-list": ("tools", "NAME"),
    "uninstall": ("remove", "NAME"),
    "update": ("edit", "NAME"),
    "validate": ("test-client", "NAME"),
    "view": ("show", "NAME"),
    "whoami": ("login", "--status"),
}
# Groups of commands in other programs, as in `auth login NAME`.
_GROUPS = ("auth", "config", "registry", "server", "servers", "session", "sessions")
# A command that is less like the word was not meant: "watch" for "auth".
_LIKENESS = 0.7
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
    commands = list(commands)
    if word in _GROUPS and rest and rest[0] in commands:
        return to_type(rest[0], *rest[1:])
    if word in _STATUS:
        return to_type("list", more="--check")
    if word in _RENAME:
        old, new = [*rest, *("NAME", "NEW")[len(rest) :]][:2]
        return to_type("edit", old, "--rename", new)
    word = word.replace("/", "-")  # A method of MCP.
    meant = _MEANT.get(word)
    command, following = meant or (next(iter(near_misses(word, commands, 1, _LIKENESS)), ""), "")
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
