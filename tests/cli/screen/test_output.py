"""`cli.screen.output`: two forms, and clean lines."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.screen.output import (
    Form,
    choose_form,
    done,
    error_object,
    fail,
    is_read,
    print_event,
    print_json,
    print_line,
    remark,
)
from gaia_mcp.errors import ConnectError, MCPError, ServerExitedError, ToolUnknownError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain() -> None:
    """The plain form."""
    choose_form(as_json=False, debug=False)


def test_an_error_is_two_lines_and_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    choose_form(as_json=True, debug=False)

    status = fail(ToolUnknownError("s", "t\n\x1b[31m", suggestion="did you mean 'u'?"))

    out, err = capsys.readouterr()
    assert err.splitlines() == ["error: server 's' has no tool 't\\n\\x1b[31m'", "hint: did you mean 'u'?"]
    error = {"kind": "tool-unknown", "message": "server 's' has no tool 't\\n\\x1b[31m'", "hint": "did you mean 'u'?"}
    assert json.loads(out) == {"error": {**error, "server": "s"}, "exit": 7}
    assert status == 7


def test_an_error_of_many_lines_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: however much a server had to say."""
    fail(ConnectError("a\nb\n" * 10_000))

    assert len(capsys.readouterr().err.splitlines()) == 2


def test_the_traceback_comes_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    choose_form(as_json=False, debug=True)

    assert fail(MCPError("oops")) == 1

    assert "MCPError: oops" in capsys.readouterr().err


def test_answers_and_remarks_go_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    print_line("answer")
    remark("by the way")
    done("did it", what="it")

    assert capsys.readouterr() == ("answer\ndid it\n", "note: by the way\n")
    choose_form(as_json=True, debug=False)
    done("did it", what="it")
    assert json.loads(capsys.readouterr().out) == {"what": "it"}


def test_one_of_many_answers_stands_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: JSON Lines."""
    print_event({"text": "a\nä"})
    print_event([])

    assert capsys.readouterr().out == '{"text": "a\\nä"}\n[]\n'


def test_what_json_has_no_number_for_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    """RFC 8259: permits neither. Texts are left alone."""
    odd = {"a": [1e400, -1e400, {"b": float("nan")}, "NaN"], "Infinity": -1e400, "c": 1.5}
    even = {"a": [None, None, {"b": None}, "NaN"], "Infinity": None, "c": 1.5}

    print_json(odd)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == even
    print_event(odd)
    print_event(1e400)
    assert capsys.readouterr().out == json.dumps(even) + "\nnull\n"


def test_json_on_a_terminal_is_clean_and_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: JSON itself leaves some control characters as they are; its escapes mean the same."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "dumb")
    print_json({"a": "\x1b\x9b\u202e\U000e0001ä"})
    shown = terminal.getvalue()

    assert "\\u001b\\u009b\\u202e\\udb40\\udc01ä" in shown
    assert json.loads(shown) == {"a": "\x1b\x9b\u202e\U000e0001ä"}
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_event(["x"])
    assert terminal.getvalue().endswith('[\x1b[32m"x"\x1b[0m]\n')


def test_nothing_is_said_beside_the_answer_to_who_wants_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: errors are."""
    monkeypatch.setattr(Form, "quiet", True)

    remark("by the way")
    fail(MCPError("oops"))

    assert "by the way" not in (err := capsys.readouterr().err)
    assert "error: oops" in err


def test_what_moves_makes_room_for_what_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: or one would stand in the other."""

    @contextmanager
    def room() -> Iterator[None]:
        print("(", end="", file=sys.stderr)
        yield
        print(")", end="", file=sys.stderr)

    monkeypatch.setattr(Form, "room", room)
    remark("x")

    assert capsys.readouterr().err == "(note: x\n)"


def test_it_is_noticed_that_the_reader_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a command without an end asks for it."""
    reading, writing = os.pipe()
    with open(writing, "w") as stdout:  # noqa: PTH123
        monkeypatch.setattr("sys.stdout", stdout)
        assert is_read()
        os.close(reading)
        assert not is_read()
    assert is_read()  # Closed, and by us: nothing is known.
    monkeypatch.setattr("sys.stdout", Terminal())
    assert is_read()


@pytest.mark.parametrize(("stderr", "command"), [("", "show"), ("one", "logs"), ("one\ntwo", "logs")])
def test_a_log_that_says_more_than_the_error_is_pointed_to(stderr: str, command: str) -> None:
    """Ours: the most useful next thing."""
    error = ServerExitedError("x", "at its start", 3, stderr)

    assert error_object(error)["hint"].endswith(f"gaia mcp {command} x")


@pytest.mark.parametrize(("stderr", "hint"), [("one", "--no-check"), ("one\ntwo", "gaia mcp logs x")])
def test_what_was_not_saved_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch, stderr: str, hint: str) -> None:
    """Ours: the entry of a server that `add` has refused is nowhere; what it wrote is."""
    monkeypatch.setattr(Typed, "command", "add")

    assert error_object(ServerExitedError("x", "at its start", 3, stderr))["hint"].endswith(hint)


@pytest.mark.story
def test_what_is_dropped_reaches_no_reader() -> None:
    """Ours: a command without an end, whose reader has gone just before a line, must not write to nowhere for ever."""
    program = (
        "import sys; from gaia_mcp.cli.screen.output import drop_stdout, is_read; drop_stdout(); sys.exit(is_read())"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
