"""A conversation over a byte pipe: the pure connection, one lock, and a thread that reads.

Subclasses own the pipe: they start it, hand over what arrives, write what they are given, and end it.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from queue import Empty
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import Host
from gaia_mcp.client.identity import CLIENT_INFO
from gaia_mcp.client.transports.base import Conversation
from gaia_mcp.client.transports.child import CutError
from gaia_mcp.client.transports.exchange import Exchange, Pipe, Waiter
from gaia_mcp.client.transports.questions import Questions
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConnectError, DeadlineError, MCPError, NotConnectedError, PeerError, RemoteProtocolError
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.events import (
    Answered,
    Asked,
    Broken,
    ListChanged,
    Logged,
    Opened,
    OpeningFailed,
    Peer,
    Progressed,
    Refused,
    Strayed,
)
from gaia_mcp.protocol.jsonrpc import RequestId, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.protocol.events import Event
    from gaia_mcp.protocol.jsonrpc import Message

logger = logging.getLogger("gaia_mcp")

# The specification's SDKs wait this long for an answer to the probe. Shorter would race slow imports.
PROBE_SECONDS = 10.0
# What we send of our own accord (a cancellation, an answer to the server) must not hold anybody up for longer.
ASIDE_SECONDS = 2.0
# On Windows a Ctrl-C is noticed only between two waits.
WAIT_SLICE_SECONDS = 0.25


class WireConversation(Conversation):
    """The conversation; see `Conversation` for what it promises."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._exchange: Exchange | None = None
        self._questions = Questions(self._lock, self._send_aside)

    # What a subclass does.

    @abstractmethod
    def _why_lost(self, exchange: Exchange, stage: str) -> MCPError:
        """The error for a pipe that ended while `stage` was waited for."""

    @abstractmethod
    def _without_secrets(self, text: str) -> str:
        """What the server wrote, without the secrets that it was given."""

    # What it calls.

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
        if outgoing:
            self._send_aside(exchange, outgoing)
        for event in events:
            self._dispatch(exchange, event)

    def _pipe_ended(self, exchange: Exchange, error: MCPError) -> None:
        """Nothing more will arrive. Called again, it changes nothing: the first reason is the one that counts."""
        with self._lock:
            exchange.lost = error = exchange.lost or error
            waiters, exchange.waiters = list(exchange.waiters.values()), {}
            opening, exchange.opening = exchange.opening, None
        for waiter in waiters:
            waiter.outcomes.put(error)
        if opening is not None:
            opening.outcomes.put(error)

    def _negotiate(self, exchange: Exchange, deadline: Deadline) -> Peer:
        """Agree on a version, on a pipe that has been started."""
        connection = exchange.connection
        waiter = Waiter(deadline)
        with self._lock:
            connection.open()
            exchange.opening = waiter
            outgoing = connection.take_outgoing()
        try:
            self._send(exchange, outgoing, deadline)
            # A silent server is asked again by handshake while there is still time for the answer.
            probe = deadline.sooner(min(PROBE_SECONDS, deadline.remaining() / 2))
            outcome = self._outcome_by(exchange, probe, waiter)
            if outcome is None:
                with self._lock:
                    connection.probe_timed_out()
                    outgoing = connection.take_outgoing()
                self._send(exchange, outgoing, deadline)
                outcome = self._outcome_by(exchange, deadline, waiter)
        finally:
            exchange.opening = None
        if outcome is None:
            hint = "a first start may download a lot: allow more time with --timeout SECONDS"
            raise DeadlineError(self.name, "at its start", deadline.seconds, noise=self._noise(), hint=hint)
        if isinstance(outcome, Opened):
            self.peer = outcome.peer
            return outcome.peer
        raise outcome.error if isinstance(outcome, OpeningFailed) else self._why_lost(exchange, "at its start")

    def _noise(self) -> str:
        """What the server wrote instead of an answer, in words for an error; empty if nothing."""
        noise = self.host.noise() if self.host is not None else ""
        return f"it wrote {noise}" if noise else ""

    @property
    def is_open(self) -> bool:
        exchange = self._exchange
        return exchange is not None and exchange.is_open and self.is_connected()

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
        if isinstance(outcome, Answered):
            return {"jsonrpc": "2.0", "id": outcome.id, "result": outcome.result}
        if isinstance(outcome, Refused):
            error = {"code": outcome.code, "message": outcome.text, "data": outcome.data}
            if outcome.data is None:
                del error["data"]
            return {"jsonrpc": "2.0", "id": outcome.id, "error": error}
        raise RemoteProtocolError(self.name, f"{outcome.problem} (asked for {method})")

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        exchange = self._usable()
        with self._lock:
            exchange.connection.notify(method, params)
            outgoing = exchange.connection.take_outgoing()
        self._send(exchange, outgoing, self._default_deadline(), method)

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

    def watch_lists(self) -> None:
        exchange = self._usable()
        with self._lock:
            exchange.connection.watch_lists()
            outgoing = exchange.connection.take_outgoing()
        self._send(exchange, outgoing, self._default_deadline(), "subscriptions/listen")

    def _result(self, method: str, outcome: Answered | Refused | Broken) -> dict[str, Any]:
        if isinstance(outcome, Answered):
            return outcome.result
        if isinstance(outcome, Refused):
            raise PeerError(self.name, outcome.method, outcome.code, outcome.text, outcome.data)
        raise RemoteProtocolError(self.name, f"{outcome.problem} (asked for {method})")

    def _default_deadline(self) -> Deadline:
        return Deadline(ASIDE_SECONDS)

    def _usable(self) -> Exchange:
        exchange = self._exchange
        if exchange is None:
            raise NotConnectedError(self.name)
        if exchange.lost is not None:
            raise self._why_lost(exchange, "before it was asked to")
        return exchange

    def _call(
        self, method: str, params: dict[str, Any] | None, deadline: Deadline, on_progress: OnProgress | None
    ) -> Answered | Refused | Broken:
        name = params.get("name") if params else None
        outcome = self._ask(
            lambda connection: connection.request(method, params, progress=on_progress is not None),
            deadline,
            f"{method} {name!r}" if isinstance(name, str) else method,
            on_progress,
        )
        assert outcome is not None  # noqa: S101 (a request always has one)
        return outcome

    def _ask(
        self,
        make: Callable[[ClientConnection], RequestId | None],
        deadline: Deadline,
        stage: str,
        on_progress: OnProgress | None = None,
    ) -> Answered | Refused | Broken | None:
        """Send what `make` asks for and wait for its outcome; None if it asked for nothing."""
        exchange = self._usable()
        waiter = Waiter(deadline)
        with self._lock:
            request_id = make(exchange.connection)
            if request_id is None:
                return None
            outgoing = exchange.connection.take_outgoing()
            exchange.waiters[request_id] = waiter
        is_out = False
        try:
            self._send(exchange, outgoing, deadline, stage)
            is_out = True
            while True:
                outcome = self._outcome_by(exchange, deadline, waiter)
                if isinstance(outcome, Progressed):
                    deadline.extend()
                    if on_progress is not None:
                        on_progress(outcome)
                elif isinstance(outcome, (Answered, Refused, Broken)):
                    return outcome
                elif outcome is None:
                    raise DeadlineError(self.name, stage, deadline.seconds, noise=self._noise())
                elif isinstance(outcome, MCPError):
                    raise self._why_lost(exchange, stage)
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
            is_read = turns is not None and turns.read_here(lambda: not outcomes.empty(), deadline)
            try:
                return outcomes.get(not is_read, min(deadline.remaining(), WAIT_SLICE_SECONDS))
            except Empty:
                if deadline.expired:
                    return None

    def _abandon(self, exchange: Exchange, request_id: RequestId, *, tell: bool) -> None:
        with self._lock:
            exchange.connection.abandon(request_id, "no longer wanted")
            outgoing = exchange.connection.take_outgoing()
        if outgoing and tell:
            self._send_aside(exchange, outgoing)

    def _send(
        self,
        exchange: Exchange,
        messages: list[Message | list[Message]],
        deadline: Deadline,
        stage: str = "at its start",
    ) -> None:
        for data in [encode(message) for message in messages]:
            if exchange.lost is not None:
                raise self._why_lost(exchange, stage)
            try:
                exchange.pipe.write(data, deadline)
            except BrokenPipeError:
                raise self._why_lost(exchange, stage) from None
            except TimeoutError as problem:
                error = DeadlineError(self.name, f"{stage} (it does not read its input)", deadline.seconds)
                if isinstance(problem, CutError):
                    self._pipe_ended(exchange, error)
                raise error from None
            except BaseException:
                # Ctrl-C, and a part of the message may be out: nothing that follows could be understood.
                self._pipe_ended(
                    exchange, ConnectError(f"interrupted while writing to {self.name!r}", server=self.name)
                )
                raise

    def _send_aside(self, exchange: Exchange, messages: list[Message | list[Message]]) -> None:
        try:
            self._send(exchange, messages, Deadline(ASIDE_SECONDS))
        except MCPError:
            return  # The reading thread meets the end of the pipe by itself and tells everybody who waits.

    # What arrives.

    def _dispatch(self, exchange: Exchange, event: Event) -> None:
        if isinstance(event, (Answered, Refused, Broken, Progressed)):
            waiter = exchange.waiters.get(event.id)
            if waiter is not None:
                waiter.outcomes.put(event)
        elif isinstance(event, (Opened, OpeningFailed)):
            # Only now, when everything that opens the conversation has been written.
            exchange.is_open = isinstance(event, Opened)
            opening = exchange.opening
            if opening is not None:
                opening.outcomes.put(event)
        elif isinstance(event, Asked):
            assert self.host is not None  # noqa: S101 (_begin made it)
            self._questions.take(exchange, event, self.host)
        else:
            self._tell_host(event)

    def _tell_host(self, event: Event) -> None:
        host = self.host
        assert host is not None  # noqa: S101 (_begin made it)
        try:
            if isinstance(event, Strayed):
                host.strayed(event.problem, self._without_secrets(event.excerpt))
            elif isinstance(event, Logged):
                host.logged(event.level, event.logger, event.data)
            elif isinstance(event, ListChanged):
                host.list_changed(event.kind)
        except Exception:  # the host's own code; reading must go on, or everybody who waits would wait in vain
            logger.exception("the host of MCP server %r failed", self.name)
