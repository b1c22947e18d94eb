"""Finds the server that a command names: a configured name, or otherwise a target, which is not saved; suggests a name
for it, and the command that saves it.

A target is a URL, a handler or an agent (`./file.py:Class`, `package.module:Class`, or a built-in agent), a folder of
handlers, or a command line. It is converted to an entry here; no code is started or imported, and no connection made.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gaia_mcp.cli.lines import LAUNCHERS, entry_options
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import Command, on_one_line
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import URL_SCHEMES, Remote
from gaia_mcp.core.errors import AgentError, EntryError
from gaia_mcp.core.files import open_file
from gaia_mcp.core.names import UNSAVED_MARK, handler_name, split_tool_name, tidy_name
from gaia_mcp.core.systems import code_kind, imported
from gaia_mcp.importing import import_named, kind_of_file, split_target
from gaia_mcp.text import encodable
from gaia_mcp.text.redaction import masked_arguments, masked_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.grammar import ServerWords
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.systems import CodeKind

# `./server`, `../server`, `/usr/bin/server`, `~/server`, and such a folder alone; `C:\server` on Windows.
_PATH = r"(?:\.{0,2}|~\w*|[A-Za-z]:)[/\\].*|\.{1,2}|~"
# The item that a command needs in addition to the server.
_ITEMS = {"prompt": "prompt", "read": "resource"}
# Launcher options that take a value. The value of `--from` or `-p` is only the package that contains the program.
_VALUED = frozenset(
    ("--from", "--with", "--python", "--index-url", "--directory", "--project", "-p", "--package", "-e", "--env",
     "--env-file", "-v", "--volume", "--mount", "--name", "--network", "--entrypoint", "--platform", "-w", "--workdir",
     "-u", "--user", "--add-host")
)  # fmt: skip
# Words that do not identify a server: subcommands of launchers, and common names of files and folders.
_COMMON = frozenset(
    ("", "gaia_mcp", "run", "dlx", "exec", "tool", "x", "c", "serve", "start", "mcp", "server", "servers", "index",
     "main", "__main__", "app", "cli", "dist", "build", "src", "out", "bin", "lib", "target", "release", "debug",
     "stdio", "remote", "proxy", "latest", "node_modules", "site-packages", *LAUNCHERS)
)  # fmt: skip
# Common prefixes and suffixes around the part of a name that identifies the server.
_AFFIXES = re.compile(r"^(?:mcp[-_.])?(?:server[-_.])?(?:mcp[-_.])?|[-_.](?:mcp[-_.]?)?server(?:[-_.]mcp)?$|[-_.]mcp$")
_SUFFIXES = re.compile(r"\.(?:py|m?js|cjs|ts|exe|cmd|bat|sh|jar|rb)$")
# `file.py:Class` or `package.module:Class`.
_AGENT_TARGET = re.compile(r"(?:.*\.py|[A-Za-z_][\w.]*):(?P<class>[A-Z]\w*)")
_HOST_LABELS = frozenset(("mcp", "api", "www", "app", "docs", "server", "co", "com", "org", "net", "ac", "gov"))
FALLBACK = "server"


def find_entry(store: ConfigStore, word: str) -> ServerEntry:
    """The configured server named `word`, which takes precedence, or otherwise the target `word`.

    Raises `ServerUnknownError` for a word that is neither, `EntryError` for an invalid one, `AgentError` for the
    missing file of an agent, `ConfigFileError`.
    """
    if (entry := _found(store, word)) is None:
        raise store.unknown(word)
    return entry


def _found(store: ConfigStore, word: str) -> ServerEntry | None:
    entry = store.find(word) or instance_entry(store, word) or typed_entry(word)
    return store.in_use(entry) if entry is not None else None


def instance_entry(store: ConfigStore, word: str) -> ServerEntry | None:
    """The entry of `NAME@INSTANCE`, a further instance that a keeper holds; None for any other word."""
    name, at, instance = word.rpartition("@")
    entry = store.find(name) if at and instance else None
    return entry._replace(name=word, instance=instance) if entry is not None else None


def typed_entry(word: str) -> TypedEntry | None:
    """The target `word`; None if it looks like a name. Raises `EntryError` and `AgentError` as `find_entry` does."""
    if word.lower().startswith(URL_SCHEMES):
        scheme, _, rest = word.partition(":")
        return TypedEntry(on_one_line(masked_url(word)), Remote(f"{scheme.lower()}:{rest}"))
    if (code := served_code(word)) is not None:
        return TypedEntry(on_one_line(word), code)
    is_path = re.fullmatch(_PATH, word, re.DOTALL) is not None
    if is_path and (word.split() == [word] or os.path.exists(os.path.expanduser(word))):  # noqa: PTH110, PTH111
        return TypedEntry(on_one_line(word), Command(word, []))
    return _command_line(word) if word.split() not in ([], [word]) else None


def with_options(entry: ServerEntry, env: Sequence[str], headers: Sequence[str], token_env: str | None) -> ServerEntry:
    """A typed server with the variables of `--env` and the headers of `--header` and `--token-env`.

    Raises `UsageError` for an option that is invalid, or does not apply to such a server.
    """
    from gaia_mcp.cli.entries.building import fill_in

    target = entry.target
    filled: dict[str, dict[str, str]] = {"url": {}} if isinstance(target, Remote) else {}
    fill_in(filled, list(env), list(headers), token_env)
    if isinstance(target, Remote):
        return entry._replace(target=target._replace(headers=filled.get("headers", {})))
    return entry._replace(target=target._replace(env=filled.get("env", {})))


def is_target(word: str) -> bool:
    """Whether `word` can only be a target, possibly an invalid one. A built-in agent's name can be something else."""
    from gaia_mcp.agents import built_in

    try:
        return word not in built_in() and typed_entry(word) is not None
    except (AgentError, EntryError):
        return True


