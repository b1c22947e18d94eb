"""The process that checks: it is ours alone, and it ends."""

from __future__ import annotations

import json
import os
import threading
from multiprocessing.spawn import get_executable, set_executable
from pathlib import Path

import pytest

from gaia_mcp.checking import process
from gaia_mcp.checking.process import check_apart, errors_apart
from gaia_mcp.deadline import Deadline
from gaia_mcp.toolspec.validation import SchemaCostError
from tests.processes import workers
from tests.schema_support import twice
from tests.waiting import wait_until

pytestmark = pytest.mark.story

ENDLESS = json.dumps(twice("allOf", 34))


def test_the_mistakes_are_those_that_are_found_here() -> None:
    """Ours: which of the two has looked is not to be seen."""
    assert [tuple(error) for error in errors_apart('{"type": "string", "description": "é"}', {"é": 2**70})] == [
        ("", '{"é":1180591620717411303424} is not of type "string"', "type")
    ]
    assert errors_apart('{"type": "object"}', {"é": float("1e300")}) == []
    check_apart("{}")


def test_it_is_found_without_the_variables_and_the_folder_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ours: what lies in a folder is not run because a call was typed there."""
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert errors_apart("{}", 1) == []


@pytest.mark.parametrize("reason", ["its time is up", "its starter is gone"])
def test_it_ends_by_itself(reason: str) -> None:
    """Ours: nothing is left, also after SIGKILL."""
    worker = process._started(-0.8 if reason == "its time is up" else 600)
    with worker:
        assert worker.stdin is not None
        assert worker.stderr is not None
        worker.stdin.write(json.dumps({"schema": ENDLESS, "value": "x"}) + "\n")
        worker.stdin.flush()
        if reason == "its starter is gone":
            wait_until(lambda: has_worked(worker.pid))
            worker.stderr.close()
        assert worker.wait(5) != 0


def has_worked(pid: int) -> bool:
    """Whether a process has used a fifth of a second, which is more than it takes to begin."""
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK") / 5


def test_a_cancelled_deadline_stops_it_at_once() -> None:
    """Ours: whoever cancels a call does not wait for its check."""
    deadline = Deadline(600)
    threading.Timer(0.05, deadline.cancel).start()

    with pytest.raises(SchemaCostError):
        errors_apart(ENDLESS, "x", deadline)
    assert workers() == []


def test_one_that_cannot_be_started_is_reported() -> None:
    """Ours: an embedding program tells `multiprocessing` where its interpreter is, and may be wrong."""
    before = get_executable()
    set_executable("/nonexistent/python")
    try:
        with pytest.raises(SchemaCostError, match="could not be started"):
            errors_apart("{}", 1)
    finally:
        set_executable(before)
    assert errors_apart("{}", 1) == []


def test_calls_wait_for_their_turn_and_no_longer() -> None:
    """Ours: a server that answers many calls at once must not start a process for each."""
    outcomes: list[str] = []

    def check() -> None:
        try:
            errors_apart(ENDLESS, "x", Deadline(0.3))
        except SchemaCostError as problem:
            outcomes.append(str(problem))

    threads = [threading.Thread(target=check) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert len(outcomes) == 8
    assert workers() == []
