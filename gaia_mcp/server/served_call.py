"""A running call that reports and asks: sends progress, logs and server requests to the client of its request.

Knows no revision: the connection either sends a server request of the call, and the call's thread waits for the answer,
or puts it into an `input_required` result, and this run ends until the client retries the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_mcp.server.running_call import InputRequired, RunningCall

if TYPE_CHECKING:
    from gaia_mcp.asking.questions import Asked
    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.server.call_questions import CallQuestions

T = TypeVar("T")

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
