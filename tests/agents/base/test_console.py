"""The consoles: one that prints, one that does not."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from gaia_mcp.agents.base import AgentConsole, SilentConsole


def say_everything(console: AgentConsole) -> None:
    console.print("a", 1)
    console.print_dim("aside")
    console.print_info("info")
    console.print_success("done")
    console.print_warning("careful")
    console.print_error("broken")
    console.print_header("Header")
    console.print_separator(3)
    console.print_prompt("text", "Prompt")
    console.print_tool_usage("add")
    console.print_tool_complete()
    console.pretty_print_json({"a": object}, "Data")
    console.start_progress("working")
    console.stop_progress()


def test_a_console_prints_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: plain where there is no terminal."""
    console = AgentConsole()

    say_everything(console)
    console.print_final_answer("the [bold]answer[/bold] :smile:")

    assert capsys.readouterr().out.splitlines() == [
        "a 1", "aside", "info", "done", "warning: careful", "error: broken", "Header", "---", "Prompt:", "text",
        "calling add", "Data:", "{", '  "a": "<class \'object\'>"', "}", "working …",
        "the [bold]answer[/bold] :smile:",
    ]  # fmt: skip


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: much of what an agent prints comes from others."""
    AgentConsole().print_info("\x1b[2Jhello\x07")

    assert capsys.readouterr().out == "\\x1b[2Jhello\\x07\n"


@pytest.mark.parametrize(("silent", "heard"), [(False, "yes\n"), (True, "")])
def test_a_silent_console_prints_only_the_final_answer(
    silent: bool, heard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GAIA: for programs that want nothing else on standard output."""
    console = SilentConsole(silence_final_answer=silent)

    say_everything(console)
    console.print_final_answer("yes")

    assert capsys.readouterr().out == heard


def test_a_character_outside_the_encoding_is_printed_as_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: an agent does not end for a letter."""
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, "latin-1"))

    AgentConsole().print_info("ä ✓ \ud800")

    assert output.getvalue().decode("latin-1").rstrip() == "ä \\u2713 \\ud800"


class Left(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_console_ignores_a_closed_or_missing_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a closed output, none at all as under a service, a pipe whose reader has gone. Nothing is ended by it."""
    closed = io.StringIO()
    closed.close()
    for output in (closed, None, Left()):
        monkeypatch.setattr(sys, "stdout", output)
        AgentConsole().print_info("hello")
        SilentConsole().print_final_answer("yes")


