"""The conversation with one server over one channel: negotiation, requests, what their outcomes mean, and the call that
its server continues as a task, polled until its state is final and cancelled if the caller gives up.

It knows no transport. `dispatcher` passes messages between the channel and the callers, and answers the server's
requests; `engine` opens conversations and replaces lost ones; `observation` is what a program learns of requests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, final

from gaia_mcp._version import __version__
from gaia_mcp.client.conversation.dispatcher import GARBLED_SECONDS, Dispatcher, RequestFailed, Waiter
from gaia_mcp.client.transports.base import Channel, OnChange, OnProgress, time_ran_out
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CancelledError,
    MCPError,
    NotSupportedError,
    PeerError,
    RemoteProtocolError,
    outcome_unknown,
)
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.events import (
    ErrorResponse,
    Event,
    Garbled,
    InvalidResponse,
    NegotiationFailed,
    Opened,
    Peer,
    Progressed,
)
from gaia_mcp.protocol.jsonrpc import RequestId, Result
from gaia_mcp.protocol.tasks import EXTENSIONS, SHORTEST_POLL_SECONDS, TASK_RESULT_TYPES, Task, read_task

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.pipelining import Complete, Pipeline
    from gaia_mcp.client.host import Host

    Answers = Callable[[dict[str, dict[str, Any]]], dict[str, Any]]

Outcome: TypeAlias = Result | ErrorResponse | InvalidResponse
# Our `Implementation`.
CLIENT_INFO = {"name": "gaia-mcp", "title": "GAIA MCP", "version": __version__}
# The specification's SDKs wait this long for a response to the probe. Shorter would race slow imports.
PROBE_SECONDS = 10.0
# A server acknowledges a cancellation at once. One that does not must not delay a caller that has given up.
CANCEL_SECONDS = 1.0


@final
class Conversation:
    """One conversation, over a `channel` of its own, from its start to its end.

    `host` answers the server's requests; `on_change` is called with the changes that the server announces, on the
    thread that reads, so it must not send requests. `probe=False` sends `initialize` first; `revision`, if given, is
    the only acceptable one. With `debug` every message is logged. All methods may be called from several threads.
    """

    def __init__(
        self,
        channel: Channel,
        host: Host,
        *,
        probe: bool = True,
        revision: str | None = None,
        on_change: OnChange = lambda _: None,
        debug: bool = False,
    ) -> None:
        # Whether `close` has ended it. Other threads may look at it.
        self.is_closed = False
        self._channel = channel
        self._name = channel.name
        capabilities = {**(host.capabilities() if channel.listens else {}), "extensions": dict(EXTENSIONS)}
        self._connection = ClientConnection(
            self._name,
            info=CLIENT_INFO,
            capabilities=capabilities,
            probe=probe,
            revision=revision,
            result_types=TASK_RESULT_TYPES,
        )
        self._dispatcher = Dispatcher(channel, self._connection, host, on_change, debug=debug)

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself; None before the negotiation."""
        peer, dialect = self._connection.peer, self._channel.dialect
        return peer._replace(era=dialect) if peer is not None and dialect else peer

    @property
    def may_have_ended_on_probe(self) -> bool:
        """Whether the server has read the probe, as far as is known, and has not responded: it may be one that exits on
        a probe. A server that exited before reading it would exit again.
        """
        is_probed = self._connection.is_probing and self._connection.may_prefer_handshake
        return is_probed and not self._channel.is_unread()

    @property
    def is_open(self) -> bool:
        """Whether a version has been agreed on, so that any request may be sent."""
        dispatcher = self._dispatcher
        return dispatcher.is_open and dispatcher.lost is None and not self.is_closed and self._channel.is_running()

    def is_connected(self) -> bool:
        """Whether the connection is open."""
        return self._dispatcher.lost is None and self._channel.is_running()

    def start(self, deadline: Deadline, *, is_negotiated: bool = False) -> None:
        """Start the channel, without sending anything. `is_negotiated` means that requests may be sent at once.

        Raises `ConnectError` or `DeadlineError`.
        """
        self._dispatcher.is_open = is_negotiated
        self._channel.start(self._dispatcher, deadline)

    def negotiate(self, deadline: Deadline) -> Peer:
        """Agree on a version, on a channel that has been started.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`. `DeadlineError` is raised before `deadline` has
        passed if the server has read the probe and `initialize` without responding: a new process may respond if it is
        not probed.
        """
        dispatcher, waiter = self._dispatcher, Waiter(self._channel, deadline)
        dispatcher.opening = waiter
        deadline.on_cancel(waiter.wake)
        try:
            dispatcher.send(dispatcher.apply(ClientConnection.open)[1], deadline)
            # A silent server is sent `initialize` while there is still time for the response.
            probe = deadline.sooner(min(PROBE_SECONDS, deadline.remaining() / 2))
            outcome = self._channel.wait(waiter.outcomes, None, probe)
            if outcome is None:
                dispatcher.send(dispatcher.apply(ClientConnection.probe_timed_out)[1], deadline)
                outcome = self._wait_for_mute(waiter) or self._channel.wait(waiter.outcomes, None, deadline)
        finally:
            dispatcher.opening = None
            deadline.forget(waiter.wake)
        if isinstance(outcome, Opened) and (peer := self.peer) is not None:
            return peer
        if outcome is None:
            # A program that writes other output to stdout is usually not slow, but not an MCP server.
            case = "not-mcp" if dispatcher.noise() else self._channel.silence_case
            raise time_ran_out(self._name, deadline, "at its start", noise=self._noise(), case=case)
        if isinstance(outcome, RequestFailed):
            raise outcome.error
        if not isinstance(outcome, NegotiationFailed):
            assert isinstance(outcome, MCPError)  # noqa: S101 (nothing else ends a negotiation)
            raise dispatcher.why_lost("at its start") if dispatcher.lost is not None else outcome
        error = outcome.error
        if isinstance(error, PeerError):
            raise self._refusal(error.asked, error.code, error.text, error.data)
        raise error

    def _wait_for_mute(self, waiter: Waiter) -> Event | MCPError | RequestFailed | None:
        """The outcome of the negotiation. None if there is none within half of the remaining time, although the server
        may only be slow. Raises `DeadlineError` if it has read everything and does not respond.
        """
        if not self._connection.may_prefer_handshake:
            return None
        deadline = waiter.deadline
        outcome = self._channel.wait(waiter.outcomes, None, deadline.sooner(deadline.remaining() / 2))
        # An installer that runs before the server does not read the server's input, and must not be stopped.
        if outcome is None and self._channel.is_drained():
            raise time_ran_out(self._name, deadline, "at its start", noise=self._noise())
        return outcome

    def close(self, grace_seconds: float | None) -> None:
        """End it. May be called twice; never raises."""
        self._channel.close(grace_seconds)
        self.is_closed = True

    # Requests.

    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result.

        Raises `PeerError` for an error response, `RemoteProtocolError` for an invalid one, `DeadlineError` when time
        ran out (the request is cancelled then), `ConnectError` when the connection ended meanwhile.
        """
        return self._result(method, self._call(method, params, deadline, on_progress))

    def send_request(self, method: str, params: dict[str, Any] | None, deadline: Deadline) -> dict[str, Any]:
        """Send a request and return the whole response, even an error. Otherwise raises as `request` does."""
        outcome = self._call(method, params, deadline, None)
        if isinstance(outcome, Result):
            return jsonrpc.result(outcome.id, outcome.result)
        return jsonrpc.error(outcome.id, outcome.code, outcome.text, outcome.data)

    def pipeline(
        self,
        method: str,
        params: dict[str, Any],
        at_once: int,
        new_deadline: Callable[[], Deadline],
        complete: Complete,
    ) -> Pipeline | None:
        """The same request many times, `at_once` of them, by one thread, as `Pipeline` says; None on a channel that
        needs a thread for each.
        """
        self._channel.expect_many(at_once)
        if not self._channel.has_one_stream:
            return None
        from gaia_mcp.client.conversation.pipelining import Pipeline

        def refusal(response: ErrorResponse) -> PeerError:
            return self._refusal(method, response.code, response.text, response.data)

        return Pipeline(self._dispatcher, self._channel, method, params, new_deadline, complete, refusal, self._invalid)

    def send_notification(self, method: str, params: dict[str, Any] | None, deadline: Deadline) -> None:
        """Send a notification. Raises as `request` does."""
        self._dispatcher.check_usable(deadline, method)
        _, outgoing = self._dispatcher.apply(lambda connection: connection.notify(method, params))
        self._dispatcher.send(outgoing, deadline, method)

    def check_alive(self, deadline: Deadline) -> None:
        """Send the cheapest request that every server must respond to. Raises as `request` does."""
        self._settle(ClientConnection.check_alive, deadline, "a ping")

    def want_logs(self, level: str, deadline: Deadline) -> None:
        """Request log messages of `level` and above, if the server declares logging. Raises as `request` does."""
        self._settle(lambda connection: connection.want_logs(level), deadline, "the request for its log messages")

    def watch_lists(self, deadline: Deadline) -> None:
        """Subscribe to changes of lists, where the server declares `listChanged`. Raises as `request` does."""
        self._settle(ClientConnection.watch_lists, deadline, "subscriptions/listen")

    def subscribe(self, uri: str, deadline: Deadline) -> None:
        """Subscribe to a resource: once this returns, `on_change` is called for every change. Raises as `request` does,
        and `NotSupportedError` on a channel that carries responses only.
        """
        if not self._channel.listens:
            raise NotSupportedError(self._name, "subscriptions")
        self._settle(lambda connection: connection.subscribe(uri), deadline, f"resources/subscribe {uri!r}")

    def unsubscribe(self, uri: str, deadline: Deadline) -> None:
        """End a subscription. Raises as `subscribe` does."""
        if not self._channel.listens:
            raise NotSupportedError(self._name, "subscriptions")
        self._settle(lambda connection: connection.unsubscribe(uri), deadline, f"resources/unsubscribe {uri!r}")

    def _settle(self, make: Callable[[ClientConnection], RequestId | None], deadline: Deadline, stage: str) -> None:
        """Send the request that `make` creates, if any, and wait for its success."""
        outcome = self._ask(make, deadline, stage)
        if outcome is not None:
            self._result(stage, outcome)

    def _call(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        on_progress: OnProgress | None,
        *,
        is_in_trace: bool = False,
    ) -> Result | ErrorResponse:
        # Most programs have no trace, and load nothing for it.
        if not is_in_trace and ("gaia_mcp.core.tracing" in sys.modules or "opentelemetry.trace" in sys.modules):
            from gaia_mcp.client.conversation.observation import traced_call

            def call(params: dict[str, Any] | None) -> Result | ErrorResponse:
                return self._call(method, params, deadline, on_progress, is_in_trace=True)

            return traced_call(call, method, params, self._attributes, self._channel.masker().text)
        name = params.get("name") if params else None
        tool = str(name) if method == "tools/call" else None
        if not self._channel.listens:
            on_progress = None
        outcome = self._ask(
            lambda connection: connection.request(method, params, progress=on_progress is not None),
            deadline,
            f"{method} {name!r}" if isinstance(name, str) else method,
            on_progress,
            tool,
        )
        assert outcome is not None  # noqa: S101 (a request always has one)
        if isinstance(outcome, InvalidResponse):
            raise outcome_unknown(self._invalid(method, outcome), tool)
        return outcome

    def _attributes(self) -> dict[str, str | int]:
        """The attributes of a span that describe the server."""
        peer = self.peer
        return {**self._channel.attributes(), **({"mcp.protocol.version": peer.version} if peer is not None else {})}

    def _ask(
        self,
        make: Callable[[ClientConnection], RequestId | None],
        deadline: Deadline,
        stage: str,
        on_progress: OnProgress | None = None,
        tool: str | None = None,
    ) -> Outcome | None:
        """Send the request that `make` creates and wait for the outcome; None if it gets no response. `tool` is the
        tool of a call.
        """
        dispatcher = self._dispatcher
        dispatcher.check_usable(deadline, stage)
        waiter = Waiter(self._channel, deadline)
        request_id, outgoing = dispatcher.apply(make, waiter)
        if request_id is None:
            dispatcher.send(outgoing, deadline, stage)
            return None
        is_out = False
        reported: Progressed | None = None
        garbled: Garbled | None = None
        limit = deadline
        deadline.on_cancel(waiter.wake)
        try:
            dispatcher.send(outgoing, deadline, stage, tool, awaited=request_id)
            is_out = True
            while True:
                outcome = self._channel.wait(waiter.outcomes, request_id, limit)
                if isinstance(outcome, (Result, ErrorResponse, InvalidResponse)):
                    return outcome
                if isinstance(outcome, Garbled):
                    if garbled is None:
                        garbled, limit = outcome, deadline.sooner(GARBLED_SECONDS)
                    continue
                if isinstance(outcome, Progressed):
                    garbled, limit = None, deadline  # The response is still to come.
                    newest = waiter.newest_progress() or outcome
                    if newest is reported:
                        continue  # It was already reported, in place of an older one.
                    reported = newest
                    deadline.extend()
                    if not deadline.expired or not waiter.outcomes.empty():
                        if on_progress is not None:
                            on_progress(newest._replace(text=self._channel.masker().text(newest.text)))
                        continue
                    # A server that reports progress without a pause must not keep us from checking the deadline.
                    outcome = None
                if outcome is None and garbled is not None and not deadline.expired:
                    shown = self._channel.masker().excerpt(garbled.excerpt)
                    problem = f"answered {stage} with a line that is not valid JSON: {shown!r}"
                    raise outcome_unknown(RemoteProtocolError(self._name, problem), tool)
                if outcome is None:
                    raise outcome_unknown(time_ran_out(self._name, deadline, stage, noise=self._noise()), tool)
                if isinstance(outcome, RequestFailed):
                    raise outcome_unknown(outcome.error, tool)
                raise outcome_unknown(dispatcher.why_lost(stage), tool)
        except BaseException:
            dispatcher.abandon(request_id, tell=is_out)
            raise
        finally:
            deadline.forget(waiter.wake)
            dispatcher.waiters.pop(request_id, None)

    @property
    def lists_tools(self) -> bool:
        """As `Channel.lists_tools`."""
        return self._channel.lists_tools

    def tools_left_out(self) -> dict[str, str]:
        """The tools that the channel removed from the last list, with the reasons, without secrets."""
        masker = self._channel.masker
        return {name: masker().text(reason) for name, reason in self._channel.tools_left_out().items()}

    # Errors.

    def _noise(self) -> str:
        """What is known about a server that did not respond, for an error; empty if nothing is known."""
        return "; ".join(filter(None, [self._dispatcher.noise(), self._channel.noise()]))

    def _result(self, stage: str, outcome: Outcome) -> dict[str, Any]:
        if isinstance(outcome, Result):
            return outcome.result
        if isinstance(outcome, ErrorResponse):
            raise self._refusal(outcome.method, outcome.code, outcome.text, outcome.data)
        raise self._invalid(stage, outcome)

    def _refusal(self, method: str, code: int, text: str, data: Any) -> PeerError:
        masker = self._channel.masker()
        return PeerError(self._name, method, code, masker.text(text), masker.value(data))

    def _invalid(self, stage: str, outcome: InvalidResponse) -> RemoteProtocolError:
        masker = self._channel.masker()
        problem = f"{masker.text(outcome.problem)} (asked for {stage})"
        if outcome.excerpt:
            problem += f": {masker.excerpt(outcome.excerpt)!r}"
        return RemoteProtocolError(self._name, problem)


class TaskOfCall:
    """The task that `server` created for a call of `tool`, as `created` describes it. It is polled on `conversation`:
    on another connection it would be unknown.

    Raises `RemoteProtocolError` for an invalid description.
    """

    def __init__(self, server: str, tool: str, conversation: Conversation, created: dict[str, Any]) -> None:
        self._server = server
        self._tool = tool
        self._conversation = conversation
        self._task = self._read(created)
        # Each input request is answered once, even if the server still lists it as open.
        self._answered: set[str] = set()

    def result(self, deadline: Deadline, answers: Answers, on_progress: OnProgress | None) -> dict[str, Any]:
        """The result of the call, once the task is completed. Each response to a poll extends the deadline.

        `answers` returns the responses to input requests; `on_progress` gets the server's status messages. Raises as a
        request does, `PeerError` for a failed task, and `CancelledError` for one that the server has cancelled. If the
        wait ends in any other way, the task is cancelled.
        """
        try:
            reports = 0
            while True:
                self._pause(deadline)
                before, self._task = self._task, self._read(self._ask("tasks/get", deadline))
                deadline.extend()
                if self._task.is_final:
                    break
                if on_progress is not None and self._task.message not in ("", before.message if reports else ""):
                    reports += 1
                    on_progress(Progressed(self._task.id, reports, None, self._task.message))
                self._answer(deadline, answers)
        except BaseException as error:
            with suppress(MCPError):
                self._ask("tasks/cancel", Deadline(CANCEL_SECONDS))
            if isinstance(error, MCPError):
                raise outcome_unknown(error, self._tool) from None
            raise
        return self._task.result if self._task.status == "completed" else self._raise_failure()

    def _pause(self, deadline: Deadline) -> None:
        """Wait until the next poll; raises if the deadline has passed."""
        # The task is polled before the deadline, however long the poll interval of the server.
        deadline.sleep(min(self._task.poll_seconds, max(deadline.remaining() / 2, SHORTEST_POLL_SECONDS)))
        if deadline.expired:
            raise time_ran_out(self._server, deadline, f"the task of {self._tool!r}")

    def _answer(self, deadline: Deadline, answers: Answers) -> None:
        wanted = {key: request for key, request in self._task.requests.items() if key not in self._answered}
        if wanted:
            self._answered.update(wanted)
            self._ask("tasks/update", deadline, inputResponses=answers(wanted))

    def _ask(self, method: str, deadline: Deadline, **params: Any) -> dict[str, Any]:
        return self._conversation.request(method, {"taskId": self._task.id, **params}, deadline)

    def _read(self, described: dict[str, Any]) -> Task:
        task = read_task(described)
        if isinstance(task, str):
            raise outcome_unknown(RemoteProtocolError(self._server, task), self._tool)
        return task

    def _raise_failure(self) -> NoReturn:
        if self._task.status == "cancelled":
            raise outcome_unknown(CancelledError(self._server, f"the task of {self._tool!r}"), self._tool)
        raise PeerError(self._server, f"tools/call {self._tool!r}", *self._task.error)
