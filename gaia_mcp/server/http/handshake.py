"""The handshake era over HTTP: a session begins with `initialize`, and ends with DELETE or by expiring.

A POST carries messages of the client, and is answered by JSON or by an event stream. GET opens the stream for messages
that belong to no request, or resumes a broken one. A disconnect cancels no request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.protocol import ALL_VERSIONS, BATCH_VERSION, has_sessions, jsonrpc
from gaia_mcp.protocol.headers import LAST_EVENT_HEADER, SESSION_HEADER, VERSION_HEADER
from gaia_mcp.protocol.jsonrpc import Malformed, Request
from gaia_mcp.protocol.sse import write_event
from gaia_mcp.server.http.event_log import EventLog, follow, split_event_id
from gaia_mcp.server.http.exchange import Answering, Exchange
from gaia_mcp.server.http.received import Caller, Received, RefusalError, overloaded, send_body, store_failed
from gaia_mcp.server.http.session import LISTENING, MAX_ID_CHARS, Session
from gaia_mcp.server.tasks import Leases
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.http.sessions import Sessions
    from gaia_mcp.server.http.sharing import StoreThreads

# How long a client waits before it reconnects.
RETRY_MS = 1000
HAS_ENDED = "the worker that ran this request has ended; the request may have been carried out"


class Opened(NamedTuple):
    """The accepted requests of a POST: their session, the log of the stream that answers them, and how long to wait for
    a response before starting that stream.
    """

    session: Session
    log: EventLog
    patience_seconds: float


# The first bytes of a stream, and what its end calls.
Stream: TypeAlias = tuple[bytes, Callable[[], object]]


class _Answering(Answering):
    """Answers the requests of one POST. If the client disconnects, the calls continue, and their messages are added to
    the log of the session. `opened` has one member when the first message has come.
    """

    def __init__(
        self,
        keep_alive_seconds: float,
        caller: Caller,
        opened: list[Opened],
        begin_stream: Callable[[], Awaitable[Stream]],
    ) -> None:
        super().__init__(keep_alive_seconds)
        self.caller = caller
        self._opened = opened
        self._begin_stream = begin_stream

    def patience(self) -> float:
        return self._opened[0].patience_seconds

    @asynccontextmanager
    async def streaming(self) -> AsyncIterator[bytes]:
        opening, leave = await self._begin_stream()
        try:
            yield opening
        finally:
            leave()


class HandshakeEndpoint:
    """Answers the requests of sessions for one provider. `following` counts the open streams of GET."""

    def __init__(self, served: Served, sessions: Sessions, store: Store, threads: StoreThreads) -> None:
        self._served = served
        self._sessions = sessions
        self._store = store
        self._threads = threads
        self._closing = asyncio.Event()
        # Of the streams that clients can resume, also in another worker.
        self._leases: Leases[EventLog] = Leases(
            store,
            lambda: sessions.are_answering,
            lambda log: log.worker,
            lambda log: log.fail(HAS_ENDED),
            beat_seconds=served.limits.beat_seconds,
        )
        self.following = 0

    async def post(self, request: Received, message: Any, send: Send) -> None:
        """Answer the messages of a POST. Raises `RefusalError`."""
        if isinstance(message, dict) and message.get("method") == "initialize":
            await self._begin(request, message, send)
            return
        if len(parts := _parts(message)) > (limit := self._served.limits.batch):
            raise RefusalError(413, f"the batch has more than {limit} messages")
        reads = [jsonrpc.classify(part) for part in parts]
        exchange = Exchange(read.id for read in reads if isinstance(read, Request))
        opened: list[Opened] = []

        def take(session: Session | None = None) -> None:
            """Accept the messages. Without `session`, it is loaded from the store."""
            session = session or self._session(request)
            log = self._take(session, request, message, reads, exchange)
            if log is not None:
                opened.append(Opened(session, log, self._patience_seconds(request.caller)))

        if exchange.open and self._store.is_shared:
            self._look_up(request, exchange, take)
        else:
            await self._threads.run(take)
            if not opened:
                await send_body(send, 202, b"")
                return
        taken_over = partial(asyncio.get_running_loop().call_soon_threadsafe, exchange.close)
        begin_stream = partial(self._threads.run, self._begin_stream, opened, taken_over)
        answering = _Answering(self._served.limits.keep_alive_seconds, request.caller, opened, begin_stream)
        await answering.respond(exchange, request, send)

    async def get(self, request: Received, send: Send) -> None:
        """Open the stream for messages that belong to no request, or resume a stream. Raises `RefusalError`."""
        if not request.accepts("text/event-stream"):
            raise RefusalError(406, "a GET must accept text/event-stream")
        session, log, after, opening = await self._threads.run(self._opened, request)
        if self.following >= self._served.limits.streams:
            raise overloaded("too many streams are open already")
        session.followers[log.key] += 1
        self.following += 1
        leave = self._leases.follow(log) if log.worker else None
        try:
            await follow(
                log,
                after,
                request,
                send,
                opening=opening,
                threads=self._threads,
                closing=self._closing,
                keep_alive_seconds=self._served.limits.keep_alive_seconds,
                on_silence=lambda: self._renew(session, log),
            )
        except StoreError as problem:
            raise store_failed(problem) from problem
        finally:
            if leave is not None:
                leave()
            session.followers[log.key] -= 1
            if not session.followers[log.key]:
                del session.followers[log.key]
            self.following -= 1

    async def delete(self, request: Received, send: Send) -> None:
        """End a session. Raises `RefusalError`."""
        await self._threads.run(lambda: self._sessions.remove(self._session(request)))
        await send_body(send, 204, b"")

    def end_streams(self) -> None:
        """End the streams that were opened with GET."""
        self._closing.set()

    def close(self) -> None:
        """Stop renewing the lease of this worker."""
        self._leases.close()

    async def _begin(self, request: Received, message: dict[str, Any], send: Send) -> None:
        if not isinstance(read := _checked(jsonrpc.classify(message), may_initialize=True), Request):
            raise RefusalError(400, "initialize is a request, and needs an id")
        exchange = Exchange((read.id,))
        session_id = await self._threads.run(self._created, request, message, exchange)
        sent = await exchange.next(0.0)
        assert sent is not None  # noqa: S101 (the connection answers this by itself)
        headers = ((SESSION_HEADER.lower().encode(), session_id.encode()),) if session_id else ()
        await send_body(send, 200 if session_id else 400, sent.data, headers)

    def _session(self, request: Received) -> Session:
        return self._sessions.find(_session_id(request), request.caller.principal)

    def _look_up(self, request: Received, exchange: Exchange, take: Callable[[Session | None], None]) -> None:
        """Accept the requests of an exchange in the thread of the lookups, if their session is up to date here.
        Otherwise another thread loads it from the store, so that the next lookups need not wait.
        """

        def taken(session: Session | None = None) -> None:
            try:
                take(session)
            except Exception as problem:  # noqa: BLE001 (raised in the coroutine that waits for its messages)
                exchange.refuse(problem)
            else:
                exchange.go_on()

        def found(session: Session | None) -> None:
            if session is not None:
                taken(session)
            elif not self._threads.start(taken):
                exchange.refuse(_ending())

        session_id = _session_id(request)
        exchange.hold()
        if not self._sessions.look_up(session_id, request.caller.principal, found):
            raise _ending()

    def _patience_seconds(self, caller: Caller) -> float:
        if caller.scopes is not None and self._served.workers.waiting:
            # A call that waits for a thread may lack scopes: that needs status 403, and a stream begins with 200.
            return self._served.limits.keep_alive_seconds
        return self._served.limits.json_seconds

    # The methods below query the store, and run in its threads.

    def _take(
        self, session: Session, request: Received, message: Any, reads: list[Classified], exchange: Exchange
    ) -> EventLog | None:
        """Accept the messages of a POST. Returns the log of its requests, None if it has none."""
        if isinstance(message, list) and not (message and session.version == BATCH_VERSION):
            _checked(jsonrpc.classify(message))
        requests = []
        for part, read in zip(_parts(message), list(map(_checked, reads)), strict=True):
            if isinstance(read, Request):
                requests.append(part)
            else:
                self._sessions.deliver(session, part)
        if not requests:
            return None
        if len(exchange.open) < len(requests):
            raise RefusalError(400, "two requests have the same id")
        if not self._served.workers.has_room:
            raise overloaded("too many calls are waiting already", requests[0]["id"])
        log = session.open(exchange, self._leases.worker)
        try:
            for job in session.receive(requests if isinstance(message, list) else message):
                session.start(job, request, request.bytes // len(requests))
            self._sessions.save(session)
        except BaseException:
            session.drop(exchange)
            raise
        return log

    def _created(self, request: Received, message: dict[str, Any], exchange: Exchange) -> str:
        """Create a session for `initialize`. Returns its id, "" if the message was invalid. Raises `RefusalError`."""
        session = self._sessions.create(request.caller.principal)
        is_open = False
        try:
            session.open(exchange)
            session.receive(message)
            if session.version is not None:
                if len(session.dumped()) > (limit := self._served.limits.client_bytes):
                    problem = f"the capabilities and clientInfo of initialize have more than {limit} bytes"
                    raise RefusalError(413, problem, request_id=message["id"])
                self._sessions.save(session)
                is_open = True
        finally:
            if not is_open:
                self._sessions.discard(session)
        return session.id if is_open else ""

    def _begin_stream(self, opened: list[Opened], taken_over: Callable[[], object]) -> Stream:
        """The first bytes of a resumable stream, and a function that stops watching for another stream that resumes it.

        If the store fails, the stream works, but cannot be resumed.
        """
        session, log, _ = opened[0]
        try:
            self._leases.take()
            beginning = log.open()
            opening = write_event(b"", id=beginning, retry_ms=RETRY_MS) if session.can_resume else b""
            return opening, log.watch(taken_over)
        except StoreError:
            return b"", lambda: None

    def _opened(self, request: Received) -> tuple[Session, EventLog, int, bytes]:
        """The session of a GET, the log to follow, the position to begin after, and the first bytes of the stream."""
        session = self._session(request)
        log, after = session.listening, 0
        try:
            if (given := request.headers.get(LAST_EVENT_HEADER.lower())) is not None:
                found = split_event_id(given)
                log = EventLog(self._store, session.id, found[0]) if found else log
                after = found[1] if found else 0
                if found is None or not log.is_open:
                    raise RefusalError(400, f"there is no event {given!r} to continue after, or it has expired")
            if log.key == LISTENING:
                session.take_listening()
            opening = (
                write_event(b"", id=log.open() if not after else "", retry_ms=RETRY_MS) if session.can_resume else b""
            )
        except StoreError as problem:
            raise store_failed(problem) from problem
        return session, log, after, opening

    def _renew(self, session: Session, log: EventLog) -> None:
        """Keep the session and the log of an open stream from expiring."""
        with suppress(StoreError, RefusalError):
            if log.is_open and (log.key != LISTENING or session.keep_listening()):
                self._sessions.renew(session)


# A classified message, or an invalid one.
Classified: TypeAlias = jsonrpc.Request | jsonrpc.Notification | jsonrpc.Result | jsonrpc.Error | Malformed


def _parts(message: Any) -> list[Any]:
    return message if isinstance(message, list) else [message]


def _session_id(request: Received) -> str:
    """The session id of a request. Raises `RefusalError`."""
    version = request.headers.get(VERSION_HEADER.lower())
    if version is not None and not has_sessions(version):
        known = ", ".join(filter(has_sessions, ALL_VERSIONS))
        raise RefusalError(400, f"{VERSION_HEADER} is {version!r}, and of a session one of {known}")
    if (session_id := request.headers.get(SESSION_HEADER.lower())) is None:
        raise RefusalError(400, f"{SESSION_HEADER} is missing: send initialize first")
    return session_id


def _ending() -> RefusalError:
    return overloaded("this server is ending")


def _checked(
    read: Classified, *, may_initialize: bool = False
) -> jsonrpc.Request | jsonrpc.Notification | jsonrpc.Result | jsonrpc.Error:
    """The message. Raises `RefusalError` for an invalid one."""
    if isinstance(read, Malformed):
        raise RefusalError(400, f"Invalid request: {read.problem}", request_id=read.id)
    if isinstance(read, Request):
        if isinstance(read.id, str) and len(read.id) > MAX_ID_CHARS:
            raise RefusalError(400, f"the id of a request has more than {MAX_ID_CHARS} characters")
        if read.method == "initialize" and not may_initialize:
            raise RefusalError(400, "initialize must not be part of a batch", request_id=read.id)
    return read
