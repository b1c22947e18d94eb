"""A handler, or a folder of handlers with one manager, as one provider that can be served."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPRegistry
from gaia_mcp.contrib.handlers.handler_manager import ManagerProvider, MCPManager
from gaia_mcp.contrib.handlers.loader import load_handler, load_handlers_from_directory
from gaia_mcp.contrib.handlers.prototype import PrototypeFiles
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.core.names import handler_name
from gaia_mcp.importing import handler_files, split_target
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.provider import RequestError
from gaia_mcp.text import clean

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.server.outcomes import OnFailure

# The members of an order that `MCPHandlerConfig` accepts.
_CONFIGURED = ("stages", "agents", "timeout", "max_retries", "max_result_bytes", "settings")


class HandlersProvider(ManagerProvider):
    """The tools of handlers. Warnings are sent to the client as log messages with the next list of tools, and kept in
    `problems`.
    """

    def __init__(self, handlers: list[MCPHandler], name: str, console: _Console, on_failure: OnFailure) -> None:
        registry = MCPRegistry()
        for handler in handlers:
            registry.register_custom(handler)
        self._console = console
        manager = MCPManager(registry, console, on_failure=on_failure)
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
    """Prints the messages of handlers and their manager with `log`, and their warnings with `remark`."""

    def __init__(self, remark: Callable[[str], object], log: Callable[[str], object]) -> None:
        self._remark = remark
        self._log = log
        self.warnings: list[str] = []
        self._told = 0

    def print_dim(self, message: str) -> None:
        self._log(clean(message))

    def print_warning(self, message: str) -> None:
        self._remark(message)
        self.warnings.append(message)

    def take_new(self) -> list[str]:
        """The warnings since the last call."""
        new = self.warnings[self._told :]
        self._told += len(new)
        return new


def handlers_provider(
    target: str,
    order: Mapping[str, Any],
    *,
    remark: Callable[[str], object],
    log: Callable[[str], object],
    on_failure: OnFailure,
) -> HandlersProvider:
    """The provider for the handler or the folder `target`, configured by `order`. `remark` prints what a person has to
    know, `log` the messages of handlers.

    Raises `HandlerError`, and `ConfigFileError` for the file of a project that cannot be read.
    """
    console = _Console(remark, log)
    place, _, _ = split_target(target)
    if not os.path.isdir(place):  # noqa: PTH112
        name = order.get("name") or handler_name(Path(place).stem)
        project = PrototypeFiles(Path(order["project"])).project_config() if "project" in order else None
        handler = load_handler(target, _config(name, order), console=console, project_config=project)
        return HandlersProvider([handler], handler.name, console, on_failure)
    folder = Path(place)
    files, left_out = handler_files(folder)
    for text in left_out:
        remark(text)
    configs = {name: _config(name, {}) for file in files for name in (handler_name(file.stem),)}
    handlers = load_handlers_from_directory(folder, configs, console=console)
    if not handlers:
        raise HandlerError(target, f"has no handler that can be loaded: {console.warnings[-1]}")
    return HandlersProvider(handlers, folder.absolute().name, console, on_failure)


def _config(name: str, order: Mapping[str, Any]) -> MCPHandlerConfig:
    return MCPHandlerConfig(name, **{key: order[key] for key in _CONFIGURED if key in order})
