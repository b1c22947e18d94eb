"""`cli.screen.output`: text and JSON, on stdout and stderr, with control characters escaped."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.core.errors import ConnectError, MCPError, ServerExitedError, ToolUnknownError


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_an_error_is_printed_as_two_lines_and_a_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a person reads stderr, and a program stdout."""
    screen = Screen(CommandLine(), as_json=True)

    status = screen.fail(ToolUnknownError("s", "t\n\x1b[31m", suggestion="did you mean 'u'?"))

    out, err = capsys.readouterr()
    assert err.splitlines() == ["error: server 's' has no tool 't\\n\\x1b[31m'", "hint: did you mean 'u'?"]
    error = {"kind": "tool-unknown", "message": "server 's' has no tool 't\\n\\x1b[31m'", "hint": "did you mean 'u'?"}
    assert json.loads(out) == {"error": {**error, "server": "s"}, "exit": 7}
    assert status == 7


def test_a_message_of_many_lines_is_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: stderr has one line for the error and one for the hint, which programs count on."""
    screen = Screen(CommandLine())

    screen.fail(ConnectError("a\nb\n" * 10_000))

    assert len(capsys.readouterr().err.splitlines()) == 2


def test_the_traceback_comes_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a person needs the message; a developer asks for the traceback."""
    screen = Screen(CommandLine(), debug=True)

    assert screen.fail(MCPError("oops")) == 1

    assert "MCPError: oops" in capsys.readouterr().err


def test_answers_go_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a pipe must get the answer alone."""
    screen = Screen(CommandLine())

    screen.print_line("answer")
    screen.remark("by the way")
    screen.done("did it", what="it")

    assert capsys.readouterr() == ("answer\ndid it\n", "note: by the way\n")
    screen = Screen(CommandLine(), as_json=True)
    screen.done("did it", what="it")
    assert json.loads(capsys.readouterr().out) == {"what": "it"}


def test_an_event_is_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON Lines: one value on each line."""
    screen = Screen(CommandLine())

    screen.print_event({"text": "a\nä"})
    screen.print_event([])

    assert capsys.readouterr().out == '{"text": "a\\nä"}\n[]\n'


def test_infinity_and_nan_are_printed_as_null(capsys: pytest.CaptureFixture[str]) -> None:
    """RFC 8259 permits neither number. Strings are unchanged."""
    screen = Screen(CommandLine())

    odd = {"a": [1e400, -1e400, {"b": float("nan")}, "NaN"], "Infinity": -1e400, "c": 1.5}
    even = {"a": [None, None, {"b": None}, "NaN"], "Infinity": None, "c": 1.5}

    screen.print_json(odd)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == even
    screen.print_event(odd)
    screen.print_event(1e400)
    assert capsys.readouterr().out == json.dumps(even) + "\nnull\n"


def test_json_on_a_terminal_is_clean_and_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: JSON itself leaves some control characters as they are; its escapes mean the same."""
    screen = Screen(CommandLine())

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "dumb")
    screen.print_json({"a": "\x1b\x9b\u202e\U000e0001ä"})
    shown = terminal.getvalue()

    assert "\\u001b\\u009b\\u202e\\udb40\\udc01ä" in shown
    assert json.loads(shown) == {"a": "\x1b\x9b\u202e\U000e0001ä"}
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen.print_event(["x"])
    assert terminal.getvalue().endswith('[\x1b[32m"x"\x1b[0m]\n')


def test_quiet_suppresses_notes_and_not_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a failure must always be seen."""
    screen = Screen(CommandLine(), quiet=True)

    screen.remark("by the way")
    screen.fail(MCPError("oops"))

    assert "by the way" not in (err := capsys.readouterr().err)
    assert "error: oops" in err


def test_a_closed_reader_of_stdout_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a command that runs until it is interrupted must end then."""
    screen = Screen(CommandLine())

    reading, writing = os.pipe()
    with open(writing, "w") as stdout:  # noqa: PTH123
        monkeypatch.setattr("sys.stdout", stdout)
        assert screen.is_read()
        os.close(reading)
        assert not screen.is_read()
    assert screen.is_read()  # Closed, and by us: nothing is known.
    monkeypatch.setattr("sys.stdout", Terminal())
    assert screen.is_read()


def test_the_hint_for_an_exited_server_shows_its_log_or_its_command() -> None:
    """Ours: the log explains more than the error, if there is one."""
    screen = Screen(CommandLine())

    for stderr, command in (("", "show"), ("one", "logs"), ("one\ntwo", "logs")):
        error = ServerExitedError("x", "at its start", 3, stderr)
        assert screen.error_object(error)["hint"].endswith(f"gaia mcp {command} x"), stderr


def test_the_hint_for_a_refused_server_names_no_entry() -> None:
    """Ours: `add` has saved no entry, but it has saved the log."""
    screen = Screen(CommandLine(command="add"))

    for stderr, hint in (("one", "--no-check"), ("one\ntwo", "gaia mcp logs x")):
        assert screen.error_object(ServerExitedError("x", "at its start", 3, stderr))["hint"].endswith(hint), stderr


@pytest.mark.story
def test_dropped_stdout_has_no_reader() -> None:
    """Ours: a command that runs until it is interrupted must end when its reader has closed the pipe."""
    program = (
        "import sys; from gaia_mcp.cli.lines import CommandLine; from gaia_mcp.cli.screen.output import Screen; "
        "screen = Screen(CommandLine()); screen.drop_stdout(); sys.exit(screen.is_read())"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
