"""A handler, or a folder of handlers with one manager, as a target of `gaia mcp serve`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.entries.targets import handler_files
from gaia_mcp.cli.screen.output import remark, report_failure, to_stderr
from gaia_mcp.cli.status import UsageError
from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPRegistry
from gaia_mcp.contrib.handlers.handler_manager import ManagerProvider, MCPManager
from gaia_mcp.contrib.handlers.loader import load_handler, load_handlers_from_directory
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.core.names import handler_name
from gaia_mcp.importing import split_target
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.provider import RequestError
from gaia_mcp.text.safe import clean

if TYPE_CHECKING:
    from gaia_mcp.asking import Call

# The members of an order that `MCPHandlerConfig` accepts.
_CONFIGURED = ("stages", "agents", "timeout", "max_retries", "max_result_bytes", "settings")


class HandlersProvider(ManagerProvider):
    """The tools of handlers. Warnings are sent to the client as log messages with the next list of tools, and kept in
    `problems`.
    """

    def __init__(self, handlers: list[MCPHandler], name: str, console: _Console) -> None:
        registry = MCPRegistry()
        for handler in handlers:
            registry.register_custom(handler)
        self._console = console
        manager = MCPManager(registry, console, on_failure=report_failure)
        super().__init__(manager, name=name, version="", report=console.print_warning)

    @property
    def problems(self) -> list[str]:
        """All warnings about the handlers and their tools."""
        return self._console.warnings

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """As in `ManagerProvider`, but a problem of the handlers is an error if there is no tool."""
        result = super().answer(method, params, call)
        if method == "tools/list":
            if not result["tools"] and self.problems:
                raise RequestError(self.problems[-1], INTERNAL_ERROR)
            for warning in self._console.take_new():
                call.log("warning", warning)
        return result


class _Console:
    """Prints the messages of handlers and their manager to stderr, which is a log if another program started this
    server.
    """

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._told = 0

    def print_dim(self, message: str) -> None:
        to_stderr(clean(message))

    def print_warning(self, message: str) -> None:
        remark(message)
        self.warnings.append(message)

    def take_new(self) -> list[str]:
        """The warnings since the last call."""
        new = self.warnings[self._told :]
        self._told += len(new)
        return new


def handlers_provider(target: str, order: Mapping[str, Any]) -> HandlersProvider:
    """The provider for the handler or the folder `target`, configured by `order`.

    Raises `HandlerError`, and `UsageError` for settings that are given for a folder.
    """
    console = _Console()
    place, _, _ = split_target(target)
    if not os.path.isdir(place):  # noqa: PTH112
        name = order.get("name") or handler_name(Path(place).stem)
        handler = load_handler(target, _config(name, order), console=console)
        return HandlersProvider([handler], handler.name, console)
    if order.get("settings"):
        raise UsageError("--kwarg is for one handler", hint="name the file of one: path/to/NAME_handler.py")
    folder = Path(place)
    files, remarks = handler_files(folder)
    for text in remarks:
        remark(text)
    configs = {name: _config(name, {}) for file in files for name in (handler_name(file.stem),)}
    handlers = load_handlers_from_directory(folder, configs, console=console)
    if not handlers:
        raise HandlerError(target, f"has no handler that can be loaded: {console.warnings[-1]}")
    return HandlersProvider(handlers, folder.absolute().name, console)


def _config(name: str, order: Mapping[str, Any]) -> MCPHandlerConfig:
    return MCPHandlerConfig(name, **{key: order[key] for key in _CONFIGURED if key in order})
