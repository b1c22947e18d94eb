"""Finds the class of a handler in a file, in a folder of files, in a module or by `PLACE:Class`, and creates it.

A handler's code runs unrestricted in this process: without `import_seconds` in the caller's thread, where a file that
hangs during its import blocks the caller, so the commands load handlers only in a separate process; with it in another
thread, which is abandoned after this time and in which operations that only the main thread may do fail.
"""

from __future__ import annotations

import logging
import stat
import threading
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, was_shown
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.core.names import handler_key, handler_name
from gaia_mcp.importing import (
    failure_in_words,
    first_in_path,
    import_file,
    import_named,
    missing_package,
    move_to_end_of_path,
    split_target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike


logger = logging.getLogger("gaia_mcp")
# The variable that a module may set to its handler class.
CHOICE = "MCP_HANDLER_CLASS"
_IMPORT_LINE = "from gaia_mcp.handlers import MCPHandler"
# The package that the first handlers were written for.
_FIRST_HOME = "azext_prototype"


def load_mcp_handler(
    file: str | PathLike[str], config: MCPHandlerConfig, *, import_seconds: float | None = None, **keywords: Any
) -> MCPHandler:
    """The handler in a Python file, created with `config` and `keywords` (`console`, `project_config`).

    Its class is `MCP_HANDLER_CLASS` of the module, or the only class that the module derives from `MCPHandler`. Raises
    `HandlerError`, a `ValueError`, which names the step that failed. A file that hangs blocks the caller, unless
    `import_seconds` is given: then it raises after this time, and abandons the thread.
    """
    path = Path(file)
    make = partial(_loaded, str(path), lambda: handler_class_in(path), config, keywords)
    return _in_time(str(path), str(path.absolute().parent), make, import_seconds)


def load_handler(
    target: str, config: MCPHandlerConfig, *, import_seconds: float | None = None, **keywords: Any
) -> MCPHandler:
    """As `load_mcp_handler`, for `path/to/file.py`, `path/to/file.py:Class` or `package.module:Class`."""
    folder = str(Path(split_target(target)[0]).absolute().parent)
    make = partial(_loaded, target, lambda: handler_class(target), config, keywords)
    return _in_time(target, folder, make, import_seconds)


def load_handlers_from_directory(
    directory: str | PathLike[str],
    configs: Mapping[str, MCPHandlerConfig],
    *,
    import_seconds: float | None = None,
    **keywords: Any,
) -> list[MCPHandler]:
    """The handlers in the Python files of a folder that are configured in `configs`, in the order of the files.

    A file has the name of its handler, optionally followed by `_handler`; `-` and `_` are equivalent. Files that begin
    with `_` are skipped. A handler that cannot be loaded is reported as a warning, on `console` and in the log, and the
    others are loaded. The same applies to a handler that takes longer than `import_seconds`; without this limit, a
    handler that hangs blocks the caller.
    """
    console = keywords.get("console")
    by_key = {handler_key(name): config for name, config in configs.items()}
    loaded: dict[str, Path] = {}
    handlers = []
    for file in _files_in(Path(directory).absolute(), console):
        key = handler_key(handler_name(file.stem))
        config = by_key.get(key)
        if config is None:
            logger.debug("no handler of the name %r is configured: %s is not loaded", key, file)
            continue
        if key in loaded:
            _warn(console, f"handler {str(file)!r} is not loaded: {loaded[key].name!r} has the same name")
            continue
        try:
            handlers.append(load_mcp_handler(file, config, import_seconds=import_seconds, **keywords))
        except HandlerError as error:
            _warn(console, f"{error.message}; {error.hint}" if error.hint else error.message)
        else:
            loaded[key] = file
    return handlers


def _files_in(folder: Path, console: Any) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".py" and not file.name.startswith("_"))
    except FileNotFoundError:
        return []  # Most projects have no handlers.
    except OSError as cause:
        _warn(console, f"the handlers in {str(folder)!r} cannot be loaded: {cause.strerror}")
        return []


