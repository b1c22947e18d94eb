"""Facts that every floor may use: errors, deadlines, names, paths, files, spans. They know no rule of MCP.

Here is what makes packages lazy: their public names are imported when they are first used, so that a program loads only
what it needs. Such a package imports its names for type checkers all the same, and lists them in `__all__`.
"""

from __future__ import annotations

# Type checkers take it for true: `typing` itself takes longer to load than all that a TAB needs of ours.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazily(package: str, names: Mapping[str, tuple[str, ...]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package (PEP 562). `names` are those of its names that other
    modules define, by the modules. The first raises `AttributeError` for any other name; with the second `help` and
    interactive shells show these names.
    """
    homes = {name: module for module, defined in names.items() for name in defined}

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(homes[name]), name)

    def listed() -> list[str]:
        import sys

        return [*homes, *(name for name in vars(sys.modules[package]) if name not in ("__getattr__", "__dir__"))]

    return imported, listed
