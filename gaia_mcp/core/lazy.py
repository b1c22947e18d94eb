"""Packages whose public names are imported when they are first used: a program loads only what it needs.

Such a package imports its names for type checkers all the same, and lists them in `__all__`.
"""

from __future__ import annotations

# Type checkers take it for true: `typing` itself takes longer to load than all that a TAB needs of ours.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazily(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The function `__getattr__` of a package (PEP 562). `names` are those of its names that other modules define, by
    the modules. It raises `AttributeError` for any other name.
    """
    homes = {name: module for module, defined in names.items() for name in defined}

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(homes[name]), name)

    return imported
