from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.names import split_tool_name
from gaia_mcp.paths import shown
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


def test_a_failure_has_the_line_of_the_code_outside_of_this_package(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: that of the agent, also if it called a library; without a traceback there is none."""
    raisers = [lambda: json.loads("{"), lambda: split_tool_name(5, ()), lambda: {}["a"]]
    for work in raisers:
        try:
            work()
        except Exception as error:
            note_failure("it raised", error)
    note_failure("it raised", ValueError())

    *found, last = capsys.readouterr().err.splitlines()
    line = raisers[0].__code__.co_firstlineno
    assert found == [f"error: it raised, at {shown(Path(__file__))}:{line}"] * 3
    assert last == "error: it raised"


def test_an_exception_is_named_with_its_class() -> None:
    """Ours: the message alone may be empty, or only a key."""
    assert raised(ValueError("no file")) == "ValueError: no file"
    assert raised(ValueError()) == "ValueError"
    assert raised(KeyError("a")) == "KeyError: 'a'"
