"""Agents in files that are named like a module of the standard library, such as `signal.py`.

The folder of an agent is the first that modules are imported from, as that of a script is. Without more, whatever
imports `signal` for the first time after that would get the agent.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from itertools import chain, count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# By the name of a module, the folders of agents in files of this name.
_folders: dict[str, set[str]] = {}


def module_name(stem: str, folder: str) -> str:
    """The name of the module that the agent in the file `stem` of `folder` becomes: `stem`, so that its neighbours can
    import it, unless that would hide another module. The name of a standard module stands for that module everywhere,
    also if it is imported later.
    """
    if stem in sys.stdlib_module_names:
        _folders.setdefault(stem, set()).add(folder)
        if _StandardFinder not in sys.meta_path:
            # Modules that are built in are found before.
            sys.meta_path.insert(sys.meta_path.index(PathFinder), _StandardFinder)
    # An underscore alone may make the name of another standard module: `_signal` is one.
    names = chain((stem, f"_agent_{stem}"), (f"_agent_{stem}_{number}" for number in count(2)))
    return next(name for name in names if name not in sys.modules and name not in sys.stdlib_module_names)


class _StandardFinder:
    """Finds standard modules outside the folders of agents that are named like them."""

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
        elsewhere = [entry for entry in sys.path if os.path.abspath(entry) not in folders]  # noqa: PTH100
        spec = PathFinder.find_spec(name, elsewhere)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec
