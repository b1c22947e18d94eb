"""References to environment variables: `${NAME}` and `${NAME:-default}`. Expanded at use, never at save."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_mcp.errors import VariableUnsetError
from gaia_mcp.names import LITERAL_DOLLAR

# Compiled at the first reference: most entries have none, and start faster without it. The length of a default is
# limited, so that the end of an unclosed one is not searched for in the whole text.
_REFERENCE = r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]{0,1000}))?\}"


def expanded(
    text: str,
    environ: Mapping[str, str],
    *,
    server: str,
    field: str,
    keeps_unset: bool = False,
    is_line: bool = False,
) -> str:
    """`text` with its references replaced. With `keeps_unset` a reference to an unset variable without a default stays;
    otherwise it raises `VariableUnsetError`. As in a shell, the default also replaces an empty value.

    With `is_line` it is a command line, whose words are expanded later, as by a shell: each `$` in a value becomes
    `LITERAL_DOLLAR`, so that it is not expanded again.
    """

    def guarded(value: str) -> str:
        return value.replace("$", LITERAL_DOLLAR) if is_line else value

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if default is not None:
            return guarded(environ.get(name, "")) or default
        if name not in environ:
            if keeps_unset:
                return match[0]
            raise VariableUnsetError(server, name, field)
        return guarded(environ[name])

    return re.sub(_REFERENCE, value, text) if "${" in text else text


def references_in(text: str) -> list[str]:
    """The names of the variables to which `text` refers, in order."""
    return [match["name"] for match in re.finditer(_REFERENCE, text)] if "${" in text else []
