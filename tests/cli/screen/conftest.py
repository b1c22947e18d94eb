"""A terminal as stdout, as wide as a test wants it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen.output import choose_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain() -> Iterator[None]:
    """The plain form, and no command, before and after each test."""
    choose_form(as_json=False, debug=False)
    yield
    choose_form(as_json=False, debug=False)
    CommandLine.begin("", None)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make stdout a terminal of so many columns."""

    def become(width: int) -> None:
        monkeypatch.setattr("sys.stdout", Terminal())
        monkeypatch.setenv("COLUMNS", str(width))

    return become
