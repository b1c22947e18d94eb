"""`cli.screen.terminal`: the abilities and the size of a terminal, and what fits on it."""

from __future__ import annotations

import io
import os
import pty
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.screen import (
    broken,
    broken_message,
    can_redraw,
    cell_width,
    cells_cut,
    fits,
    fitted,
    folded,
    has_colours,
    height_of,
    width_of,
    wrapped,
)
from tests.cli.screen.conftest import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def real() -> Iterator[io.TextIOWrapper]:
    """The program's end of a real terminal."""
    ours, theirs = pty.openpty()
    with open(theirs, "w") as stream:  # noqa: PTH123
        yield stream
    os.close(ours)


def test_wide_characters_count_as_the_cells_they_take(wide: Callable[[int], None]) -> None:
    """Ours: where a line is cut, and where it is broken."""
    wide(20)

    assert fitted("日" * 10) == "日" * 10
    assert fitted("日" * 11) == "日" * 9 + "…"
    assert wrapped("日本 日本 日本", 9, 2) == ["日本 日本", "  日本"]
    assert (cell_width("a日"), cells_cut("日日", 2), cells_cut("日", 5), cells_cut("abc", -1)) == (3, "日", "日", "")
    assert (fits("日", 1), fits("日", 2), fits("a日", 2), fits("abc…", 3), fits("abc…", 4)) == (
        False,
        True,
        False,
        False,
        True,
    )


def test_a_line_is_cut_but_for_the_name_that_it_begins_with(wide: Callable[[int], None]) -> None:
    """Ours: and no space stands before the ellipsis."""
    assert fitted("x" * 100) == "x" * 100
    wide(10)

    assert fitted("0123456789") == "0123456789"
    assert fitted("0123456 89 1") == "0123456 8…"
    assert fitted("01234567 9 1") == "01234567…"
    assert fitted("012345678 rest", "012345678") == "012345678"
    assert fitted("0123456789", margin=2) == "0123456…"


def test_a_signature_is_broken_between_its_parameters(wide: Callable[[int], None]) -> None:
    """Ours: nothing of it is lost, and in a pipe it is one line."""
    text = "add(a: number, b: number, c: number)"
    assert folded(text) == [text]
    wide(30)

    assert folded(text) == ["add(a: number, b: number,", "  c: number)"]
    assert folded(text, margin=8) == ["add(a: number,", "  b: number,", "  c: number)"]
    wide(200)
    assert folded(text) == [text]
    assert folded(text, margin=170) == ["add(a: number, b: number,", "    c: number)"]


def test_a_parameter_too_wide_for_the_line_is_broken_between_words(wide: Callable[[int], None]) -> None:
    """Ours: its name follows the parenthesis on a line of its own; a name alone is not broken."""
    wide(20)

    assert folded("read_file(path: string, [tail: number])") == ["read_file(", "  path: string,", "  [tail: number])"]
    assert folded('list([sortBy: "name" | "size" = "name"])') == [
        "list(",
        '  [sortBy: "name" |',
        '    "size" =',
        '    "name"])',
    ]
    assert folded("list_allowed_directories()") == ["list_allowed_directories()"]


def test_a_line_is_broken_at_spaces_and_keeps_its_beginning() -> None:
    """Ours: what follows is indented from there; a word is never broken."""
    assert wrapped("a bc", 4) == ["a bc"]
    assert wrapped("  ok    input schemas", 20, 6) == ["  ok    input", "        schemas"]
    assert wrapped("one-very-long-word next", 5, 2) == ["one-very-long-word", "  next"]
    assert wrapped("", 5) == [""]
    assert wrapped(" " * 9, 5) == [" " * 9]


def test_a_message_is_broken_on_a_narrow_terminal_but_for_a_command_to_be_typed(wide: Callable[[int], None]) -> None:
    """Ours: the command begins a line and stays whole; a wider terminal, or a pipe, gets the message as it is."""
    text = "hint: check its command with: gaia mcp show broken-server"
    assert broken_message(text, sys.stdout) == [text]
    wide(60)
    assert broken_message(text, sys.stdout) == [text]
    wide(20)

    assert broken_message(text, sys.stdout) == ["hint: check its", "  command with:", "gaia mcp show broken-server"]
    assert broken_message("error: no such command", sys.stdout) == ["error: no such", "  command"]
    assert broken("find a tool, and: gaia mcp call", sys.stdout) == ["find a tool, and:", "  gaia mcp call"]
    assert broken("  gaia mcp call ./agent.py greet", sys.stdout) == ["  gaia mcp call ./agent.py greet"]
    assert broken("gaia mcp list    the servers", sys.stdout) == ["gaia mcp list    the", "  servers"]


def test_the_size_comes_from_the_environment_or_the_terminal(
    real: io.TextIOWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POSIX: COLUMNS and LINES take precedence; a terminal of unknown size counts as 80 by 24."""
    import termios

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    assert (width_of(real), height_of(real)) == (80, 24)
    assert (width_of(io.StringIO()), height_of(io.StringIO())) == (80, 24)
    termios.tcsetwinsize(real.fileno(), (40, 100))
    assert (width_of(real), height_of(real)) == (100, 40)
    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("LINES", "many")
    assert (width_of(real), height_of(real)) == (33, 40)


def test_redrawing_and_colours_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NO_COLOR convention: it counts if it is not empty; a dumb terminal, or an unknown one, gets plain lines."""
    monkeypatch.setattr("sys.stdout", Terminal())
    rows: list[tuple[dict[str, str], bool, bool]] = [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": ""}, False, False),
        ({}, False, False),
    ]
    found = []
    for environ, _, _ in rows:
        with monkeypatch.context() as patch:
            for name in ("TERM", "NO_COLOR"):
                patch.delenv(name, raising=False)
            for name, value in environ.items():
                patch.setenv(name, value)
            found.append((environ, can_redraw(Terminal()), has_colours()))
            assert not can_redraw(io.StringIO())

    assert found == rows
