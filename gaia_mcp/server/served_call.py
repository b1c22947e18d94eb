"""A running call on the server side. Sends the tool's progress, logs and server requests to the client of the request.

A question is a server request: elicitation, sampling or roots. Knows no revision: the connection either sends a
question, and the thread waits here for the answer, or puts it into an `input_required` result, and this run ends until
the client retries the call.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from gaia_mcp.jsonvalues import NotJSONError, as_json_value
from gaia_mcp.protocol.input_required import retry_of
from gaia_mcp.protocol.questions import QuestionError, is_asked_by_result, missing_for
from gaia_mcp.protocol.revisions import lacks_task
from gaia_mcp.server.provider import RequestError
from gaia_mcp.toolcall import Call, CallingClient

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gaia_mcp.asking.questions import Asked
    from gaia_mcp.asking.record import Record
    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.protocol.events import RequestReceived
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.protocol.questions import Question
    from gaia_mcp.server.provider import ResultError

T = TypeVar("T")

# Long enough for a person to answer; after an hour we assume that they have left.
ANSWER_SECONDS = 3600.0
# The limit of a name in a log line: the client chooses the name.
_NAME_CHARS = 200
# The error for a tool's own thread that still asks after the call has returned.
HAS_ENDED = "the call has ended; its client can no longer be asked"


class InputRequired(BaseException):
    """Ends this run of the call with an `input_required` result. The client's retry starts another run.

    Not an `Exception`, so that a tool's `except Exception` does not catch it.
    """


class Transport(NamedTuple):
    """The transport of a request: the trace context of its headers, and its OpenTelemetry attributes."""

    trace: Mapping[str, str] = MappingProxyType({})
    attributes: Mapping[str, str] = MappingProxyType({})


PIPE = Transport(attributes={"network.transport": "pipe"})


class Front(Protocol):
    """What a call needs of the server that runs it."""

    def report_progress(self, call: ServedCall, progress: float, total: float | None, text: str) -> None:
        """Send progress."""

    def log(self, call: ServedCall, level: str, data: Any, logger: str = "") -> None:
        """Send a log message of `logger`, which defaults to the name of the tool."""

    def ask(self, call: ServedCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send the questions, and return their pending answers; None if they must go into the request's result."""

    def waiting(self, call: ServedCall, /) -> AbstractContextManager[None]:
        """Entered while a call's thread waits for its client. Raises `QuestionError` if too many calls wait already."""

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel questions whose answers are no longer needed."""

    def close_stream(self, call: ServedCall) -> None:
        """Close the stream on which the client waits for the call, if the client can resume it."""

    def make_task(self, call: ServedCall, *, required: bool) -> TaskFront | None:
        """Answer the request with a task, which is then the front of the call. Returns None if that is not possible,
        unless a task is `required` and the client could have enabled it: then it raises.
        """


class TaskFront(Front, Protocol):
    """What a call that runs as a task needs of that task."""

    def end(self, result: dict[str, Any] | None, error: tuple[int, str, Any]) -> ResultError | None:
        """Store the result or the error of the call. Returns the problem with the result if it cannot be stored."""


class Answer:
    """The pending answer to a question that was sent. It becomes a result or an error message."""

    def __init__(self, request_id: RequestId) -> None:
        self.request_id = request_id
        self.result: dict[str, Any] | None = None
        self.error: str | None = None
        self._has_come = threading.Event()

    def set(self, result: dict[str, Any] | None, error: str | None) -> None:
        """Set the answer. With neither, the question will not be answered."""
        self.result, self.error = result, error
        self._has_come.set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the answer; whether it is set."""
        return self._has_come.wait(seconds)


class _Asking:
    """What only a call that asks needs: created by its first question."""

    def __init__(self) -> None:
        # Guards the record: a tool may ask from several threads. Never held during a wait.
        self.lock = threading.RLock()
        # Guards `once`. Not `lock`: its function may wait for another thread, which asks.
        self.once = threading.RLock()
        # The number of questions in this run, and their names.
        self.questions = 0
        self.names: set[str] = set()
        # The pending answers that threads wait for.
        self.awaited: list[Answer] = []


# Guards the creation of each.
_CREATING = threading.Lock()