def command_entry(words: Sequence[str]) -> TypedEntry:
    """The target for the words after two dashes, program first; a single word may be any target.

    Raises as `find_entry` does.
    """
    command, *arguments = words
    if not arguments and (entry := typed_entry(command)) is not None:
        return entry
    target = Command(command, arguments)
    return TypedEntry(target.described(), target)


def tool_of(word: str, servers: Sequence[str]) -> tuple[str, str] | None:
    """The two parts of `SERVER.TOOL` for one of `servers`, an instance of one, or a built-in agent; None for any other
    word.
    """
    if word in servers or "." not in word:
        return None
    from gaia_mcp.agents import built_in

    if (found := split_tool_name(word, servers) or split_tool_name(word, built_in())) is not None:
        return found
    name, _, rest = word.partition("@")
    instance, _, tool = rest.partition(".")
    return (f"{name}@{instance}", tool) if name in servers and instance and tool else None


def served_code(word: str) -> Served | None:
    """The handler, agent or folder of handlers that `word` names, as an absolute path; None for any other word.

    A path without a class is a program, not code to load, if it is an executable script. Raises `AgentError` for a
    missing file.
    """
    from gaia_mcp.agents import built_in

    if word in built_in():
        return Served("agent", word, is_typed=True)
    place, colon, name = split_target(word)
    if place.endswith(".py"):
        path = Path(os.path.abspath(os.path.expanduser(place)))  # noqa: PTH100, PTH111 (links are kept)
        if path.is_file():
            if not colon and os.path.dirname(place) and _is_script(path):  # noqa: PTH120
                return None
            return Served(kind_of_file(path), f"{path}{colon}{name}", is_typed=True)
        if word.split() != [word]:
            return None  # A command line that ends with such a file.
        raise AgentError(word, f"does not exist: there is no file {place!r}", hint="check the path")
    if (re.fullmatch(_PATH, word, re.DOTALL) or word.endswith("/")) and os.path.isdir(os.path.expanduser(word)):  # noqa: PTH111, PTH112
        return Served("handler", os.path.abspath(os.path.expanduser(word)), is_typed=True)  # noqa: PTH100, PTH111
    if place and name and all(part.isidentifier() for part in [*place.split("."), *name.split(".")]):
        return Served("agent", word, cwd=_working_folder(), is_typed=True)
    return None


