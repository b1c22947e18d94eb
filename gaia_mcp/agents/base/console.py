"""The consoles that an agent prints its progress to, with every method by which agents written for GAIA report their
steps.

Our own `Agent` calls few of them.
"""

# ruff: noqa: ARG002, B027 (the methods and their parameters are GAIA's; some have no effect here)
from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any


class StepConsole(ABC):
    """The methods of GAIA's consoles in addition to those of `AgentConsole`. All of them print with `_print`."""

    _streamed = ""

    @abstractmethod
    def _print(self, text: str, style: str = "") -> None:
        """Print a line."""

    # A query and its plan.

    def print_processing_start(self, query: str, max_steps: int, model_id: str | None = None) -> None:
        """The work on a query begins."""
        self._print(f"working on: {query}", "bold")

    def print_step_header(self, step_num: int, step_limit: int) -> None:
        """A step begins."""
        self._print(f"step {step_num} of at most {step_limit}", "dim")

    def print_step_paused(self, description: str) -> None:
        """The agent waits after a step."""
        self._print(f"paused: {description}", "dim")

    def print_state_info(self, state_message: str) -> None:
        """The state of the agent."""
        self._print(state_message, "dim")

    def print_thought(self, thought: str) -> None:
        """What the model thinks."""
        self._print(f"thought: {thought}", "dim")

    def print_goal(self, goal: str) -> None:
        """What the model wants to achieve."""
        self._print(f"goal: {goal}", "dim")

    def print_plan(self, plan: Sequence[Any], current_step: int | None = None) -> None:
        """The steps of a plan; the current one, counted from 0, is marked."""
        self.print_checklist(plan, -1 if current_step is None else current_step)

    def print_plan_progress(self, current_step: int, total_steps: int, completed_steps: int | None = None) -> None:
        """The number of completed steps of a plan."""
        done = current_step if completed_steps is None else completed_steps
        self._print(f"{done} of {total_steps} steps done", "dim")

    def print_checklist(self, items: Sequence[Any], current_idx: int) -> None:
        """A list of steps; the current one, counted from 0, is marked."""
        for index, item in enumerate(items):
            text = item.get("tool", item) if isinstance(item, dict) else item
            self._print(f"{'>' if index == current_idx else ' '} {index + 1}. {text}")

    def print_checklist_reasoning(self, reasoning: str) -> None:
        """The reasoning behind the list of steps."""
        self.print_thought(reasoning)

    def print_repeated_tool_warning(self) -> None:
        """The model called the same tool several times in a row."""
        self._print("warning: the same tool was called several times in a row", "yellow")

    def print_completion(self, steps_taken: int, steps_limit: int) -> None:
        """The work on a query has ended."""
        self._print(f"done in {steps_taken} of at most {steps_limit} steps", "dim")

    def print_agent_selected(self, agent_name: str, language: str, project_type: str) -> None:
        """An agent was chosen for a project."""
        self._print(f"agent: {agent_name} ({language}, {project_type})", "dim")

    def print_agent_created(self, agent_id: str) -> None:
        """An agent was created."""
        self._print(f"agent made: {agent_id}", "dim")

    # Tools, and permission to call them.

    def print_tool_info(self, name: str, params_str: str, description: str) -> None:
        """An available tool."""
        self._print(f"{name}({params_str}): {description}")

    def print_command_executing(self, command: str) -> None:
        """A command is run."""
        self._print(f"running {command}", "dim")

    def print_policy_alert(
        self,
        tool_name: str,
        decision: str,
        reason: str,
        rule_ids: Sequence[str] = (),
        policy_version: str = "",
        receipt_id: str | None = None,
    ) -> None:
        """A policy prevented a tool call."""
        self._print(f"warning: {tool_name}: {decision}: {reason}", "yellow")

    def confirm_tool_execution(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        """Whether a tool that makes changes may be called. Always False, as this console cannot ask; override it to
        ask.
        """
        return False

    # What a model returns.

    def print_response(self, response: str, title: str = "Response") -> None:
        """The response of a model, for debugging."""
        self._print(f"{title}:\n{response}", "dim")

    def print_streaming_text(self, text_chunk: str, end_of_stream: bool = False) -> None:
        """A chunk of text. Each line is printed once it is complete."""
        complete, newline, rest = f"{self._unprinted()}{text_chunk}".rpartition("\n")
        self._streamed += text_chunk
        if newline:
            self._print(complete)
        if end_of_stream:
            if rest:
                self._print(rest)
            self._streamed = ""

    def get_streaming_buffer(self) -> str:
        """The text streamed so far."""
        return self._streamed

    def display_stats(self, stats: dict[str, Any]) -> None:
        """Statistics of a model."""
        self._print(", ".join(f"{name}: {value}" for name, value in stats.items()), "dim")

    def _unprinted(self) -> str:
        return self._streamed.rpartition("\n")[2]

    # Files.

    def print_image(self, image_path: str, caption: str | None = None, prompt_to_open: bool = False) -> None:
        """The path of an image."""
        self._print(f"image: {image_path}{f' ({caption})' if caption else ''}")

    def print_diff(self, diff: str, filename: str) -> None:
        """The changes of a file."""
        self._print(f"{filename}:\n{diff}")

    def print_file_created(self, filename: str, size: int = 0, extension: str = "") -> None:
        """A file was created; `size` is in bytes."""
        self._print(f"made {filename}{f' ({size} bytes)' if size else ''}")

    def print_file_modified(self, filename: str, size: int = 0) -> None:
        """A file was changed."""
        self._print(f"changed {filename}")

    def print_file_deleted(self, filename: str) -> None:
        """A file was deleted."""
        self._print(f"deleted {filename}")

    def print_file_moved(self, src_filename: str, dest_filename: str) -> None:
        """A file was moved."""
        self._print(f"moved {src_filename} to {dest_filename}")

    def start_file_preview(self, filename: str, max_lines: int = 15, title_prefix: str = "") -> None:
        """A file is being written."""
        self._print(f"writing {filename} …", "dim")

    def update_file_preview(self, content_chunk: str) -> None:
        """A chunk of the file that is being written. Prints nothing."""

    def stop_file_preview(self) -> None:
        """The file has been written. Prints nothing."""

    # Models, downloads and documents.

    def print_model_loading(self, model_name: str) -> None:
        """A model is being loaded."""
        self._print(f"loading {model_name} …", "dim")

    def print_model_ready(self, model_name: str, already_loaded: bool = False) -> None:
        """A model has been loaded."""
        self._print(f"{model_name} is {'already ' if already_loaded else ''}loaded", "dim")

    def print_download_start(self, model_name: str) -> None:
        """A download begins."""
        self._print(f"downloading {model_name} …", "dim")

    def print_download_progress(
        self, percent: int, bytes_downloaded: int, bytes_total: int, speed_mbps: float = 0.0
    ) -> None:
        """A part has been downloaded. Prints nothing."""

    def print_download_complete(self, model_name: str | None = None) -> None:
        """A download has ended."""
        self._print(f"downloaded {model_name or 'it'}", "dim")

    def print_download_error(self, error_message: str, model_name: str | None = None) -> None:
        """A download has failed."""
        self._print(f"error: {f'{model_name}: ' if model_name else ''}{error_message}", "red")

    def print_download_skipped(self, model_name: str, reason: str = "already downloaded") -> None:
        """A download was not needed."""
        self._print(f"{model_name}: {reason}", "dim")

    def print_extraction_start(self, image_num: int, page_num: int, mime_type: str) -> None:
        """The text of an image is being read."""
        self._print(f"reading image {image_num} of page {page_num} ({mime_type}) …", "dim")

    def print_extraction_complete(self, chars: int, image_num: int, elapsed_seconds: float, size_kb: float) -> None:
        """The text of an image has been read."""
        self._print(f"read {chars} characters of image {image_num} in {elapsed_seconds:.1f} s", "dim")

    def print_ready_for_input(self) -> None:
        """The agent is ready for input."""
        self._print("ready", "dim")

    def print_processing_step(self, step_num: int, total_steps: int, step_name: str, status: str = "running") -> None:
        """A step of the work on a document."""
        self._print(f"{step_num} of {total_steps} {step_name}: {status}", "dim")

    def print_processing_pipeline_start(self, filename: str, total_steps: int) -> None:
        """The work on a document begins."""
        self._print(f"working on {filename} in {total_steps} steps", "dim")

    def print_processing_pipeline_complete(
        self,
        filename: str,
        success: bool,
        elapsed_seconds: float,
        patient_name: str | None = None,
        is_duplicate: bool = False,
    ) -> None:
        """The work on a document has ended."""
        self._print(f"{filename}: {'done' if success else 'failed'} in {elapsed_seconds:.1f} s", "dim")

    def pause_progress(self) -> None:
        """Hide the progress of a step. Has no effect here."""

    def resume_progress(self) -> None:
        """Show the progress of a step again. Has no effect here."""


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

        from gaia_mcp.text import clean

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
