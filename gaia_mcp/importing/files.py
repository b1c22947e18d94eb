"""Executing a Python file as a module."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager, suppress
from importlib.machinery import FileFinder, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.importing.module_names import module_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time: what lies in `__pycache__` may be older, or not made of this file at all."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def import_file(path: Path) -> ModuleType:
    """Execute the Python file and return it as a module, a new one each time.

    Raises `OSError` for a file that cannot be read, and whatever its code raises; the module is removed then.
    """
    path = path.absolute()
    name = module_name(path.stem, str(path.parent))
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    assert spec is not None  # noqa: S101 (it has a loader)
    assert spec.loader is not None  # noqa: S101
    module = sys.modules[name] = module_from_spec(spec)
    process = os.getpid()
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        if os.getpid() != process:
            # The code forked, and this is the child: the program must not go on twice.
            os._exit(0)
    return module


class _SourceFinder:
    """Finds `names` as `PathFinder` does, but those inside `folder` by their source, also where compiled code is."""

    def __init__(self, names: Collection[str], folder: Path) -> None:
        self._names = names
        self._folder = folder

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002 (the protocol)
    ) -> ModuleSpec | None:
        """The module of this name; None for one that another finder may find."""
        spec = PathFinder.find_spec(name, path) if name in self._names else None
        if spec is None or spec.origin is None:
            return None
        file = Path(spec.origin)
        if not file.is_relative_to(self._folder) or "site-packages" in file.relative_to(self._folder).parts:
            return None
        entry = file.parent.parent if spec.submodule_search_locations is not None else file.parent
        source = FileFinder(str(entry), (_SourceLoader, [".py"])).find_spec(name)
        return source if source is not None and source.loader is not None else None


@contextmanager
def by_source(module: str, folder: str) -> Iterator[None]:
    """Meanwhile the module of this name, and the packages that it is in, are imported by their source if they are
    inside `folder`. Other modules are imported as usual.
    """
    finder = _SourceFinder([*accumulate(module.split("."), "{}.{}".format)], Path(folder))
    # Modules that are built in are found before.
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
    sys.meta_path.insert(place, finder)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.meta_path.remove(finder)


@contextmanager
def first_in_path(folder: str) -> Iterator[None]:
    """Modules are imported from `folder` first meanwhile; afterwards last, for what is imported later."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def forget_modules(folder: Path) -> None:
    """Remove the imported modules of `folder`, so that they are imported again. Installed packages stay, also those of
    an environment inside the folder, and so does this package.
    """
    importlib.invalidate_caches()
    ours = Path(__file__).parents[1]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or not (path := Path(file)).is_relative_to(folder):
            continue
        if "site-packages" not in path.relative_to(folder).parts and not path.is_relative_to(ours):
            del sys.modules[name]
