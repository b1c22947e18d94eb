"""References to environment variables: `${NAME}` and `${NAME:-default}`. Expanded at use, never at save."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gaia_mcp.errors import VariableUnsetError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Compiled when the first reference is met: most entries have none, and their servers start the sooner.
_REFERENCE = r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}"


def expanded(text: str, environ: Mapping[str, str], *, server: str, field: str) -> str:
    """`text` with its references replaced.

    Raises `VariableUnsetError` for one that is unset and has no default; as in a shell, `:-` also covers empty ones.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if default is not None:
            return environ.get(name) or default
        if name not in environ:
            raise VariableUnsetError(server, name, field)
        return environ[name]

    return re.sub(_REFERENCE, value, text) if "${" in text else text
