"""What a running call needs of the server that runs it: the front, and the answers to questions that it sends."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.protocol.questions import Question
    from gaia_mcp.server.provider import ResultError
    from gaia_mcp.server.served_call import ServedCall

# The error for a tool's own thread that still asks after the call has returned.
HAS_ENDED = "the call has ended; its client can no longer be asked"


class InputRequired(BaseException):
    """Ends this run of the call with an `input_required` result. The client's retry starts another run.

    Not an `Exception`, so that a tool's `except Exception` does not catch it.
    """


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
