"""The kind of a target of `gaia mcp serve`. Loads no module for serving."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaia_mcp.importing.targets import import_named, split_target


def is_handler(target: str, order: Mapping[str, Any]) -> bool:
    """Whether `target` is a handler or a folder of handlers, rather than an agent. A module is imported for that; a
    file is not.
    """
    if "kind" in order:
        return bool(order["kind"] == "handler")
    place, _, name = split_target(target)
    if place.endswith(".py"):
        from gaia_mcp.cli.entries.code_files import code_kind

        return code_kind(Path(place)) == "handler"
    if not name:
        return os.path.isdir(place)  # noqa: PTH112 (never raises)
    from gaia_mcp.handlers.base import MCPHandler

    try:
        found: Any = import_named(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit):  # noqa: BLE001 (the module's own code: it is reported where it is loaded)
        return False
    return isinstance(found, type) and issubclass(found, MCPHandler)
