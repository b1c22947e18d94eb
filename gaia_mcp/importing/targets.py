"""Names of the user's classes: `package.module:Class`, or `path/to/file.py:Class`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.importing import load_by_source

if TYPE_CHECKING:
    from types import ModuleType


def split_target(target: str) -> tuple[str, str, str]:
    """The file or module of `target`, the colon, and the class; the last two are empty without a class."""
    place, colon, name = target.rpartition(":")
    # A colon may be part of a path, and between a letter and a slash it belongs to a Windows drive.
    if not colon or name.endswith(".py") or (len(place) == 1 and name.startswith(("\\", "/"))):
        return target, "", ""
    return place, colon, name


def import_named(module: str) -> ModuleType:
    """Import a module by its name, also from the working folder, as `python -m` does, but there only from source.

    Raises what its code raises.
    """
    try:
        here = str(Path.cwd())
    except OSError:
        return importlib.import_module(module)  # The working folder was deleted; the module may be elsewhere.
    if here not in sys.path:
        sys.path.insert(0, here)
    load_by_source(here)
    return importlib.import_module(module)
