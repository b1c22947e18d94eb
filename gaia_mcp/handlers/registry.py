"""The registry of handlers: the built-in ones of a program, and the custom ones of a project, which take precedence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.names import handler_key

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPHandler


class MCPRegistry:
    """Handlers by name; `-` and `_` are equivalent. May be used from several threads.

    A custom handler replaces the built-in one of the same name, and takes its position.
    """

    def __init__(self) -> None:
        self._builtin: dict[str, MCPHandler] = {}
        self._custom: dict[str, MCPHandler] = {}

    def __repr__(self) -> str:
        return f"<MCPRegistry {[handler.name for handler in self.list_all()]}>"

    def register_builtin(self, handler: MCPHandler) -> None:
        """Add a built-in handler of the program. It replaces a built-in one of the same name."""
        self._builtin[handler_key(handler.name)] = handler

    def register_custom(self, handler: MCPHandler) -> None:
        """Add a custom handler of the project. It replaces a handler of the same name."""
        self._custom[handler_key(handler.name)] = handler

    def get(self, name: str) -> MCPHandler | None:
        """The handler of this name, or None."""
        key = handler_key(name)
        return self._custom.get(key, self._builtin.get(key))

    def list_all(self) -> list[MCPHandler]:
        """All handlers: first the names of built-in handlers, then the others, each in the order of registration."""
        return list((self._builtin | self._custom).values())

    def get_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPHandler]:
        """The enabled handlers whose tools `agent` may use at `stage`. A stage or agent of None is not checked."""
        return [handler for handler in self.list_all() if handler.matches_scope(stage, agent)]

    def __len__(self) -> int:
        return len(self.list_all())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None
