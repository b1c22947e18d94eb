"""A running call as a server has it: what the tool reports and asks goes to the client of the request.

Knows no revision: the connection either sends a question, so that the thread waits here, or has the result ask it, so
that this run ends and another one follows.
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

# A person may take their time; one who has left does not come back to the question.
ANSWER_SECONDS = 3600.0
# So much of a name goes into a line of the log, where it is the client's to choose.
_NAME_CHARS = 200
# What code is told that runs on, in a thread of its own, after its call has returned.
HAS_ENDED = "the call has ended, and its client can be asked no more"


class InputRequired(BaseException):
    """This run of the call ends here: its result asks for input, and another run follows.

    Not an `Exception`, for it has to pass what catches those.
    """


class Transport(NamedTuple):
    """How a request came: what its transport tells about a trace, and its attributes by the names of OpenTelemetry."""

    trace: Mapping[str, str] = MappingProxyType({})
    attributes: Mapping[str, str] = MappingProxyType({})


PIPE = Transport(attributes={"network.transport": "pipe"})


class Front(Protocol):
    """What a call needs of the server that runs it."""

    def report_progress(self, call: ServedCall, progress: float, total: float | None, text: str) -> None:
        """Send progress."""

    def log(self, call: ServedCall, level: str, data: Any, logger: str = "") -> None:
        """Send a log message of `logger`; an empty one stands for the tool."""

    def ask(self, call: ServedCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send the questions; their answers to come. None if the result of the request has to ask them."""

    def waiting(self, call: ServedCall, /) -> AbstractContextManager[None]:
        """To be entered while a call asks and its thread waits for its client. Raises `QuestionError` if it may not."""

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel questions that need no answer any more."""

    def close_stream(self, call: ServedCall) -> None:
        """Close the connection on which the client waits for the call, if it comes back for what follows."""

    def make_task(self, call: ServedCall, *, required: bool) -> TaskFront | None:
        """Answer the request with a task, which is the front from then on; None if that cannot be. `required` then is
        an error, if the client could have made it possible.
        """


class TaskFront(Front, Protocol):
    """What a call needs of the task that it has become."""

    def end(self, result: dict[str, Any] | None, error: tuple[int, str, Any]) -> ResultError | None:
        """The call has ended with a result or an error; what is wrong with the result, if it cannot be kept."""


class Answer:
    """The answer to one question that was sent, when it has come: a result or the text of an error."""

    def __init__(self, request_id: RequestId) -> None:
        self.request_id = request_id
        self.result: dict[str, Any] | None = None
        self.error: str | None = None
        self._has_come = threading.Event()

    def set(self, result: dict[str, Any] | None, error: str | None) -> None:
        """It has come; or, with neither, there will be none."""
        self.result, self.error = result, error
        self._has_come.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has come, waited for up to `seconds`."""
        return self._has_come.wait(seconds)


