"""A call as it is served, and its outcome: what it sends while it runs; then the result, or the JSON-RPC error for an
exception, encoded whatever the agent returned; and the line on stderr for the agent's author.

Knows no revision and no transport.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.core.tracing import carrying, has_spans, trace_in
from gaia_mcp.protocol.input_required import MissingCapabilityError, QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY, Message, encode, error
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import InputRequired, RunningCall
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.asking.questions import Asked
    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.protocol.events import RequestReceived
    from gaia_mcp.server.call_questions import CallQuestions

Wire = dict[str, Any]
# A JSON-RPC error: code, message, data.
Error = tuple[int, str, Any]
# The response if the code raises `CallCancelledError` although its client did not cancel the request.
CANCELLED: Error = (INTERNAL_ERROR, "cancelled", None)
# The result (None if the error counts), the error, the exception for the server's log, and the missing capability. A
# plain tuple, because one is made for each call.
Outcome: TypeAlias = "tuple[Wire | None, Error, BaseException | None, MissingCapabilityError | None]"
# Called with a description of the failure, and the exception.
OnFailure: TypeAlias = Callable[[str, BaseException], None]
# Some libraries raise exceptions with a page of text.
LINE_CHARS = 2000
T = TypeVar("T")


class Job(NamedTuple):
    """A request to answer with `Calls.run`."""

    request: RequestReceived
    call: ServedCall


def outcome_of(answer: Callable[[Job], Wire | None], job: Job) -> Outcome:
    """Call `answer`, which may raise anything, and return the outcome."""
    try:
        return answer(job), CANCELLED, None, None
    except (CallCancelledError, InputRequired):
        return None, CANCELLED, None, None
    except MissingCapabilityError as problem:
        error = (MISSING_CAPABILITY, str(problem), {"requiredCapabilities": problem.required})
        return None, error, None, problem
    except QuestionError as problem:
        return None, (INVALID_REQUEST, str(problem), None), problem, None
    except RequestError as problem:
        return None, (problem.code, str(problem), problem.data), None, None
    except ResultError as problem:
        return None, invalid(job.request.method, problem), problem, None
    except BaseException as problem:  # noqa: BLE001 (an agent's own code, which may even try to exit)
        return None, (INTERNAL_ERROR, f"{job.request.method} raised {raised(problem)}", None), problem, None


def invalid(method: str, problem: ResultError) -> Error:
    """The error for a result that is invalid."""
    return INTERNAL_ERROR, f"{method} returned {problem}", None


def note_failure(what: str, error: BaseException) -> None:
    """Write one line to stderr."""
    print(f"error: {placed(what, error)}", file=sys.stderr)  # noqa: T201


def placed(what: str, error: BaseException) -> str:
    """`what` on one line, with the file and the line of the user's code that raised the exception, if any did."""
    from gaia_mcp.importing import place_of

    text, place = one_line(what, LINE_CHARS), place_of(error)
    return f"{text}, at {place}" if place else text


def raised(error: BaseException) -> str:
    """The exception as `ValueError: no such file`, or `ValueError` if it has no message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def encode_outgoing(message: Message | list[Message]) -> bytes:
    """The message as one line. A response that is not JSON becomes an error response: its client waits for one."""
    try:
        return encode(message)
    except (TypeError, ValueError) as problem:
        if isinstance(message, list):
            return b"[" + b",".join(encode_outgoing(part).rstrip() for part in message) + b"]\n"
        return encode(error(message.get("id"), INTERNAL_ERROR, f"the result is not JSON: {problem}"))


def as_json(data: Any) -> Any:
    """`data`, or its text if it cannot be written as JSON."""
    try:
        encode(data)
    except (TypeError, ValueError):
        return str(data)
    return data


def outcome_in_trace(answer: Callable[[Job], dict[str, Any] | None], job: Job) -> Outcome:
    """As `outcome_of`. Messages that `answer` sends belong to the same trace."""
    received, ambient = _traces_of(job.call)
    if not has_spans():
        with carrying(received):
            return outcome_of(answer, job)
    from gaia_mcp.core.spans import are_recorded, has_context, server_span

    if not (received or has_context() or are_recorded()):
        return outcome_of(answer, job)
    request = job.request
    attributes = {**job.call.transport.attributes, "mcp.protocol.version": request.context.version}
    with server_span(request.method, request.params, attributes, received, ambient) as span:
        span.identify(request.id)
        outcome = outcome_of(answer, job)
        result, error, _, _ = outcome
        if result is not None:
            span.returned(result)
        elif error is not CANCELLED:
            span.refused(error[0], error[1])
    return outcome


def _traces_of(call: RunningCall) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The trace of a request, and that of its transport if both have one."""
    received, of_transport = trace_in(call.meta), trace_in(call.transport.trace)
    return (received, of_transport) if received else (of_transport, {})


# Guards the creation of each call's questions.
_CREATING = threading.Lock()


class ServedCall(RunningCall):
    """The call of one request."""

    # The number of log messages in this run, and the last progress reported in this run or an earlier one.
    _logs = 0
    _reported: float | None = None
    # Created by the first question of this run, or with the record of earlier runs.
    _questions: CallQuestions | None = None

    @property
    def questions(self) -> CallQuestions:
        """What the call has asked so far."""
        if self._questions is None:
            import gaia_mcp.server.call_questions as asking

            with _CREATING:
                self._questions = self._questions or asking.CallQuestions()
        return self._questions

    def resume(self, sealer: Sealer) -> None:
        """Restore what earlier runs have asked. Raises `RequestError` for an invalid `requestState`."""
        import gaia_mcp.server.call_questions as asking

        self._questions = asking.resumed(self, sealer)

    def sealed_record(self, sealer: Sealer) -> str:
        """The `requestState` that the client must return with the responses."""
        return self.questions.sealed(self, sealer, self._logs, self._reported)

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self.raise_if_cancelled()
        if self._questions is not None and self._reported is None:
            self._reported = self._questions.record.progress
        if self._reported is not None and done <= self._reported:
            return  # An earlier run has reported it.
        self._reported = done
        self.front.report_progress(self, done, total, text)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        self._logs += 1
        if self._questions is None or self._logs > self._questions.record.logs:
            self.front.log(self, level, data, logger)

    @property
    def ends_with_question(self) -> bool:  # type: ignore[override]
        """Whether the result will be `input_required`, however this run ends."""
        return bool(self.required)

    def continue_as_task(self, *, required: bool = False) -> bool:
        self.raise_if_cancelled()
        with self.questions.lock:
            if self.required:
                raise InputRequired  # The result of the request is `input_required` already.
            if (task := self.front.make_task(self, required=required)) is not None:
                self.front = task
            return task is not None

    def close_stream(self) -> None:
        if not self.has_ended:  # Another request may have the same id by now.
            self.front.close_stream(self)

    def end(self) -> None:
        """End this run (called by the server). The tool's threads that still run can no longer reach the client."""
        self.has_ended = True
        if self._questions is not None:
            self._questions.end_waits()

    def lose_client(self) -> None:
        self.questions.lose_client()

    def once(self, name: str, function: Callable[[], T]) -> T:
        return self.questions.once(name, function)

    def kept(self, name: str) -> Any:
        return None if self._questions is None else self._questions.record.once.get(name)

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:
        self.raise_if_cancelled()
        return self.questions.ask(self, questions)