def _is_script(path: Path) -> bool:
    """Whether the file is executable and has an interpreter line; on some file systems every file is executable."""
    try:
        with open_file(path) as file:
            return os.access(path, os.X_OK) and file.read(2) == b"#!"
    except OSError:
        return False


def raw_entry(target: Command | Served) -> dict[str, object]:
    """The raw entry for a target, as it is written to a file."""
    if isinstance(target, Served):
        return {target.transport: target.target, **({} if target.cwd is None else {"cwd": target.cwd})}
    entry: dict[str, object] = {"command": target.command, "args": list(target.args or [])}
    if target.cwd is not None:
        entry["cwd"] = target.cwd
    return {**entry, "inherit": True} if target.inherit else entry


def find_servers(store: ConfigStore, typed: ServerWords) -> list[ServerEntry]:
    """The servers of `[NAME...] [-- COMMAND [ARG...]]`, without duplicates. Raises as `find_entry` does."""
    names, command = typed.of_names(store.names()) if typed.after else typed
    entries = [find_entry(store, word) for word in dict.fromkeys(names)]
    if command:
        entries.append(store.in_use(command_entry(command)))
    return with_own_names(entries)


def find_server(
    line: CommandLine, store: ConfigStore, typed: ServerWords, *, has_item: bool = True
) -> tuple[ServerEntry, list[str]]:
    """The server of `NAME [WORD...]` or `[WORD...] -- COMMAND [ARG...]`, and the remaining words; `has_item` as in
    `ServerWords.has_command`.

    Raises as `find_entry` does, and `UsageError` for a command without an item before the dashes.
    """
    if typed.after and typed.has_command(store.names(), has_item=has_item):
        return store.in_use(command_entry(typed.after)), list(typed.before)
    first, *rest = typed.words
    entry = _found(store, first)
    if typed.after and not typed.before and has_item and (entry is None or _is_program(entry)):
        command, item = command_entry(typed.after).name, _ITEMS.get(line.command, "tool")
        begun = line.to_type(line.command, more=f"{item.upper()} [ARG...] -- {command}")
        raise UsageError(f"no {item} of {command!r} given", hint=f"name it before the dashes: {begun}")
    if entry is None:
        raise store.unknown(first)
    return entry, rest


def _is_program(entry: ServerEntry) -> bool:
    """Whether the entry is a typed program without arguments."""
    return isinstance(entry, TypedEntry) and type(entry.target) is Command and not entry.target.args


def with_own_names(entries: list[ServerEntry]) -> list[ServerEntry]:
    """The entries with unique names: the printable forms of two commands may be the same."""
    taken: dict[str, int] = {}
    named = []
    for entry in entries:
        taken[entry.name] = count = taken.get(entry.name, 0) + 1
        named.append(entry if count == 1 else entry._replace(name=f"{entry.name} ({count})"))
    return named


def _command_line(line: str) -> TypedEntry:
    from gaia_mcp.client.transports.stdio.launch import references, split_command_line

    name = on_one_line(" ".join(masked_arguments(line.split(" "))))
    program, *arguments = split_command_line(name, line, references(os.environ))
    return TypedEntry(name, Command(program, arguments))


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return None  # The folder was removed; the module may be found elsewhere.


def kind_to_serve(target: str, order: Mapping[str, Any]) -> CodeKind | None:
    """The kind of code that `target` is, with `order` the settings of its entry; None for an agent. A folder contains
    handlers. A module is imported for that; a file is not.
    """
    if "kind" in order:
        return code_kind(order["kind"])
    place, _, name = split_target(target)
    if place.endswith(".py"):
        return code_kind(kind_of_file(Path(place)))
    handler = code_kind("handler")
    if handler is None or not name:
        return handler if os.path.isdir(place) else None  # noqa: PTH112 (never raises)
    try:
        found: Any = import_named(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit):  # noqa: BLE001 (the module's own code: it is reported where it is loaded)
        return None
    return handler if isinstance(found, type) and issubclass(found, imported(handler.base)) else None


