"""An agent whose tools go on as tasks, as a user of the library would write it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gaia_mcp import Accepted, MCPAgent, current_call, tool


@dataclass
class Name:
    """A form."""

    name: str


class Jobs(MCPAgent):
    """Two tools that take long."""

    @tool(task="optional")
    def work(self, seconds: float, notes: str = "") -> str:
        """Work for some time, and write down how it went."""
        call = current_call()
        self._note(notes, "began")
        call.progress(1, 2, "half of it")
        try:
            call.wait(seconds)
        except Exception:
            self._note(notes, "cancelled")
            raise
        return "worked"

    @tool(task="optional")
    def order(self) -> str:
        """Order something, for somebody."""
        answer = current_call().elicit("For whom?", Name)
        return f"for {answer.value.name}" if isinstance(answer, Accepted) else answer.action

    def _note(self, notes: str, text: str) -> None:
        if notes:
            with Path(notes).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
