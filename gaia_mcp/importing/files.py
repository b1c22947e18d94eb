"""Executing a Python file as a module."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.importing import INSTALLED, module_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time, and leaves `__pycache__` alone."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def import_file(path: Path) -> ModuleType:
    """Execute the Python file and return it as a module, a new one each time. Modules that it imports from its folder
    are also loaded from source, now and later.

    Raises `OSError` for a file that cannot be read, and the exceptions of its code; the module is removed then.
    """
    path = path.absolute()
    name = module_name(path.stem, str(path.parent))
    load_by_source(str(path.parent))
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
            # The code has forked, and this is the child: the program must not continue twice.
            os._exit(0)
    return module


class _SourceFinder:
    """Finds modules as `PathFinder` does, but loads those inside `folders` from source, even if there is compiled code.
    It is placed directly before that finder, and takes precedence over it.
    """

    folders: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of this name; None for one that another finder may find."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and cls._is_inside(spec.loader.path):
            spec.loader = _SourceLoader(spec.name, spec.loader.path)
        return spec

    @classmethod
    def _is_inside(cls, file: str) -> bool:
        """Whether the file is in one of the folders, and not part of an installed package there."""
        inside = (file[len(folder) :] for folder in cls.folders if file.startswith(folder))
        return any(INSTALLED.isdisjoint(Path(rest).parts) for rest in inside)


def load_by_source(folder: str) -> None:
    """From now on load the modules inside `folder` from source, whichever code imports them: compiled code may be
    outdated or unrelated to the source, and the user has approved only the source.
    """
    _SourceFinder.folders.add(os.path.join(folder, ""))  # noqa: PTH118 (ends with a slash)
    with suppress(ValueError):
        sys.meta_path.remove(_SourceFinder)
    # After finders that deliberately find modules elsewhere.
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, _SourceFinder)


@contextmanager
def first_in_path(folder: str) -> Iterator[None]:
    """Import modules from `folder` first in the `with` block; afterwards last, for later imports."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        move_to_end_of_path(folder)


def move_to_end_of_path(folder: str) -> None:
    """Undo the effect of `first_in_path`. May be called from another thread, and repeatedly."""
    with suppress(ValueError):
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.append(folder)


def forget_modules(folder: Path) -> None:
    """Remove the imported modules of `folder`, so that they are imported again. Installed packages stay, including
    those of an environment inside the folder, and so does this package.
    """
    importlib.invalidate_caches()
    ours = Path(__file__).parents[1]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or not (path := Path(file)).is_relative_to(folder):
            continue
        if "site-packages" not in path.relative_to(folder).parts and not path.is_relative_to(ours):
            del sys.modules[name]