class ServedCall(Call):
    """The call of one request. `required` are the questions that its result must ask; empty if none. `task` is what the
    call has become, if it goes on without its request. `transport` is for its front to set.
    """

    transport = Transport()

    def __init__(self, front: Front, request: RequestReceived, record: Record | None = None) -> None:
        super().__init__()
        self.request = request
        self.required: Mapping[str, Question] = {}
        self.task: TaskFront | None = None
        self._front = front
        self._record = record
        # How many questions and log messages this run has had, and the names of the questions.
        self._questions = 0
        self._logs = 0
        self._names: set[str] = set()
        # How far the call has come, in this run or an earlier one.
        self._reported: float | None = None
        # Held to look at the record: a tool may ask in several threads. Not held while something is waited for.
        self._lock = threading.RLock()
        # Held to run what happens once, which may ask in a thread that it waits for.
        self._once = threading.RLock()
        # The questions that are waited for, and whether any may be.
        self._awaited: list[Answer] = []
        self._has_ended = False

    @property
    def client(self) -> CallingClient:  # type: ignore[override]
        """As the client describes itself."""
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
        """Whether the request belongs to a trace, or may be a span of one."""
        # The names are those of `tracing`, which most servers never load.
        meta = self.meta
        has_trace = "traceparent" in meta or "baggage" in meta or bool(self.transport.trace)
        return has_trace or "opentelemetry.trace" in sys.modules

    @property
    def lacks_task(self) -> bool:  # type: ignore[override]
        """Whether the client could have asked for a task and has not."""
        return lacks_task(self.request.context.version, self.request.params)

    @property
    def asks_by_result(self) -> bool:  # type: ignore[override]
        """Whether a question ends this run; in a task it does not."""
        return self.task is None and is_asked_by_result(self.request.context.version)

    @property
    def log_level(self) -> str | None:  # type: ignore[override]
        """The level from which the client wants log messages, None if it wants none."""
        return self.request.context.log_level

    @property
    def record(self) -> Record:
        """What the call has asked so far."""
        if self._record is None:
            from gaia_mcp.asking.record import Record

            self._record = Record()
        return self._record

    def resume(self, sealer: Sealer) -> None:
        """Take up the call where an earlier run ended, by what its client has sent back.

        Raises `RequestError` for a state that is not ours; the reason is for the log alone.
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
        """What the client is to send back with the answers."""
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
        """Whether the result asks, whatever becomes of this run."""
        return bool(self.required)

    def can_ask(self, question: Asked[Any]) -> bool:
        context = self.request.context
        return not missing_for(question.question, context.version, context.capabilities)

    def continue_as_task(self, *, required: bool = False) -> bool:
        self.raise_if_cancelled()
        with self._lock:
            if self.required:
                raise InputRequired  # The request has another result already.
            if (task := self._front.make_task(self, required=required)) is not None:
                self._front = task
            return task is not None

    def close_stream(self) -> None:
        if not self._has_ended:  # Another request may have its id by now.
            self._front.close_stream(self)

    def end(self) -> None:
        """For the server: this run has ended. Code of the tool that still runs has no client any more."""
        self._has_ended = True
        for answer in list(self._awaited):
            answer.set(None, None)

    def once(self, name: str, function: Callable[[], T]) -> T:
        with self._once:
            kept = self.record.once
            if name not in kept:
                value = function()
                try:
                    kept[name] = as_json_value(value)
                except NotJSONError as problem:
                    raise TypeError(f"once {name!r}: the value is not JSON: {problem}") from problem
            found: T = kept[name]
            return found

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:
        self.raise_if_cancelled()
        self._raise_if_ended()
        with self._lock:
            named = self._named(questions)
        read: dict[str, Any] = {}
        while True:
            with self._lock:
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
        for one in questions:
            self._questions += 1
            name = one.name or str(self._questions)
            if name in self._names:
                raise ValueError(f"an earlier question of this call has the same name {name!r}; give each its own")
            self._names.add(name)
            named[name] = one
        return named

    def _missing(self, named: Mapping[str, Asked[Any]], read: dict[str, Any]) -> dict[str, Question]:
        """The questions without a valid answer. The values of the others go into `read`."""
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
        """Wait for the answers, and put them into the record."""

        def wake() -> None:
            for answer in answers.values():
                answer.set(None, None)

        forget = self.on_cancel(wake)
        self._awaited += answers.values()
        try:
            for name, answer in answers.items():
                self._raise_if_ended()
                if not answer.wait(ANSWER_SECONDS):
                    raise QuestionError(f"question {name!r} was not answered within {ANSWER_SECONDS:g} s")
                self.raise_if_cancelled()
                self._raise_if_ended()
                if answer.error is not None:
                    raise QuestionError(f"the client refused question {name!r}: {answer.error}")
                with self._lock:
                    self.record.take(name, answer.result)
        finally:
            forget()
            for answer in answers.values():
                self._awaited.remove(answer)
            self._front.withdraw(list(answers.values()))
