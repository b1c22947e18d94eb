"""A terminal as stdout, as wide as a test wants it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


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
