"""The questions of a server behind a gateway, forwarded as questions of the call that caused them, and the requests to
servers that outlive a run of that call because they wait for an answer.

Questions are checked here, because the client may receive them in the form of another revision. A client of the
stateless era gets a question as the result of its call, and its retry continues with the same request: such a request
has its own thread, and an id in the record that the client returns. The table of these requests is local to this
process.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.asking.questions import Asked
from gaia_mcp.client.host import DeclinedError, Host, UnsupportedError
from gaia_mcp.protocol.input_required import ELICIT, LIST_ROOTS, SAMPLE, MissingCapabilityError, Question, QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.call_questions import ANSWER_SECONDS
from gaia_mcp.server.provider import RequestError

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.events import Progressed

# Each has a thread and an open request, and the client may never retry.
MAX_RUNS = 256
Wire = dict[str, Any]
# Answers a question of a server. Raises `QuestionError`.
Ask = Callable[["Passed"], Wire]
# The client capabilities that the gateway forwards, with the modes of each.
_MODES = {"elicitation": ("form", "url"), "sampling": ("tools", "context"), "roots": ()}


class Run:
    """A request to a server. `work` sends it, and uses this object to ask questions and to report progress. `deadline`
    is cancelled together with the call that follows the request. A question waits `answer_seconds` for its answer.
    """

    def __init__(
        self, work: Callable[[Run], Wire], deadline: Deadline, answer_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        # When the last call that followed it ended; None while a call follows it.
        self.left_at: float | None = None
        # Held by the call that follows it.
        self.following = threading.Lock()
        self._work = work
        self._deadline = deadline
        self._answer_seconds = answer_seconds
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
        return asked.wait(self._answer_seconds)

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
    """The requests that are open, by their ids. A client has `answer_seconds` to answer and to retry. Safe to use
    from several threads.
    """

    def __init__(
        self,
        max_runs: int = MAX_RUNS,
        *,
        answer_seconds: float = ANSWER_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_runs = max_runs
        self._answer_seconds = answer_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, work: Callable[[Run], Wire], deadline: Deadline) -> str:
        """Start a request. Returns its id. Raises `RequestError` if too many are open."""
        run = Run(work, deadline, self._answer_seconds, self._clock)
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
        long_ago = self._clock() - self._answer_seconds
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

    def wait(self, seconds: float) -> Wire:
        """Wait for the answer. Raises `QuestionError` if there is none."""
        if not self._has_come.wait(seconds):
            raise QuestionError(f"the question was not answered within {seconds:g} s")
        if self._answer is None:
            raise self._problem or QuestionError("the question was not answered")
        return self._answer


ALL_CAPABILITIES: Wire = {name: {mode: {} for mode in modes} for name, modes in _MODES.items()}


@dataclass(frozen=True)
class Passed(Asked[Wire]):
    """A question as the server sent it. Its creation raises `QuestionError` for an unknown or invalid question."""

    method: str
    params: Wire

    def __post_init__(self) -> None:
        if (problem := _problem(self.method, self.params)) is not None:
            raise QuestionError(f"the server asked {problem}")

    @cached_property
    def question(self) -> Question:
        return Question(self.method, self.params)

    def _read(self, answer: Wire) -> Wire:
        return answer


def passed_on(capabilities: Mapping[str, Any]) -> Wire:
    """The capabilities of a client that servers may use through the gateway."""
    return {
        name: {mode: {} for mode in modes if mode in has}
        for name, modes in _MODES.items()
        if isinstance(has := capabilities.get(name), dict)
    }


class Declared:
    """The capabilities that a gateway declares to an instance of a server when it connects. For a single client they
    are those of the client, so that a server that adapts to its client also does so behind the gateway.
    """

    def __init__(self, capabilities: Wire) -> None:
        self.capabilities = capabilities

    def add(self, capabilities: Mapping[str, Any]) -> None:
        """Add the capabilities of a client."""
        for name, found in passed_on(capabilities).items():
            known = self.capabilities.get(name)
            if known is None or found.keys() - known.keys():
                self.capabilities = {**self.capabilities, name: {**(known or {}), **found}}


class ServerRequests:
    """The requests of one instance of a server, each answered through an open call to it. Safe to use from several
    threads.

    A server over stdio does not indicate which call a request belongs to. The request goes to the call with the fewest
    questions so far, among these the newest, and to another one if that call ends before the answer: so each call may
    ask as many questions as if the server did indicate it. If the open calls belong to several callers, the request is
    refused, because no caller may see the question of another. `tells_apart` is whether callers are told apart, by
    their sessions; without one, each call has a caller of its own.

    A log message does not indicate its call either, and may come after the call. It is dropped once several callers
    have used the instance, and `logged_to` is called with each call that it may be about.
    """

    def __init__(
        self, declared: Declared, *, tells_apart: bool = False, logged_to: Callable[[Call], None] = lambda _: None
    ) -> None:
        self.host = _Host(declared, self._answer, self._log)
        # Whether the server has asked, or has logged outside of all calls, so that it may remember a caller.
        self.has_kept = False
        self._tells_apart = tells_apart
        self._logged_to = logged_to
        self._lock = threading.Lock()
        self._open: list[_Open] = []
        # The only caller so far, and whether there was another one.
        self._only_caller: object = None
        self._had_several = False

    def opened(self, call: Call, ask: Ask) -> AbstractContextManager[None]:
        """A context in which a request of `call` is open at the server, and `ask` may answer the server's questions."""
        caller = self._caller(call)
        with self._lock:
            self._had_several |= self._only_caller not in (None, caller)
            self._only_caller = caller
        return _Open(call, ask, self._open, self._lock)

    def _caller(self, call: Call) -> object:
        return (call.session or call) if self._tells_apart else True

    def _answer(self, method: str, params: Wire) -> Wire:
        self.has_kept = True
        if method not in (ELICIT, SAMPLE, LIST_ROOTS):
            raise UnsupportedError(method)
        try:
            question = Passed(method, params)
            while True:
                chosen = self._chosen()
                try:
                    return chosen.ask(question)
                except QuestionError:
                    # If the call has ended, another one is asked. If it is open, its client has refused.
                    if any(each is chosen for each in self._open):
                        raise
        except MissingCapabilityError as missing:
            raise UnsupportedError(method) from missing
        except QuestionError as problem:
            raise DeclinedError(str(problem)) from problem

    def _chosen(self) -> _Open:
        """The call to ask. Raises `QuestionError`."""
        with self._lock:
            if len({self._caller(each.call) for each in self._open}) > 1:
                raise QuestionError("several clients call this server, and it does not say which of them it asks")
            if not self._open:
                raise QuestionError("no call is open that this could be about")
            chosen = min(reversed(self._open), key=lambda each: each.asked)
            chosen.asked += 1
            return chosen

    def _log(self, level: str, logger: str, data: Any) -> None:
        with self._lock:
            # In the stateless era, a call that requests no log messages has none.
            found = [each.call for each in self._open if each.call.log_level is not None]
            self.has_kept |= not self._open
            is_of_one = len({self._caller(call) for call in found}) == 1
        if is_of_one and (not self._had_several or not self.host.may_log_later):
            found[-1].log(level, data, logger)
        else:
            for call in found:
                self._logged_to(call)


