"""Help pages of `cli.typer_command`, as wide as the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.typer_command import HelpPage

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = [("--config PATH", "Use this file of servers, and no project's."), ("-h, --help", "Show this message.")]
TEXT = "Save a server, after connecting to it once.\n\nExample: gaia mcp add time -- uvx mcp-server-time"


def page(write: Callable[[HelpPage], None]) -> list[str]:
    formatter = HelpPage()
    write(formatter)
    return formatter.getvalue().splitlines()


def test_help_of_an_option_stands_beside_it_on_a_wide_terminal(wide: Callable[[int], None]) -> None:
    """Ours: as in other programs; the texts begin in one column."""
    wide(60)

    assert page(lambda formatter: formatter.write_dl(OPTIONS)) == [
        "--config PATH  Use this file of servers, and no",
        "               project's.",
        "-h, --help     Show this message.",
    ]


def test_help_of_an_option_stands_below_it_on_a_narrow_terminal(wide: Callable[[int], None]) -> None:
    """Ours: an option without a help text stands alone."""
    wide(30)

    def write(formatter: HelpPage) -> None:
        with formatter.section("Options of this very long command"):
            formatter.write_dl([*OPTIONS, ("--long-option VALUE-IN-WORDS ", ""), ("", "")])

    assert page(write) == [
        "Options of this very long",
        "command:",
        "  --config PATH",
        "    Use this file of",
        "    servers, and no",
        "    project's.",
        "  -h, --help",
        "    Show this message.",
        "  --long-option",
        "      VALUE-IN-WORDS",
        "  ",
    ]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["Usage: gaia mcp call [OPTIONS] {NAME}"]),
        (30, ["Usage: gaia mcp call", "    [OPTIONS] {NAME}"]),
    ],
)
def test_the_usage_line_is_broken_between_words(wide: Callable[[int], None], width: int, lines: list[str]) -> None:
    """Ours: an option that the terminal breaks cannot be read or copied."""
    wide(width)

    assert page(lambda formatter: formatter.write_usage("gaia mcp call", "[OPTIONS] {NAME}")) == lines


def test_an_example_is_never_broken(wide: Callable[[int], None]) -> None:
    """Ours: it begins its own line on a narrow terminal, so that it can be copied."""
    wide(40)
    assert page(lambda formatter: formatter.write_text(TEXT)) == [
        "Save a server, after connecting to it",
        "once.",
        "",
        "Example:",
        "gaia mcp add time -- uvx mcp-server-time",
    ]
    assert page(lambda formatter: formatter.write_text("Just a text."))[-1] == "Just a text."
    wide(80)
    assert page(lambda formatter: formatter.write_text(TEXT))[-1].startswith("Example: gaia mcp add ")


def test_a_given_width_is_used(wide: Callable[[int], None]) -> None:
    """Ours: a program that mounts our commands may set it."""
    wide(20)

    assert HelpPage(width=100).width == 100
