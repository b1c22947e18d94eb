"""The consoles: one that speaks, one that does not."""

from __future__ import annotations

import io
import sys

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


def test_a_console_says_it_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_a_silent_console_says_the_final_answer_unless_told_not_to(
    silent: bool, heard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GAIA: for programs that want nothing else on standard output."""
    console = SilentConsole(silence_final_answer=silent)

    say_everything(console)
    console.print_final_answer("yes")

    assert capsys.readouterr().out == heard


def test_what_the_outputs_encoding_lacks_is_written_as_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: an agent does not end for a letter."""
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, "latin-1"))

    AgentConsole().print_info("ä ✓ \ud800")

    assert output.getvalue().decode("latin-1").rstrip() == "ä \\u2713 \\ud800"


class Left(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_console_without_anybody_who_listens_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a closed output, none at all as under a service, a pipe whose reader has gone. Nothing is ended by it."""
    closed = io.StringIO()
    closed.close()
    for output in (closed, None, Left()):
        monkeypatch.setattr(sys, "stdout", output)
        AgentConsole().print_info("hello")
        SilentConsole().print_final_answer("yes")


def test_an_output_that_does_not_tell_its_encoding_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: programs put objects of their own in its place."""
    said: list[str] = []
    monkeypatch.setattr(
        sys, "stdout", type("Kept", (), {"write": lambda self, text: said.append(text), "flush": lambda self: None})()
    )

    AgentConsole().print("ä")

    assert "".join(said) == "ä\n"
