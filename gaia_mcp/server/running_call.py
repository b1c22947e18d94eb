"""A running call on the server side: its request, and the front, to which it sends its messages and questions.

Owns `InputRequired`, which ends a run, and keeps Python from reporting a thread that ended with it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.asking import Call, CallingClient
from gaia_mcp.protocol.input_required import Question, is_asked_by_result, missing_for
from gaia_mcp.protocol.revisions import lacks_task

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gaia_mcp.asking.questions import Asked
    from gaia_mcp.protocol.events import RequestReceived
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.server.provider import ResultError

# The error for a tool's own thread that still asks after the call has returned.
HAS_ENDED = "the call has ended; its client can no longer be asked"


class InputRequired(BaseException):
    """Ends this run of the call with an `input_required` result. The client's retry starts another run.

    Not an `Exception`, so that a tool's `except Exception` does not catch it.
    """


class Front(Protocol):
    """What a call needs of the server that runs it."""

    def report_progress(self, call: RunningCall, progress: float, total: float | None, text: str) -> None:
        """Send progress."""

    def log(self, call: RunningCall, level: str, data: Any, logger: str = "") -> None:
        """Send a log message of `logger`, which defaults to the name of the tool."""

    def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send the questions, and return their pending answers; None if they must go into the request's result."""

    def waiting(self, call: RunningCall, /) -> AbstractContextManager[None]:
        """Entered while a call's thread waits for its client. Raises `QuestionError` if too many calls wait already."""

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel questions whose answers are no longer needed."""

    def close_stream(self, call: RunningCall) -> None:
        """Close the stream on which the client waits for the call, if the client can resume it."""

    def make_task(self, call: RunningCall, *, required: bool) -> TaskFront | None:
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


class Transport(NamedTuple):
    """The transport of a request: the trace context of its headers, and its OpenTelemetry attributes."""

    trace: Mapping[str, str] = MappingProxyType({})
    attributes: Mapping[str, str] = MappingProxyType({})


PIPE = Transport(attributes={"network.transport": "pipe"})


class RunningCall(Call):
    """What a running call knows of its request. `required` are the questions for its `input_required` result; empty if
    there are none. `task` is set when the call continues as a task. The front sets `transport`. `answer_seconds` is the
    time that the client has to answer a question, if not the usual one. `has_ended`: this run has returned.
    """

    transport = Transport()
    required: Mapping[str, Question] = MappingProxyType({})
    task: TaskFront | None = None
    answer_seconds: float | None = None
    has_ended = False

    def __init__(self, front: Front, request: RequestReceived) -> None:
        super().__init__()
        self.request = request
        self.front = front

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

    def lose_client(self) -> None:
        """End the waits for answers of the client, which has disconnected: they raise `QuestionError`."""

    def can_ask(self, question: Asked[Any]) -> bool:
        context = self.request.context
        return not missing_for(question.question, context.version, context.capabilities)


def report_no_ended_runs() -> None:
    """Suppress the report of a thread that ended with `InputRequired`; report others as before. Idempotent."""
    if not isinstance(threading.excepthook, _Hook):
        threading.excepthook = _Hook(threading.excepthook)


class _Hook:
    def __init__(self, before: Callable[[threading.ExceptHookArgs], Any]) -> None:
        self._before = before

    def __call__(self, ended: threading.ExceptHookArgs) -> None:
        if ended.exc_type is not InputRequired:
            self._before(ended)
