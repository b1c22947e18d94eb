"""A running task, for the call that has become one: what the tool reports and asks becomes the state of the task."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.questions import QuestionError, check_declared
from gaia_mcp.protocol.revisions import result_for, result_problem
from gaia_mcp.server.failures import raised
from gaia_mcp.server.outcomes import Error, invalid
from gaia_mcp.server.provider import ResultError
from gaia_mcp.server.served_call import Answer
from gaia_mcp.server.task_states import BY_TOOL
from gaia_mcp.store import StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.questions import Question
    from gaia_mcp.protocol.task_states import TaskState
    from gaia_mcp.server.served_call import ServedCall
    from gaia_mcp.server.task_states import Change, TaskStates

Wire = dict[str, Any]

# A store that fails is asked again after this time to keep what a task has ended with.
RETRY_SECONDS = 1.0


class TaskRun:
    """The front of a call that has become a task, as long as it runs. `on_end` is called when it runs no more."""

    def __init__(
        self,
        states: TaskStates,
        begun: TaskState,
        call: ServedCall,
        place: AbstractContextManager[None],
        on_end: Callable[[TaskRun], None],
    ) -> None:
        # The result of the call's request.
        self.created = begun.as_created()
        self._id = begun.id
        # As far as is known here.
        self._state = begun
        self._states = states
        self._call = call
        self._place = place
        self._on_end = on_end
        self._keys = itertools.count(1)
        # The questions that are open, by their keys.
        self._asked: dict[str, Answer] = {}
        self._stop_listening: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Keep its state, and follow what its client does with it. Raises `StoreError`, and `QuestionError` where there
        is no room for a call that leaves its place.
        """
        self._place.__enter__()
        try:
            self._states.add(self._state)
            self._stop_listening = self._states.on_change(self._id, self._hear)
        except StoreError:
            self._place.__exit__(None, None, None)
            raise

    def drop(self) -> None:
        """It has not begun: its client has not learned of it."""
        self._stop()
        with suppress(StoreError):
            self._states.remove(self._id)

    def cancel(self, reason: str) -> None:
        """Cancel it, for a reason of the server."""
        self._change_if_possible(lambda state, now: state.cancelled(reason, now))
        self._call.cancel()

    def end(self, result: Wire | None, error: Error) -> ResultError | None:
        """Keep what the call has ended with, a result or an error. What is wrong with the result, if it has failed for
        that. Waits for a store that fails, until the task is cancelled.
        """
        cancelled = threading.Event()
        forget = self._call.on_cancel(cancelled.set)
        try:
            while not self._call.is_cancelled:  # Otherwise it is cancelled in its state already.
                try:
                    return self._keep(result, error)
                except StoreError:
                    cancelled.wait(RETRY_SECONDS)
        finally:
            forget()
            self._stop()
        return None

    def _keep(self, result: Wire | None, error: Error) -> ResultError | None:
        """As `end`. Raises `StoreError`."""
        problem = None
        if result is not None:
            try:
                shaped = self._shaped(result)
                self._change(lambda state, now: state.completed(shaped, now))
                return None
            except StoreFullError as full:
                problem = ResultError(f"a result that cannot be kept: {full}")
            except ValueError as wrong:
                problem = ResultError(f"an invalid result: {wrong}")
            except (AttributeError, KeyError, TypeError, RecursionError) as wrong:
                problem = ResultError(f"an invalid result: {raised(wrong)}")
            error = invalid(self._call.request.method, problem)
        self._change(lambda state, now: state.failed(*error, now))
        return problem

    # As a front.

    def make_task(self, call: ServedCall, *, required: bool) -> TaskRun:  # noqa: ARG002
        """It is one."""
        return self

    def report_progress(self, call: ServedCall, progress: float, total: float | None, text: str) -> None:  # noqa: ARG002
        """Progress is a message about the state."""
        message = text or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}")
        self._change_if_possible(lambda state, now: state.reported(message, now))

    def log(self, call: ServedCall, level: str, data: Any, logger: str = "") -> None:
        """The extension has no log messages about tasks."""

    def ask(self, call: ServedCall, questions: Mapping[str, Question]) -> dict[str, Answer]:
        """Have the client find the questions when it looks at the task."""
        call.raise_if_cancelled()
        context = call.request.context
        check_declared(questions.values(), context.version, context.capabilities)
        # A question that is asked again is another request.
        keys = {name: f"{name}-{next(self._keys)}" for name in questions}
        answers = {name: Answer(key) for name, key in keys.items()}
        requests = {keys[name]: question.as_input_request() for name, question in questions.items()}
        self._asked.update({keys[name]: answer for name, answer in answers.items()})
        try:
            self._follow(self._change(lambda state, now: state.asked(requests, now)))
        except StoreError as problem:
            raise QuestionError(f"the question cannot be asked: {problem}") from problem
        return answers

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Close questions that need no answer any more."""
        keys = [key for answer in answers if self._asked.pop(key := str(answer.request_id), None) is not None]
        if keys:
            self._change_if_possible(lambda state, now: state.withdrawn(keys, now))

    def close_stream(self, call: ServedCall) -> None:
        """Its request has been answered."""

    def waiting(self, call: ServedCall) -> AbstractContextManager[None]:  # noqa: ARG002
        """Its thread takes no call's place."""
        return nullcontext()

    def _hear(self, by: bytes | None) -> None:
        if by != BY_TOOL:
            # A store that fails tells the tool when it next reports or asks something.
            self._change_if_possible(lambda state, _: state)

    def _change_if_possible(self, change: Change) -> None:
        """Change the state, where the work goes on without that too."""
        with suppress(StoreError):
            self._follow(self._change(change))

    def _change(self, change: Change) -> TaskState | None:
        """Change the state, which is put back first if the store has lost it; None if it has expired."""
        state = self._states.change(self._id, change)
        if state is None and self._states.restore(self._state):
            state = self._states.change(self._id, change)
        self._state = state or self._state
        return state

    def _follow(self, state: TaskState | None) -> None:
        """Do what the client wants by the present state, or a worker that took this one for dead."""
        if state is None or state.is_final:
            self._call.cancel()
            return
        for key, response in state.responses.items():
            if (answer := self._asked.pop(key, None)) is not None:
                answer.set(response, None)

    def _shaped(self, result: Wire) -> Wire:
        request = self._call.request
        if (problem := result_problem(request.context.version, request.method, result)) is not None:
            raise ValueError(problem)
        return result_for(request.context.version, request.method, result, {})

    def _stop(self) -> None:
        self._stop_listening()
        self._place.__exit__(None, None, None)
        self._on_end(self)
