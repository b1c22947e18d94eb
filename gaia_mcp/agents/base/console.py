"""Where an agent says what it does: to a person at a terminal, or to nobody."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any


class AgentConsole:
    """Says it on standard output, coloured where that is a terminal. Named in GAIA's documents about agents.

    Subclasses override what they say otherwise, or `_say` for everything. Nothing is raised where nobody listens: an
    agent goes on when its output has been closed, and what the output's encoding lacks is written as an escape.
    """

    def print(self, *parts: Any) -> None:
        """A line, as it is."""
        self._say(" ".join(str(part) for part in parts))

    def print_info(self, message: str) -> None:
        """Something to know."""
        self._say(message, "blue")

    def print_success(self, message: str) -> None:
        """Something that worked."""
        self._say(message, "green")

    def print_warning(self, message: str) -> None:
        """Something to look after."""
        self._say(f"warning: {message}", "yellow")

    def print_error(self, message: str) -> None:
        """Something that failed."""
        self._say(f"error: {message}", "red")

    def print_header(self, text: str) -> None:
        """A heading."""
        self._say(text, "bold")

    def print_separator(self, length: int = 50) -> None:
        """A line across."""
        self._say("-" * length, "dim")

    def print_prompt(self, prompt: str, title: str = "Prompt") -> None:
        """A prompt, for whoever debugs one."""
        self._say(f"{title}:\n{prompt}", "dim")

    def print_tool_usage(self, tool_name: str) -> None:
        """A tool is being called."""
        self._say(f"calling {tool_name}", "dim")

    def print_tool_complete(self) -> None:
        """The tool has answered."""

    def print_final_answer(self, answer: str) -> None:
        """The answer to the query."""
        self._say(answer)

    def pretty_print_json(self, data: Any, title: str | None = None) -> None:
        """A value as indented JSON; what JSON cannot say as text."""
        text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
        self._say(f"{title}:\n{text}" if title else text)

    def start_progress(self, message: str) -> None:
        """Something that takes a while begins."""
        self._say(f"{message} …", "dim")

    def stop_progress(self) -> None:
        """It has ended."""

    def _say(self, text: str, style: str = "") -> None:
        from rich.console import Console

        from gaia_mcp.safetext import clean

        # The standard output of this moment: a server may have moved it out of the way, a service may have none.
        stream = sys.stdout
        if stream is None:
            return
        with suppress(OSError, ValueError):  # It is closed, or its reader has gone.
            console = Console(file=stream, soft_wrap=True)
            with console.capture() as said:
                console.print(clean(text), style=style or None, markup=False, highlight=False, emoji=False)
            encoding = getattr(stream, "encoding", None) or "utf-8"
            stream.write(said.get().encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()


class SilentConsole(AgentConsole):
    """Says nothing but the final answer, and not even that with `silence_final_answer`. Named in GAIA's documents about
    agents.
    """

    def __init__(self, silence_final_answer: bool = False) -> None:
        self.silence_final_answer = silence_final_answer

    def print_final_answer(self, answer: str) -> None:
        """The answer to the query, unless it is silenced too."""
        if not self.silence_final_answer:
            super()._say(answer)

    def _say(self, text: str, style: str = "") -> None:
        """Nothing."""
