"""The process that checks: it is ours alone, and it ends."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.spawn import get_executable, set_executable
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.checking import process
from gaia_mcp.checking.process import check_apart, errors_apart, matches_apart
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.toolspec.validation import ExternalReferenceError, SchemaCostError, SchemaError
from tests.processes import processor_seconds, workers
from tests.schema_support import twice
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story

ENDLESS = json.dumps(twice("allOf", 34))


def test_the_worker_finds_the_same_validation_errors() -> None:
    """Ours: the user must not notice which process has validated."""
    found = errors_apart('{"type": "string", "description": "é"}', {"é": 2**70}, None, seconds=ENOUGH_SECONDS)
    assert [tuple(error) for error in found] == [("", '{"é":1180591620717411303424} is not of type "string"', "type")]
    assert errors_apart('{"type": "object"}', {"é": float("1e300")}, None, seconds=ENOUGH_SECONDS) == []
    check_apart("{}", None, seconds=ENOUGH_SECONDS)


def test_a_worker_prints_whether_the_value_is_valid_before_its_errors() -> None:
    """Ours: finding them takes longer, and what comes too late is cut off."""
    question = json.dumps({"schema": '{"type": "string"}', "value": 5}) + "\n"
    command = [sys.executable, "-c", f"from {process.__name__} import work; work()", str(ENOUGH_SECONDS)]

    done = subprocess.run(command, input=question, capture_output=True, encoding="ascii", check=True)

    valid, errors = map(json.loads, done.stdout.splitlines())
    assert valid == {"fits": False}
    assert errors == {"errors": [["", '5 is not of type "string"', "type"]]}
    assert list(process._answers({"schema": "{}", "value": 5})) == [{"fits": True}]


@pytest.mark.parametrize(
    ("schema", "member", "error"),
    [
        ('{"$ref": "https://example.org/a"}', "external", ExternalReferenceError),
        ('{"type": 5}', "unusable", SchemaError),
    ],
)
def test_a_schema_that_cannot_be_used_is_reported(schema: str, member: str, error: type[Exception]) -> None:
    """Ours: as by a check in this process."""
    (answer,) = process._answers({"schema": schema})
    with pytest.raises(error) as caught:
        check_apart(schema, None, seconds=ENOUGH_SECONDS)

    assert type(caught.value) is error
    assert answer == {member: str(caught.value)}


def test_a_value_that_json_cannot_express_is_a_validation_error() -> None:
    """Ours: a program may pass any object as an argument."""
    (error,) = errors_apart("{}", {"a": object()}, None, seconds=ENOUGH_SECONDS)
    assert "cannot be checked" in str(error)


def test_a_system_that_cannot_show_the_end_of_the_starter_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: on Windows the worker still ends with its time."""
    monkeypatch.delattr(select, "poll")  # The system itself.
    assert process._has_starter()


def test_the_worker_ignores_the_environment_and_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ours: what lies in a folder is not run because a call was typed there."""
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert errors_apart("{}", 1, None, seconds=ENOUGH_SECONDS) == []


@pytest.mark.parametrize("reason", ["its time is up", "its starter is gone"])
def test_a_worker_ends_by_itself(reason: str) -> None:
    """Ours: nothing is left, also after SIGKILL."""
    worker = process._started(-0.8 if reason == "its time is up" else 600)
    with worker:
        assert worker.stdin is not None
        assert worker.stderr is not None
        with suppress(BrokenPipeError):  # Its time may be up before it has read.
            worker.stdin.write(json.dumps({"schema": ENDLESS, "value": "x"}) + "\n")
            worker.stdin.close()
        if reason == "its starter is gone":
            # More than it takes to begin.
            wait_until(lambda: processor_seconds(worker.pid) > 0.2)
            worker.stderr.close()
        assert worker.wait(PATIENCE_SECONDS) != 0


def test_a_cancelled_deadline_stops_the_worker() -> None:
    """Ours: a cancelled call does not wait for its validation."""
    deadline = Deadline(600)

    def cancel() -> None:
        wait_until(workers)
        deadline.cancel()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(SchemaCostError):
        errors_apart(ENDLESS, "x", deadline, seconds=600)
    cancelling.join()
    assert workers() == []


def test_a_worker_that_cannot_be_started_is_reported() -> None:
    """Ours: an embedding program tells `multiprocessing` where its interpreter is, and may be wrong."""
    before = get_executable()
    set_executable("/nonexistent/python")
    try:
        with pytest.raises(SchemaCostError, match="could not be started"):
            errors_apart("{}", 1, None, seconds=ENOUGH_SECONDS)
    finally:
        set_executable(before)
    assert errors_apart("{}", 1, None, seconds=ENOUGH_SECONDS) == []


def test_a_check_that_gets_no_worker_ends_with_its_deadline() -> None:
    """Ours: all of them may be busy for longer."""
    with process._places, process._places, pytest.raises(SchemaCostError):
        errors_apart("{}", 1, Deadline(0), seconds=ENOUGH_SECONDS)


def test_concurrent_checks_wait_within_their_deadlines() -> None:
    """Ours: a server that answers many calls at once must not start a process for each."""
    outcomes: list[str] = []

    def check() -> None:
        try:
            errors_apart(ENDLESS, "x", Deadline(0.3), seconds=ENOUGH_SECONDS)
        except SchemaCostError as problem:
            outcomes.append(str(problem))

    threads = [threading.Thread(target=check) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert len(outcomes) == 8
    assert workers() == []


def test_the_worker_searches_by_an_expression() -> None:
    """Ours: as `re.search` does."""
    assert matches_apart("b.$", "abc", None, seconds=ENOUGH_SECONDS)
    assert not matches_apart("^b", "abc", None, seconds=ENOUGH_SECONDS)
    assert list(process._answers({"expression": "^b", "text": "abc"})) == [{"fits": False}]
