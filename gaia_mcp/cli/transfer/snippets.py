"""Entries in another host's format, printed for a person to paste into that host's file; and the entry of this program
itself, which serves a handler or an agent for another host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import Form, print_json, remark, write_text
from gaia_mcp.cli.serving.loading import target_name
from gaia_mcp.cli.transfer.host_files import entry_for_host, home_folder, host_or_file
from gaia_mcp.cli.transfer.import_plan import PROTOTYPE, handler_for
from gaia_mcp.config.prototype.files import PrototypeFiles
from gaia_mcp.config.prototype.listing import split
from gaia_mcp.config.served import ORDERED, SHARED, Served, own_program
from gaia_mcp.core.errors import ConfigError
from gaia_mcp.core.paths import shown
from gaia_mcp.hosts.documents import with_server
from gaia_mcp.hosts.files import places
from gaia_mcp.hosts.masking import masked_entry
from gaia_mcp.text.strict_json import TextProblemError

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.hosts.dialects import Value
    from gaia_mcp.hosts.known import HostProgram


def print_entries(host: HostProgram, entries: Mapping[str, Any], variables: Value, *, show_secrets: bool) -> None:
    """Print entries in the format of `host`, with secrets shown as `****` unless `show_secrets`.

    Raises `ConfigError` for an entry that the host does not support.
    """
    theirs: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for name, raw in entries.items():
        entry, told = entry_for_host(name, raw, host, None, variables)
        masked = masked_entry(entry, host.dialect.notation.pattern)
        if masked != entry and not show_secrets:
            entry, told = masked, [*told, "what is hidden as **** is printed with --show-secrets"]
        theirs[name] = entry
        remarks += [f"{name}: {text}" for text in told]
    text = snippet(host, theirs)
    path = places(host, os.environ, home_folder())[0].path
    if Form.as_json:
        facts = {"host": host.key, "title": host.title, "path": str(path), "format": host.layout.format}
        print_json({**facts, "snippet": text, "servers": theirs, "remarks": remarks})
        return
    write_text(text)
    for line in remarks:
        remark(line)
    remark(f"paste this into {shown(path)}")


def print_handlers(entries: Mapping[str, ServerEntry], variables: Value, *, show_secrets: bool) -> None:
    """Print entries for `prototype.yaml`. Secrets belong in a separate file, and are printed separately with
    `show_secrets`.

    Raises `ConfigError` for an entry that is not a handler.
    """
    (place,) = host_or_file(PROTOTYPE, project=True)
    files = PrototypeFiles(place.path)
    seen: dict[str, dict[str, Any]] = {}
    hidden: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for name, entry in entries.items():
        raw, told = handler_for(place, entry, variables)
        seen[name], secrets = split(files.item(name, raw))
        remarks += [f"{name}: {text}" for text in told]
        if secrets:
            hidden[name] = {"name": name, **secrets}
    text, secret_text = snippet(place.host, seen), snippet(place.host, hidden)
    if Form.as_json:
        facts = {"host": place.host.key, "title": place.host.title, "path": str(place.path), "format": "yaml"}
        apart = {"secrets_path": str(files.secrets_path), "secrets_snippet": secret_text} if show_secrets else {}
        print_json({**facts, "snippet": text, "servers": seen, **apart, "remarks": remarks})
        return
    write_text(text)
    if hidden and show_secrets:
        write_text(f"# {files.secrets_path.name}\n{secret_text}")
    elif hidden:
        remarks.append(f"the secrets for {files.secrets_path.name} are printed with --show-secrets")
    for line in remarks:
        remark(line)
    remark(f"paste this into {shown(place.path)}")


def own_entry(target: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """A name, and an entry that serves `target` with this program from any folder. `words` are options of `serve`."""
    place, colon, kind = target.rpartition(":")
    found = os.path.abspath(os.path.expanduser(place or target))  # noqa: PTH100, PTH111
    name = target_name(target)
    if colon and (place.endswith(".py") or os.path.dirname(place)):  # noqa: PTH120
        target = f"{found}:{kind}"
    elif colon:
        remark(f"the host has to be able to import {place}; a path such as ./file.py:{kind} works from everywhere")
    elif target.endswith(".py") or os.path.isdir(found):  # noqa: PTH112
        target = found
    command, *start = own_program()
    return name, {"command": command, "args": [*start, "serve", target, *words]}


def snippet(host: HostProgram, entries: dict[str, dict[str, Any]]) -> str:
    """The entries as text in the host's format. Raises `ConfigError`."""
    text = ""
    for name, entry in entries.items():
        try:
            text = with_server(text, host.layout, name, entry)
        except TextProblemError as problem:
            hint = f"see the entry with: {to_type('show', name)}"
            raise ConfigError(f"{name!r} cannot be exported to {host.title}: {problem}", hint=hint) from problem
    return text


def entry_to_export(entry: ServerEntry) -> Mapping[str, Any]:
    """The raw entry, or the command that serves its handler or agent. References to variables are kept.

    Its stages and agents stay members of the entry, because the host applies them.
    """
    target = entry.target
    if not isinstance(target, Served):
        return entry.raw
    program, *words = own_program()
    code = {*ORDERED, target.transport} - {*SHARED}
    kept = {key: held for key, held in entry.raw.items() if key not in code and held is not None}
    env = {**target.env, **(target.order_variable(entry.name) if target.order or target.hub_file else {})}
    return {**kept, "command": program, "args": [*words, "serve", target.anchored()], **({"env": env} if env else {})}
