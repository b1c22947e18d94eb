"""Showing a message on the console of a program."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from gaia_mcp.handlers.console import was_shown

if TYPE_CHECKING:
    import pytest


class Plain:
    """A console with nothing but `print`."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def print(self, message: str) -> None:
        self.shown.append(message)


class Kinds(Plain):
    """A console with a method for each kind of message."""

    def print_warning(self, message: str) -> None:
        self.shown.append(f"warning: {message}")


def test_a_message_is_shown_by_the_method_for_its_kind_or_for_any() -> None:
    """Ours: `print_warning` and `print_dim` are those of the document."""
    kinds, plain = Kinds(), Plain()

    assert was_shown(kinds, "print_warning", "slow")
    assert was_shown(kinds, "print_dim", "connecting")
    assert was_shown(plain, "print_warning", "slow")

    assert (kinds.shown, plain.shown) == (["warning: slow", "connecting"], ["slow"])


def test_a_console_of_rich_shows_the_text_as_it_is() -> None:
    """Ours: its `print` would take the name of a handler in brackets for markup, and fail at `[/x]`."""
    output = io.StringIO()

    assert was_shown(Console(file=output, width=200), "print_dim", "[echo] reads [/x]")

    assert output.getvalue() == "[echo] reads [/x]\n"


def test_a_console_without_print_shows_nothing() -> None:
    """The contract: `console` may be None."""
    consoles = [None, object(), type("Odd", (), {"print": "no method"})()]

    assert not [console for console in consoles if was_shown(console, "print_warning", "slow")]


def test_a_console_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the message is lost on it, and nothing else."""

    class Broken(Plain):
        def print(self, message: str) -> None:
            raise OSError("no terminal")

    assert not was_shown(Broken(), "print_warning", "slow")
    assert "no terminal" in caplog.text
