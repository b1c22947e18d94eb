"""An agent that changes, and announces that."""

from __future__ import annotations

import threading
from typing import Any

from gaia_mcp import MCPAgent, prompt, resource, tool


class Changing(MCPAgent):
    """A board with notes, whose tools, prompts and resources grow."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.text = "nothing"
        self.added: list[str] = []

    @resource("board://today")
    def today(self) -> str:
        """What is on the board."""
        return self.text

    @resource("board://{day}")
    def day(self, day: str) -> str:
        """What was on it."""
        return f"{day}: nothing"

    @prompt
    def summary(self) -> str:
        """Sum it up."""
        return self.text

    @tool
    def write(self, text: str, uri: str = "board://today") -> None:
        """Write on the board."""
        self.text = text
        self.resource_updated(uri)

    @tool
    def add(self, name: str) -> None:
        """Add a tool, a prompt and a resource."""
        self.added.append(name)
        threading.Thread(target=self._announce_all).start()

    @tool
    def flood(self, times: int) -> None:
        """Announce the same from four threads, so many times each."""

        def announce() -> None:
            for _ in range(times):
                self.tools_changed()
                self.resource_updated("board://today")

        threads = [threading.Thread(target=announce) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        added = ({"name": name, "description": "", "inputSchema": {"type": "object"}} for name in self.added)
        return [*super().get_mcp_tool_definitions(), *added]

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [{"name": name, "description": "Added."} for name in self.added]

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [{"uri": f"board://{name}", "name": name, "text": name} for name in self.added]

    def _announce_all(self) -> None:
        self.tools_changed()
        self.prompts_changed()
        self.resources_changed()
