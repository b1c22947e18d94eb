"""The requests of one client that a provider answers: which of them run, and what is sent about them.

Reads nothing and owns no thread: the front hands in records, runs the resulting jobs in threads of its own, and sends
the outgoing messages. So a stdio server can read as leader and followers, and an ASGI app in coroutines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.events import Cancelled, RequestReceived
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RequestId
from gaia_mcp.server.encoding import as_json
from gaia_mcp.server.failures import OnFailure, note_failure, raised
from gaia_mcp.server.provider import Provider, RequestError, ResultError
from gaia_mcp.toolcall import CallCancelledError, ToolCall

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.server import ServerConnection


class Job(NamedTuple):
    """A request that the provider has to answer, for `Calls.run`."""

    request: RequestReceived
    call: ToolCall


class Calls:
    """The calls of one client. Safe to use from several threads.

    `send` gets every outgoing message, in order and from one thread at a time; it must not raise. `provider` is the one
    that `connection` describes. `on_failure` is called for what becomes an internal error.
    """

    def __init__(
        self,
        connection: ServerConnection,
        provider: Provider,
        send: Callable[[Outgoing], None],
        on_failure: OnFailure = note_failure,
    ) -> None:
        self._connection = connection
        self._provider = provider
        self._send = send
        self._on_failure = on_failure
        # Held to touch the connection, the running calls, and to add to the outbox.
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._running: dict[RequestId, ToolCall] = {}
        self._outbox: deque[Outgoing] = deque()
        # Held to send. Never waited for while `_lock` is held: sending may block.
        self._sending = threading.Lock()
        self._stop_listening = provider.on_change(self._change)

    def __len__(self) -> int:
        """How many requests have been received and neither answered nor cancelled."""
        return len(self._running)

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
        try:
            call.raise_if_cancelled()
            result = self._provider.answer(request.method, request.params, call)
        except CallCancelledError:
            pass  # If the client has not cancelled the request, this error is its response.
        except RequestError as problem:
            error = (problem.code, str(problem), problem.data)
        except ResultError as problem:
            failure, error = problem, (INTERNAL_ERROR, f"{request.method} returned {problem}", None)
        except BaseException as problem:  # noqa: BLE001 (an agent's own code, which may even try to exit)
            failure, error = problem, (INTERNAL_ERROR, f"{request.method} raised {raised(problem)}", None)
        with self._lock:
            # Not by its id: after a cancellation the client may have used that again.
            if not call.is_cancelled:
                if result is not None and (failure := self._respond(request.id, result)) is not None:
                    result, error = None, (INTERNAL_ERROR, f"{request.method} returned {failure}", None)
                if result is None:
                    self._connection.respond_error(request.id, *error)
                self._collect()
                del self._running[request.id]
                if not self._running:
                    self._idle.notify_all()
        if failure is not None:
            # Before the client reads of it: it may end this process.
            self._on_failure(error[1], failure)
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
                call = self._running[event.id] = self._new_call(event)
                jobs.append(Job(event, call))
            elif isinstance(event, Cancelled) and (call_of := self._running.pop(event.id, None)) is not None:
                call_of.cancel()
                if not self._running:
                    self._idle.notify_all()
        self._collect()
        return jobs

    def _new_call(self, request: RequestReceived) -> ToolCall:
        def on_progress(progress: float, total: float | None, text: str) -> None:
            self._notify(call, lambda: self._connection.report_progress(request.id, progress, total, text))

        def on_log(level: str, data: Any) -> None:
            data, logger = as_json(data), str(request.params.get("name", request.method))
            self._notify(call, lambda: self._connection.log(request.id, level, data, logger))

        call = ToolCall(on_progress, on_log)
        return call

    def _notify(self, call: ToolCall, notify: Callable[[], None]) -> None:
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
