"""What comes before an entry is saved, and after it: one connection to the server, and warnings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.hints import to_type
from gaia_mcp.cli.screen.output import counted, remark
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.hosts.masking import plain_secrets
from gaia_mcp.session.session import connected

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline


def tried(entry: ServerEntry, deadline: Deadline | None) -> tuple[dict[str, Any], str]:
    """Connect to a server once. Its name, version and number of tools, for JSON and as the end of a sentence.

    Raises as `connected` does.
    """
    with SessionView(f"starting {entry.name}") as view, connected(entry, view, deadline=deadline) as session:
        peer = session.peer
        found = session.tools()
    info = peer.info if peer else {}
    facts = {"server": info, "version": peer.version if peer else "", "tools": len(found)}
    return (
        facts,
        f": {info.get('name', 'unnamed')} {info.get('version', '')}".rstrip() + f", {counted(len(found), 'tool')}",
    )


def warn_of_secrets(entry: Mapping[str, Any]) -> None:
    """Remark on each secret that an entry holds in plain text."""
    for place in plain_secrets(entry):
        kind, _, name = place.partition(" ")
        if kind == "env":
            instead = f"--env {name} alone would store a reference to the variable instead"
            remark(f"{name} is stored as plain text; {instead}")
        else:
            what = f"the header {name}" if name else f"what {place!r} holds"
            remark(f"{what} is stored as plain text; a reference such as ${{TOKEN}} can stand there instead")


def warn_of_files(name: str, arguments: list[str]) -> None:
    """Remark on an argument that names a file in the working folder: a server started elsewhere does not find it."""
    for argument in arguments:
        # An agent is FILE:CLASS.
        names = (argument, argument.partition(":")[0])
        if not os.path.isabs(argument) and any(map(os.path.isfile, names)):  # noqa: PTH117
            where = "the server starts in the folder that it is called from"
            keep = to_type("edit", name, more="--cwd .")
            remark(f"{argument!r} is a file of this folder, and {where}; keep it here: {keep}")
            return
