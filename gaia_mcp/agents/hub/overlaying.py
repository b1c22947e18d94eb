"""A folder that stands in for one of the user's while an agent runs: links to all that is in it, but for one file, in
which some members are others. The user's own folder is not touched.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.filebytes import read_file
from gaia_mcp.textproblems import TextProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.agents.hub.drivers.base import Overlay

# Settings that people write.
MAX_SETTINGS_BYTES = 4 << 20


def lay_over(home: Path, overlay: Overlay, environ: Mapping[str, str]) -> None:
    """Make the folder of `overlay` in the new home `home`, over the one of the home in `environ`."""
    # Path raises for a user without a home.
    original = Path(environ.get(overlay.variable) or os.path.expanduser("~"), overlay.folder)  # noqa: PTH111
    folder = home / overlay.folder
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.suppress(OSError):  # The user has none.
        for path in original.iterdir():
            if path.name != overlay.file:
                (folder / path.name).symlink_to(path.absolute())
    members = {**_members_of(original / overlay.file), **overlay.members}
    (folder / overlay.file).write_text(json.dumps(members), "utf-8")


def _members_of(path: Path) -> dict[str, Any]:
    """The members of a JSON object with comments, without any if it cannot be read."""
    from gaia_mcp.hosts.documents import parsed

    try:
        value = parsed(read_file(path, MAX_SETTINGS_BYTES).decode("utf-8", "replace"), "json")
    except (OSError, TextProblemError):
        return {}
    return value if isinstance(value, dict) else {}
