"""The order for a child to serve code: the environment variable that contains it, and how the child reads it."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

# Holds the `order` of an entry as JSON, with its `name` and its kind. The child removes it before it loads any code.
ORDER_VARIABLE = "GAIA_MCP_SERVE"


def take_order(environ: MutableMapping[str, str]) -> dict[str, Any]:
    """The order for this process, removed from `environ`; empty if it was started by hand."""
    try:
        order = json.loads(environ.pop(ORDER_VARIABLE, "{}"))
    except (ValueError, RecursionError):
        return {}  # Set by another program.
    return order if isinstance(order, dict) else {}
