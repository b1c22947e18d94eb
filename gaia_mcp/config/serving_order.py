"""The variables of a process that serves: the order for a child to serve code, and the secrets that no child gets."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

from gaia_mcp.names import SERVER_SECRETS

# Holds the `order` of an entry as JSON, with its `name` and its kind. The child removes it before it loads any code.
ORDER_VARIABLE = "GAIA_MCP_SERVE"


def take_order(environ: MutableMapping[str, str]) -> dict[str, Any]:
    """The order for this process, removed from `environ`; empty if it was started by hand."""
    try:
        order = json.loads(environ.pop(ORDER_VARIABLE, "{}"))
    except (ValueError, RecursionError):
        return {}  # Set by another program.
    return order if isinstance(order, dict) else {}


def drop_secrets(environ: MutableMapping[str, str]) -> None:
    """Remove the server's own secrets from `environ`, once they are read and before code is loaded that may start
    programs.
    """
    for name in SERVER_SECRETS:
        environ.pop(name, None)
