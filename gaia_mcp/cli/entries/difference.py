"""What is different between two versions of a server's entry, with its secrets masked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

# Any other member may be a secret.
SHOWN = (
    "command", "args", "env", "cwd", "inherit", "url", "headers", "timeout", "disabled", "includeTools", "excludeTools",
    "handler", "agent", "settings", "max_retries", "max_result_bytes", "stages", "agents",
    "protocolVersion", "trustHints", "oauth",
)  # fmt: skip


# Whose members are members of their own.
OPEN = ("env", "headers", "settings")


class Difference(NamedTuple):
    """The values of one member, as they may be seen; None where there was none."""

    before: Any
    after: Any


def differences(before: Any, earlier: ServerEntry | None, later: ServerEntry) -> dict[str, Difference]:
    """Every member in which two versions of an entry differ, each variable and header on its own. `before` is the
    earlier one as it stands in its file, `earlier` the same, if it is valid.
    """
    old, new = members(before), members(later.raw)
    old_shown, new_shown = _shown(before, earlier), _shown(later.raw, later)
    return {
        key: Difference(old_shown.get(key), new_shown.get(key))
        for key in {**old, **new}
        if key not in old or key not in new or old[key] != new[key]
    }


def members(raw: Any) -> dict[str, Any]:
    """The members of an entry; a variable is called `env.NAME`, and likewise a header and a setting."""
    found: dict[str, Any] = {}
    for key, value in raw.items() if isinstance(raw, Mapping) else ():
        if key in OPEN and isinstance(value, dict):
            found.update({f"{key}.{inner}": held for inner, held in value.items()})
        else:
            found[key] = value
    return found


def readable(name: str, raw: Any) -> ServerEntry | None:
    """The entry, if it is valid."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import EntryError

    try:
        return read_entry(name, raw)
    except EntryError:
        return None


def in_words(value: Any) -> str:
    """A value on one line."""
    from gaia_mcp.safetext import one_line

    if value is None:
        return "nothing"
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 400)


def _shown(raw: Any, entry: ServerEntry | None) -> dict[str, Any]:
    from gaia_mcp.safetext import MASK

    if entry is None:
        return dict.fromkeys(members(raw), MASK)
    visible = members({key: value for key, value in entry.masked().items() if key in SHOWN})
    # Of a valid entry, one of a few words.
    visible["type"] = raw.get("type")
    return {key: visible.get(key, MASK) for key in members(raw)}
