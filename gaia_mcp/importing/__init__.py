"""Importing the user's Python files: agents and handlers. Their loaders interpret the content.

Such a file can run any code while it is imported. It can import the modules in its folder, as a script can, and shadows
no module for the rest of the program, whatever its name.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
# Where installers put packages, also on Debian.
INSTALLED = {"site-packages", "dist-packages"}
# The folders of the files that have the name of another module, by that name.
_folders: dict[str, set[str]] = {}


def module_name(stem: str, folder: str) -> str:
    """The module name for the file `stem` in `folder`: `stem`, so that files in the same folder can import it, unless
    that would shadow another module. The name of a standard or installed module means that module everywhere, even if
    it is imported later.
    """
    is_standard = stem in sys.stdlib_module_names
    names_another = is_standard or _is_installed(stem, folder)
    if names_another:
        _folders.setdefault(stem, set()).add(os.path.realpath(folder))
        if _OtherFinder not in sys.meta_path:
            # Built-in modules are found first, by another finder.
            sys.meta_path.insert(sys.meta_path.index(PathFinder), _OtherFinder)
    # An underscore alone could result in the name of another standard module: `_signal` is one.
    names = chain(() if names_another else (stem,), (f"_file_{stem}",), (f"_file_{stem}_{n}" for n in count(2)))
    return next(name for name in names if name not in sys.modules)


def _is_installed(stem: str, folder: str) -> bool:
    spec = _found_outside(stem, {os.path.realpath(folder)}) if stem.isidentifier() else None
    return spec is not None and not INSTALLED.isdisjoint(Path(spec.origin or "").parts)


def _found_outside(name: str, folders: Collection[str]) -> ModuleSpec | None:
    return PathFinder.find_spec(name, [entry for entry in sys.path if os.path.realpath(entry) not in folders])


class _OtherFinder:
    """Finds modules outside the folders of files of the same name."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG004 (the protocol)
        target: ModuleType | None = None,  # noqa: ARG004 (the protocol)
    ) -> ModuleSpec | None:
        """The module of this name, None for any other name. Raises `ModuleNotFoundError`."""
        folders = _folders.get(name)
        if folders is None:
            return None
        spec = _found_outside(name, folders)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec
