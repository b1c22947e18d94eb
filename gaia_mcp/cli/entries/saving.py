"""Saves a new or a changed entry: connects to its server before, warns after; finds the members that a change affects,
and lets a person edit the text in their editor, which is never lost.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.entries.building import command_of
from gaia_mcp.cli.entries.remarks import (
    OPEN,
    Difference,
    differences,
    members,
    readable,
    remark_on_held_back,
    remark_on_oauth,
    remark_on_retries,
    remark_on_unseen,
)
from gaia_mcp.cli.entries.targets import suggested_name
from gaia_mcp.cli.hints import hint_for
from gaia_mcp.cli.lines import LAUNCHERS, needs_arguments
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.store import ConfigStore, check_server_name
from gaia_mcp.core.errors import (
    ConfigError,
    DeadlineError,
    EntryError,
    MCPError,
    ServerExistsError,
    ServerExitedError,
    SpawnError,
)
from gaia_mcp.core.names import did_you_mean, typeable
from gaia_mcp.core.paths import cache_folder, log_folder
from gaia_mcp.fleet import unsupported
from gaia_mcp.fleet.parallel import ask_all
from gaia_mcp.fleet.session import connected
from gaia_mcp.hosts.masking import placeholders, plain_secrets
from gaia_mcp.storage.atomic import read_bytes
from gaia_mcp.storage.run_logs import RunLogs
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text import MASK, one_line
from gaia_mcp.text.redaction import masked_arguments, masked_url
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

if TYPE_CHECKING:
    from gaia_mcp.cli.entries.given import Given
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session
    from gaia_mcp.protocol.events import Peer

# A URL without its scheme, as people often type it.
_ADDRESS = r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/.*)?|localhost(?::\d+)?(?:/.*)?"
# The members that apply to only one kind of server.
BY_COMMAND = ("command", "args", "env", "cwd", "inherit", "type")
BY_URL = ("url", "headers", "type")
# The members for code that this program serves.
BY_CODE = ("handler", "agent", "settings", "max_retries", "max_result_bytes")


class Tried(NamedTuple):
    """The result of a connection: the server's name, version and number of tools, for JSON and as the end of a
    sentence.
    """

    facts: dict[str, Any]
    presented: str


# The result for a server that is saved without a connection.
UNTRIED = Tried({}, "")


def tried(screen: Screen, entry: ServerEntry, deadline: Deadline | None, given: Given | None = None) -> Tried:
    """Connect to a server once. Raises as `connected` does; the hint then also says that nothing was saved."""
    screen.line.used.append(entry)
    try:
        with (
            SessionView(screen, f"starting {entry.name}") as view,
            connected(entry, view, deadline=deadline) as session,
        ):
            peer = session.peer
            found = _tools(screen, session)
    except MCPError as error:
        about_given = _hint_for(screen.line, given, error) if given is not None else ""
        error.hint = about_given or "; ".join(filter(None, ("nothing was saved", hint_for(screen.line, error))))
        raise
    return _presented(peer, found)


def tried_all(
    screen: Screen, servers: Sequence[Given], entries: Sequence[ServerEntry], deadline: Deadline | None
) -> list[Tried]:
    """Connect to each of the new servers once. Raises the last error after reporting the others, and `EntryError` for
    an incomplete command.
    """
    for entry in entries:
        _check_complete(screen.line, entry)
        if screen.debug:
            remark_on_held_back(screen, entry)
    if len(entries) == 1:
        return [tried(screen, entries[0], deadline, servers[0])]
    screen.line.has_several = True
    screen.line.used.extend(entries)
    with SessionView(screen, f"starting {len(entries)} servers") as view:
        results = ask_all(entries, partial(_tools, screen), view, deadline)
    problems = []
    for server, result in zip(servers, results, strict=True):
        if result.error is not None:
            result.error.hint = _hint_for(screen.line, server, result.error) or result.error.hint
            problems.append(result.error)
    for problem in problems[:-1]:
        screen.report(problem)
    if problems:
        screen.remark("nothing was saved: of servers that are pasted together, all or none are saved")
        raise problems[-1]
    return [_presented(result.peer, result.value) for result in results]


def _check_complete(line: CommandLine, entry: ServerEntry) -> None:
    # A launcher without arguments would wait for input until the timeout.
    target = entry.target
    if isinstance(target, Command) and not target.args and needs_arguments(target.command):
        start = line.to_type("add", entry.name, more=f"-- {typeable(target.command)} ARG...")
        whole = f"give the program that it runs: {start}"
        raise EntryError(entry.name, f"its command {target.command!r} alone does not start a server", hint=whole)


def _tools(screen: Screen, session: Session) -> int:
    """The number of a server's tools. Also requests prompts and resources, so that completion knows them."""
    found = session.tools()
    if session.problems == [unsupported("tools")]:
        screen.remark(f"{session.entry.name}: {session.problems[0]}")
    for kind, ask in (("prompts", session.prompts), ("resources", session.resources_and_templates)):
        if kind in session.capabilities:
            # Not essential: commands that name a prompt or a resource report the error.
            with suppress(MCPError):
                ask()
    return len(found)


