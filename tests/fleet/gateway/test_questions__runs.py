"""The requests that outlive a run of the client's call: found again, once at a time, and given up at last."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.fleet.gateway.questions import Passed, Run, Runs
from gaia_mcp.protocol.events import Progressed
from gaia_mcp.protocol.input_required import ELICIT, QuestionError
from gaia_mcp.server.call_questions import ANSWER_SECONDS
from gaia_mcp.server.provider import RequestError
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

URL = Passed(ELICIT, {"mode": "url", "message": "Log in", "url": "https://example.com"})


class Asking(Call):
    """A call whose run ends with a question, as long as it has no answer."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        super().__init__()
        self.answers = list(answers)

    @property
    def ends_with_question(self) -> bool:  # type: ignore[override]
        return not self.answers

    def _ask(self, questions: Any) -> list[Any]:
        if not self.answers:
            raise KeyboardInterrupt  # As the end of a run, it is not an `Exception`.
        return [self.answers.pop(0)]


def asks(run: Run) -> dict[str, Any]:
    """A request that asks once."""
    return {"answered": run.ask(URL)["action"]}


def test_progress_from_before_a_call_follows_is_reported_to_it() -> None:
    """Ours: a server may report before the call that began its request looks after it."""
    has_reported, may_end = threading.Event(), threading.Event()

    def reports(run: Run) -> dict[str, Any]:
        run.report(Progressed(1, 1, 3, "begun"))
        run.report(Progressed(1, 2, 3, "half"))
        has_reported.set()
        assert may_end.wait(PATIENCE_SECONDS)
        run.report(Progressed(1, 3, 3, "done"))
        return {}

    heard: list[Any] = []

    def hear(*report: Any) -> None:
        heard.append(report)
        may_end.set()

    runs = Runs()
    run_id = runs.start(reports, Deadline(5))
    assert has_reported.wait(PATIENCE_SECONDS)

    assert runs.follow(run_id, Call(hear)) == {}
    assert heard == [(2, 3, "half"), (3, 3, "done")]


def test_the_retry_of_a_call_continues_the_same_request() -> None:
    """Ours: the server waits meanwhile."""
    runs = Runs()
    run_id = runs.start(asks, Deadline(5))
    with pytest.raises(KeyboardInterrupt):
        runs.follow(run_id, Asking())
    assert len(runs) == 1

    assert runs.follow(run_id, Asking({"action": "accept"})) == {"answered": "accept"}
    assert len(runs) == 0
    with pytest.raises(RequestError, match="its outcome is not known"):
        runs.follow(run_id, Call())


def test_a_request_is_followed_by_one_call_at_a_time() -> None:
    """Ours: a client that sends its answers twice must not have the call wait for ever."""
    runs, ends = Runs(), threading.Event()
    run_id = runs.start(lambda _: {"ended": ends.wait(PATIENCE_SECONDS)}, Deadline(5))
    first = threading.Thread(target=runs.follow, args=(run_id, Call()))
    first.start()
    wait_until(lambda: runs._runs[run_id].following.locked())

    with pytest.raises(RequestError, match="have been sent already"):
        runs.follow(run_id, Call())
    ends.set()
    first.join(PATIENCE_SECONDS)
    assert len(runs) == 0


def test_an_abandoned_request_is_cancelled() -> None:
    """Ours: a client may never come back, and each request holds a thread."""
    clock = Clock()
    runs = Runs(max_runs=1, clock=clock)
    problems: list[str] = []

    def work(run: Run) -> dict[str, Any]:
        try:
            return run.ask(URL)
        except QuestionError as problem:
            problems.append(str(problem))
            raise

    left = runs.start(work, Deadline(5))
    with pytest.raises(KeyboardInterrupt):
        runs.follow(left, Asking())
    with pytest.raises(RequestError, match="too many calls wait"):
        runs.start(work, Deadline(5))

    clock.now += ANSWER_SECONDS + 1
    runs.start(lambda _: {}, Deadline(5))
    wait_until(lambda: problems == ["the client has not come back with an answer"])
    runs.close()


def test_the_error_of_a_request_is_raised_to_the_call_that_follows_it() -> None:
    """Ours: a refused question, and an error of the server."""
    runs = Runs()

    class Refusing(Call):
        def _ask(self, questions: Any) -> list[Any]:
            raise QuestionError("declined")

    with pytest.raises(QuestionError, match="declined"):
        runs.follow(runs.start(asks, Deadline(5)), Refusing())
    assert len(runs) == 0


def test_an_answer_that_comes_too_late_is_an_error() -> None:
    """Ours: the server must not wait for ever, and has gone on without it."""
    runs, has_gone_on = Runs(answer_seconds=0.0), threading.Event()

    def work(run: Run) -> dict[str, Any]:
        try:
            return run.ask(URL)
        finally:
            has_gone_on.set()

    run_id = runs.start(work, Deadline(5))
    assert has_gone_on.wait(PATIENCE_SECONDS)

    with pytest.raises(QuestionError, match="was not answered within 0 s"):
        runs.follow(run_id, Asking({"action": "accept"}))
