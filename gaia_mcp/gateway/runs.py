"""Requests to servers that outlive a run of the client's call.

A server of the handshake era asks while its call is open, and so does a task. A client of the stateless era gets the
question as the result of its call, which ends that run. The client's retry with the answer starts another run, which
continues with the same request to the server. Such a request has its own thread, and an id in the record that the
client returns with its retry. The table of these requests is local to this process.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.questions import QuestionError
from gaia_mcp.server.call_questions import ANSWER_SECONDS
from gaia_mcp.server.provider import RequestError
from gaia_mcp.toolcall import CallCancelledError

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.gateway.questions import Passed
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# Each has a thread and an open request, and the client may never retry.
MAX_RUNS = 256


class Run:
    """A request to a server. `work` sends it, and uses this object to ask questions and to report progress. `deadline`
    is cancelled together with the call that follows the request.
    """

    def __init__(self, work: Callable[[Run], Wire], deadline: Deadline, clock: Callable[[], float]) -> None:
        self.id = secrets.token_urlsafe(16)
        # When the last call that followed it ended; None while a call follows it.
        self.left_at: float | None = None
        # Held by the call that follows it.
        self.following = threading.Lock()
        self._work = work
        self._deadline = deadline
        self._clock = clock
        self._call: Call | None = None
        self._reported: Progressed | None = None
        # Questions in order, and finally the result or an exception.
        self._outcomes: SimpleQueue[_Question | Wire | BaseException] = SimpleQueue()
        # The open question, and the number of questions so far.
        self._asked: _Question | None = None
        self._count = 0

    def start(self) -> None:
        """Start `work` in a new thread."""
        threading.Thread(target=self._run, name="request behind a gateway", daemon=True).start()

    def ask(self, question: Passed) -> Wire:
        """Ask a question through the call that follows now, or the next one. Raises `QuestionError`."""
        asked = _Question(question)
        self._outcomes.put(asked)
        return asked.wait()

    def report(self, report: Progressed) -> None:
        """Report progress to the call that follows now. The next call gets the last report."""
        # Set before the check for a call, so that a call which begins to follow now does not miss the report.
        self._reported = report
        if self._call is not None:
            _tell(self._call, report)

    def follow(self, call: Call) -> Wire:
        """The result. Raises the exception of `work`, and those that end the run of `call` after a question."""
        self._call, self.left_at = call, None
        if self._reported is not None:
            _tell(call, self._reported)
        forget = call.on_cancel(self._deadline.cancel)
        try:
            while True:
                if self._asked is None:
                    outcome = self._outcomes.get()
                    if isinstance(outcome, BaseException):
                        raise outcome
                    if not isinstance(outcome, _Question):
                        return outcome
                    self._count += 1
                    self._asked = outcome
                self._settle(self._asked, call)
                self._asked = None
        finally:
            forget()
            self.left_at = self._clock()

    def end(self) -> None:
        """Cancel the request."""
        self._deadline.cancel()
        if self._asked is not None:
            self._asked.settle(None, QuestionError("the client has not come back with an answer"))

    def _settle(self, asked: _Question, call: Call) -> None:
        # The same name in each run, so that the record has the answer of an earlier run.
        question = replace(asked.question, name=str(self._count))
        try:
            answer: Wire = call.ask_all(question)[0]
        except (QuestionError, CallCancelledError) as problem:
            asked.settle(None, QuestionError(str(problem)) if isinstance(problem, CallCancelledError) else problem)
        else:
            asked.settle(answer, None)

    def _run(self) -> None:
        try:
            self._outcomes.put(self._work(self))
        except BaseException as problem:  # noqa: BLE001 (`follow` raises it)
            self._outcomes.put(problem)


def _tell(call: Call, report: Progressed) -> None:
    with suppress(CallCancelledError):
        call.progress(report.progress, report.total, report.text)


class Runs:
    """The requests that are open, by their ids. Safe to use from several threads."""

    def __init__(self, max_runs: int = MAX_RUNS, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_runs = max_runs
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, work: Callable[[Run], Wire], deadline: Deadline) -> str:
        """Start a request. Returns its id. Raises `RequestError` if too many are open."""
        run = Run(work, deadline, self._clock)
        self._drop_left()
        with self._lock:
            if len(self._runs) >= self._max_runs:
                raise RequestError("too many calls wait for answers; repeat this one later", INTERNAL_ERROR)
            self._runs[run.id] = run
        run.start()
        return run.id

    def follow(self, run_id: str, call: Call) -> Wire:
        """The result of a request, for a run of its call. Raises as `Run.follow`, and `RequestError` if the request is
        not open in this process, or if another call follows it.
        """
        run = self._runs.get(run_id)
        if run is None:
            raise RequestError("the call has ended, and its outcome is not known; call the tool again", INTERNAL_ERROR)
        if not run.following.acquire(blocking=False):
            raise RequestError("the same answers have been sent already, and their call is running", INTERNAL_ERROR)
        is_over = True
        try:
            return run.follow(call)
        except BaseException:
            is_over = not call.ends_with_question
            raise
        finally:
            run.following.release()
            if is_over:
                self._runs.pop(run_id, None)

    def close(self) -> None:
        """Cancel all requests."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            run.end()

    def _drop_left(self) -> None:
        """Cancel the requests whose clients have not retried in time."""
        long_ago = self._clock() - ANSWER_SECONDS
        with self._lock:
            left = [run for run in self._runs.values() if run.left_at is not None and run.left_at < long_ago]
            for run in left:
                del self._runs[run.id]
        for run in left:
            run.end()


class _Question:
    """A question to the client, and its answer."""

    def __init__(self, question: Passed) -> None:
        self.question = question
        self._answer: Wire | None = None
        self._problem: QuestionError | None = None
        self._has_come = threading.Event()

    def settle(self, answer: Wire | None, problem: QuestionError | None) -> None:
        """Set the answer, or the error if there will be none."""
        self._answer, self._problem = answer, problem
        self._has_come.set()

    def wait(self) -> Wire:
        """Wait for the answer. Raises `QuestionError` if there is none."""
        if not self._has_come.wait(ANSWER_SECONDS):
            raise QuestionError(f"the question was not answered within {ANSWER_SECONDS:g} s")
        if self._answer is None:
            raise self._problem or QuestionError("the question was not answered")
        return self._answer