class ServedCall(Call):
    """The call of one request. `required` are the questions for its `input_required` result; empty if there are none.
    `task` is set when the call continues as a task. The front sets `transport`.
    """

    transport = Transport()

    def __init__(self, front: Front, request: RequestReceived, record: Record | None = None) -> None:
        super().__init__()
        self.request = request
        self.required: Mapping[str, Question] = {}
        self.task: TaskFront | None = None
        self._front = front
        self._record = record
        # The number of log messages in this run, and the last progress reported in this run or an earlier one.
        self._logs = 0
        self._reported: float | None = None
        self._asking: _Asking | None = None
        self._has_ended = False

    @property
    def client(self) -> CallingClient:  # type: ignore[override]
        """The client's name, version and capabilities, as it declared them."""
        context = self.request.context
        return CallingClient(
            str(context.info.get("name", "")), str(context.info.get("version", "")), context.capabilities
        )

    @property
    def meta(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The `_meta` of the request."""
        meta = self.request.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_traced(self) -> bool:
        """Whether the request has a trace context, or spans may be recorded."""
        # The keys are those of `tracing`, repeated here because most servers never load that module.
        meta = self.request.params.get("_meta")
        has_trace = isinstance(meta, dict) and ("traceparent" in meta or "baggage" in meta)
        return has_trace or bool(self.transport.trace) or "opentelemetry.trace" in sys.modules

    @property
    def lacks_task(self) -> bool:  # type: ignore[override]
        """Whether the client could have requested a task but did not."""
        return lacks_task(self.request.context.version, self.request.params)

    @property
    def asks_by_result(self) -> bool:  # type: ignore[override]
        """Whether a question ends this run with an `input_required` result. Not in a task."""
        return self.task is None and is_asked_by_result(self.request.context.version)

    @property
    def log_level(self) -> str | None:  # type: ignore[override]
        """The minimum level of log messages for the client; None if it wants none."""
        return self.request.context.log_level

    @property
    def record(self) -> Record:
        """The record of what the call has asked so far."""
        if self._record is None:
            from gaia_mcp.asking.record import Record

            self._record = Record()
        return self._record

    def resume(self, sealer: Sealer) -> None:
        """Restore the record of earlier runs from the `requestState` and responses that the client sent.

        Raises `RequestError` for an invalid state; the reason is only logged.
        """
        from gaia_mcp.asking.record import Record
        from gaia_mcp.asking.sealing import SealError, subject_of

        try:
            retry = retry_of(self.request)
            if retry is None:
                return
            if retry.state is None:
                self._record = Record(unasked=retry.responses)
                return
            about = subject_of(self.principal or "", self.request.method, self.request.params)
            record = Record.loaded(sealer.open(retry.state, about, time.time()))
        except SealError as problem:
            name = str(self.request.params.get("name", self.request.method))[:_NAME_CHARS]
            print(f"note: the requestState of a call of {name!r} was refused: {problem}", file=sys.stderr)  # noqa: T201
            raise RequestError("invalid requestState") from problem
        except ValueError as problem:
            raise RequestError(str(problem)) from problem
        for name, answer in retry.responses.items():
            record.take(name, answer)
        self._record = record

    def sealed_record(self, sealer: Sealer) -> str:
        """The `requestState` that the client must return with the responses."""
        from gaia_mcp.asking.sealing import subject_of

        record = self.record
        record.logs = max(record.logs, self._logs)
        record.progress = self._reported
        about = subject_of(self.principal or "", self.request.method, self.request.params)
        return sealer.seal(record.dumped(), about, time.time())

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self.raise_if_cancelled()
        if self._record is not None and self._reported is None:
            self._reported = self._record.progress
        if self._reported is not None and done <= self._reported:
            return  # An earlier run has reported it.
        self._reported = done
        self._front.report_progress(self, done, total, text)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        self._logs += 1
        if self._record is None or self._logs > self._record.logs:
            self._front.log(self, level, data, logger)

    @property
    def ends_with_question(self) -> bool:  # type: ignore[override]
        """Whether the result will be `input_required`, however this run ends."""
        return bool(self.required)

    def can_ask(self, question: Asked[Any]) -> bool:
        context = self.request.context
        return not missing_for(question.question, context.version, context.capabilities)

    def continue_as_task(self, *, required: bool = False) -> bool:
        self.raise_if_cancelled()
        with self._asks.lock:
            if self.required:
                raise InputRequired  # The result of the request is `input_required` already.
            if (task := self._front.make_task(self, required=required)) is not None:
                self._front = task
            return task is not None

    def close_stream(self) -> None:
        if not self._has_ended:  # Another request may have the same id by now.
            self._front.close_stream(self)

    def end(self) -> None:
        """End this run (called by the server). The tool's threads that still run can no longer reach the client."""
        self._has_ended = True
        # No wait begins from here on.
        for answer in list(self._asking.awaited) if self._asking is not None else ():
            answer.set(None, None)

    def once(self, name: str, function: Callable[[], T]) -> T:
        with self._asks.once:
            kept = self.record.once
            if name not in kept:
                value = function()
                try:
                    kept[name] = as_json_value(value)
                except NotJSONError as problem:
                    raise TypeError(f"once {name!r}: the value is not JSON: {problem}") from problem
            found: T = kept[name]
            return found

    @property
    def _asks(self) -> _Asking:
        with _CREATING:
            asking = self._asking = self._asking or _Asking()
            return asking

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:
        self.raise_if_cancelled()
        self._raise_if_ended()
        lock = self._asks.lock
        with lock:
            named = self._named(questions)
        read: dict[str, Any] = {}
        while True:
            with lock:
                missing = self._missing(named, read)
                if not missing:
                    return [read[name] for name in named]
                self.record.ask(missing)
            with nullcontext() if self.asks_by_result else self._front.waiting(self):
                answers = self._front.ask(self, self._in_trace(missing))
                if answers is None:
                    self.required = {**self.required, **missing}
                    raise InputRequired
                self._await(answers)

    def _in_trace(self, questions: Mapping[str, Question]) -> Mapping[str, Question]:
        if not self.is_traced:
            return questions
        from gaia_mcp.tracing import with_trace

        return {name: one._replace(params=with_trace(one.params)) for name, one in questions.items()}

    def _raise_if_ended(self) -> None:
        if self._has_ended:
            raise QuestionError(HAS_ENDED)

    def _named(self, questions: Sequence[Asked[Any]]) -> dict[str, Asked[Any]]:
        named: dict[str, Asked[Any]] = {}
        asking = self._asks
        for one in questions:
            asking.questions += 1
            name = one.name or str(asking.questions)
            if name in asking.names:
                raise ValueError(f"an earlier question of this call has the same name {name!r}; give each its own")
            asking.names.add(name)
            named[name] = one
        return named

    def _missing(self, named: Mapping[str, Asked[Any]], read: dict[str, Any]) -> dict[str, Question]:
        """The questions without a valid answer. Adds the values of the others to `read`."""
        from gaia_mcp.asking.forms import AnswerError

        missing = {}
        for name, one in named.items():
            if name in read:
                continue
            if (answer := self.record.answer(name, one.question)) is None:
                missing[name] = one.question
                continue
            try:
                read[name] = one.read(answer)
            except AnswerError as problem:
                self.record.reject(name, str(problem))
                missing[name] = one.question
        return missing

    def _await(self, answers: Mapping[str, Answer]) -> None:
        """Wait for the answers, and add them to the record."""

        def wake() -> None:
            for answer in answers.values():
                answer.set(None, None)

        forget = self.on_cancel(wake)
        asking = self._asks
        asking.awaited += answers.values()
        try:
            for name, answer in answers.items():
                self._raise_if_ended()
                if not answer.wait(ANSWER_SECONDS):
                    raise QuestionError(f"question {name!r} was not answered within {ANSWER_SECONDS:g} s")
                self.raise_if_cancelled()
                self._raise_if_ended()
                if answer.error is not None:
                    raise QuestionError(f"the client refused question {name!r}: {answer.error}")
                with asking.lock:
                    self.record.take(name, answer.result)
        finally:
            forget()
            for answer in answers.values():
                asking.awaited.remove(answer)
            self._front.withdraw(list(answers.values()))
