"""The console that an agent prints its progress to: standard output, or none."""

# ruff: noqa: ARG002 (some parameters are GAIA's, and have no effect here)
from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from gaia_mcp.agents.base.steps import StepConsole


class AgentConsole(StepConsole):
    """Prints to standard output, in colour if that is a terminal. Named in GAIA's documents about agents.

    Subclasses override single methods, or `_print` for all of them. Nothing is raised when the output is closed: the
    agent goes on. Characters that the output's encoding lacks are escaped.
    """

    def print(self, *parts: Any, **_options: Any) -> None:
        """A line, unchanged. The options of Rich's `print` have no effect."""
        self._print(" ".join(str(part) for part in parts))

    def print_dim(self, message: str) -> None:
        """A remark."""
        self._print(message, "dim")

    def print_info(self, message: str) -> None:
        """Information."""
        self._print(message, "blue")

    def print_success(self, message: str) -> None:
        """A success."""
        self._print(message, "green")

    def print_warning(self, message: str) -> None:
        """A warning."""
        self._print(f"warning: {message}", "yellow")

    def print_error(self, message: str, recoverable: bool = False) -> None:
        """An error; one that is `recoverable` is a warning."""
        if recoverable:
            self.print_warning(message)
            return
        self._print(f"error: {message}", "red")

    def print_header(self, text: str) -> None:
        """A heading."""
        self._print(text, "bold")

    def print_separator(self, length: int = 50) -> None:
        """A horizontal line."""
        self._print("-" * length, "dim")

    def print_prompt(self, prompt: str, title: str = "Prompt") -> None:
        """A prompt, for debugging."""
        self._print(f"{title}:\n{prompt}", "dim")

    def print_tool_usage(self, tool_name: str) -> None:
        """A tool call begins."""
        self._print(f"calling {tool_name}", "dim")

    def print_tool_complete(self) -> None:
        """The tool call has ended."""

    def print_final_answer(
        self, answer: str, total_tokens: int | None = None, ttft_seconds: float | None = None
    ) -> None:
        """The answer to the query."""
        self._print(answer)

    def pretty_print_json(self, data: Any, title: str | None = None) -> None:
        """A value as indented JSON; parts that are not JSON as their text."""
        text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
        self._print(f"{title}:\n{text}" if title else text)

    def start_progress(self, message: str, show_timer: bool = False) -> None:
        """A longer step begins."""
        self._print(f"{message} …", "dim")

    def stop_progress(self) -> None:
        """The step has ended."""

    def _print(self, text: str, style: str = "") -> None:
        from rich.console import Console

        from gaia_mcp.safetext import clean

        # Looked up each time: a server replaces the standard output, and a service may have none.
        stream = sys.stdout
        if stream is None:
            return
        with suppress(OSError, ValueError):  # It is closed, or its reader has gone.
            console = Console(file=stream, soft_wrap=True)
            with console.capture() as captured:
                console.print(clean(text), style=style or None, markup=False, highlight=False, emoji=False)
            encoding = getattr(stream, "encoding", None) or "utf-8"
            stream.write(captured.get().encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()


class SilentConsole(AgentConsole):
    """Prints only the final answer, and not even that with `silence_final_answer`.

    Named in GAIA's documents about agents.
    """

    def __init__(self, silence_final_answer: bool = False) -> None:
        self.silence_final_answer = silence_final_answer

    def print_final_answer(
        self, answer: str, total_tokens: int | None = None, ttft_seconds: float | None = None
    ) -> None:
        """The answer to the query, unless that is silenced too."""
        if not self.silence_final_answer:
            super()._print(answer)

    def _print(self, text: str, style: str = "") -> None:
        """Nothing."""
