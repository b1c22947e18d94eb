"""A conversation over a byte pipe: the pure connection, one lock, and a thread that reads.

Subclasses own the pipe: they start it, hand over what arrives, write what they are given, and end it.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import ASKS_A_PERSON, Host, UnsupportedError
from gaia_mcp.client.identity import CLIENT_INFO
from gaia_mcp.client.transports.base import Conversation
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import DeadlineError, MCPError, NotConnectedError, PeerError, RemoteProtocolError
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
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, RequestId, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.protocol.events import Event
    from gaia_mcp.protocol.jsonrpc import Message

# The specification's SDKs wait this long for an answer to the probe. Shorter would race slow imports.
PROBE_SECONDS = 10.0
# What we send of our own accord (a cancellation, an answer to the server) must not hold anybody up for longer.
ASIDE_SECONDS = 2.0


class _Waiter:
    """One open request: where its outcome is put, and how long it may take."""

    __slots__ = ("deadline", "outcomes")

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.outcomes: SimpleQueue[Event | MCPError] = SimpleQueue()


class WireConversation(Conversation):
    """The conversation; see `Conversation` for what it promises."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._connection: ClientConnection | None = None
        self._waiters: dict[RequestId, _Waiter] = {}
        self._opening: _Waiter | None = None
        self._lost: MCPError | None = None

    # What a subclass does.

    @abstractmethod
    def _write(self, data: bytes, deadline: Deadline) -> None:
        """Write all of it. Raises `BrokenPipeError` or `TimeoutError`."""

    @abstractmethod
    def _why_lost(self, stage: str) -> MCPError:
        """The error for a pipe that ended while `stage` was waited for."""

    @abstractmethod
    def _noise(self) -> str:
        """What the server wrote instead of an answer, in words for an error; empty if nothing."""

    # What it calls.

    def _begin(self, *, probe: bool) -> None:
        """Start over on a fresh pipe."""
        host = self.host or Host()
        self.host = host
        with self._lock:
            self._lost = None
            self._waiters = {}
            self._connection = ClientConnection(
                self.name, info=CLIENT_INFO, capabilities=host.capabilities(), probe=probe
            )

    def _received(self, record: bytes) -> None:
        """A record has arrived. For the reading thread."""
        connection = self._connection
        if connection is None:
            return
        with self._lock:
            connection.receive(record)
            outgoing = connection.take_outgoing()
            events = connection.take_events()
        if outgoing:
            self._send_aside(outgoing)
        for event in events:
            self._dispatch(event)

    def _pipe_ended(self, error: MCPError) -> None:
        """Nothing more will arrive. For the reading thread."""
        with self._lock:
            self._lost = error
            waiters, self._waiters = list(self._waiters.values()), {}
            opening = self._opening
        for waiter in waiters:
            waiter.outcomes.put(error)
        if opening is not None:
            opening.outcomes.put(error)

    def _negotiate(self, deadline: Deadline) -> Peer:
        """Agree on a version, on a pipe that has been started."""
        connection = self._connection
        assert connection is not None  # noqa: S101 (_begin made it)
        waiter = _Waiter(deadline)
        with self._lock:
            self._opening = waiter
            connection.open()
            outgoing = connection.take_outgoing()
            if self._lost is not None:
                waiter.outcomes.put(self._lost)
        try:
            self._send(outgoing, deadline)
            # A silent server is asked again by handshake while there is still time for the answer.
            probe = deadline.sooner(min(PROBE_SECONDS, deadline.remaining() / 2))
            outcome = self._outcome_by(probe, waiter)
            if outcome is None:
                with self._lock:
                    connection.probe_timed_out()
                    outgoing = connection.take_outgoing()
                self._send(outgoing, deadline)
                outcome = self._outcome_by(deadline, waiter)
        finally:
            self._opening = None
        if outcome is None:
            hint = "a first start may download a lot: allow more time with --timeout SECONDS"
            raise DeadlineError(self.name, "at its start", deadline.seconds, noise=self._noise(), hint=hint)
        if isinstance(outcome, Opened):
            self.peer = outcome.peer
            return outcome.peer
        raise outcome.error if isinstance(outcome, OpeningFailed) else self._why_lost("at its start")

    # The conversation itself.

    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        outcome = self._call(method, params, deadline, on_progress)
        if isinstance(outcome, Answered):
            return outcome.result
        if isinstance(outcome, Refused):
            raise PeerError(self.name, method, outcome.code, outcome.text, outcome.data)
        raise RemoteProtocolError(self.name, f"{outcome.problem} (asked for {method})")

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
        connection = self._usable()
        with self._lock:
            connection.notify(method, params)
            outgoing = connection.take_outgoing()
        self._send(outgoing, self._default_deadline())

    def check_alive(self, deadline: Deadline) -> None:
        outcome = self._ask(ClientConnection.check_alive, deadline, "when asked whether it is there")
        if isinstance(outcome, Refused):
            raise PeerError(self.name, outcome.method, outcome.code, outcome.text, outcome.data)

    def want_logs(self, level: str, deadline: Deadline) -> None:
        self._ask(lambda connection: connection.want_logs(level), deadline, "when asked for its log")

    def watch_lists(self) -> None:
        connection = self._usable()
        with self._lock:
            connection.watch_lists()
            outgoing = connection.take_outgoing()
        self._send(outgoing, self._default_deadline())

    def _default_deadline(self) -> Deadline:
        return Deadline(ASIDE_SECONDS)

    def _usable(self) -> ClientConnection:
        if self._lost is not None:
            raise self._lost
        if self._connection is None:
            raise NotConnectedError(self.name)
        return self._connection

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
        connection = self._usable()
        waiter = _Waiter(deadline)
        with self._lock:
            request_id = make(connection)
            if request_id is None:
                return None
            # Before anything leaves: another thread may send our request along with its own.
            self._waiters[request_id] = waiter
            outgoing = connection.take_outgoing()
        try:
            if self._lost is not None:
                raise self._lost
            self._send(outgoing, deadline, stage)
            while True:
                outcome = self._outcome_by(deadline, waiter)
                if isinstance(outcome, Progressed):
                    deadline.extend()
                    if on_progress is not None:
                        on_progress(outcome)
                elif isinstance(outcome, (Answered, Refused, Broken)):
                    return outcome
                elif outcome is None:
                    raise DeadlineError(self.name, stage, deadline.seconds, noise=self._noise())
                elif isinstance(outcome, MCPError):
                    raise self._why_lost(stage)
        except BaseException:
            self._abandon(connection, request_id)
            raise
        finally:
            self._waiters.pop(request_id, None)

    @staticmethod
    def _outcome_by(deadline: Deadline, waiter: _Waiter) -> Event | MCPError | None:
        while True:
            try:
                return waiter.outcomes.get(timeout=deadline.remaining())
            except Empty:
                if deadline.expired:
                    return None

    def _abandon(self, connection: ClientConnection, request_id: RequestId) -> None:
        with self._lock:
            connection.abandon(request_id, "no longer wanted")
            outgoing = connection.take_outgoing()
        if outgoing and self._lost is None:
            self._send_aside(outgoing)

    def _send(self, messages: list[Message | list[Message]], deadline: Deadline, stage: str = "at its start") -> None:
        for message in messages:
            try:
                self._write(encode(message), deadline)
            except BrokenPipeError:
                raise self._why_lost(stage) from None
            except TimeoutError:
                # Half a message may be out: nothing that follows could be understood.
                error = DeadlineError(self.name, f"{stage} (it does not read its input)", deadline.seconds)
                self._pipe_ended(error)
                raise error from None

    def _send_aside(self, messages: list[Message | list[Message]]) -> None:
        try:
            self._send(messages, Deadline(ASIDE_SECONDS))
        except MCPError:
            return  # The reading thread meets the end of the pipe by itself and tells everybody who waits.

    # What arrives.

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, (Answered, Refused, Broken, Progressed)):
            waiter = self._waiters.get(event.id)
            if waiter is not None:
                waiter.outcomes.put(event)
        elif isinstance(event, (Opened, OpeningFailed)):
            if self._opening is not None:
                self._opening.outcomes.put(event)
        elif isinstance(event, Asked):
            # In a thread of its own: a person may take long, and reading must go on.
            threading.Thread(target=self._answer, args=(event,), name=f"{self.name} asks", daemon=True).start()
        elif self.host is not None:
            if isinstance(event, Strayed):
                self.host.strayed(event.problem, event.excerpt)
            elif isinstance(event, Logged):
                self.host.logged(event.level, event.logger, event.data)
            elif isinstance(event, ListChanged):
                self.host.list_changed(event.kind)

    def _answer(self, asked: Asked) -> None:
        connection, host = self._connection, self.host
        if connection is None or host is None:
            return
        answer: dict[str, Any] | None = None
        code, text = 0, ""
        held = [waiter.deadline for waiter in list(self._waiters.values())] if asked.method in ASKS_A_PERSON else []
        for deadline in held:
            deadline.hold()
        try:
            answer = host.answer(asked.method, asked.params)
        except UnsupportedError:
            code, text = METHOD_NOT_FOUND, f"Method not found: {asked.method}"
        except Exception as error:  # noqa: BLE001 (the host's own code; the server must hear something)
            code, text = INTERNAL_ERROR, f"{type(error).__name__} in the client"
        finally:
            for deadline in held:
                deadline.release()
        with self._lock:
            if answer is None:
                connection.refuse(asked.id, code, text)
            else:
                connection.respond(asked.id, answer)
            outgoing = connection.take_outgoing()
        self._send_aside(outgoing)
