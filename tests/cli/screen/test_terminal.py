"""`cli.screen.terminal`: what a terminal can do, and what fits on it."""

from __future__ import annotations

import io
import os
import pty
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.screen.terminal import (
    can_redraw,
    cell_width,
    cells_cut,
    columns,
    fits,
    fitted,
    folded,
    has_colours,
    height_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make stdout a terminal of so many columns."""

    def become(width: int) -> None:
        monkeypatch.setattr("sys.stdout", Terminal())
        monkeypatch.setenv("COLUMNS", str(width))

    return become


@pytest.fixture
def real() -> Iterator[io.TextIOWrapper]:
    """The program's end of a real terminal."""
    ours, theirs = pty.openpty()
    with open(theirs, "w") as stream:  # noqa: PTH123
        yield stream
    os.close(ours)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Ours: in a pipe nothing is cut."""
    assert columns([["a", "bb", "c" * 300], ["aaa", "b", "c"]]) == [f"a    bb  {'c' * 300}", "aaa  b   c"]
    assert columns([]) == []


def test_on_a_terminal_lines_are_cut_to_its_width(wide: Callable[[int], None]) -> None:
    """Ours: but names are not, which are the point of a list."""
    wide(20)
    assert columns([["name", "c" * 300]]) == ["name  " + "c" * 13 + "…"]
    assert columns([["ok", "name" * 5, "c" * 300]], names=2) == ["ok  " + "name" * 5]
    wide(1)
    assert columns([["name", "c" * 300]]) == ["name"]


def test_one_long_name_does_not_push_away_the_rest(wide: Callable[[int], None]) -> None:
    """Ours: on a terminal; the others stand below one another."""
    wide(20)

    assert columns([["a", "x"], ["b", "x"], ["n" * 14, "x"]]) == [f"a{' ' * 11}x", f"b{' ' * 11}x", f"{'n' * 14}  x"]


def test_wide_characters_count_as_the_cells_they_take(wide: Callable[[int], None]) -> None:
    """Ours: in the columns, and where a line is cut."""
    assert columns([["日本", "x"], ["a", "x"]]) == ["日本  x", "a     x"]
    wide(20)

    assert columns([["日本", "日" * 7]]) == ["日本  " + "日" * 7]
    assert columns([["日本", "日" * 8]]) == ["日本  " + "日" * 6 + "…"]
    assert (cell_width("a日"), cells_cut("日日", 2), cells_cut("日", 5), cells_cut("abc", -1)) == (3, "日", "日", "")
    assert (fits("日", 1), fits("日", 2), fits("a日", 2), fits("abc…", 3), fits("abc…", 4)) == (
        False,
        True,
        False,
        False,
        True,
    )


def test_a_line_is_cut_but_for_the_name_that_it_begins_with(wide: Callable[[int], None]) -> None:
    """Ours: and no space stands before the mark that something was cut."""
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

    assert folded(text) == ["add(a: number, b: number,", "    c: number)"]
    assert folded(text, margin=8) == ["add(a: number,", "    b: number,", "    c: number)"]
    wide(200)
    assert folded(text) == [text]


def test_the_size_is_that_of_the_terminal_or_what_the_environment_says(
    real: io.TextIOWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as other programs have it; a terminal that does not know its size has the usual one."""
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


@pytest.mark.parametrize(
    ("environ", "redraws", "colours"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": ""}, False, False),
        ({}, False, False),
    ],
)
def test_what_a_terminal_can_do_is_told_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], redraws: bool, colours: bool
) -> None:
    """NO_COLOR counts where it is not empty; a dumb terminal, or an unknown one, gets plain lines."""
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert not can_redraw(io.StringIO())
    monkeypatch.setattr("sys.stdout", Terminal())

    assert can_redraw(Terminal()) is redraws
    assert has_colours() is colours
