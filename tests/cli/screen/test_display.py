"""`cli.display`: a text on a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.colours import GREEN, RESET
from gaia_mcp.cli.screen.display import MAX_CHARS, SCREENS, show_text
from gaia_mcp.cli.screen.output import Form

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stdout a terminal of 20 columns and 5 lines, without colours."""
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr(Form, "quiet", False)
    for name, value in {"COLUMNS": "20", "LINES": "5", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return stream


def test_control_characters_are_shown_and_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    stream = terminal(monkeypatch)

    assert show_text("a\x1b[2J\x9b\u202e") == stream.getvalue() == "a\\x1b[2J\\x9b\\u202e"


def test_json_stays_json_when_it_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: its own escapes stand for what a terminal must not be given."""
    terminal(monkeypatch)

    assert show_text('[\r\n"\x9b\u202e"]') == '[\n"\\u009b\\u202e"]'


def test_json_has_colours_unless_they_are_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR."""
    stream = terminal(monkeypatch)
    show_text('["a"]')
    assert stream.getvalue() == '["a"]'
    monkeypatch.delenv("NO_COLOR")
    assert show_text('["a"]', "text/plain") == '["a"]'
    assert stream.getvalue() == f'["a"][{GREEN}"a"{RESET}]'


def test_a_long_text_is_cut_after_some_screens(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours: in whole lines, with a word about the rest; a line that is broken counts as the lines that it takes."""
    terminal(monkeypatch)
    line = "x" * 39
    text = f"{line}\n" * (MAX_CHARS // 40 + 1)

    assert show_text(text) == f"{line}\n" * (SCREENS * 5 // 2)

    assert "note: this is the beginning of 100 kB" in capfd.readouterr().err


def test_a_long_line_is_cut_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    terminal(monkeypatch)

    assert show_text("x" * (MAX_CHARS + 1)) == "x" * (SCREENS * 5 * 20) + "\n"


def test_what_is_just_as_long_as_it_may_be_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    terminal(monkeypatch)

    assert show_text("x" * MAX_CHARS) == "x" * MAX_CHARS


def test_nothing_is_cut_for_who_wants_no_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: they would take it for the whole."""
    terminal(monkeypatch)
    monkeypatch.setattr(Form, "quiet", True)

    assert len(show_text("x" * MAX_CHARS * 2)) == MAX_CHARS * 2