def _presented(peer: Peer | None, tools: int) -> Tried:
    info = peer.info if peer else {}
    named = f": {info.get('name', 'unnamed')} {info.get('version', '')}".rstrip()
    facts = {"serverInfo": info, "protocolVersion": peer.version if peer else "", "tools": tools}
    return Tried(facts, f"{named}, {counted(tools, 'tool')}")


def _hint_for(line: CommandLine, server: Given, error: MCPError) -> str:
    """A hint for a new server that does not work, based on how it was given; empty if there is none."""
    if isinstance(error, (ServerExitedError, DeadlineError)):
        places = [place.partition(" ") for place in placeholders(server.entry)]
        if variables := [name for kind, _, name in places if kind == "env"]:
            options = [word for name in variables for word in ("--env", f"{name}=VALUE")]
            how = line.again("set it" if len(variables) == 1 else "set them", *options, server=server.name)
            return f"its variables are placeholders; nothing was saved; {how}"
        if arguments := [int(number) for kind, _, number in places if kind == "args"]:
            return _to_be_edited(line, masked_arguments(server.entry["args"])[arguments[0]])
    if isinstance(error, SpawnError) and "command" in placeholders(server.entry):
        return _to_be_edited(line, error.command)
    if isinstance(error, SpawnError) and len(server.words) == 1 and re.fullmatch(_ADDRESS, server.words[0]):
        scheme = "http" if server.words[0].startswith("localhost") else "https"
        url = shlex.quote(masked_url(f"{scheme}://{server.words[0]}"))
        return f"if it is a URL: {line.to_type('add', server.name, more=url)}"
    if isinstance(error, SpawnError) and error.case == "not-on-path" and server.words and server.name in LAUNCHERS:
        words = [server.name, *server.words]
        name = suggested_name({"command": words[0], "args": words[1:]}) or "NAME"
        named = line.to_type("add", name, more=f"-- {shlex.join(masked_arguments(words))}")
        return f"the name of the server is missing: {named}"
    return ""


def _to_be_edited(line: CommandLine, placeholder: str) -> str:
    return f"{placeholder!r} is a placeholder; {line.again('save it, then edit it,', '--no-check')}"


def warn_of_placeholders(screen: Screen, name: str, entry: Mapping[str, Any]) -> None:
    """Print a remark for each value of an entry that is a placeholder."""
    to_type = screen.line.to_type
    for place in placeholders(entry):
        kind, _, which = place.partition(" ")
        if kind == "env":
            told, change = f"{which} is a placeholder", to_type("edit", name, more=f"--env {typeable(which)}=VALUE")
        elif kind == "header":
            header = shlex.quote(f"{which}: VALUE")
            told, change = f"the header {which} is a placeholder", to_type("edit", name, more=f"--header {header}")
        else:
            value = repr(masked_arguments(entry["args"])[int(which)]) if kind == "args" else f"its {kind}"
            told, change = f"{value} contains a placeholder", to_type("edit", name)
        screen.remark(f"{told}; set it with: {change}")


