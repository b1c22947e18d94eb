"""The consoles that an agent prints its progress to."""

# ruff: noqa: ARG002 (some parameters are GAIA's, and have no effect here)
from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from gaia_mcp.agents.base.steps import StepConsole


class AgentConsole(StepConsole):
    """Prints to standard output, in colour on a terminal. Part of GAIA's documented interface.

    Subclasses override single methods, or `_print` for all of them. Never raises if the output is closed, so that the
    agent continues. Escapes characters that the output's encoding cannot represent.
    """

    def print(self, *parts: Any, **_options: Any) -> None:
        """Print a line unchanged. The options of Rich's `print` have no effect."""
        self._print(" ".join(str(part) for part in parts))

    def print_dim(self, message: str) -> None:
        """Print secondary text, dimmed."""
        self._print(message, "dim")

    def print_info(self, message: str) -> None:
        """Print information."""
        self._print(message, "blue")

    def print_success(self, message: str) -> None:
        """Print that something succeeded."""
        self._print(message, "green")

    def print_warning(self, message: str) -> None:
        """Print a warning."""
        self._print(f"warning: {message}", "yellow")

    def print_error(self, message: str, recoverable: bool = False) -> None:
        """Print an error, or a warning if it is `recoverable`."""
        if recoverable:
            self.print_warning(message)
            return
        self._print(f"error: {message}", "red")

    def print_header(self, text: str) -> None:
        """Print a heading."""
        self._print(text, "bold")

    def print_separator(self, length: int = 50) -> None:
        """Print a horizontal line."""
        self._print("-" * length, "dim")

    def print_prompt(self, prompt: str, title: str = "Prompt") -> None:
        """Print a prompt, for debugging."""
        self._print(f"{title}:\n{prompt}", "dim")

    def print_tool_usage(self, tool_name: str) -> None:
        """Print that a tool call begins."""
        self._print(f"calling {tool_name}", "dim")

    def print_tool_complete(self) -> None:
        """The tool call has ended. Prints nothing."""

    def print_final_answer(
        self, answer: str, total_tokens: int | None = None, ttft_seconds: float | None = None
    ) -> None:
        """Print the answer to the query."""
        self._print(answer)

    def pretty_print_json(self, data: Any, title: str | None = None) -> None:
        """Print a value as indented JSON. Values that are not JSON-serializable are printed as `str`."""
        text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
        self._print(f"{title}:\n{text}" if title else text)

    def start_progress(self, message: str, show_timer: bool = False) -> None:
        """Print that a long step begins."""
        self._print(f"{message} …", "dim")

    def stop_progress(self) -> None:
        """The step has ended. Prints nothing."""

    def _print(self, text: str, style: str = "") -> None:
        from rich.console import Console

        from gaia_mcp.safetext import clean

        # Read for every line: a server replaces standard output, and a service may have none.
        stream = sys.stdout
        if stream is None:
            return
        with suppress(OSError, ValueError):  # The stream is closed, or a pipe without a reader.
            console = Console(file=stream, soft_wrap=True)
            with console.capture() as captured:
                console.print(clean(text), style=style or None, markup=False, highlight=False, emoji=False)
            encoding = getattr(stream, "encoding", None) or "utf-8"
            stream.write(captured.get().encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()


class SilentConsole(AgentConsole):
    """Prints only the final answer, or nothing with `silence_final_answer`.

    Part of GAIA's documented interface.
    """

    def __init__(self, silence_final_answer: bool = False) -> None:
        self.silence_final_answer = silence_final_answer

    def print_final_answer(
        self, answer: str, total_tokens: int | None = None, ttft_seconds: float | None = None
    ) -> None:
        """Print the answer to the query, unless `silence_final_answer` is set."""
        if not self.silence_final_answer:
            super()._print(answer)

    def _print(self, text: str, style: str = "") -> None:
        """Print nothing."""
