"""How to save a server that was used without a name."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, count
from shlex import quote
from typing import TYPE_CHECKING

from gaia_mcp.cli.entries.targets import raw_entry, suggested_name
from gaia_mcp.cli.lines import entry_options, to_type
from gaia_mcp.config.command import Command
from gaia_mcp.config.served import Served

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

FALLBACK = "server"


def how_to_keep(entry: ServerEntry, taken: Collection[str] = ()) -> str:
    """The command that saves a server, with a name that is not in `taken`. Secrets in its command are masked."""
    target = entry.target
    passed = entry_options(entry, "add")
    if not isinstance(target, (Command, Served)):
        return to_type("add", more=" ".join([*passed, quote(entry.name)]))
    name = suggested_name(raw_entry(target)) or FALLBACK
    words = quote(entry.name) if isinstance(target, Served) else f"-- {target.described()}"
    free = chain([name], (f"{name}-{number}" for number in count(2)))
    return to_type("add", next(each for each in free if each not in taken), more=" ".join([*passed, words]))