def warn_of_patterns(screen: Screen, entry: ServerEntry) -> None:
    """Print a remark for each name and pattern of the entry's filter that matches no tool, if the tools are cached."""
    tools = ServerCache(cache_folder(), entry).listed()
    if tools is None or entry.tool_filter is None:
        return
    names = [tool["name"] for tool in tools]
    for pattern in entry.tool_filter.without_match(names):
        meant = did_you_mean(pattern, names)
        screen.remark(f"{pattern!r} matches no tool of {entry.name!r}" + (f"; {meant}" if meant else ""))


def warn_of_secrets(screen: Screen, entry: Mapping[str, Any]) -> None:
    """Print a remark for each plain-text secret in an entry."""
    for place in plain_secrets(entry):
        if place in placeholders(entry):
            continue  # A placeholder is not yet a secret.
        kind, _, name = place.partition(" ")
        if kind == "env":
            instead = f"--env {name} alone would store a reference to the variable instead"
            screen.remark(f"{name} is stored as plain text; {instead}")
        else:
            kind = "setting" if kind == "settings" else kind
            what = f"the {kind} {name}" if name else _masked_part(entry, kind)
            screen.remark(f"{what} is stored as plain text; use a reference such as ${{TOKEN}} instead")


def _masked_part(entry: Mapping[str, Any], member: str) -> str:
    """Which part of a member's value is a secret: its first masked argument, with the option before it."""
    given = entry[member]
    if not isinstance(given, list):
        return f"the value of {member!r}"
    shown = masked_arguments(given)
    at = next(at for at, argument in enumerate(shown) if argument != given[at])
    option = [shown[at - 1]] if at and shown[at] == MASK and shown[at - 1].startswith("-") else []
    return f"the argument {' '.join([*option, shown[at]])!r}"


def warn_of_files(screen: Screen, name: str, arguments: list[str]) -> None:
    """Print a remark if an argument is a file in the working folder, which a server started elsewhere cannot find."""
    for argument in arguments:
        # An agent is FILE:CLASS.
        names = (argument, argument.partition(":")[0])
        if not os.path.isabs(argument) and any(map(os.path.isfile, names)):  # noqa: PTH117
            where = "the server starts in the folder that it is called from"
            keep = screen.line.to_type("edit", name, more="--cwd .")
            screen.remark(f"{argument!r} is a file of this folder, and {where}; keep it here: {keep}")
            return


class Change(NamedTuple):
    """An entry before and after a change, possibly under a new name."""

    name: str
    new_name: str
    before: Any
    after: dict[str, Any]


class Saved(NamedTuple):
    """The result of a change: the members that differ and, if the server was connected to, its facts as in `Tried`."""

    different: dict[str, Difference]
    facts: dict[str, Any]
    presented: str


def changed_entry(
    line: CommandLine, name: str, before: Any, words: list[str], url: str | None, unset: list[str]
) -> dict[str, Any]:
    """The entry without the members that are unset, and with its new command or URL.

    Raises `UsageError`, and `EntryError` for an entry that is not an object.
    """
    if words and url is not None:
        raise UsageError("a command and --url cannot be used together", hint=f"see: {line.to_type('show', name)}")
    if not isinstance(before, dict):
        read_entry(name, before)  # Always raises here.
    after: dict[str, Any] = deepcopy(before)
    for key in unset:
        _unset(name, after, key)
    if words:
        after = {
            key: value
            for key, value in after.items()
            if key not in ((*BY_URL, *BY_CODE) if "command" not in after else ())
        }
        after.update(command_of(name, words))
    elif url is not None:
        if "url" not in after:
            after = {key: value for key, value in after.items() if key not in (*BY_COMMAND, *BY_CODE)}
        after["url"] = url
    return after


