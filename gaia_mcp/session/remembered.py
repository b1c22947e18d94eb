"""What a server offered when it was last asked, remembered for programs that do not connect: TAB, `search`, `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.tool_cache import ToolCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.config.entries import ServerEntry


class Remembered:
    """The lists of one server: "tools", "prompts" and "resources". What the server announces to be no longer true is
    forgotten at once, and a list during which it changed is not remembered.
    """

    def __init__(self, entry: ServerEntry) -> None:
        self._entry = entry
        # The kinds of lists that have changed since they were asked for.
        self._changed: set[str] = set()
        # Whether the tools were remembered, or asked for.
        self._knew_tools = False

    def asking(self, kind: str) -> None:
        """The list is asked for now."""
        self._knew_tools |= kind == "tools"
        self._changed.discard(kind)

    def keep(self, kind: str, items: Sequence[Any]) -> None:
        """Remember the items of a list, unless it has changed since it was asked for."""
        if kind not in self._changed:
            ToolCache(cache_folder()).keep(self._entry, [item for item in items if isinstance(item, dict)], kind)

    def keep_new(self, tools: Sequence[Any]) -> None:
        """Remember the tools unless some are remembered already."""
        self._knew_tools = True
        if ToolCache(cache_folder()).lookup(self._entry) is None:
            self.keep("tools", tools)

    def forget(self, kind: str) -> None:
        """The list is no longer what it was."""
        self._changed.add(kind)
        cache = ToolCache(cache_folder())
        self._knew_tools |= kind == "tools" and cache.lookup(self._entry) is not None
        cache.forget(self._entry, kind)

    @property
    def lacks_tools(self) -> bool:
        """Whether tools that were known have changed, and have not been asked for since."""
        return self._knew_tools and "tools" in self._changed