def _in_time(target: str, folder: str, make: Callable[[], MCPHandler], seconds: float | None) -> MCPHandler:
    """The return value of `make`. After a timeout the file's folder is moved to the end of `sys.path`, so that it does
    not affect other imports.
    """
    try:
        handler: MCPHandler = run_in_time(make, seconds)
    except NotInTimeError as cause:
        move_to_end_of_path(folder)
        hint = "let it do in connect() what takes long, or give it more import_seconds"
        raise HandlerError(target, str(cause), hint=hint, case="handler-failed") from cause
    return handler


def _loaded(
    target: str, choose: Callable[[], type[MCPHandler]], config: MCPHandlerConfig, keywords: dict[str, Any]
) -> MCPHandler:
    kind = choose()
    try:
        handler = kind(config, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # a handler's own code
        problem = f"cannot be created: {failure_in_words(cause)}"
        raise HandlerError(target, problem, hint=_creation_hint(cause, keywords), case="handler-failed") from cause
    if not isinstance(handler, MCPHandler):
        raise HandlerError(target, f"cannot be created: {kind.__qualname__} returned a {type(handler).__name__}")
    if not hasattr(handler, "config"):
        problem = f"cannot be used: {kind.__qualname__}.__init__ does not call that of MCPHandler"
        raise HandlerError(target, problem, hint="begin it with: super().__init__(config, **kwargs)")
    if not isinstance(handler.name, str) or not handler.name:
        problem = f"cannot be used: its name is {handler.name!r}, not a text"
        raise HandlerError(target, problem, hint=f"write, for instance, name = {config.name!r}")
    return handler


def _creation_hint(cause: BaseException, keywords: dict[str, Any]) -> str:
    if isinstance(cause, TypeError) and any(f"unexpected keyword argument {name!r}" in str(cause) for name in keywords):
        return "define __init__(self, config, **kwargs), and begin it with: super().__init__(config, **kwargs)"
    return ""


def _warn(console: Any, problem: str) -> None:
    logger.warning("%s", problem)
    was_shown(console, "print_warning", problem)


def handler_class(target: str) -> type[MCPHandler]:
    """The class that `target` names: `path/to/file.py`, `path/to/file.py:Class` or `package.module:Class`.

    Raises `HandlerError`, which names the step that failed.
    """
    place, _, name = split_target(target)
    if name and not place.endswith(".py"):
        module = _imported(target, lambda: import_named(place))
    else:
        module = _module_in(target, Path(place))
    return _named(target, module, name) if name else _chosen(target, module)


def handler_class_in(file: Path) -> type[MCPHandler]:
    """The handler class in a Python file. Raises `HandlerError`, which names the step that failed."""
    return _chosen(str(file), _module_in(str(file), file))


def handler_classes(module: ModuleType) -> list[type[MCPHandler]]:
    """The handler classes that a module defines. Imported ones are left out, as they are usually base classes; abstract
    ones are included only if there is no other.
    """
    own = dict.fromkeys(
        value for value in vars(module).values() if _is_handler_class(value) and value.__module__ == module.__name__
    )
    return [kind for kind in own if not kind.__abstractmethods__] or list(own)


def _module_in(target: str, file: Path) -> ModuleType:
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as cause:
        raise HandlerError(target, "was not found: there is no such file", hint="check the path") from cause
    except OSError as cause:
        raise HandlerError(target, f"cannot be read: {cause.strerror}", hint="check the path") from cause
    if file.suffix != ".py" or not stat.S_ISREG(mode):
        what = "is not a regular file" if file.suffix == ".py" else "is not a .py file"
        raise HandlerError(target, what, hint="name a Python file, such as cost_lookup_handler.py")
    file = file.absolute()
    with first_in_path(str(file.parent)):
        return _imported(target, lambda: import_file(file))


def _imported(target: str, run: Callable[[], ModuleType]) -> ModuleType:
    try:
        return run()
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # a handler's own code may raise anything during its import
        problem = f"cannot be imported: {failure_in_words(cause)}"
        raise HandlerError(target, problem, hint=_import_hint(cause), case="handler-failed") from cause


def _import_hint(cause: BaseException) -> str:
    if isinstance(cause, ModuleNotFoundError) and (cause.name or "").partition(".")[0] == _FIRST_HOME:
        return f"change its import line: {_IMPORT_LINE}, …"
    return missing_package(cause)


def _named(target: str, module: ModuleType, name: str) -> type[MCPHandler]:
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, type | ModuleType) else None
    if found is None:
        known = ", ".join(kind.__qualname__ for kind in handler_classes(module))
        hint = f"it has: {known}" if known else f"derive a class from MCPHandler: {_IMPORT_LINE}"
        raise HandlerError(target, f"was not found: there is no {name!r} in it", hint=hint)
    if not _is_handler_class(found):
        raise HandlerError(target, "is not an MCPHandler subclass", hint=f"derive it from MCPHandler: {_IMPORT_LINE}")
    return _complete(target, found)


