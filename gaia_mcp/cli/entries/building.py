"""An entry built from the words of a command line, the same for `add` and `edit`."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.hints import to_type
from gaia_mcp.cli.status import UsageError
from gaia_mcp.client.transports.stdio.command_line import split_command_line
from gaia_mcp.toolspec.assignments import ArgumentSyntaxError, read_object

if TYPE_CHECKING:
    from pathlib import Path

# What can be referred to as ${NAME}.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def new_entry(name: str, words: list[str], url: str | None, entry: str | None) -> dict[str, Any]:
    """The entry of a new server from one of its command, its URL and its JSON. Raises `UsageError`, `EntryError`."""
    given = [what for what, value in (("a command", words), ("--url", url), ("--json", entry)) if value]
    if len(given) != 1:
        problem = f"{' and '.join(given)} exclude each other" if given else f"how is {name!r} started?"
        way = to_type("add", name, more="-- COMMAND [ARG...]")
        raise UsageError(problem, hint=f"{way}, or --url URL, or --json '{{…}}'")
    if entry is not None:
        return _from_json(name, entry)
    if url is not None:
        return {"url": url}
    return command_of(name, words)


def command_of(name: str, words: list[str]) -> dict[str, Any]:
    """`command` and `args` from `"COMMAND LINE"` or `COMMAND ARG...`. Raises `EntryError`."""
    command, *arguments = _split(name, words)
    return {"command": command, "args": arguments}


def fill_in(
    entry: dict[str, Any],
    env: list[str],
    headers: list[str],
    cwd: Path | None,
    request_timeout: float | None,
    inherits_all: bool | None,
) -> None:
    """Put the values of the options into `entry`. Raises `UsageError` for one that does not belong there."""
    if "url" in entry and (env or inherits_all or cwd is not None):
        option = "--env" if env else "--inherit-env" if inherits_all else "--cwd"
        hint = "send a value to a URL with --header 'Name: value'"
        raise UsageError(f"{option} is for a command, and this server is reached by --url", hint=hint)
    for item in env:
        key, equals, value = item.partition("=")
        if not key or not (equals or _VARIABLE.fullmatch(key)):
            raise UsageError(f"--env {item!r} names no variable", hint="write --env NAME=VALUE, or --env NAME")
        entry["env"] = {**_object(entry.get("env")), key: value if equals else f"${{{key}}}"}
    for item in headers:
        key, colon, value = item.partition(":")
        if not colon or not key.strip() or "url" not in entry:
            raise UsageError(f"--header {key!r} needs --url, and a colon", hint="write --header 'Name: value'")
        entry["headers"] = {**_object(entry.get("headers")), key.strip(): value.strip()}
    if inherits_all:
        entry["inherit"] = True
    elif inherits_all is not None:
        entry.pop("inherit", None)
    if cwd is not None:
        entry["cwd"] = str(cwd.expanduser().absolute())
    if request_timeout is not None:
        entry["timeout"] = int(request_timeout) if request_timeout == int(request_timeout) else request_timeout


def anchor(entry: dict[str, Any]) -> bool:
    """Make the path of a program absolute, so that it is found from every folder. Whether that changed the entry."""
    if not is_relative(entry["command"]) or "cwd" in entry:  # It is found from its own folder.
        return False
    # Without following links: a virtual environment's interpreter is one.
    entry["command"] = os.path.abspath(entry["command"])  # noqa: PTH100
    return True


def is_relative(command: str) -> bool:
    """Whether the path of a program depends on the working folder."""
    return bool(os.path.dirname(command)) and not os.path.isabs(command) and not command.startswith(("~", "${"))  # noqa: PTH117, PTH120


def _from_json(name: str, text: str) -> dict[str, Any]:
    try:
        value = read_object(text, "--json")
    except ArgumentSyntaxError as problem:
        raise UsageError(
            str(problem), hint='an entry looks like {"command": "uvx", "args": ["mcp-server-time"]}'
        ) from None
    wrapped = value.get("mcpServers", value.get("servers"))
    if isinstance(wrapped, dict):
        # A whole file, as the READMEs of servers show it.
        if name not in wrapped and len(wrapped) != 1:
            hint = "add them one by one, each by its name"
            raise UsageError(f"--json holds {len(wrapped)} servers, and none is {name!r}", hint=hint)
        value = wrapped[name] if name in wrapped else next(iter(wrapped.values()))
    return value


def _object(held: Any) -> dict[str, Any]:
    return held if isinstance(held, dict) else {}


def _split(name: str, words: list[str]) -> list[str]:
    if len(words) > 1 or not any(character.isspace() for character in words[0]):
        return words
    # The path of a program may contain spaces.
    return words if shutil.which(words[0]) else split_command_line(name, words[0])