def save_change(
    screen: Screen, store: ConfigStore, change: Change, deadline: Deadline | None, *, no_check: bool
) -> Saved:
    """Save the changed entry. Connects to its server first if the change can affect the connection. Does nothing if no
    member differs.

    Raises `EntryError`, `ServerExistsError` for a new name that is taken, `ConfigFileError`, and as `connected` does.
    """
    name, new_name = change.name, change.new_name
    if new_name != name:
        check_server_name(new_name)
        if new_name in store.names() and store.source_of(new_name) == store.path:
            raise ServerExistsError(new_name, store.path)
    entry, earlier = store.read(name, change.after), readable(name, change.before)
    different = differences(change.before, earlier, entry)
    if new_name != name:
        different["name"] = Difference(name, new_name)
    saved = Saved(different, {}, "")
    if not different:
        return saved
    is_another = _essence(entry) != _essence(earlier)
    if is_another and not no_check:
        saved = Saved(different, *tried(screen, entry, deadline))
    store.replace(name, change.before, entry, new_name=new_name)
    renamed = entry._replace(name=new_name)
    if new_name != name:
        RunLogs(log_folder(), name, store.path).move_to(RunLogs(log_folder(), new_name, store.path))
        ServerCache(cache_folder(), entry).copy_to(ServerCache(cache_folder(), renamed))
    if is_another:
        remark_on_unseen(screen, [renamed])
        remark_on_retries(screen, [renamed])
        remark_on_oauth(screen, [renamed])
    warn_of_secrets(screen, _changed_part(change.after, different))
    if not different.keys().isdisjoint((INCLUDE, EXCLUDE)):
        warn_of_patterns(screen, entry)
    return saved


def _unset(name: str, entry: dict[str, Any], key: str) -> None:
    outer, _, inner = key.partition(".")
    if key in entry:
        del entry[key]
    elif inner and isinstance(entry.get(outer), dict) and inner in entry[outer]:
        del entry[outer][inner]
        if not entry[outer]:
            del entry[outer]
    else:
        raise UsageError(f"{name!r} has no {key!r}", hint=f"it has: {', '.join(members(entry))}")


def _changed_part(entry: dict[str, Any], different: Collection[str]) -> dict[str, Any]:
    part = {key: value for key, value in entry.items() if key in different}
    for outer in OPEN:
        if isinstance(held := entry.get(outer), dict):
            part[outer] = {name: value for name, value in held.items() if f"{outer}.{name}" in different}
    return part


def _essence(entry: ServerEntry | None) -> Any:
    """The part of an entry that determines whether the connection works."""
    return entry and (entry.transport, entry.target, entry.revision)


def edited(screen: Screen, text: str, stem: str, use: Callable[[bytes, Path], None]) -> bool:
    """Open `text` in `$VISUAL`, `$EDITOR` or vi, and pass the edited text to `use`, with the path of the temporary
    file.

    If `use` raises an `MCPError`, the person may edit the text again. Returns whether the text was changed. Raises the
    last error of `use`, and `ConfigError` for an editor that cannot be run; the temporary file is then kept.
    """
    # Older configuration files may contain names with any characters.
    prefix = re.sub(r"[^\w.-]", "-", stem)[:64]
    descriptor, name = tempfile.mkstemp(prefix=f"{prefix}-", suffix=".json")  # Only its owner can read it.
    path = Path(name)
    is_wanted = False
    try:
        # A lone surrogate is written as its JSON escape, which is how it can have been read.
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        before = read_bytes(path)
        while True:
            try:
                _run_editor(path)
            finally:
                is_wanted = True  # The file is also kept if it cannot be read.
                after = read_bytes(path)
                is_wanted = after not in (None, before)
            if after is None or not is_wanted:
                return False
            try:
                use(after, path)
            except MCPError as error:
                screen.to_stderr(f"not saved: {one_line(error.message, 1000)}")
                if not typer.confirm("Edit it again?", default=True, err=True):
                    raise
            else:
                is_wanted = False
                return True
    finally:
        if is_wanted:
            screen.remark(f"what you wrote is in {path}")
        else:
            path.unlink(missing_ok=True)


def _run_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    hint = "name another one: export EDITOR=…"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except (OSError, ValueError) as cause:
        raise ConfigError(f"the editor {editor!r} cannot be run: {cause}", hint=hint) from cause
    if done.returncode:
        raise ConfigError(f"the editor {editor!r} ended with status {done.returncode}", hint=hint)