class _Open:
    """A call that is open at the server, the function that asks its client, and the number of its questions so far. A
    context, in which it is one of `calls`, which `lock` guards.
    """

    def __init__(self, call: Call, ask: Ask, calls: list[_Open], lock: threading.Lock) -> None:
        self.call = call
        self.ask = ask
        self.asked = 0
        self._calls = calls
        self._lock = lock

    def __enter__(self) -> None:
        with self._lock:
            self._calls.append(self)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls.remove(self)


class _Host(Host):
    """Declares the capabilities of `declared`, and answers requests with `ask`."""

    def __init__(
        self, declared: Declared, ask: Callable[[str, Wire], Wire], on_log: Callable[[str, str, Any], None]
    ) -> None:
        super().__init__(on_log=on_log)
        # The capabilities that were declared to the server when it was connected.
        self.shown: Wire = {}
        # Whether the server may log something about a call after that; in the stateless era it must not.
        self.may_log_later = True
        self._declared = declared
        self._ask = ask

    def capabilities(self) -> Wire:
        self.shown = self._declared.capabilities
        return self.shown

    def answer(self, method: str, params: Wire) -> Wire:
        return self._ask(method, params)


def asked_of(call: Call) -> Ask:
    """A function that answers questions by asking the client of `call`, in the thread of its caller."""

    def ask(question: Passed) -> Wire:
        answer: Wire = call.ask_all(question)[0]
        return answer

    return ask


def _problem(method: str, params: Wire) -> str | None:
    """What is wrong with a question, as the end of a sentence; None if it is valid."""
    if method not in (ELICIT, SAMPLE, LIST_ROOTS):
        return f"for {method!r}, which no client knows"
    if method != ELICIT:
        return None
    if not isinstance(params.get("message"), str):
        return "without a message"
    if params.get("mode") == "url":
        return None if isinstance(params.get("url"), str) else "to open a URL, but sent none"
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict) or not all(isinstance(field, dict) for field in fields.values()):
        return "with an invalid form"
    return None
