"""A running task and its state: the front of its call, by which the tool's progress and questions become part of the
state, and the states in the store that all workers share.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from gaia_mcp.protocol.input_required import Question, QuestionError, check_declared
from gaia_mcp.protocol.revisions import result_for, result_problem
from gaia_mcp.protocol.tasks import TaskState
from gaia_mcp.server.outcomes import Error, invalid, raised
from gaia_mcp.server.provider import ResultError
from gaia_mcp.server.running_call import Answer, RunningCall
from gaia_mcp.store import Store, StoreError, StoreFullError

Wire = dict[str, Any]

# The delay before another attempt to store the result of a task.
RETRY_SECONDS = 1.0
# Returns the next state for the current state and time.
StateChange = Callable[[TaskState, float], TaskState]


class TaskRun:
    """The front of a call that runs as a task. `on_end` is called when the call has ended."""

    def __init__(
        self,
        states: TaskStates,
        begun: TaskState,
        call: RunningCall,
        place: AbstractContextManager[None],
        on_end: Callable[[TaskRun], None],
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        # The result of the call's request: `CreateTaskResult`.
        self.created = begun.as_created()
        self._id = begun.id
        # The last state that this worker has seen.
        self._state = begun
        self._states = states
        self._call = call
        self._place = place
        self._on_end = on_end
        self._retry_seconds = retry_seconds
        self._keys = itertools.count(1)
        # The unanswered questions by key.
        self._asked: dict[str, Answer] = {}
        self._stop_listening: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Store the task's state, and watch for its client's changes. Raises `StoreError`, and `QuestionError` if there
        is no thread that can take this call's place.
        """
        self._place.__enter__()
        try:
            self._states.add(self._state)
            self._stop_listening = self._states.on_change(self._id, self._hear)
        except StoreError:
            self._place.__exit__(None, None, None)
            raise

    def drop(self) -> None:
        """Discard the task before its client has received it."""
        self._stop()
        with suppress(StoreError):
            self._states.remove(self._id)

    def cancel(self, reason: str) -> None:
        """Cancel the task on behalf of the server."""
        self._change_if_possible(lambda state, now: state.cancelled(reason, now))
        self._call.cancel()

    def end(self, result: Wire | None, error: Error) -> ResultError | None:
        """Store the result or the error of the call. Returns the problem if the result is invalid and the task failed
        because of it. Retries while the store fails, until the task is cancelled.
        """
        cancelled = threading.Event()
        forget = self._call.on_cancel(cancelled.set)
        try:
            while not self._call.is_cancelled:  # A cancelled call's task already has its final state.
                try:
                    return self._keep(result, error)
                except StoreError:
                    cancelled.wait(self._retry_seconds)
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

    # `Front`.

    def make_task(self, call: RunningCall, *, required: bool) -> TaskRun:  # noqa: ARG002
        """The call runs as this task already."""
        return self

    def report_progress(self, call: RunningCall, progress: float, total: float | None, text: str) -> None:  # noqa: ARG002
        """Progress becomes the task's status message."""
        message = text or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}")
        self._change_if_possible(lambda state, now: state.reported(message, now))

    def log(self, call: RunningCall, level: str, data: Any, logger: str = "") -> None:
        """Does nothing: the tasks extension has no log messages."""

    def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, Answer]:
        """Add the questions to the task's state, where the client reads them."""
        call.raise_if_cancelled()
        context = call.request.context
        check_declared(questions.values(), context.version, context.capabilities)
        # A question that is asked again needs a new key.
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
        """Remove questions whose answers are no longer needed."""
        keys = [key for answer in answers if self._asked.pop(key := str(answer.request_id), None) is not None]
        if keys:
            self._change_if_possible(lambda state, now: state.withdrawn(keys, now))

    def close_stream(self, call: RunningCall) -> None:
        """Does nothing: the request has been answered."""

    def waiting(self, call: RunningCall) -> AbstractContextManager[None]:  # noqa: ARG002
        """Does nothing: the thread of a task does not count as a running call."""
        return nullcontext()

    def _hear(self, by: bytes | None) -> None:
        if by != BY_TOOL:
            # If the store fails, the next question of the tool raises.
            self._change_if_possible(lambda state, _: state)

    def _change_if_possible(self, change: StateChange) -> None:
        """Change the state, and ignore a failure of the store."""
        with suppress(StoreError):
            self._follow(self._change(change))

    def _change(self, change: StateChange) -> TaskState | None:
        """Change the state, restoring it first if the store has lost it; None if it has expired."""
        state = self._states.change(self._id, change)
        if state is None and self._states.restore(self._state):
            state = self._states.change(self._id, change)
        self._state = state or self._state
        return state

    def _follow(self, state: TaskState | None) -> None:
        """Apply a state that the client changed, or a worker that declared this one dead."""
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


# The messages published after a change of a task: who changed it.
BY_CLIENT, BY_TOOL = b"client", b"tool"


class TaskStates:
    """The states of the tasks in `store`. Every method raises `StoreError`. `clock` returns seconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self.clock = clock

    def add(self, state: TaskState) -> None:
        """Store the state of a new task."""
        self._store.put(_name(state.id), state.dumped(), state.kept)

    def get(self, task_id: str) -> TaskState | None:
        """The state of a task; None if there is no such task."""
        kept = self._store.get(_name(task_id))
        return None if kept is None else _loaded(kept)

    def change(self, task_id: str, change: StateChange, by: bytes = BY_TOOL) -> TaskState | None:
        """Change the state of a task. Returns the new state; None if there is no such task."""
        name = _name(task_id)
        while (kept := self._store.get(name)) is not None:
            if (state := _loaded(kept)) is None:
                return None
            now = self.clock()
            changed = change(state, now)
            if changed is state:
                return state
            if self._store.replace(name, kept, changed.dumped(), changed.created + changed.kept - now):
                self._store.publish(name, by)
                return changed
        return None

    def restore(self, state: TaskState) -> bool:
        """Store a state again that the store has lost, unless it has expired. Whether the store has one now."""
        left = state.created + state.kept - self.clock()
        return left > 0 and (
            self._store.replace(_name(state.id), None, state.dumped(), left) or self.get(state.id) is not None
        )

    def keep(self, task_id: str, seconds: float) -> None:
        """Let the task expire after `seconds` from now."""
        self._store.renew(_name(task_id), seconds)

    def remove(self, task_id: str) -> None:
        """Remove a task."""
        self._store.remove(_name(task_id))

    def on_change(self, task_id: str, listener: Callable[[bytes | None], None]) -> Callable[[], None]:
        """Call `listener` with BY_CLIENT or BY_TOOL after each change, and with None if a change may have been missed.
        Returns a function that removes the listener.
        """
        return self._store.subscribe(_name(task_id), listener)


def _loaded(kept: bytes) -> TaskState | None:
    """The state of a task; None if it is damaged, because something else has written to the store."""
    try:
        state = TaskState.loaded(kept)
        # Of these a result or a delay is computed.
        is_valid = all(isinstance(each, (int, float)) for each in (state.created, state.updated, state.kept))
        is_valid &= all(isinstance(each, dict) for each in (state.requests, state.responses, state.outcome))
        is_valid &= all(isinstance(each, str) for each in (state.status, state.message, state.worker))
    except (ValueError, TypeError, RecursionError):
        return None
    return state if is_valid else None


def _name(task_id: str) -> str:
    """The name in the store of a task's state, and of the channel for its changes."""
    return f"task/{task_id}"
