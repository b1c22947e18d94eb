from __future__ import annotations

import pytest

from gaia_mcp.server.failures import LINE_CHARS, note_failure, raised


def test_a_failure_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: whatever the exception's text holds, and however long it is."""
    note_failure("tool 'a' raised ValueError: two\nlines \x1b[31m" + "x" * LINE_CHARS * 2, ValueError())

    printed = capsys.readouterr().err
    assert printed.startswith("error: tool 'a' raised ValueError: two lines")
    assert printed.count("\n") == 1
    assert "\x1b" not in printed
    assert len(printed) < LINE_CHARS + 20


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("no file"), "ValueError: no file"), (ValueError(), "ValueError"), (KeyError("a"), "KeyError: 'a'")],
)
def test_an_exception_is_named_with_its_class(error: BaseException, text: str) -> None:
    """Ours."""
    assert raised(error) == text
