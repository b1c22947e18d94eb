"""Importing the user's Python files: agents and handlers.

Their loaders interpret the content. Executes a file as a module, under a name that shadows no other module; finds a
class by `package.module:Class` or `path/to/file.py:Class`; and the exceptions of such code, as one line.

Such a file can run any code while it is imported. It can import the modules in its folder, as a script can, and shadows
no module for the rest of the program, whatever its name.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.core.errors import HandlerError
from gaia_mcp.core.files import read_file
from gaia_mcp.core.names import HANDLER_SUFFIX
from gaia_mcp.core.paths import shown
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
# A source file of a hundred thousand lines has 4 MB.
MAX_SOURCE_BYTES = 16 << 20
# The bases of a class at the top level of a file. The limits are far beyond what a person writes.
_HANDLER = rb"(?m)^(?:MCP_HANDLER_CLASS\s{0,9}[:=]|class\s{1,9}\w{1,200}\s{0,9}\([^)]{0,500}\bMCPHandler\b)"
_AGENT = rb"(?m)^class\s{1,9}\w{1,200}\s{0,9}\([^)]{0,500}\bMCPAgent\b"
# Where installers put packages, also on Debian.
INSTALLED = {"site-packages", "dist-packages"}
# The folders of the files that have the name of another module, by that name.
_folders: dict[str, set[str]] = {}
# A message may quote a whole document.
MAX_CHARS = 1000
_PYTHON = Path(importlib.__file__).parents[1]


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
    ours = Path(__file__).parent
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or not (path := Path(file)).is_relative_to(folder):
            continue
        if "site-packages" not in path.relative_to(folder).parts and not path.is_relative_to(ours):
            del sys.modules[name]


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


_OURS = Path(__file__).parent


def failure_in_words(error: BaseException) -> str:
    """The exception and its position in the code, on one line: `KeyError: 'HOME', at agent.py:7`."""
    try:
        message = one_line(str(error), MAX_CHARS)
    except Exception:  # noqa: BLE001 (this is the user's code too)
        message = ""
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    # The text of a syntax error contains its position.
    place = "" if isinstance(error, SyntaxError) else place_of(error)
    return f"{text}, at {place}" if place else text


def missing_package(error: BaseException) -> str:
    """What to do about a module that is not installed; empty for any other error."""
    # A dotted name is missing from an installed package.
    if not isinstance(error, ModuleNotFoundError) or not error.name or "." in error.name:
        return ""
    return f"install the package of {error.name!r} for {shown(Path(sys.executable))}"


def place_of(error: BaseException) -> str:
    """`FILE:LINE` of the user's code that raised the error, directly or indirectly; empty for an error elsewhere."""
    import traceback

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        is_foreign = path.is_relative_to(_OURS) or path.is_relative_to(_PYTHON) or "site-packages" in path.parts
        if path.is_file() and not is_foreign:
            return f"{shown(path)}:{frame.lineno}"
    return ""


def kind_of_file(path: Path) -> str:
    """Whether a Python file contains a "handler" or an "agent". If its text does not show it, the file name decides."""
    try:
        source = read_file(path, MAX_SOURCE_BYTES)
    except OSError:
        source = b""  # The loader reports the error.
    if re.search(_HANDLER, source):
        return "handler"
    return "handler" if path.stem.endswith(HANDLER_SUFFIX) and not re.search(_AGENT, source) else "agent"


def handler_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The handlers in a folder, sorted by file name, and remarks on the files that are ignored.

    Files that begin with `_` are skipped; links to files outside of the folder are ignored. Raises `HandlerError` for a
    folder without a handler, or one that cannot be read.
    """
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".py" and not file.name.startswith("_"))
    except OSError as problem:
        raise HandlerError(str(folder), f"cannot be read: {problem.strerror}", hint="check the path") from problem
    found, remarks = [], []
    for file in files:
        if not _is_inside(file, folder):
            remarks.append(f"{file.name} is left out: it is a link to a file outside of this folder")
        elif kind_of_file(file) == "handler":
            found.append(file)
        else:
            remarks.append(f"{file.name} is left out: it contains no handler")
    if not found:
        hint = "name the folder with files such as cost_lookup_handler.py"
        raise HandlerError(str(folder), "is a folder without a handler", hint=hint)
    return found, remarks


def _is_inside(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return not file.is_symlink()
