"""Loads handlers: from a file, from a folder of files, or by the name of a class.

A handler's code runs unrestricted in this process. Without `import_seconds` it runs in the caller's thread without a
time limit: a file that hangs during its import blocks the caller. The commands therefore load handlers only in a
separate process. With `import_seconds` a file is imported, and its handler created, in another thread, which is
abandoned after this time. Operations that only the main thread may do, such as setting signal handlers, fail there.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import HandlerError
from gaia_mcp.handlers.base import MCPHandler, was_shown
from gaia_mcp.handlers.discovery import handler_class, handler_class_in
from gaia_mcp.importing.failures import failure_in_words
from gaia_mcp.importing.files import move_to_end_of_path
from gaia_mcp.importing.in_time import NotInTimeError, run_in_time
from gaia_mcp.importing.targets import split_target
from gaia_mcp.names import handler_key, handler_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from gaia_mcp.handlers.base import MCPHandlerConfig

logger = logging.getLogger("gaia_mcp")


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
