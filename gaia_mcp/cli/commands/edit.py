"""`gaia mcp edit`: change parts of a server's entry, and leave the rest of it alone."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaia_mcp.cli.completion.file_names import Offers
from gaia_mcp.cli.completion.sources import configured
from gaia_mcp.cli.entries.command_line import (
    CwdOption,
    EnvOption,
    HeaderOption,
    NoCheckOption,
    RequestTimeoutOption,
    UrlOption,
    anchor,
    command_of,
    fill_in,
    proved,
    warn_of_secrets,
)
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation, ServerArgument
from gaia_mcp.cli.screen.difference import Difference, differences, in_words, members, readable
from gaia_mcp.cli.screen.output import done, remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.deadline import Deadline

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='["COMMAND LINE" | -- COMMAND [ARG...]]',
        help="How to start it from now on. No shell is involved.",
        show_default=False,
    ),
]


def _keys(ctx: Any, incomplete: str) -> Offers:  # noqa: ARG001 (Typer asks with both)
    """What the entry of the server that the line names holds."""
    return [(key, "") for key in members(configured(ctx).get(ctx.params.get("name", "")))]


UnsetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unset",
        metavar="KEY",
        help="Take this out of the entry: cwd, timeout, env.NAME, headers.NAME, …",
        autocompletion=_keys,
    ),
]
RenameOption = Annotated[
    str | None, typer.Option("--rename", metavar="NAME", help="Call it so from now on.", show_default=False)
]

# What belongs to only one of the two ways to reach a server.
BY_COMMAND = ("command", "args", "env", "cwd", "type")
BY_URL = ("url", "headers", "type")


class _Change(NamedTuple):
    """An entry before and after, under the same name or another."""

    name: str
    new_name: str
    before: Any
    after: dict[str, Any]


COMMON = (CONFIG, JSON, TIMEOUT)


def edit(
    invocation: Invocation,
    name: ServerArgument,
    words: Words = None,
    url: UrlOption = None,
    env: EnvOption = None,
    header: HeaderOption = None,
    cwd: CwdOption = None,
    request_timeout: RequestTimeoutOption = None,
    unset: UnsetOption = None,
    rename: RenameOption = None,
    no_check: NoCheckOption = False,
) -> None:
    """Change parts of a server's entry.

    Everything that is not named stays as it is. The server has to work as changed, or nothing is saved. On a terminal,
    without anything to change, the entry is opened in $VISUAL or $EDITOR.

    Example: gaia mcp edit time --env TZ=Europe/Oslo --unset timeout
    """
    store = invocation.open_store()
    before = store.own(name)
    if any((words, url, env, header, cwd, request_timeout, unset, rename)):
        after, is_anchored = _changed(name, before, words or [], url, unset or [])
        fill_in(after, env or [], header or [], cwd, request_timeout)
        is_anchored = is_anchored and anchor(after)
        _save(store, _Change(name, rename or name, before, after), invocation.deadline(), no_check=no_check)
        if is_anchored:
            remark(f"the program is kept as {after['command']!r}")
        return
    if not (on_terminal(sys.stdin) and on_terminal(sys.stdout)):
        hint = "say it: --env K=V, --cwd DIR, --request-timeout S, --unset KEY, --rename NAME, or -- COMMAND [ARG...]"
        raise UsageError(f"what is to be changed in {name!r}?", hint=hint)
    from gaia_mcp.cli.entries.editor import edited
    from gaia_mcp.storage.json_files import parse_object

    def use(data: bytes, path: Path) -> None:
        change = _Change(name, name, before, parse_object(data, path))
        _save(store, change, invocation.deadline(), no_check=no_check)

    if not edited(json.dumps(before, indent=2, ensure_ascii=False) + "\n", f"gaia-{name}", use):
        done(f"nothing changed in {name!r}", edited=name, changes={}, path=str(store.path))


def _changed(
    name: str, before: Any, words: list[str], url: str | None, unset: list[str]
) -> tuple[dict[str, Any], bool]:
    """The entry with what is unset gone and with its new command or address; whether that is a command."""
    from gaia_mcp.config.entries import read_entry

    if words and url is not None:
        raise UsageError("a command and --url exclude each other", hint=f"see: gaia mcp show {name}")
    if not isinstance(before, dict):
        read_entry(name, before)  # Says so.
    after = deepcopy(before)
    for key in unset:
        _unset(name, after, key)
    if words:
        if "url" in after:
            after = {key: value for key, value in after.items() if key not in BY_URL}
        after.update(command_of(name, words))
    elif url is not None:
        if "url" not in after:
            after = {key: value for key, value in after.items() if key not in BY_COMMAND}
        after["url"] = url
    return after, bool(words)


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


def _save(store: ConfigStore, change: _Change, deadline: Deadline | None, *, no_check: bool) -> None:
    """Check the changed entry where that can have changed the server, save it, and say what is different."""
    from gaia_mcp.cli.screen.output import Form, say
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.config.store import check_server_name
    from gaia_mcp.errors import ServerExistsError
    from gaia_mcp.paths import shown

    name, new_name = change.name, change.new_name
    if new_name != name:
        check_server_name(new_name)
        if new_name in store.names() and store.source_of(new_name) == store.path:
            raise ServerExistsError(new_name, store.path)
    entry = read_entry(name, change.after, store.path)
    different = differences(name, change.before, change.after)
    if new_name != name:
        different["name"] = Difference(name, new_name)
    if not different:
        done(f"nothing changed in {name!r}", edited=name, changes={}, path=str(store.path))
        return
    facts: dict[str, Any] = {}
    presented = ""
    if not no_check and _essence(entry) != _essence(readable(name, change.before)):
        facts, presented = proved(entry, deadline)
    store.replace(name, change.before, change.after, new_name=new_name)
    if new_name != name:
        _keep_logs(store, name, new_name)
    warn_of_secrets(_changed_part(change.after, different))
    done(
        f"changed {name!r} in {shown(store.path)}{presented}",
        edited=new_name,
        changes={key: values._asdict() for key, values in different.items()},
        path=str(store.path),
        **facts,
    )
    if not Form.as_json:
        for key, values in different.items():
            say(f"  {key}: {in_words(values.before)} → {in_words(values.after)}")


def _changed_part(entry: dict[str, Any], different: Collection[str]) -> dict[str, Any]:
    """What of an entry is not as it was: of its variables and headers only those."""
    part = {key: value for key, value in entry.items() if key in different}
    for outer in ("env", "headers"):
        if isinstance(held := entry.get(outer), dict):
            part[outer] = {name: value for name, value in held.items() if f"{outer}.{name}" in different}
    return part


def _keep_logs(store: ConfigStore, name: str, new_name: str) -> None:
    from gaia_mcp.paths import log_folder
    from gaia_mcp.storage.run_logs import RunLogs

    RunLogs(log_folder(), name, store.path).move_to(RunLogs(log_folder(), new_name, store.path))


def _essence(entry: ServerEntry | None) -> Any:
    """What decides whether the server works."""
    return entry and (entry.transport, entry.target)
