from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.server.failures import LINE_CHARS, note_failure, raised

if TYPE_CHECKING:
    import pytest


def test_a_failure_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: whatever the exception's text holds, and however long it is."""
    note_failure("tool 'a' raised ValueError: two\nlines \x1b[31m" + "x" * LINE_CHARS * 2, ValueError())

    printed = capsys.readouterr().err
    assert printed.startswith("error: tool 'a' raised ValueError: two lines")
    assert printed.count("\n") == 1
    assert "\x1b" not in printed
    assert len(printed) < LINE_CHARS + 20


def test_an_exception_is_named_with_its_class() -> None:
    """Ours: the message alone may be empty, or only a key."""
    assert raised(ValueError("no file")) == "ValueError: no file"
    assert raised(ValueError()) == "ValueError"
    assert raised(KeyError("a")) == "KeyError: 'a'"
