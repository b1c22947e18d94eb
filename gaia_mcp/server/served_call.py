"""A running call as a server has it: what the tool reports and asks goes to the client of the request.

Knows no revision: the connection either sends a question, so that the thread waits here, or has the result ask it, so
that this run ends and another one follows.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gaia_mcp.jsonvalues import NotJSONError, as_json_value
from gaia_mcp.protocol.input_required import retry_of
from gaia_mcp.protocol.questions import QuestionError
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

T = TypeVar("T")

# A person may take their time; one who has left does not come back to the question.
ANSWER_SECONDS = 3600.0


class InputRequired(BaseException):
    """This run of the call ends here: its result asks for input, and another run follows.

    Not an `Exception`, for it has to pass what catches those.
    """


class Front(Protocol):
    """What a call needs of the server that runs it."""

    def report_progress(self, call: ServedCall, progress: float, total: float | None, text: str) -> None:
        """Send progress."""

    def log(self, call: ServedCall, level: str, data: Any) -> None:
        """Send a log message."""

    def ask(self, call: ServedCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send the questions; their answers to come. None if the result of the request has to ask them."""

    waiting: Callable[[ServedCall], AbstractContextManager[None]]

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel questions that need no answer any more."""


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
    """The call of one request. `required` are the questions that its result must ask; empty if none."""

    def __init__(self, front: Front, request: RequestReceived, record: Record | None = None) -> None:
        super().__init__()
        self.request = request
        self.required: Mapping[str, Question] = {}
        self._front = front
        self._record = record
        # How many questions and log messages this run has had.
        self._questions = 0
        self._logs = 0
        # How far the call has come, in this run or an earlier one.
        self._reported: float | None = None
        # Held to look at the record: a tool may ask in several threads. Not held while something is waited for.
        self._lock = threading.RLock()

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
    def lacks_task(self) -> bool:  # type: ignore[override]
        """Whether the client could have asked for a task and has not."""
        return lacks_task(self.request.context.version, self.request.params)

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
            about = subject_of(self.principal or "", self.request.method, self.request.params)
            record = Record.loaded(sealer.open(retry.state, about, time.time()))
        except SealError as problem:
            name = self.request.params.get("name", self.request.method)
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

    def log(self, level: str, data: Any) -> None:
        self._logs += 1
        if self._record is None or self._logs > self._record.logs:
            self._front.log(self, level, data)

    def once(self, name: str, function: Callable[[], T]) -> T:
        with self._lock:
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
        with self._lock:
            named = self._named(questions)
        read: dict[str, Any] = {}
        while True:
            with self._lock:
                missing = self._missing(named, read)
                if not missing:
                    return [read[name] for name in named]
                self.record.ask(missing)
            answers = self._front.ask(self, missing)
            if answers is None:
                self.required = {**self.required, **missing}
                raise InputRequired
            self._await(answers)

    def _named(self, questions: Sequence[Asked[Any]]) -> dict[str, Asked[Any]]:
        named: dict[str, Asked[Any]] = {}
        for one in questions:
            self._questions += 1
            named[one.name or str(self._questions)] = one
        if len(named) < len(questions):
            raise ValueError("two questions that are asked at once have the same name")
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
        try:
            for name, answer in answers.items():
                with self._front.waiting(self):
                    has_come = answer.wait(ANSWER_SECONDS)
                if not has_come:
                    raise QuestionError(f"question {name!r} was not answered within {ANSWER_SECONDS:g} s")
                self.raise_if_cancelled()
                if answer.error is not None:
                    raise QuestionError(f"the client refused question {name!r}: {answer.error}")
                with self._lock:
                    self.record.take(name, answer.result)
        finally:
            forget()
            self._front.withdraw(list(answers.values()))
