"""A base class for providers that wrap another one, and a function that lists all tools of a provider."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY
from gaia_mcp.server.provider import RequestError

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.server.provider import Listener, Provider
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# A list that changes between two pages is read again from its beginning, at most this many times in all.
MAX_READINGS = 3
# Far more than any server has; protects against a list that never ends.
MAX_PAGES = 10_000


class WrappingProvider:
    """Passes everything on to `provider`. Subclasses override methods."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def describe(self) -> Description:
        """As the provider does."""
        return self._provider.describe()

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider."""
        return self._provider.answer(method, params, call)

    def all_tools(self, call: Call) -> ToolList:
        """All tools. Raises as the function `all_tools`."""
        return all_tools(self._provider, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider does."""
        return self._provider.on_change(listener, wanted)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()


class ToolList(NamedTuple):
    """All tools of a provider, and the other members of the result, such as how long it may be cached."""

    tools: list[Wire]
    about: Wire

    @property
    def missing(self) -> list[str]:
        """The servers whose tools are missing from the list."""
        meta = self.about.get("_meta")
        missing = meta.get(UNAVAILABLE_KEY) if isinstance(meta, dict) else None
        return list(missing) if isinstance(missing, dict) else []


def all_tools(provider: Provider, call: Call, *, max_pages: int = MAX_PAGES) -> ToolList:
    """The tools of all pages. Raises as `provider`, and `RequestError` for a list that does not end."""
    if isinstance(provider, WrappingProvider):
        # Without pages: for each page, the provider may have to list all tools.
        return provider.all_tools(call)
    first = provider.answer("tools/list", {}, call)
    for _ in range(MAX_READINGS - 1):
        try:
            return _whole(provider, first, call, max_pages)
        except RequestError:
            first = provider.answer("tools/list", {}, call)
    return _whole(provider, first, call, max_pages)


def _whole(provider: Provider, first: Wire, call: Call, max_pages: int) -> ToolList:
    """The list that begins with this page. Raises `RequestError` if a cursor has become invalid."""
    tools, page = list(first["tools"]), first
    for _ in range(max_pages):
        if (cursor := page.get("nextCursor")) is None:
            about = {key: value for key, value in first.items() if key not in ("tools", "nextCursor")}
            return ToolList(tools, about)
        page = provider.answer("tools/list", {"cursor": cursor}, call)
        tools += page["tools"]
    raise RequestError(f"the list of tools has more than {max_pages} pages")
