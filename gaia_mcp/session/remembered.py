"""The cached lists of a server, for programs that do not connect: TAB completion, `search`, `show`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.protocol.caching import Freshness
    from gaia_mcp.storage.server_cache import ServerCache


class Remembered:
    """The lists of one server: "tools", "prompts" and "resources". A list stays until it is replaced, even after the
    server has announced a change: most of it is still correct. Each item is `masked` before it is written.
    """

    def __init__(self, cache: ServerCache, masked: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        self._cache = cache
        self._masked = masked
        # The kinds of lists that have changed since they were requested.
        self._changed: set[str] = set()
        # Whether the tools were cached, or requested.
        self._knew_tools = False

    def asking(self, kind: str) -> None:
        """The list is being requested."""
        self._knew_tools |= kind == "tools"
        self._changed.discard(kind)

    def keep(self, kind: str, items: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Cache the items of a list, with their freshness, in place of earlier ones."""
        self._cache.keep_seen([self._masked(item) for item in items if isinstance(item, dict)], kind, freshness)

    def keep_new(self, tools: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Cache the tools unless some are cached already."""
        self._knew_tools = True
        if self._cache.seen() is None:
            self.keep("tools", tools, freshness)

    def changed(self, kind: str) -> None:
        """The server has announced that the list has changed."""
        self._changed.add(kind)
        self._knew_tools |= kind == "tools" and self._cache.seen() is not None

    @property
    def lacks_tools(self) -> bool:
        """Whether the known tools have changed, and have not been requested since."""
        return self._knew_tools and "tools" in self._changed
