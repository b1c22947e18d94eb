"""`cli.output`: two forms, clean lines, and columns that fit."""

from __future__ import annotations

import io
import json

import pytest

from gaia_mcp.cli.output import columns, done, fail, remark, say, speak
from gaia_mcp.errors import ConnectError, MCPError, ToolUnknownError


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain() -> None:
    """The plain form."""
    speak(as_json=False, debug=False)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Ours: in a pipe nothing is cut."""
    assert columns([["a", "bb", "c" * 300], ["aaa", "b", "c"]]) == [f"a    bb  {'c' * 300}", "aaa  b   c"]
    assert columns([]) == []


def test_on_a_terminal_lines_are_cut_to_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: but never so much that names disappear."""
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "20")

    (line,) = columns([["name", "c" * 300]])

    assert line == "name  " + "c" * 13 + "…"
    monkeypatch.setenv("COLUMNS", "1")
    assert columns([["name", "c" * 300]])[0].startswith("name  c")


def test_wide_characters_count_as_the_cells_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: in the columns, and where a line is cut."""
    assert columns([["日本", "x"], ["a", "x"]]) == ["日本  x", "a     x"]
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "20")

    assert columns([["日本", "日" * 7]]) == ["日本  " + "日" * 7]
    assert columns([["日本", "日" * 8]]) == ["日本  " + "日" * 6 + " …"]


def test_an_error_is_two_lines_and_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    speak(as_json=True, debug=False)

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
    speak(as_json=False, debug=True)

    assert fail(MCPError("oops")) == 1

    assert "MCPError: oops" in capsys.readouterr().err


def test_answers_and_remarks_go_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    say("answer")
    remark("by the way")
    done("did it", what="it")

    assert capsys.readouterr() == ("answer\ndid it\n", "note: by the way\n")
    speak(as_json=True, debug=False)
    done("did it", what="it")
    assert json.loads(capsys.readouterr().out) == {"what": "it"}
