"""A change of a server's entry: finds the members that differ, connects to the server if that is needed, and saves."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.entries.building import command_of
from gaia_mcp.cli.entries.difference import (
    OPEN,
    Difference,
    differences,
    members,
    readable,
    remark_on_oauth,
    remark_on_retries,
    remark_on_unseen,
)
from gaia_mcp.cli.entries.saving import tried, warn_of_patterns, warn_of_secrets
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import remark, to_stderr
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.store import ConfigStore, check_server_name
from gaia_mcp.errors import ConfigError, MCPError, ServerExistsError
from gaia_mcp.paths import cache_folder, log_folder
from gaia_mcp.safetext import one_line
from gaia_mcp.storage.atomic import read_bytes
from gaia_mcp.storage.run_logs import RunLogs
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline

# The members that apply to only one kind of server.
BY_COMMAND = ("command", "args", "env", "cwd", "inherit", "type")
BY_URL = ("url", "headers", "type")
# The members for code that this program serves.
BY_CODE = ("handler", "agent", "settings", "max_retries", "max_result_bytes")


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


def changed_entry(name: str, before: Any, words: list[str], url: str | None, unset: list[str]) -> dict[str, Any]:
    """The entry without the members that are unset, and with its new command or URL.

    Raises `UsageError`, and `EntryError` for an entry that is not an object.
    """
    if words and url is not None:
        raise UsageError("a command and --url cannot be used together", hint=f"see: {to_type('show', name)}")
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


def save_change(store: ConfigStore, change: Change, deadline: Deadline | None, *, no_check: bool) -> Saved:
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
        saved = Saved(different, *tried(entry, deadline))
    store.replace(name, change.before, entry, new_name=new_name)
    renamed = entry._replace(name=new_name)
    if new_name != name:
        RunLogs(log_folder(), name, store.path).move_to(RunLogs(log_folder(), new_name, store.path))
        ServerCache(cache_folder(), entry).copy_to(ServerCache(cache_folder(), renamed))
    if is_another:
        remark_on_unseen([renamed])
        remark_on_retries([renamed])
        remark_on_oauth([renamed])
    warn_of_secrets(_changed_part(change.after, different))
    if not different.keys().isdisjoint((INCLUDE, EXCLUDE)):
        warn_of_patterns(entry)
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


def edited(text: str, stem: str, use: Callable[[bytes, Path], None]) -> bool:
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
                to_stderr(f"not saved: {one_line(error.message, 1000)}")
                if not typer.confirm("Edit it again?", default=True, err=True):
                    raise
            else:
                is_wanted = False
                return True
    finally:
        if is_wanted:
            remark(f"what you wrote is in {path}")
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
