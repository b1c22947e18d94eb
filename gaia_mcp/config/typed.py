"""The entry of a server that was typed in place of a name. It is in no file, and is never saved.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

import os
from typing import Any

from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.names import UNSAVED_MARK
from gaia_mcp.safetext import encodable


class TypedEntry(ServerEntry):
    """The entry of a typed server. Its name is what was typed, without secrets."""

    @property
    def key(self) -> str:
        """The same however it was typed, and another one for a file of another folder."""
        return f"{UNSAVED_MARK}{self.identity():08x}-{encodable(self.described())}"

    def identifying(self) -> list[Any]:
        """What the target is, and the working folder if a word of the command names something in it."""
        target = self.target
        words = [target.command, *(target.args or [])] if isinstance(target, Command) else []
        is_local = any(not os.path.isabs(word) and os.path.exists(word) for word in words)  # noqa: PTH110, PTH117
        return [*target.identity(), *([_working_folder()] if is_local else [])]


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""  # It has been removed.
