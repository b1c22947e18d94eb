"""What a server offered when it was last asked, remembered for programs that do not connect: TAB, `search`, `show`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.protocol.caching import Freshness
    from gaia_mcp.storage.server_cache import ServerCache


class Remembered:
    """The lists of one server: "tools", "prompts" and "resources". A list stays until a newer one is known, also after
    the server has announced that it has changed: most of it is still true. Each item is `masked` before it is written.
    """

    def __init__(self, cache: ServerCache, masked: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        self._cache = cache
        self._masked = masked
        # The kinds of lists that have changed since they were asked for.
        self._changed: set[str] = set()
        # Whether the tools were remembered, or asked for.
        self._knew_tools = False

    def asking(self, kind: str) -> None:
        """The list is asked for now."""
        self._knew_tools |= kind == "tools"
        self._changed.discard(kind)

    def keep(self, kind: str, items: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Remember the items of a list, and how fresh they are, in place of those that were known."""
        self._cache.keep_seen([self._masked(item) for item in items if isinstance(item, dict)], kind, freshness)

    def keep_new(self, tools: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Remember the tools unless some are remembered already."""
        self._knew_tools = True
        if self._cache.seen() is None:
            self.keep("tools", tools, freshness)

    def changed(self, kind: str) -> None:
        """The list is no longer what it was."""
        self._changed.add(kind)
        self._knew_tools |= kind == "tools" and self._cache.seen() is not None

    @property
    def lacks_tools(self) -> bool:
        """Whether tools that were known have changed, and have not been asked for since."""
        return self._knew_tools and "tools" in self._changed
