"""The document of a file of servers: where in it the entries are.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from pathlib import Path
from typing import Any

from gaia_mcp.errors import ConfigFileError

# Claude Desktop's key first; the older one is read, and kept where it is used.
SERVER_KEYS = ("mcpServers", "servers")


def servers_in(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The entries that a file's document holds, by name. Raises `ConfigFileError` about `path`."""
    for key in SERVER_KEYS:
        if key in document:
            servers = document[key]
            if not isinstance(servers, dict):
                raise ConfigFileError(path, f"{key!r} is not an object", hint=f'it should read {{"{key}": {{…}}}}')
            return dict(servers)
    return {}