def _chosen(target: str, module: ModuleType) -> type[MCPHandler]:
    if CHOICE in vars(module):  # Does not call the module's `__getattr__`.
        chosen = vars(module)[CHOICE]
        if not _is_handler_class(chosen):
            what = chosen.__name__ if _is_class(chosen) else f"a value of type {type(chosen).__name__}"
            problem = f"sets {CHOICE} to {what}, which is not an MCPHandler subclass"
            raise HandlerError(
                target, problem, hint=f"set it to a class that is derived from MCPHandler: {_IMPORT_LINE}"
            )
        return _complete(target, chosen)
    kinds = handler_classes(module)
    if not kinds:
        raise HandlerError(target, "has no handler: No MCPHandler subclass found in it", hint=_missing_hint(module))
    if len(kinds) > 1:
        names = ", ".join(kind.__qualname__ for kind in kinds)
        problem = f"is ambiguous: Multiple MCPHandler subclasses found in it: {names}"
        raise HandlerError(target, problem, hint=f"write {CHOICE} = {kinds[0].__qualname__} at its end")
    return _complete(target, kinds[0])


def _missing_hint(module: ModuleType) -> str:
    classes = [value for value in vars(module).values() if _is_class(value)]
    imported = [kind.__name__ for kind in classes if _is_handler_class(kind) and not kind.__abstractmethods__]
    if imported:
        return f"to use one that it imports, write {CHOICE} = {imported[0]} at its end"
    if any(base.__name__ == MCPHandler.__name__ for kind in classes for base in kind.__mro__ if base is not MCPHandler):
        return f"it defines an MCPHandler of its own; derive the class from ours: {_IMPORT_LINE}"
    return f"derive a class from MCPHandler: {_IMPORT_LINE}"


def _is_handler_class(value: object) -> TypeGuard[type[MCPHandler]]:
    # Not `issubclass`: a virtual subclass, by `MCPHandler.register`, does not inherit the methods.
    return _is_class(value) and MCPHandler in type.mro(value)


def _is_class(value: object) -> TypeGuard[type]:
    # Not `isinstance`, which would run the code of a proxy object.
    return issubclass(type(value), type)


def _complete(target: str, kind: type[MCPHandler]) -> type[MCPHandler]:
    missing = ", ".join(sorted(kind.__abstractmethods__))
    if missing:
        problem = f"is not complete: {kind.__qualname__} does not define {missing}"
        raise HandlerError(target, problem, hint="a handler defines connect, list_tools, call_tool and disconnect")
    return kind


class NotInTimeError(Exception):
    """The code was still running, and may continue to run. The message completes "FILE …"."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"was not loaded within {seconds:g} s")


def run_in_time(run: Callable[[], Any], seconds: float | None) -> Any:
    """Call `run`; returns and raises what it does. With `seconds` it runs in a separate thread; without, in this thread
    and without a limit. Raises `NotInTimeError`.
    """
    if seconds is None:
        return run()
    values: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            values.append(run())
        except BaseException as error:  # noqa: BLE001 (the caller raises it)
            errors.append(error)

    # A daemon thread does not prevent the process from ending.
    thread = threading.Thread(target=work, name="MCP handler: import", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NotInTimeError(seconds)
    if errors:
        raise errors[0]
    return values[0]
