"""Loading handlers: from a file, from a folder of files, or by the name of a class.

A handler's code runs in this process. It can do anything, and take as long as it likes; the commands therefore load
handlers only in a process of their own.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import HandlerError
from gaia_mcp.handlers.base import MCPHandler
from gaia_mcp.handlers.console import was_shown
from gaia_mcp.handlers.discovery import handler_class, handler_class_in
from gaia_mcp.importing.failures import failure_in_words
from gaia_mcp.names import handler_key, handler_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from gaia_mcp.handlers.base import MCPHandlerConfig

logger = logging.getLogger("gaia_mcp")


def load_mcp_handler(file: str | PathLike[str], config: MCPHandlerConfig, **keywords: Any) -> MCPHandler:
    """The handler in a Python file, created with `config` and `keywords` (`console`, `project_config`).

    Its class is `MCP_HANDLER_CLASS` of the module, or else the only one that the module derives from `MCPHandler`.
    Raises `HandlerError`, a `ValueError`, with the step that failed.
    """
    path = Path(file)
    return _made(str(path), handler_class_in(path), config, keywords)


def load_handler(target: str, config: MCPHandlerConfig, **keywords: Any) -> MCPHandler:
    """As `load_mcp_handler`, for `path/to/file.py`, `path/to/file.py:Class` or `package.module:Class`."""
    return _made(target, handler_class(target), config, keywords)


def load_handlers_from_directory(
    directory: str | PathLike[str], configs: Mapping[str, MCPHandlerConfig], **keywords: Any
) -> list[MCPHandler]:
    """The handlers in the Python files of a folder that `configs` has a configuration for, in the order of the files.

    A file is called like its handler, with or without `_handler` after it; `-` and `_` are the same. Files that begin
    with `_` are skipped. A handler that cannot be loaded is reported as a warning, on `console` and in the log, and the
    others are loaded.
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
            handlers.append(load_mcp_handler(file, config, **keywords))
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


def _made(target: str, kind: type[MCPHandler], config: MCPHandlerConfig, keywords: dict[str, Any]) -> MCPHandler:
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
