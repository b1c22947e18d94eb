"""A temporary replacement for one of the user's folders while an agent runs: it links to all entries of the original,
except one JSON file, in which it replaces some members. The user's folder is not changed.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.filebytes import read_file
from gaia_mcp.jsontext import TextProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gaia_mcp.agents.hub.drivers.base import Overlay

# More than a settings file written by hand.
MAX_SETTINGS_BYTES = 4 << 20


def lay_over(home: Path, overlay: Overlay, environ: Mapping[str, str]) -> None:
    """Create the folder of `overlay` in the new home `home`, as a replacement for that of the home in `environ`."""
    # Not `Path.home`, which raises for a user without a home folder.
    original = Path(environ.get(overlay.variable) or os.path.expanduser("~"), overlay.folder)  # noqa: PTH111
    folder = home / overlay.folder
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.suppress(OSError):  # The user has no such folder.
        for path in original.iterdir():
            if path.name != overlay.file:
                (folder / path.name).symlink_to(path.absolute())
    members = {**_members_of(original / overlay.file), **overlay.members}
    for names, items in overlay.added.items():
        members = _with_items(members, names, items)
    (folder / overlay.file).write_text(json.dumps(members), "utf-8")


def _with_items(value: Any, names: Sequence[str], items: Sequence[Any]) -> Any:
    """`value` with `items` at the end of the list at the path of `names`, in place of what cannot hold them."""
    if not names:
        return [*(value if isinstance(value, list) else ()), *items]
    held = value if isinstance(value, dict) else {}
    return {**held, names[0]: _with_items(held.get(names[0]), names[1:], items)}


def _members_of(path: Path) -> dict[str, Any]:
    """The members of a JSON object in a file that may have comments; empty if it cannot be read."""
    from gaia_mcp.hosts.documents import parsed

    try:
        value = parsed(read_file(path, MAX_SETTINGS_BYTES).decode("utf-8", "replace"), "json")
    except (OSError, TextProblemError):
        return {}
    return value if isinstance(value, dict) else {}
