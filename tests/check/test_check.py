"""The check before a commit: it runs every step, and fails with the output of each that fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.check.__main__ import STEPS, Step, main, run

if TYPE_CHECKING:
    from pathlib import Path


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


@pytest.mark.story
def test_every_step_runs_and_each_failure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a person mends all of them before the next run."""
    steps = [
        Step("good", python("print('nobody reads this')")),
        Step("bad", python("import sys; print('a.py:1: wrong'); sys.exit(1)")),
        Step("broken", python("import sys; sys.exit('no such tool')")),
    ]

    assert run(steps) == ["bad", "broken"]

    printed = capsys.readouterr().out
    assert printed.count("ok  ") == 1
    assert printed.count("FAILED") == 2
    assert "a.py:1: wrong" in printed
    assert "no such tool" in printed
    assert "nobody reads this" not in printed.replace(str(steps[0].command), "")


@pytest.mark.story
def test_what_can_be_fixed_is_fixed_before_the_steps_run(tmp_path: Path) -> None:
    """Ours: `--fix` leaves only what a person has to decide."""
    file = tmp_path / "file"
    step = Step("file", python(f"open({str(file)!r})"), python(f"open({str(file)!r}, 'w')"))

    assert run([step]) == ["file"]
    assert run([step], fix=True) == []


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: before anything runs."""
    assert main(["--fast"]) == 2
    assert "usage:" in capsys.readouterr().err


def test_the_tests_of_the_check_start_no_process() -> None:
    """Ours: it has to end within a minute."""
    (command,) = (step.command for step in STEPS if "pytest" in step.command)

    assert "not story and not peer" in command
