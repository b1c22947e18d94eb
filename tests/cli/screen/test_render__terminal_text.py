"""`cli.screen.render`: a text on a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen.colours import GREEN, RESET
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.screen.render import MAX_CHARS, SCREENS, show_text

if TYPE_CHECKING:
    import pytest


SCREEN = Screen(CommandLine())


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stdout a terminal of 20 columns and 5 lines, without colours."""
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    for name, value in {"COLUMNS": "20", "LINES": "5", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return stream


def test_control_characters_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a server must not move the cursor or change the title of the terminal."""
    stream = terminal(monkeypatch)

    assert show_text(SCREEN, "a\x1b[2J\x9b\u202e") == stream.getvalue() == "a\\x1b[2J\\x9b\\u202e"


def test_json_is_escaped_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a copied text must still parse, so JSON's own escapes are used."""
    terminal(monkeypatch)

    assert show_text(SCREEN, '[\r\n"\x9b\u202e"]') == '[\n"\\u009b\\u202e"]'


def test_json_has_colours_unless_they_are_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NO_COLOR convention: a variable that is set and not empty turns them off."""
    stream = terminal(monkeypatch)
    show_text(SCREEN, '["a"]')
    assert stream.getvalue() == '["a"]'
    monkeypatch.delenv("NO_COLOR")
    assert show_text(SCREEN, '["a"]', "text/plain") == '["a"]'
    assert stream.getvalue() == f'["a"][{GREEN}"a"{RESET}]'


def test_a_long_text_is_truncated_after_some_screens(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours: in whole lines, with a note about the rest; a wrapped line counts as the lines it takes."""
    terminal(monkeypatch)
    line = "x" * 39
    text = f"{line}\n" * (MAX_CHARS // 40 + 1)

    assert show_text(SCREEN, text) == f"{line}\n" * (SCREENS * 5 // 2)

    assert "note: this is the beginning of 100 kB" in capfd.readouterr().err


def test_a_long_line_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: one line of a megabyte would scroll everything else off the screen."""
    terminal(monkeypatch)

    assert show_text(SCREEN, "x" * (MAX_CHARS + 1)) == "x" * (SCREENS * 5 * 20) + "\n"


def test_text_of_the_maximum_length_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: only what exceeds the limit is truncated."""
    terminal(monkeypatch)

    assert show_text(SCREEN, "x" * MAX_CHARS) == "x" * MAX_CHARS


def test_a_quiet_command_prints_long_text_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: without the note, the beginning would be mistaken for the whole."""
    terminal(monkeypatch)

    assert len(show_text(Screen(CommandLine(), quiet=True), "x" * MAX_CHARS * 2)) == MAX_CHARS * 2
