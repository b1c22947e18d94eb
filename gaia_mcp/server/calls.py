"""The requests of one client that a provider answers: which of them run, and what is sent about them.

Reads nothing and owns no thread: the front hands in records, runs the resulting jobs in threads of its own, and sends
the outgoing messages. So a stdio server can read as leader and followers, and an ASGI app in coroutines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.events import Cancelled, ErrorResponse, InvalidResponse, RequestReceived
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RequestId, Result
from gaia_mcp.protocol.questions import MissingCapabilityError
from gaia_mcp.server.encoding import as_json
from gaia_mcp.server.failures import OnFailure, note_failure, raised
from gaia_mcp.server.provider import Provider, RequestError, ResultError
from gaia_mcp.server.served_call import Answer, InputRequired, ServedCall
from gaia_mcp.toolcall import CallCancelledError

if TYPE_CHECKING:
    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.questions import Question
    from gaia_mcp.protocol.server import ServerConnection


class Job(NamedTuple):
    """A request that the provider has to answer, for `Calls.run`."""

    request: RequestReceived
    call: ServedCall


class Calls:
    """The calls of one client. Safe to use from several threads.

    `send` gets every outgoing message, in order and from one thread at a time; it must not raise. `provider` is the one
    that `connection` describes. `on_failure` is called for what becomes an internal error. `sealer` seals what a client
    carries from one run of a call to the next. `waiting` is entered by the thread of a call that waits for its client.
    """

    def __init__(
        self,
        connection: ServerConnection,
        provider: Provider,
        send: Callable[[Outgoing], None],
        on_failure: OnFailure = note_failure,
        sealer: Sealer | None = None,
        waiting: Callable[[ServedCall], AbstractContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        self.waiting = waiting
        self._given_sealer = sealer
        self._connection = connection
        self._provider = provider
        self._send = send
        self._on_failure = on_failure
        # Held to touch the connection, the running calls, and to add to the outbox.
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._running: dict[RequestId, ServedCall] = {}
        # The questions that clients have not answered.
        self._asked: dict[RequestId, Answer] = {}
        self._outbox: deque[Outgoing] = deque()
        # Held to send. Never waited for while `_lock` is held: sending may block.
        self._sending = threading.Lock()
        self._stop_listening = provider.on_change(self._change)

    def __len__(self) -> int:
        """How many requests have been received and neither answered nor cancelled."""
        return len(self._running)

    @cached_property
    def _sealer(self) -> Sealer:
        """The one that was given, or one for this client alone. Most calls never ask."""
        from gaia_mcp.asking.sealing import Sealer

        return self._given_sealer or Sealer()

    def receive(self, record: bytes, about: RequestId | None = None) -> list[Job]:
        """Take in one record, valid or not; the jobs to run for it.

        `about` is the request on whose own stream the record arrived, None for a channel that has one stream.
        """
        with self._lock:
            self._connection.receive(record, about)
            jobs = self._take_jobs()
        if self._outbox:
            self._flush()
        return jobs

    def run(self, job: Job) -> None:
        """Let the provider answer in this thread, and send its response. Never raises."""
        request, call = job
        result: dict[str, Any] | None = None
        error: tuple[int, str, Any] = (INTERNAL_ERROR, "cancelled", None)
        failure: BaseException | None = None
        missing: MissingCapabilityError | None = None
        try:
            call.raise_if_cancelled()
            if "requestState" in request.params:
                call.resume(self._sealer)
            result = self._provider.answer(request.method, request.params, call)
        except (CallCancelledError, InputRequired):
            pass  # If the client has not cancelled the request, this error is its response.
        except MissingCapabilityError as problem:
            missing = problem
        except RequestError as problem:
            error = (problem.code, str(problem), problem.data)
        except ResultError as problem:
            failure, error = problem, (INTERNAL_ERROR, f"{request.method} returned {problem}", None)
        except BaseException as problem:  # noqa: BLE001 (an agent's own code, which may even try to exit)
            failure, error = problem, (INTERNAL_ERROR, f"{request.method} raised {raised(problem)}", None)
        # Whatever came of this run, also where the tool has caught what was to end it.
        state = call.sealed_record(self._sealer) if call.required else ""
        with self._lock:
            # Not by its id: after a cancellation the client may have used that again.
            if not call.is_cancelled:
                if state:
                    failure = None
                    self._connection.require_input(request.id, call.required, state)
                elif missing is not None:
                    self._connection.respond_missing(request.id, missing)
                elif result is None:
                    self._connection.respond_error(request.id, *error)
                elif (failure := self._respond(request.id, result)) is not None:
                    error = (INTERNAL_ERROR, f"{request.method} returned {failure}", None)
                    self._connection.respond_error(request.id, *error)
                self._end(request.id)
        if failure is not None:
            # Before the client reads of it: it may end this process.
            self._on_failure(error[1], failure)
        self._flush()

    def refuse(self, job: Job, reason: str) -> None:
        """Answer with an internal error instead of running the job."""
        with self._lock:
            if not job.call.is_cancelled:
                self._connection.respond_error(job.request.id, INTERNAL_ERROR, reason)
                self._end(job.request.id)
        self._flush()

    def cancel(self, request_id: RequestId) -> None:
        """Cancel a request whose client waits no longer, for instance because its stream was closed."""
        with self._lock:
            self._connection.cancel(request_id)
            self._take_jobs()
        self._flush()

    def wait_until_idle(self, seconds: float) -> bool:
        """Whether every call has ended, waited for up to `seconds`."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._running, seconds)

    def close(self) -> None:
        """Cancel the calls that still run, about which nothing more is sent, and end the subscriptions."""
        self._stop_listening()
        with self._lock:
            for call in self._running.values():
                call.cancel()
            self._running.clear()
            self._idle.notify_all()
            self._connection.close()
            self._collect()
        self._flush()

    def _take_jobs(self) -> list[Job]:
        jobs = []
        for event in self._connection.take_events():
            if isinstance(event, RequestReceived):
                call = self._running[event.id] = ServedCall(self, event)
                jobs.append(Job(event, call))
            elif isinstance(event, Cancelled) and (call_of := self._running.pop(event.id, None)) is not None:
                call_of.cancel()
                if not self._running:
                    self._idle.notify_all()
            elif isinstance(event, Result):
                self._answered(event.id, event.result, None)
            elif isinstance(event, ErrorResponse):
                self._answered(event.id, None, event.text)
            elif isinstance(event, InvalidResponse):
                self._answered(event.id, None, event.problem)
        self._collect()
        return jobs

    def _answered(self, request_id: RequestId, result: dict[str, Any] | None, error: str | None) -> None:
        # The connection reports no response to what was withdrawn.
        self._asked.pop(request_id).set(result, error)

    # What a running call has its front send.

    def report_progress(self, call: ServedCall, progress: float, total: float | None, text: str) -> None:
        """Send progress of a call."""
        self._notify(call, lambda: self._connection.report_progress(call.request.id, progress, total, text))

    def log(self, call: ServedCall, level: str, data: Any) -> None:
        """Send a log message of a call."""
        request, data = call.request, as_json(data)
        logger = str(request.params.get("name", request.method))
        self._notify(call, lambda: self._connection.log(request.id, level, data, logger))

    def ask(self, call: ServedCall, questions: Mapping[str, Question]) -> dict[str, Answer] | None:
        """Send questions of a call; their answers to come. None if the result of its request has to ask them."""
        with self._lock:
            call.raise_if_cancelled()
            ids = self._connection.ask(call.request.id, questions)
            answers = None if ids is None else {name: Answer(request_id) for name, request_id in ids.items()}
            self._asked.update({answer.request_id: answer for answer in (answers or {}).values()})
            self._collect()
        self._flush()
        return answers

    def withdraw(self, answers: Sequence[Answer]) -> None:
        """Cancel those questions that have not been answered."""
        with self._lock:
            for answer in answers:
                if self._asked.pop(answer.request_id, None) is not None:
                    self._connection.abandon(answer.request_id, "the answer is not needed any more")
            self._collect()
        self._flush()

    def _notify(self, call: ServedCall, notify: Callable[[], None]) -> None:
        with self._lock:
            if not call.is_cancelled:
                notify()
                self._collect()
        self._flush()

    def _respond(self, request_id: RequestId, result: dict[str, Any]) -> ResultError | None:
        """What is wrong with the result, if it was not sent."""
        try:
            self._connection.respond(request_id, result)
        except ValueError as problem:
            return ResultError(f"an invalid result: {problem}")
        except (AttributeError, KeyError, TypeError) as problem:
            return ResultError(f"an invalid result: {raised(problem)}")
        return None

    def _end(self, request_id: RequestId) -> None:
        """The request has its response."""
        self._collect()
        del self._running[request_id]
        if not self._running:
            self._idle.notify_all()

    def _change(self, lists: tuple[str, ...]) -> None:
        description = self._provider.describe()
        with self._lock:
            self._connection.description = description
            for kind in lists:
                if kind in description.capabilities:
                    self._connection.announce_list_changed(kind)
            self._collect()
        self._flush()

    def _collect(self) -> None:
        self._outbox.extend(self._connection.take_outgoing())

    def _flush(self) -> None:
        # Taken out and sent by one thread at a time: nothing about a call may follow its response.
        with self._sending:
            while self._outbox:
                self._send(self._outbox.popleft())
