"""What a person pastes into another host's file: entries in that host's own format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import Form, print_json, remark, write_text
from gaia_mcp.cli.transfer.host_entry import entry_for_host
from gaia_mcp.cli.transfer.host_files import home_folder
from gaia_mcp.config.served import own_program
from gaia_mcp.errors import ConfigError
from gaia_mcp.hosts.documents import with_server
from gaia_mcp.hosts.masking import masked_entry
from gaia_mcp.hosts.places import places
from gaia_mcp.paths import shown
from gaia_mcp.textproblems import TextProblemError

if TYPE_CHECKING:
    from gaia_mcp.hosts.known import HostProgram
    from gaia_mcp.hosts.variables import Value


def print_entries(host: HostProgram, entries: Mapping[str, Any], variables: Value, *, show_secrets: bool) -> None:
    """Print what a person pastes into the file of `host`, with `****` for secrets unless they are to be shown.

    Raises `ConfigError` for an entry that the host cannot have.
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


def own_entry(target: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """A name, and the entry that serves `target` with this program, from any folder. `words` are its options."""
    place, colon, kind = target.rpartition(":")
    if colon and (place.endswith(".py") or os.path.dirname(place)):  # noqa: PTH120
        target = f"{os.path.abspath(os.path.expanduser(place))}:{kind}"  # noqa: PTH100, PTH111
    elif colon:
        remark(f"the host has to be able to import {place}; a path such as ./file.py:{kind} works from everywhere")
    command, *start = own_program()
    return (kind or target).lower(), {"command": command, "args": [*start, "serve", target, *words]}


def snippet(host: HostProgram, entries: dict[str, dict[str, Any]]) -> str:
    """The text that a person pastes into the host's file, in its own format. Raises `ConfigError`."""
    text = ""
    for name, entry in entries.items():
        try:
            text = with_server(text, host.layout, name, entry)
        except TextProblemError as problem:
            hint = f"see the entry with: {to_type('show', name)}"
            raise ConfigError(f"{name!r} cannot be given to {host.title}: {problem}", hint=hint) from problem
    return text
