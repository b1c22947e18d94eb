"""The person at the terminal of a call that runs in the keeper. What they see is in `test_warm.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gaia_mcp.cli.keeping.person import Person
from gaia_mcp.core.errors import UnansweredError
from gaia_mcp.fleet.keeper.errors import read_error

if TYPE_CHECKING:
    import pytest

FORM = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}


def test_without_a_terminal_a_question_has_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: the error goes back, and ends the call as it would in this process."""
    person = Person(["call", "calc", "add"])

    answer = json.loads(person.answer(json.dumps({"server": "calc", "params": FORM}).encode()))
    person.hide()

    error = read_error(answer["error"])
    assert isinstance(error, UnansweredError)
    assert "calc" in error.message
    assert capsys.readouterr().out == ""


def test_it_is_shown_once_that_a_call_is_running(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: however often that is learnt; not where lines cannot be drawn."""
    person = Person(["mcp", "call", "calc.add"])
    person.wait()
    person.wait()
    person.progressed(json.dumps([7, 1, 2, "half"]).encode())
    person.hide()

    assert capsys.readouterr().err == ""
