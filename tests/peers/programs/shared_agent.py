"""An agent of which several workers serve one, and what makes an ASGI app of it (`uvicorn --factory`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gaia_mcp import MCPAgent, current_call, resource, tool
from gaia_mcp.server import tasks as leases
from gaia_mcp.server.http import app_for

NOTES = Path(os.environ.get("NOTES", "."))
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Shared(MCPAgent):
    """What it keeps is in files, which all workers have."""

    @tool
    def who(self) -> str:
        """The worker that runs this call."""
        return str(os.getpid())

    @tool
    def ask(self) -> str:
        """Ask the client for a name."""
        answer: Any = current_call().elicit("Who are you?", NAME)
        return f"hello {answer.value['name']}"

    @tool
    def work(self, name: str) -> str:
        """Report once, and end when there is a file of this name."""
        current_call().progress(1)
        return self._await(name)

    @tool
    def job(self, name: str) -> str:
        """End when there is a file of this name, as a task."""
        current_call().continue_as_task(required=True)
        return self._await(name)

    @tool
    def write(self, name: str) -> str:
        """Change a note."""
        self.resource_updated(f"note://{name}")
        return "written"

    @resource("note://{name}")
    def note(self, name: str) -> str:
        """A note."""
        return name

    def _await(self, name: str) -> str:
        while not (NOTES / name).exists():
            current_call().wait(0.02)
        return f"done by {os.getpid()}"


def make() -> Any:
    """An app with the store of the environment."""
    leases.BEAT_SECONDS = 0.1
    return app_for(Shared)
