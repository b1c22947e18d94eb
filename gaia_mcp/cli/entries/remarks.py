"""What is printed about an entry: the differences between two versions of it, with secrets masked, and remarks on
members without effect, on variables that its server does not inherit, on tools that are not cached, and on state that
is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.config.targets import Remote
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry

# The members that may be printed; any other member may be a secret.
SHOWN = (
    "command", "args", "env", "cwd", "inherit", "url", "headers", "timeout", "disabled", "includeTools", "excludeTools",
    "handler", "agent", "settings", "max_retries", "max_result_bytes", "stages", "agents",
    "protocolVersion", "trustHints", "shared", "keepAlive", "oauth",
)  # fmt: skip


# The objects in an entry whose members are compared one by one.
OPEN = ("env", "headers", "settings")
# With more names, the command about all servers is shorter.
MAX_NAMED = 4


class Difference(NamedTuple):
    """The printable values of one member; None where the member is absent."""

    before: Any
    after: Any


def differences(before: Any, earlier: ServerEntry | None, later: ServerEntry) -> dict[str, Difference]:
    """Every member in which two versions of an entry differ, with each variable, header and setting compared
    separately. `before` is the raw earlier version, `earlier` the parsed one, None if it is invalid.
    """
    old, new = members(before), members(later.raw)
    old_shown, new_shown = _shown(before, earlier), _shown(later.raw, later)
    return {
        key: Difference(old_shown.get(key), new_shown.get(key))
        for key in {**old, **new}
        if key not in old or key not in new or old[key] != new[key]
    }


def members(raw: Any) -> dict[str, Any]:
    """The members of an entry; a variable is named `env.NAME`, and headers and settings likewise."""
    found: dict[str, Any] = {}
    for key, value in raw.items() if isinstance(raw, Mapping) else ():
        if key in OPEN and isinstance(value, dict):
            found.update({f"{key}.{inner}": held for inner, held in value.items()})
        else:
            found[key] = value
    return found


def readable(name: str, raw: Any) -> ServerEntry | None:
    """The parsed entry; None if it is invalid."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.core.errors import EntryError

    try:
        return read_entry(name, raw)
    except EntryError:
        return None


def in_words(value: Any) -> str:
    """A value on one line."""
    if value is None:
        return "nothing"
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 400)


def _shown(raw: Any, entry: ServerEntry | None) -> dict[str, Any]:
    from gaia_mcp.text import MASK

    if entry is None:
        return dict.fromkeys(members(raw), MASK)
    visible = members({key: value for key, value in entry.masked().items() if key in SHOWN})
    # In a valid entry the type is one of a few fixed words.
    visible["type"] = raw.get("type")
    return {key: visible.get(key, MASK) for key in members(raw)}


def remark_on_unseen(screen: Screen, entries: Iterable[ServerEntry]) -> None:
    """Print a remark with the command that caches the tools of those servers that are enabled and were never asked."""
    folder = cache_folder()
    names = [entry.name for entry in entries if not entry.disabled and ServerCache(folder, entry).seen() is None]
    if names:
        whose = "its tools" if len(names) == 1 else "their tools"
        shown = screen.line.to_type("tools", *(names if len(names) <= MAX_NAMED else ()))
        screen.remark(f"completion and search include {whose} after: {shown}")


def remark_on_oauth(screen: Screen, entries: Iterable[ServerEntry]) -> None:
    """Print a remark for each entry whose `oauth` has members that are not read. They may be another program's, or
    misspelled.
    """
    from gaia_mcp.config.targets import KNOWN, unknown_members
    from gaia_mcp.core.names import did_you_mean

    for entry in entries:
        if names := unknown_members(entry.raw):
            listed = one_line(", ".join(map(repr, names)))
            meant = did_you_mean(names[0], KNOWN) if len(names) == 1 else ""
            told = f"not read in 'oauth' of {one_line(entry.name)!r}: {listed}"
            screen.remark(f"{told}; {meant}" if meant else told)


def remark_on_retries(screen: Screen, entries: Iterable[ServerEntry]) -> None:
    """Print a remark for each agent with `max_retries`: an agent's tool is called only once, because a failed call may
    have had effects.
    """
    for entry in entries:
        if entry.transport == "agent" and entry.raw.get("max_retries"):
            which = f"'max_retries' of {one_line(entry.name)!r} has no effect"
            screen.remark(f"{which}: a tool of an agent is never called twice; only a handler repeats its own requests")


def remark_on_held_back(screen: Screen, entry: ServerEntry) -> None:
    """Print a remark with the variables that the server of `entry` does not inherit, if it is a program that inherits
    only some.
    """
    from gaia_mcp.client.transports.stdio.launch import child_environment

    target = entry.target
    if isinstance(target, Remote) or target.inherit:
        return
    given = child_environment(dict.fromkeys(target.env, ""), os.environ)
    if names := sorted(name for name in os.environ if name not in given):
        screen.remark(f"not passed on to {entry.name!r}: {', '.join(names)}")


def remark_on_lost_state(screen: Screen, server: str) -> None:
    """Print a remark that a call has not found the state of the previous one."""
    which = f"each call starts {one_line(server)!r} anew, without the state of earlier calls"
    screen.remark(f"{which}; keep it running with: {screen.line.to_type('up', server)}")
