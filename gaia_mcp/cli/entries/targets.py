"""The server that is meant where a command names one: a configured name, or else a target, which is not saved.

A target is a URL, a handler or an agent (`./file.py:Class`, `package.module:Class`, or a built-in agent), a folder of
handlers, or a command line. Here it becomes an entry; nothing of it is started, imported or connected to.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.entries.code_files import code_kind
from gaia_mcp.cli.lines import Typed, to_type
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import Command, on_one_line
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import URL_SCHEMES, Remote
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.errors import AgentError, EntryError
from gaia_mcp.filebytes import open_file
from gaia_mcp.importing.targets import split_target
from gaia_mcp.names import split_tool_name
from gaia_mcp.redaction import masked_arguments, masked_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.grammar.server_words import ServerWords
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore

# `./server`, `../server`, `/usr/bin/server`, `~/server`, and such a folder alone; `C:\server` on Windows.
_PATH = r"(?:\.{0,2}|~\w*|[A-Za-z]:)[/\\].*|\.{1,2}|~"
# A child of ours reports tracebacks in its log.
_DEBUG = ("--debug",)
# What a command needs beside the server.
_ITEMS = {"prompt": "prompt", "read": "resource"}


def find_entry(store: ConfigStore, word: str, *, debug: bool = False) -> ServerEntry:
    """The configured server of that name, which always wins, else the target that `word` is. With `debug` an agent is
    served so that its tracebacks are in its log.

    Raises `ServerUnknownError` for a word that is neither, `EntryError` for one that is invalid, `AgentError` for the
    file of an agent that is not there, `ConfigFileError`.
    """
    entry = _configured(store, word, debug=debug) or typed_entry(word, debug=debug)
    if entry is None:
        raise store.unknown(word)
    return entry


def _configured(store: ConfigStore, name: str, *, debug: bool) -> ServerEntry | None:
    entry = store.find(name)
    if debug and entry is not None and isinstance(entry.target, Served):
        return entry._replace(target=entry.target._replace(options=_DEBUG))
    return entry


def typed_entry(word: str, *, debug: bool = False) -> TypedEntry | None:
    """The target that `word` is, None if it looks like a name. Raises `EntryError` and `AgentError` as `find_entry`."""
    if word.lower().startswith(URL_SCHEMES):
        scheme, _, rest = word.partition(":")
        return TypedEntry(on_one_line(masked_url(word)), Remote(f"{scheme.lower()}:{rest}"))
    if (code := served_code(word, debug=debug)) is not None:
        return TypedEntry(on_one_line(word), code)
    is_path = re.fullmatch(_PATH, word, re.DOTALL) is not None
    if is_path and (word.split() == [word] or os.path.exists(os.path.expanduser(word))):  # noqa: PTH110, PTH111
        return TypedEntry(on_one_line(word), Command(word, []))
    return _command_line(word) if word.split() not in ([], [word]) else None


def is_target(word: str) -> bool:
    """Whether `word` can be nothing but a target, perhaps an invalid one; the name of a built-in agent can."""
    from gaia_mcp.agents.loader import BUILT_IN

    try:
        return word not in BUILT_IN and typed_entry(word) is not None
    except (AgentError, EntryError):
        return True


def command_entry(words: Sequence[str], *, debug: bool = False) -> TypedEntry:
    """The command that `words` are, program first, as they follow two dashes; a single word may be any target.

    Raises as `find_entry` does.
    """
    command, *arguments = words
    if not arguments and (entry := typed_entry(command, debug=debug)) is not None:
        return entry
    target = Command(command, arguments)
    return TypedEntry(target.described(), target)


def tool_of(word: str, servers: Sequence[str]) -> tuple[str, str] | None:
    """The two parts of `SERVER.TOOL` for one of `servers` or a built-in agent, None for any other word."""
    if word in servers or "." not in word:
        return None
    from gaia_mcp.agents.loader import BUILT_IN

    return split_tool_name(word, servers) or split_tool_name(word, BUILT_IN)


def served_code(word: str, *, debug: bool = False) -> Served | None:
    """The handler, the agent or the folder of handlers that `word` is, found from every folder; None if it is none.

    A path without a class is no code to be loaded but a program if it can be run as one. Raises `AgentError` for a file
    that is not there.
    """
    from gaia_mcp.agents.loader import BUILT_IN

    options = _DEBUG if debug else ()
    if word in BUILT_IN:
        built_in = Served("agent", word, is_typed=True, options=options)
        return built_in.in_file(Typed.config) if Typed.config is not None else built_in
    place, colon, name = split_target(word)
    if place.endswith(".py"):
        path = Path(os.path.abspath(os.path.expanduser(place)))  # noqa: PTH100, PTH111 (links are kept)
        if path.is_file():
            if not colon and os.path.dirname(place) and _is_script(path):  # noqa: PTH120
                return None
            return Served(code_kind(path), f"{path}{colon}{name}", is_typed=True, options=options)
        if word.split() != [word]:
            return None  # A command line that ends so.
        raise AgentError(word, f"does not exist: there is no file {place!r}", hint="check the path")
    if (re.fullmatch(_PATH, word, re.DOTALL) or word.endswith("/")) and os.path.isdir(os.path.expanduser(word)):  # noqa: PTH111, PTH112
        return Served("handler", os.path.abspath(os.path.expanduser(word)), is_typed=True, options=options)  # noqa: PTH100, PTH111
    if place and name and all(part.isidentifier() for part in [*place.split("."), *name.split(".")]):
        return Served("agent", word, cwd=_working_folder(), is_typed=True, options=options)
    return None


def _is_script(path: Path) -> bool:
    """Whether it can be run, and names its interpreter: on some file systems every file is executable."""
    try:
        with open_file(path) as file:
            return os.access(path, os.X_OK) and file.read(2) == b"#!"
    except OSError:
        return False


def raw_entry(target: Command | Served) -> dict[str, object]:
    """The entry that is written into a file for what was typed."""
    if isinstance(target, Served):
        return {target.transport: target.target, **({} if target.cwd is None else {"cwd": target.cwd})}
    entry: dict[str, object] = {"command": target.command, "args": list(target.args or [])}
    if target.cwd is not None:
        entry["cwd"] = target.cwd
    return {**entry, "inherit": True} if target.inherit else entry


def find_servers(store: ConfigStore, typed: ServerWords, *, debug: bool = False) -> list[ServerEntry]:
    """The servers of `[NAME...] [-- COMMAND [ARG...]]`, each once. Raises as `find_entry` does."""
    names, command = typed.of_names(store.names()) if typed.after else typed
    entries = [find_entry(store, word, debug=debug) for word in dict.fromkeys(names)]
    if command:
        entries.append(command_entry(command, debug=debug))
    return with_own_names(entries)


def find_server(
    store: ConfigStore, typed: ServerWords, *, has_item: bool = True, debug: bool = False
) -> tuple[ServerEntry, list[str]]:
    """The server of `NAME [WORD...]` or `[WORD...] -- COMMAND [ARG...]`, and the other words; `has_item` as for
    `ServerWords.has_command`.

    Raises as `find_entry` does, and `UsageError` for a command with nothing before the dashes.
    """
    if typed.after and typed.has_command(store.names(), has_item=has_item):
        return command_entry(typed.after, debug=debug), list(typed.before)
    first, *rest = typed.words
    entry = _configured(store, first, debug=debug) or typed_entry(first, debug=debug)
    if typed.after and not typed.before and has_item and (entry is None or _is_program(entry)):
        command, item = command_entry(typed.after).name, _ITEMS.get(Typed.command, "tool")
        begun = to_type(Typed.command, more=f"{item.upper()} [ARG...] -- {command}")
        raise UsageError(f"no {item} of {command!r} given", hint=f"name it before the dashes: {begun}")
    if entry is None:
        raise store.unknown(first)
    return entry, rest


def _is_program(entry: ServerEntry) -> bool:
    """Whether a program was typed, without arguments."""
    return isinstance(entry, TypedEntry) and type(entry.target) is Command and not entry.target.args


def with_own_names(entries: list[ServerEntry]) -> list[ServerEntry]:
    """The entries, each with a name of its own: two commands may differ in nothing that can be shown."""
    taken: dict[str, int] = {}
    named = []
    for entry in entries:
        taken[entry.name] = count = taken.get(entry.name, 0) + 1
        named.append(entry if count == 1 else entry._replace(name=f"{entry.name} ({count})"))
    return named


def _command_line(line: str) -> TypedEntry:
    from gaia_mcp.client.transports.stdio.command_line import references, split_command_line

    name = on_one_line(" ".join(masked_arguments(line.split(" "))))
    program, *arguments = split_command_line(name, line, references(os.environ))
    return TypedEntry(name, Command(program, arguments))


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return None  # It has been removed, and the module may be elsewhere.