class TypedEntry(ServerEntry):
    """The entry of a typed server. Its name is what was typed, without secrets."""

    @property
    def key(self) -> str:
        """The same however it was typed, and another one for a file of another folder."""
        return f"{UNSAVED_MARK}{self.identity():08x}-{encodable(self.described())}"

    def identifying(self) -> list[Any]:
        """What the target is, and the working folder if a word of the command names something in it."""
        target = self.target
        words = [target.command, *(target.args or [])] if isinstance(target, Command) else []
        is_local = any(not os.path.isabs(word) and os.path.exists(word) for word in words)  # noqa: PTH110, PTH117
        return [*target.identity(), *([_folder_now()] if is_local else [])]


def _folder_now() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""  # It has been removed.


def listed_name(entry: ServerEntry | None, name: str, listed: Iterable[str]) -> str | None:
    """The tool among `listed` that `HANDLER.TOOL` names, for a folder of handlers; None for any other entry or name.

    A folder accepts such a name for every tool, but lists it only where several handlers have the tool.
    """
    target = entry.target if entry is not None else None
    if not isinstance(target, Served) or target.transport != "handler" or not os.path.isdir(target.target):  # noqa: PTH112
        return None
    return next((tool for tool in listed if name.endswith(f".{tool}")), None)


def suggested_name(entry: Mapping[str, Any]) -> str:
    """A name for the server of `entry`: `time` for `uvx mcp-server-time`; empty if nothing suggests one. The name never
    contains a secret.
    """
    url, command, args = entry.get("url"), entry.get("command"), entry.get("args")
    if isinstance(url, str):
        return _name_of_url(url)
    if isinstance(handler := entry.get("handler"), str) and isinstance(command, type(None)):
        return tidy_name(_handler_name(handler))
    if isinstance(agent := entry.get("agent"), str) and isinstance(command, type(None)):
        return tidy_name(_essence(agent))
    if not isinstance(command, str):
        return ""
    program, *rest = [command, *map(str, args)] if isinstance(args, list) else _split(command) or [""]
    # An interpreter's folder does not identify a server; a script's folder does.
    words = [re.split(r"[/\\]", program)[-1], *_named(masked_arguments(rest))]
    return next((name for word in words if (name := tidy_name(_essence(word)))), "")


def _handler_name(target: str) -> str:
    file = re.split(r"[/\\]", target.rpartition(":")[0] or target)[-1].removesuffix(".py")
    return handler_name(file.rpartition(".")[2])


def _named(words: list[str]) -> Iterator[str]:
    """The words that are neither options nor their values."""
    rest = iter(words)
    for word in rest:
        if word in _VALUED:
            next(rest, None)
        elif not word.startswith(("-", "$", "%")) and not re.search(r"\s", word):
            yield word


def _essence(word: str) -> str:
    """The part of a package, an image, a path or a URL that identifies the server; empty if none does."""
    if "://" in word:
        return _name_of_url(word)
    if (agent := _AGENT_TARGET.fullmatch(word)) is not None:
        word = agent["class"]
    for part in reversed(re.split(r"[/\\]", word)):
        # A version follows an @ that is not the first character, a tag of an image follows a colon.
        bare = re.split(r"(?<=.)[@:=\[<>~!]", part)[0].removeprefix("@").lower()
        name = _AFFIXES.sub("", _SUFFIXES.sub("", bare))
        if name not in _COMMON and not name.isdigit():
            return name
    return ""


def _name_of_url(url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    labels = host.split(".")
    if labels[-1].isdigit() or len(labels) == 1:
        return tidy_name(host)
    telling = [label for label in labels[:-1] if label not in _HOST_LABELS]
    return tidy_name(telling[-1] if telling else labels[-2])


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def how_to_keep(line: CommandLine, entry: ServerEntry, taken: Collection[str] = ()) -> str:
    """The command that saves a server, with a name that is not in `taken`. Secrets in its command are masked."""
    target = entry.target
    passed = entry_options(entry, "add")
    if not isinstance(target, (Command, Served)):
        return line.to_type("add", more=" ".join([*passed, quote(entry.name)]))
    name = suggested_name(raw_entry(target)) or FALLBACK
    words = quote(entry.name) if isinstance(target, Served) else f"-- {target.described()}"
    free = chain([name], (f"{name}-{number}" for number in count(2)))
    return line.to_type("add", next(each for each in free if each not in taken), more=" ".join([*passed, words]))
