"""The running requests of one client, and the messages sent about them.

Does no I/O and owns no thread: the front passes records in, runs the resulting jobs in its own threads, and sends the
outgoing messages. So a stdio server can read as leader and followers, and an ASGI app in coroutines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.envelope import TASK_METHODS
from gaia_mcp.protocol.events import Cancelled, ErrorResponse, InvalidResponse, RequestContext, RequestReceived
from gaia_mcp.protocol.input_required import RETRY_MEMBERS, Question, QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, Request, RequestId, Result
from gaia_mcp.protocol.subscriptions import LISTEN
from gaia_mcp.server.outcomes import Job, OnFailure, ServedCall, as_json, invalid, note_failure, outcome_of, raised
from gaia_mcp.server.provider import Change, Provider, ResultError
from gaia_mcp.server.running_call import HAS_ENDED, Answer, RunningCall

if TYPE_CHECKING:
    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.server import Description, ServerConnection
    from gaia_mcp.server.task_run import TaskRun
    from gaia_mcp.server.tasks import Tasks, TaskWatch


class Calls:
    """The calls of one client. Safe to use from several threads.

    `send` gets every outgoing message, in order and from one thread at a time; it must not raise. `connection`
    describes `provider`. `on_failure` is called for each exception that becomes an internal error. `sealer` seals the
    `requestState` that the client returns when it retries a call. A call's thread enters `waiting` while it waits for
    the client. `pace` is called in that thread after each progress or log message, and may block until the client has
    read it. `close_stream` closes the stream on which the client waits for a call, if the client can resume it. `tasks`
    are the server's; the default are this client's own, which end with it. If not `follows`, changes are not announced.
    """

    def __init__(
        self,
        connection: ServerConnection,
        provider: Provider,
        send: Callable[[Outgoing], None],
        on_failure: OnFailure = note_failure,
        sealer: Sealer | None = None,
        waiting: Callable[[RunningCall], AbstractContextManager[None]] = lambda _: nullcontext(),
        pace: Callable[[RunningCall], None] = lambda _: None,
        close_stream: Callable[[RunningCall], None] = lambda _: None,
        tasks: Tasks | None = None,
        *,
        follows: bool = True,
    ) -> None:
        self.waiting = waiting
        self.close_stream = close_stream
        self._pace = pace
        self._given_tasks = tasks
        self._own_tasks: Tasks | None = None
        self._watch: TaskWatch | None = None
        self._own_sealer = sealer
        self._connection = connection
        self._provider = provider
        self._send = send
        self._on_failure = on_failure
        # Guards the connection, the running calls, and additions to the outbox.
        self._lock = threading.Lock()
        # Created by the first wait: most clients' calls are not waited for.
        self._idle: threading.Condition | None = None
        self._running: dict[RequestId, ServedCall] = {}
        # The calls that a thread is running, including tasks and cancelled calls that have not returned.
        self._at_work: set[ServedCall] = set()
        # The server requests that the client has not answered.
        self._asked: dict[RequestId, Answer] = {}
        self._outbox: deque[Outgoing] = deque()
        # Held while sending. Never acquired while `_lock` is held: sending may block.
        self._sending = threading.Lock()
        self._sender: int | None = None
        self._is_closed = False
        self._stop_listening = provider.on_change(self.announce, connection.subscriptions) if follows else lambda: None

    def __len__(self) -> int:
        """How many requests have been received and neither answered nor cancelled."""
        return len(self._running)

    # Created on first use, under the lock: most clients never need them.

    @property
    def _sealer(self) -> Sealer:
        if self._own_sealer is None:
            from gaia_mcp.asking.sealing import Sealer

            with self._lock:
                self._own_sealer = self._own_sealer or Sealer()
        return self._own_sealer

    @property
    def _tasks(self) -> Tasks:
        if self._given_tasks is not None:
            return self._given_tasks
        from gaia_mcp.server.tasks import Tasks
        from gaia_mcp.store import MemoryStore

        with self._lock:
            if self._own_tasks is None:
                self._own_tasks = Tasks(MemoryStore())
            return self._own_tasks

    def receive(self, record: bytes, about: RequestId | None = None) -> list[Job]:
        """Process one record, valid or not. Returns the jobs to run for it.

        `about` is the request on whose own stream the record arrived, None for a channel that has one stream.
        """
        return self._take_in(self._connection.receive, record, about)

    def receive_message(self, value: Any) -> list[Job]:
        """As `receive`, for a JSON value that has been parsed."""
        return self._take_in(self._connection.receive_message, value)

    def receive_request(self, request: Request) -> list[Job]:
        """As `receive`, for a request that has been read."""
        return self._take_in(self._connection.receive_request, request)

    def receive_stateless(self, request: Request, context: RequestContext, description: Description) -> list[Job]:
        """As `receive_request`, for a stateless request whose envelope has been read, to a provider that has this
        `description` by now.
        """
        self._connection.description = description
        return self._take_in(self._connection.receive_stateless, request, context)

    def is_running(self, request_id: RequestId) -> bool:
        """Whether the request has been received and neither answered nor cancelled."""
        return request_id in self._running

    def run(self, job: Job) -> None:
        """Run the request in this thread, and send the response. Never raises."""
        request, call = job
        self._at_work.add(call)
        run = outcome_of
        if call.is_traced:
            from gaia_mcp.server.outcomes import outcome_in_trace as run
        result, error, failure, missing = run(self._answer, job)
        # Even if the tool caught `InputRequired` and returned a result, the response asks for the input.
        state = call.sealed_record(self._sealer) if call.required else ""
        with self._lock:
            # After an answer or a cancellation the client may have reused the id for another request.
            if self._running.get(request.id) is call and not call.is_cancelled:
                if state:
                    failure = None
                    self._connection.require_input(request.id, call.required, state)
                elif missing is not None:
                    self._connection.respond_missing(request.id, missing)
                elif result is None:
                    self._connection.respond_error(request.id, *error)
                elif (failure := self._respond(request.id, result)) is not None:
                    error = invalid(request.method, failure)
                    self._connection.respond_error(request.id, *error)
                self._end(request.id)
        if call.task is not None and (problem := call.task.end(result, error)) is not None:
            failure, error = problem, invalid(request.method, problem)
        call.end()
        if failure is not None:
            # Logged before the response is sent: on reading it, the client may kill this process.
            self._on_failure(error[1], failure)
        self._flush()
        with self._lock:
            self._at_work.discard(call)
            if self._idle is not None:
                self._idle.notify_all()

    def _answer(self, job: Job) -> dict[str, Any] | None:
        """The result of a request; None for a subscription to tasks, which `_listen` answers."""
        request, call = job
        call.raise_if_cancelled()
        if request.method in TASK_METHODS:
            return self._tasks.answer(request.method, request.params, call)
        if request.method == LISTEN:
            self._listen(call)
            return None
        if not RETRY_MEMBERS.isdisjoint(request.params):
            call.resume(self._sealer)
        return self._provider.answer(request.method, request.params, call)

    def refuse(self, job: Job, reason: str, code: int = INTERNAL_ERROR) -> None:
        """Answer with an error instead of running the job."""
        with self._lock:
            if not job.call.is_cancelled:
                self._connection.respond_error(job.request.id, code, reason)
                self._end(job.request.id)
        self._flush()

    def cancel(self, request_id: RequestId) -> None:
        """Cancel a request whose client no longer waits, for example because the client closed its stream."""
        with self._lock:
            self._connection.cancel(request_id)
            self._take_jobs()
        self._flush()

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait up to `seconds` for every call to end; whether all have."""
        return self._wait_for(lambda: not self._running, seconds)

    def wait_until_over(self, seconds: float) -> bool:
        """After `close`, wait up to `seconds` for every thread to leave its call; whether all have."""
        return self._wait_for(lambda: not self._at_work, seconds)

    def close(self) -> None:
        """Cancel the running calls without sending anything more about them, and end the subscriptions."""
        self._stop_listening()
        if self._own_tasks is not None:
            self._own_tasks.close()
        if self._watch is not None:
            self._watch.close()
        with self._lock:
            self._is_closed = True
            for call in self._running.values():
                call.cancel()
            self._running.clear()
            if self._idle is not None:
                self._idle.notify_all()
            self._connection.close()
            self._collect()
        self._flush()

    def _take_in(self, receive: Callable[..., None], *received: Any) -> list[Job]:
        with self._lock:
            receive(*received)
            jobs = self._take_jobs()
        if self._outbox:
            self._flush()
        return jobs

    def _take_jobs(self) -> list[Job]:
        jobs = []
        for event in self._connection.take_events():
            if isinstance(event, RequestReceived):
                call = self._running[event.id] = ServedCall(self, event)
                jobs.append(Job(event, call))
            elif isinstance(event, Cancelled) and (call_of := self._running.pop(event.id, None)) is not None:
                call_of.cancel()
                if self._idle is not None:
                    self._idle.notify_all()
            # The answer is always pending: the connection drops the response to a withdrawn request.
            elif isinstance(event, Result):
                self._asked.pop(event.id).set(event.result, None)
            elif isinstance(event, ErrorResponse):
                self._asked.pop(event.id).set(None, event.text)
            elif isinstance(event, InvalidResponse):
                self._asked.pop(event.id).set(None, event.problem)
        self._collect()
        return jobs

    # `Front`, for the running calls.

    def report_progress(self, call: RunningCall, progress: float, total: float | None, text: str) -> None:
        """Send progress of a call."""
        self._notify(call, lambda: self._connection.report_progress(call.request.id, progress, total, text))

    def log(self, call: RunningCall, level: str, data: Any, logger: str = "") -> None:
        """Send a log message of a call. The default `logger` is the name of its tool or prompt, else its method."""
        request, data = call.request, as_json(data)
        logger = logger or str(request.params.get("name", request.method))
        self._notify(call, lambda: self._connection.log(request.id, level, data, logger))

    def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send server requests of a call, and return their pending answers; None if they must go into its result."""
        with self._lock:
            call.raise_if_cancelled()
            if self._running.get(call.request.id) is not call:
                raise QuestionError(HAS_ENDED)
            if (ids := self._connection.ask(call.request.id, questions)) is None:
                return None
            answers = {name: Answer(request_id) for name, request_id in ids.items()}
            self._asked.update({answer.request_id: answer for answer in answers.values()})
            self._collect()
        self._flush()
        return answers

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel the server requests that have not been answered."""
        with self._lock:
            for answer in answers:
                if self._asked.pop(answer.request_id, None) is not None:
                    self._connection.abandon(answer.request_id, "the answer is no longer needed")
            self._collect()
        self._flush()

    def make_task(self, call: RunningCall, *, required: bool) -> TaskRun | None:
        """Answer the request of a call with a task; None if that is not possible."""
        from gaia_mcp.protocol.tasks import TASK_RESULT_TYPES

        request = call.request
        if request.method != "tools/call" or not self._connection.has_tasks:
            return None
        if (task := self._tasks.begin(call, self.waiting(call), required=required)) is None:
            return None
        with self._lock:
            if has_begun := not call.is_cancelled and self._running.get(request.id) is call:
                self._connection.respond(request.id, task.created, TASK_RESULT_TYPES)
                self._end(request.id)
                call.task = task
        if not has_begun:
            task.drop()
            raise CallCancelledError
        self._flush()
        return task

    def _listen(self, call: RunningCall) -> None:
        """Start a subscription to tasks, which are looked up in the store."""
        from gaia_mcp.server.tasks import TaskWatch

        tasks = self._tasks
        granted = tasks.subscribed(call)
        with self._lock:
            if self._running.get(call.request.id) is not call:
                return
            self._connection.subscribe(call.request, granted)
            self._end(call.request.id)
            watch = self._watch = self._watch or TaskWatch(tasks, self._announce_task)
        self._flush()
        watch.add(granted)

    def _announce_task(self, task_id: str, described: dict[str, Any]) -> bool:
        with self._lock:
            is_wanted = self._connection.announce_task(task_id, described)
            self._collect()
        self._flush()
        return is_wanted

    def _notify(self, call: RunningCall, notify: Callable[[], None]) -> None:
        with self._lock:
            # Not if the call has ended: its code may still run while another request has the same id.
            if self._running.get(call.request.id) is call:
                notify()
                self._collect()
        self._flush()
        self._pace(call)

    def _respond(self, request_id: RequestId, result: dict[str, Any]) -> ResultError | None:
        """Send the result. Returns the problem if it is invalid, in which case nothing was sent."""
        try:
            self._connection.respond(request_id, result)
        except ValueError as problem:
            return ResultError(f"an invalid result: {problem}")
        except (AttributeError, KeyError, TypeError) as problem:
            return ResultError(f"an invalid result: {raised(problem)}")
        return None

    def _end(self, request_id: RequestId) -> None:
        """Remove a request after its response."""
        self._collect()
        del self._running[request_id]
        if self._idle is not None:
            self._idle.notify_all()

    def _wait_for(self, is_over: Callable[[], bool], seconds: float) -> bool:
        with self._lock:
            self._idle = self._idle or threading.Condition(self._lock)
            return self._idle.wait_for(is_over, seconds)

    def announce(self, change: Change) -> None:
        """Notify the client of a change of the provider, if the client has subscribed to it."""
        description = self._described() if change.lists or change.description else None
        with self._lock:
            # The announcer may have copied its listeners before `close` removed this one.
            if self._is_closed:
                return
            if description is not None:
                self._connection.description = description
            for kind in change.lists:
                self._connection.announce_list_changed(kind)
            for uri in change.uris:
                self._connection.announce_resource_updated(uri)
            self._collect()
        self._flush()

    def _described(self) -> Description | None:
        """The provider's description; None, which keeps the earlier one, if `describe` raises."""
        try:
            return self._provider.describe()
        except (Exception, SystemExit) as error:  # noqa: BLE001 (an agent's own code, in a thread that has no other caller)
            self._on_failure(f"describing the server after a change raised {raised(error)}", error)
            return None

    def _collect(self) -> None:
        self._outbox.extend(self._connection.take_outgoing())

    def _flush(self) -> None:
        # Taken from the outbox and sent by one thread at a time: no message about a call may follow its response.
        if self._sender == (thread := threading.get_ident()):
            return  # Reentrant: a client in this process responded inside `send`. The loop below sends the rest.
        with self._sending:
            self._sender = thread
            try:
                while self._outbox:
                    self._send(self._outbox.popleft())
            finally:
                self._sender = None
