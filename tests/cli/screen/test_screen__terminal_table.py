"""`cli.screen.table`: rows in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.screen import columns

if TYPE_CHECKING:
    from collections.abc import Callable


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Ours: in a pipe nothing is cut, and no column left out."""
    rows = [["a", "bb", "c" * 300], ["aaa", "b", "c"]]
    assert columns(rows, spare=(1, 2)) == [f"a    bb  {'c' * 300}", "aaa  b   c"]
    assert columns([]) == []


def test_on_a_terminal_lines_are_cut_to_its_width(wide: Callable[[int], None]) -> None:
    """Ours: but a name is never cut, since it is what a list is read for."""
    wide(20)

    assert columns([["name", "c" * 300]]) == ["name  " + "c" * 13 + "…"]
    assert columns([["name" * 6, ""]]) == ["name" * 6]
    wide(1)
    assert columns([["name", ""]]) == ["name"]


def test_one_long_name_does_not_widen_its_column(wide: Callable[[int], None]) -> None:
    """Ours: on a terminal; the others stand below one another, and what has no room beside it stands below it."""
    wide(20)

    assert columns([["a", "x"], ["b", "x"], ["n" * 14, "x"]]) == ["a  x", "b  x", f"{'n' * 14}  x"]
    assert columns([["aaa", "enabled"], ["n" * 14, "enabled"]]) == ["aaa  enabled", "n" * 14, "     enabled"]
    assert columns([["ok", "name" * 5, "c" * 300]], names=2) == [
        "ok",
        "    " + "name" * 5,
        "           " + "c" * 8 + "…",
    ]


def test_a_name_of_several_words_is_broken_between_them(wide: Callable[[int], None]) -> None:
    """Ours: under where it begins."""
    wide(20)

    assert columns([["  ok  ", "output schemas"]], names=2) == ["  ok    output", "        schemas"]


def test_a_narrow_terminal_omits_the_least_important_columns(wide: Callable[[int], None]) -> None:
    """Ours: one after another, until the last column has room for a few words."""
    rows = [["name", "stdio", "enabled", "program --with many words"]]
    wide(80)
    assert columns(rows, spare=(1, 3)) == ["name  stdio  enabled  program --with many words"]
    wide(40)
    assert columns(rows, spare=(1, 3)) == ["name  stdio  enabled  program --with ma…"]
    wide(30)
    assert columns(rows, spare=(1, 3)) == ["name  enabled  program --with…"]
    wide(20)
    assert columns(rows, spare=(1, 3)) == ["name  enabled"]
    wide(30)
    assert columns([["name", "stdio", "enabled", "prog"]], spare=(1, 3)) == ["name  stdio  enabled  prog"]


def test_wide_characters_count_as_the_cells_they_take(wide: Callable[[int], None]) -> None:
    """Ours: columns stay aligned for names in Chinese or Japanese."""
    assert columns([["日本", "x"], ["a", "x"]]) == ["日本  x", "a     x"]
    wide(20)

    assert columns([["日本", "日" * 7]]) == ["日本  " + "日" * 7]
    assert columns([["日本", "日" * 8]]) == ["日本  " + "日" * 6 + "…"]