def test_an_output_without_an_encoding_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: programs put objects of their own in its place."""
    said: list[str] = []
    monkeypatch.setattr(
        sys, "stdout", type("Kept", (), {"write": lambda self, text: said.append(text), "flush": lambda self: None})()
    )

    AgentConsole().print("ä")

    assert "".join(said) == "ä\n"


def test_the_console_has_every_method_of_gaia(capsys: pytest.CaptureFixture[str]) -> None:
    """GAIA, 0.23: the public methods of its consoles, with their parameters."""
    steps: list[tuple[str, tuple[Any, ...], str]] = [
        ("print_processing_start", ("why", 5, "model"), "working on: why\n"),
        ("print_step_header", (1, 5), "step 1 of at most 5\n"),
        ("print_step_paused", ("here",), "paused: here\n"),
        ("print_state_info", ("PLANNING",), "PLANNING\n"),
        ("print_thought", ("hm",), "thought: hm\n"),
        ("print_goal", ("find it",), "goal: find it\n"),
        ("print_plan", ([{"tool": "add", "tool_args": {}}, "think"], 1), "  1. add\n> 2. think\n"),
        ("print_plan", (["think"],), "  1. think\n"),
        ("print_plan_progress", (1, 3), "1 of 3 steps done\n"),
        ("print_plan_progress", (2, 3, 1), "1 of 3 steps done\n"),
        ("print_checklist_reasoning", ("so",), "thought: so\n"),
        ("print_repeated_tool_warning", (), "warning: the same tool was called several times in a row\n"),
        ("print_completion", (2, 5), "done in 2 of at most 5 steps\n"),
        ("print_agent_selected", ("code", "python", "app"), "agent: code (python, app)\n"),
        ("print_agent_created", ("mine",), "agent made: mine\n"),
        ("print_tool_info", ("add", "a, b", "Adds"), "add(a, b): Adds\n"),
        ("print_command_executing", ("ls",), "running ls\n"),
        ("print_policy_alert", ("rm", "denied", "a rule", ["r1"], "1", None), "warning: rm: denied: a rule\n"),
        ("print_response", ("text",), "Response:\ntext\n"),
        ("display_stats", ({"tokens": 3, "seconds": 1.5},), "tokens: 3, seconds: 1.5\n"),
        ("print_image", ("a.png", "a cat", False), "image: a.png (a cat)\n"),
        ("print_image", ("a.png",), "image: a.png\n"),
        ("print_diff", ("+a", "f.py"), "f.py:\n+a\n"),
        ("print_file_created", ("f.py", 3, ".py"), "made f.py (3 bytes)\n"),
        ("print_file_created", ("f.py",), "made f.py\n"),
        ("print_file_modified", ("f.py",), "changed f.py\n"),
        ("print_file_deleted", ("f.py",), "deleted f.py\n"),
        ("print_file_moved", ("f.py", "g.py"), "moved f.py to g.py\n"),
        ("start_file_preview", ("f.py", 15, ""), "writing f.py …\n"),
        ("update_file_preview", ("a",), ""),
        ("stop_file_preview", (), ""),
        ("print_model_loading", ("m",), "loading m …\n"),
        ("print_model_ready", ("m",), "m is loaded\n"),
        ("print_model_ready", ("m", True), "m is already loaded\n"),
        ("print_download_start", ("m",), "downloading m …\n"),
        ("print_download_progress", (10, 1, 10, 0.5), ""),
        ("print_download_complete", ("m",), "downloaded m\n"),
        ("print_download_complete", (), "downloaded it\n"),
        ("print_download_error", ("no disk", "m"), "error: m: no disk\n"),
        ("print_download_error", ("no disk",), "error: no disk\n"),
        ("print_download_skipped", ("m",), "m: already downloaded\n"),
        ("print_extraction_start", (1, 2, "image/png"), "reading image 1 of page 2 (image/png) …\n"),
        ("print_extraction_complete", (9, 1, 0.5, 3.0), "read 9 characters of image 1 in 0.5 s\n"),
        ("print_ready_for_input", (), "ready\n"),
        ("print_processing_step", (1, 2, "scan"), "1 of 2 scan: running\n"),
        ("print_processing_pipeline_start", ("a.pdf", 2), "working on a.pdf in 2 steps\n"),
        ("print_processing_pipeline_complete", ("a.pdf", True, 1.0), "a.pdf: done in 1.0 s\n"),
        ("print_processing_pipeline_complete", ("a.pdf", False, 1.0, "N", True), "a.pdf: failed in 1.0 s\n"),
        ("pause_progress", (), ""),
        ("resume_progress", (), ""),
        ("print_error", ("broken", True), "warning: broken\n"),
        ("start_progress", ("working", True), "working …\n"),
        ("print_final_answer", ("42", 7, 0.1), "42\n"),
    ]
    for console in (AgentConsole(), SilentConsole(silence_final_answer=True)):
        for method, arguments, printed in steps:
            getattr(console, method)(*arguments)
            expected = "" if isinstance(console, SilentConsole) else printed
            assert capsys.readouterr().out == expected, method
        assert console.confirm_tool_execution("rm", {}) is False


def test_a_streamed_text_is_printed_by_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """GAIA: `print_streaming_text`. Ours: a line at a time, since a log has no place for half of one."""
    console = AgentConsole()

    for chunk in ("one, ", "two\nthree", ", four\n", "five"):
        console.print_streaming_text(chunk)
    assert console.get_streaming_buffer() == "one, two\nthree, four\nfive"
    assert capsys.readouterr().out == "one, two\nthree, four\n"
    console.print_streaming_text("", end_of_stream=True)

    assert (capsys.readouterr().out, console.get_streaming_buffer()) == ("five\n", "")
    console.print_streaming_text("six\n", end_of_stream=True)
    assert (capsys.readouterr().out, console.get_streaming_buffer()) == ("six\n", "")
