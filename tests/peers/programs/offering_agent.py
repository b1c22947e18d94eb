"""An agent that offers prompts, resources and templates by decorators."""

from __future__ import annotations

from typing import Literal

from gaia_mcp import MCPAgent, prompt, resource, tool

ICON = {"src": "https://example.com/icon.png", "mimeType": "image/png"}
BOOKS = {1: "Emma", 2: "Dracula"}


class Offering(MCPAgent):
    """A library, with more books than a page."""

    @tool
    def count(self) -> int:
        """Count the books."""
        return len(BOOKS)

    @prompt(title="Review", icons=[ICON])
    def review(self, style: Literal["short", "long"], number: int = 1) -> str:
        """Review a book.

        Args:
            style: How long it is.
        """
        return f"Write a {style} review of {BOOKS[number]}."

    def numbers(self, typed: str, given: dict[str, str]) -> list[str]:
        """What completes the number of a book."""
        return [f"{typed}{number}{given.get('upper', '')}" for number in range(1000)]

    def fails(self, typed: str) -> list[str]:
        """Completes nothing."""
        raise RuntimeError(typed)

    @resource("books://all", title="All", size=3, priority=0.5, audience=["user"], ttl_ms=60000, cache_scope="public")
    def everything(self) -> list[str]:
        """All books."""
        return [*BOOKS.values()]

    @resource("books://{number}{?upper}", mime_type="text/plain", complete={"number": numbers, "upper": fails})
    async def book(self, number: int, *, upper: bool = False) -> str:
        """One book."""
        title = BOOKS[number]
        return title.upper() if upper else title

    @resource("files:///{+folder}/{name}.txt")
    def file(self, folder: str, name: str) -> bytes:
        """A file."""
        return f"{folder} {name}".encode()

    def get_mcp_resources(self) -> list[dict[str, object]]:
        return [{"uri": f"page://{number}", "text": str(number)} for number in range(2500)]
