"""A conversation over a byte pipe: the pure connection, one lock, and a thread that reads.

Subclasses own the pipe: they start it, hand over what arrives, write what they are given, and end it.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from contextlib import suppress
from queue import Empty
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.exchange import Exchange, Pipe, Waiter
from gaia_mcp.client.conversation.masking import masked_excerpt, masked_value
from gaia_mcp.client.conversation.sending import SendingConversation
from gaia_mcp.client.conversation.server_requests import Questions
from gaia_mcp.client.host import Host
from gaia_mcp.client.identity import CLIENT_INFO
from gaia_mcp.client.transports.stdio.outbox import ASIDE_SECONDS
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    LocalProtocolError,
    MCPError,
    PeerError,
    RemoteProtocolError,
    outcome_unknown,
)
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.events import (
    Discarded,
    ErrorResponse,
    InvalidResponse,
    ListChanged,
    Logged,
    NegotiationFailed,
    Opened,
    Peer,
    Progressed,
    RequestReceived,
    ResourceUpdated,
    SubscriptionEnded,
)
from gaia_mcp.protocol.jsonrpc import Result
from gaia_mcp.safetext import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.protocol.events import Event
    from gaia_mcp.protocol.jsonrpc import RequestId

logger = logging.getLogger("gaia_mcp")

# The specification's SDKs wait this long for an answer to the probe. Shorter would race slow imports.
PROBE_SECONDS = 10.0
# On Windows a Ctrl-C is noticed only between two waits.
WAIT_SLICE_SECONDS = 0.25


class WireConversation(SendingConversation):
    """The conversation; see `Conversation` for what it promises."""

    def __init__(self) -> None:
        super().__init__()
        self._questions = Questions(self._lock, self._send_aside)

    # What a subclass does.

    @abstractmethod
    def secrets(self) -> list[str]:
        """What the server was given and no error or log may repeat."""

    # What it calls, beside `_pipe_ended`.

    def _begin(self, pipe: Pipe, *, probe: bool) -> Exchange:
        """Start over on a fresh pipe."""
        host = self.host or Host()
        self.host = host
        connection = ClientConnection(self.name, info=CLIENT_INFO, capabilities=host.capabilities(), probe=probe)
        self._exchange = Exchange(connection, pipe)
        return self._exchange

    def _received(self, exchange: Exchange, record: bytes) -> None:
        """A record has arrived. For the reading thread."""
        with self._lock:
            exchange.connection.receive(record)
            outgoing = exchange.connection.take_outgoing()
            events = exchange.connection.take_events()
            opening = exchange.opening
        if outgoing and opening is None:
            self._send_aside(exchange, outgoing)
        elif outgoing and opening is not None:
            # What opens the conversation must be out before anything else. Only a thread that does nothing else reads
            # meanwhile, and it meets the end of the pipe by itself.
            with suppress(MCPError):
                self._send(exchange, self._encoded(outgoing), opening.deadline.sooner(ASIDE_SECONDS))
        for event in events:
            self._dispatch(exchange, event)

    def _negotiate(self, exchange: Exchange, deadline: Deadline) -> Peer:
        """Agree on a version, on a pipe that has been started."""
        connection = exchange.connection
        waiter = Waiter(deadline)
        with self._lock:
            connection.open()
            exchange.opening = waiter
            outgoing = connection.take_outgoing()
        try:
            self._send(exchange, self._encoded(outgoing), deadline)
            # A silent server is asked again by handshake while there is still time for the answer.
            probe = deadline.sooner(min(PROBE_SECONDS, deadline.remaining() / 2))
            outcome = self._outcome_by(exchange, probe, waiter)
            if outcome is None:
                with self._lock:
                    connection.probe_timed_out()
                    outgoing = connection.take_outgoing()
                self._send(exchange, self._encoded(outgoing), deadline)
                outcome = self._outcome_by(exchange, deadline, waiter)
        finally:
            exchange.opening = None
        if outcome is None:
            raise self._late(deadline, "at its start", noise=self._noise())
        if isinstance(outcome, Opened):
            self.peer = outcome.peer
            return outcome.peer
        if not isinstance(outcome, NegotiationFailed):
            raise self._why_lost(exchange, "at its start")
        error = outcome.error
        if isinstance(error, PeerError):
            raise self._refusal(error.asked, error.code, error.text, error.data)
        raise error

    def _noise(self) -> str:
        """What the server wrote instead of an answer, in words for an error; empty if nothing."""
        noise = self.host.noise() if self.host is not None else ""
        return f"it wrote {noise}" if noise else ""

    @property
    def is_open(self) -> bool:
        exchange = self._exchange
        return exchange is not None and exchange.is_open and self.is_connected()

    def is_connected(self) -> bool:
        """Whether the server runs and can still be read from."""
        exchange = self._exchange
        return exchange is not None and exchange.lost is None and exchange.pipe.is_running()

    # The conversation itself.

    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        return self._result(method, self._call(method, params, deadline, on_progress))

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        outcome = self._call(method, params, self._default_deadline(), None)
        if isinstance(outcome, Result):
            return {"jsonrpc": "2.0", "id": outcome.id, "result": outcome.result}
        if isinstance(outcome, ErrorResponse):
            error = {"code": outcome.code, "message": outcome.text, "data": outcome.data}
            if outcome.data is None:
                del error["data"]
            return {"jsonrpc": "2.0", "id": outcome.id, "error": error}
        raise self._broken(method, outcome)

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        exchange = self._usable()
        with self._lock:
            exchange.connection.notify(method, params)
            outgoing = exchange.connection.take_outgoing()
        self._send(exchange, self._encoded(outgoing, method), self._default_deadline(), method)

    def check_alive(self, deadline: Deadline) -> None:
        stage = "when asked whether it is there"
        outcome = self._ask(ClientConnection.check_alive, deadline, stage)
        if outcome is not None:
            self._result(stage, outcome)

    def want_logs(self, level: str, deadline: Deadline) -> None:
        stage = "when asked for its log"
        outcome = self._ask(lambda connection: connection.want_logs(level), deadline, stage)
        if outcome is not None:
            self._result("logging/setLevel", outcome)

    def watch_lists(self, deadline: Deadline) -> None:
        self._ask(ClientConnection.watch_lists, deadline, "subscriptions/listen")

    def subscribe(self, uri: str, deadline: Deadline) -> None:
        stage = f"resources/subscribe {uri!r}"
        outcome = self._ask(lambda connection: connection.subscribe(uri), deadline, stage)
        assert outcome is not None  # noqa: S101 (it always takes a request)
        self._result(stage, outcome)

    def unsubscribe(self, uri: str, deadline: Deadline) -> None:
        stage = f"resources/unsubscribe {uri!r}"
        outcome = self._ask(lambda connection: connection.unsubscribe(uri), deadline, stage)
        if outcome is not None:
            self._result(stage, outcome)

    def _result(self, method: str, outcome: Result | ErrorResponse | InvalidResponse) -> dict[str, Any]:
        if isinstance(outcome, Result):
            return outcome.result
        if isinstance(outcome, ErrorResponse):
            raise self._refusal(outcome.method, outcome.code, outcome.text, outcome.data)
        raise self._broken(method, outcome)

    def _refusal(self, method: str, code: int, text: str, data: Any) -> PeerError:
        secrets = self.secrets()
        return PeerError(self.name, method, code, redacted(text, secrets), masked_value(data, secrets))

    def _broken(self, method: str, outcome: InvalidResponse) -> RemoteProtocolError:
        return RemoteProtocolError(self.name, f"{redacted(outcome.problem, self.secrets())} (asked for {method})")

    def _default_deadline(self) -> Deadline:
        return Deadline(ASIDE_SECONDS)

    def _call(
        self, method: str, params: dict[str, Any] | None, deadline: Deadline, on_progress: OnProgress | None
    ) -> Result | ErrorResponse | InvalidResponse:
        name = params.get("name") if params else None
        outcome = self._ask(
            lambda connection: connection.request(method, params, progress=on_progress is not None),
            deadline,
            f"{method} {name!r}" if isinstance(name, str) else method,
            on_progress,
            str(name) if method == "tools/call" else None,
        )
        assert outcome is not None  # noqa: S101 (a request always has one)
        return outcome

    def _ask(
        self,
        make: Callable[[ClientConnection], RequestId | None],
        deadline: Deadline,
        stage: str,
        on_progress: OnProgress | None = None,
        tool: str | None = None,
    ) -> Result | ErrorResponse | InvalidResponse | None:
        """Send what `make` says and wait for the outcome; None if no answer will come. `tool` is one to call."""
        exchange = self._usable()
        if exchange.telling is not None and exchange.telling == threading.get_ident():
            raise LocalProtocolError(
                f"{stage} was asked of {self.name!r} by its own listener, without whom the answer cannot be read",
                hint="ask from a thread of its own",
                server=self.name,
            )
        waiter = Waiter(deadline)
        with self._lock:
            request_id = make(exchange.connection)
            outgoing = exchange.connection.take_outgoing()
            if request_id is not None:
                exchange.waiters[request_id] = waiter
        if request_id is None:
            self._send(exchange, self._encoded(outgoing), deadline, stage)
            return None
        is_out = False
        told: Progressed | None = None
        try:
            self._send(exchange, self._encoded(outgoing, stage, tool), deadline, stage)
            is_out = True
            while True:
                outcome = self._outcome_by(exchange, deadline, waiter)
                if isinstance(outcome, (Result, ErrorResponse, InvalidResponse)):
                    return outcome
                if isinstance(outcome, Progressed):
                    newest = waiter.progress or outcome
                    if newest is told:
                        continue  # It was told instead of an older one.
                    told = newest
                    deadline.extend()
                    if on_progress is not None:
                        on_progress(newest._replace(text=redacted(newest.text, self.secrets())))
                elif outcome is None:
                    late = self._late(deadline, stage, noise=self._noise())
                    raise self._perhaps_done(exchange, late, tool)
                elif isinstance(outcome, MCPError):
                    raise self._perhaps_done(exchange, self._why_lost(exchange, stage), tool)
        except BaseException:
            self._abandon(exchange, request_id, tell=is_out)
            raise
        finally:
            exchange.waiters.pop(request_id, None)
            if exchange.waiters and exchange.turns is not None:
                exchange.turns.call_back()

    def _outcome_by(self, exchange: Exchange, deadline: Deadline, waiter: Waiter) -> Event | MCPError | None:
        """What has come of a request; None when the deadline has passed."""
        outcomes = waiter.outcomes
        while True:
            # Whoever waits alone reads for himself; the one who opens the conversation leaves it to the thread.
            turns = exchange.turns if len(exchange.waiters) == 1 else None
            try:
                if turns is not None and turns.read_here(outcomes.qsize, deadline):
                    return outcomes.get_nowait()
                return outcomes.get(timeout=min(deadline.remaining(), WAIT_SLICE_SECONDS))
            except Empty:
                if deadline.expired:
                    return None

    def _abandon(self, exchange: Exchange, request_id: RequestId, *, tell: bool) -> None:
        with self._lock:
            exchange.connection.abandon(request_id, "no longer wanted")
            outgoing = exchange.connection.take_outgoing()
        if outgoing and tell:
            self._send_aside(exchange, outgoing)

    def _perhaps_done(self, exchange: Exchange, error: MCPError, tool: str | None) -> MCPError:
        """The same error; for a call that was out, as one that tells so."""
        # What ended the pipe for everybody is not about this call.
        return error if tool is None or error is exchange.lost else outcome_unknown(error, tool)

    # What arrives.

    def _dispatch(self, exchange: Exchange, event: Event) -> None:
        if isinstance(event, (Result, ErrorResponse, InvalidResponse, Progressed)):
            waiter = exchange.waiters.get(event.id)
            if waiter is None:
                return
            if isinstance(event, Progressed):
                waiter.progress = event
                if not waiter.outcomes.empty():
                    return  # The one who has not heard of that yet will find this instead.
            waiter.outcomes.put(event)
        elif isinstance(event, (Opened, NegotiationFailed)):
            # Only now, when everything that opens the conversation has been written.
            exchange.is_open = isinstance(event, Opened)
            opening = exchange.opening
            if opening is not None:
                opening.outcomes.put(event)
        elif isinstance(event, RequestReceived):
            assert self.host is not None  # noqa: S101 (_begin made it)
            self._questions.take(exchange, event, self.host)
        else:
            exchange.telling = threading.get_ident()
            try:
                self._tell(event)
            except Exception:  # somebody else's code; reading must go on, or everybody who waits would wait in vain
                logger.exception("the host of MCP server %r failed", self.name)
            finally:
                exchange.telling = None

    def _tell(self, event: Event) -> None:
        host, secrets = self.host, self.secrets()
        assert host is not None  # noqa: S101 (_begin made it)
        if isinstance(event, Discarded):
            host.strayed(redacted(event.problem, secrets), masked_excerpt(event.excerpt, secrets))
        elif isinstance(event, Logged):
            host.logged(event.level, redacted(event.logger, secrets), masked_value(event.data, secrets))
        elif isinstance(event, (ListChanged, ResourceUpdated, SubscriptionEnded)):
            if isinstance(event, ListChanged):
                self.list_changes.add(event.kind)
            if self.on_change is not None:
                self.on_change(event)
