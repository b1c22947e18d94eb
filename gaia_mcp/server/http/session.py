"""One handshake session as it lives in this worker: its connection, its running calls, and the streams of its POSTs.

What another worker needs to go on with the session is in the store: what its client sent that holds for all that
follows, which a new connection receives again, and the logs of its streams.
"""

from __future__ import annotations

import json
import secrets
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import is_id
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.encoding import encode_outgoing
from gaia_mcp.server.http.event_log import KEPT_SECONDS, EventLog
from gaia_mcp.server.http.exchange import Exchange, sent_of
from gaia_mcp.server.http.refusals import RefusalError
from gaia_mcp.server.provider import LISTS, Change
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.server.http.received import Received
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.outcomes import Job
    from gaia_mcp.server.served_call import ServedCall
    from gaia_mcp.store import Store

# The stream that belongs to no request, which a client opens with GET.
LISTENING = "0"
# The first revision whose clients read an event without data, from which they can resume.
_PRIMING_VERSION = "2025-11-25"
# What a client sends once and holds for all that follows. Of each the last counts; of these two, for each resource.
_LASTING = ("initialize", "notifications/initialized", "logging/setLevel")
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
# The requests of a session's workers are numbered apart: each worker has so many numbers, from a random place on. All
# of them are numbers that every JSON reader knows exactly.
_NUMBER_BITS, _PLACE_BITS = 20, 32


class _Open(NamedTuple):
    """A POST that is being answered: where its messages go, and the log that they are kept in once it is a stream."""

    exchange: Exchange
    log: EventLog


class Session:
    """A session of `principal`. Messages may be handed in from any thread.

    `saved` is what the store has of it, as far as is known, and `listeners` counts the clients that follow `listening`.
    """

    def __init__(self, session_id: str, served: Served, store: Store, principal: str | None) -> None:
        self.id = session_id
        self.principal = principal
        self.saved = b""
        self.listening = EventLog(store, session_id, LISTENING)
        self.listeners = 0
        self._served = served
        self._store = store
        # Held to touch what follows, and to hand in messages that last.
        self._lock = threading.RLock()
        # What another worker's connection has to receive to know what this one knows, and what of it is saved, and how
        # often it has been.
        self._lasting: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._revision = 0
        self._open: dict[RequestId, _Open] = {}
        # The request in whose stream each of our own requests went out.
        self._asked: dict[RequestId, RequestId] = {}
        self._place = secrets.randbits(_PLACE_BITS) + 1
        # What this worker is known by, in the entry of the one that adds to `listening`.
        self._name = b"%d" % self._place
        self._listener = f"{self.listening.name}:listener"
        self._connection = ServerConnection(served.describe(), (self._place << _NUMBER_BITS) + 1)
        self._calls = served.calls(self._connection, self._send, self._pace, self._close_stream)

    @classmethod
    def loaded(cls, session_id: str, served: Served, store: Store, saved: bytes) -> Session:
        """The session that `dumped` has described."""
        session = cls(session_id, served, store, json.loads(saved)["principal"])
        session.catch_up(saved)
        return session

    def catch_up(self, saved: bytes) -> None:
        """Learn what another worker has saved since. What was received here and is not saved yet stays."""
        with self._lock:
            theirs, revision = _by_key(saved), json.loads(saved)["revision"]
            if revision <= self._revision:
                return  # Another thread has read a later one meanwhile.
            for key, message in theirs.items():
                if message != self._known.get(key) and message != self._lasting.get(key):
                    # A response to it is about a request that no stream is open for, and goes nowhere.
                    self.receive(message)
            for key in self._known.keys() - theirs.keys():
                # Of what lasts, only subscriptions end.
                self.receive({**self._known[key], "method": _UNSUBSCRIBE})
            self.saved, self._known, self._revision = saved, theirs, revision

    def has_saved(self, state: bytes) -> None:
        """The store has this now, which `dumped` has returned."""
        with self._lock:
            self.saved, self._known, self._revision = state, _by_key(state), self._revision + 1

    def dumped(self) -> bytes:
        """What another worker has to know of it; `saved`, if it knows that already."""
        with self._lock:
            if self._lasting == self._known:
                return self.saved
            state = {
                "principal": self.principal,
                "revision": self._revision + 1,
                "messages": list(self._lasting.values()),
            }
        return json.dumps(state).encode("ascii")

    @property
    def version(self) -> str | None:
        """The revision that was agreed on; None if it was not."""
        return self._connection.version

    @property
    def can_resume(self) -> bool:
        """Whether its client can come back for a stream that has sent it no message."""
        return self.version == _PRIMING_VERSION

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered, nor a client listens."""
        return not self._open and not len(self._calls) and not self.listeners

    def is_open(self, request_id: RequestId) -> bool:
        """Whether a request with this id is being answered."""
        return request_id in self._open or self._calls.is_running(request_id)

    def open(self, exchange: Exchange) -> EventLog:
        """Expect the responses to the requests of an exchange; the log that is kept of it once it is a stream.

        Raises `RefusalError` if an id is that of a request that is being answered.
        """
        opened = _Open(exchange, EventLog(self._store, self.id))
        with self._lock:
            for request_id in exchange.open:
                if self.is_open(request_id):
                    raise RefusalError(400, f"id {request_id!r} is still in use", request_id=request_id)
            self._open.update(dict.fromkeys(exchange.open, opened))
        return opened.log

    def receive(self, message: Any) -> list[Job]:
        """Take in what a POST carried; the jobs to run for it. A batch has requests alone."""
        if not isinstance(message, list) and self._is_foreign(message):
            return []
        with self._lock:
            jobs = self._calls.receive_message(message)
            for each in message if isinstance(message, list) else [message]:
                self._note(each)
        return jobs

    def start(self, job: Job, request: Received | None = None) -> None:
        """Run a job of a request in a thread. One for which there is no place gets an error."""
        job.call.principal = self.principal
        if request is not None:
            job.call.scopes = request.caller.scopes
            transport = request.transport
            job.call.transport = transport._replace(attributes={**transport.attributes, "mcp.session.id": self.id})
        try:
            self._served.start(self._calls, job)
        except RefusalError as refusal:
            self._calls.refuse(job, refusal.text, refusal.code)

    def take_listening(self) -> None:
        """Be the worker that adds to `listening`: of all workers that learn of a change, one. Raises `StoreError`."""
        self.listening.open()
        before = self._store.get(self._listener, KEPT_SECONDS)
        if before != self._name:
            self._store.put(self._listener, self._name, KEPT_SECONDS)
            if before is not None:
                # That worker has told of changes so far, if it still lives.
                self._calls.announce(Change(LISTS, tuple(self._connection.subscriptions.uris())))

    def keep_listening(self) -> bool:
        """Whether this worker is still the one that adds to `listening`. Raises `StoreError`."""
        return self._store.get(self._listener, KEPT_SECONDS) == self._name

    def forget_listening(self) -> None:
        """No worker adds to `listening` any more. Raises `StoreError`."""
        self.listening.end()
        self._store.remove(self._listener)

    def drop(self, exchange: Exchange) -> None:
        """Expect the responses to its requests no more."""
        for request_id in list(exchange.open):
            self._open.pop(request_id, None)

    def close(self) -> None:
        """Cancel its calls, and end their streams."""
        self._calls.close()
        while self._open:
            _, opened = self._open.popitem()
            for request_id in list(opened.exchange.open):
                opened.exchange.withdraw(request_id)

    def _is_foreign(self, message: dict[str, Any]) -> bool:
        """Whether a message responds to a request of another worker. What no worker has sent concerns each of them."""
        number = message.get("id") if "method" not in message else None
        return isinstance(number, int) and number >> _NUMBER_BITS not in (0, self._place)

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        # Received again, a request must not have the id of another one.
        if method in _LASTING:
            self._lasting[method] = {**message, "id": method} if "id" in message else message
        elif method == _SUBSCRIBE:
            # One that was granted: their number is limited, and so is what is kept of each.
            if isinstance(uri := params.get("uri"), str) and uri in self._connection.subscriptions:
                kept = {"jsonrpc": "2.0", "id": _SUBSCRIBE, "method": _SUBSCRIBE, "params": {"uri": uri}}
                self._lasting[_key_of(kept)] = kept
        elif method == _UNSUBSCRIBE:
            self._lasting.pop(_key_of({"method": _SUBSCRIBE, "params": params}), None)
        elif method == "notifications/cancelled":
            cancelled = params.get("requestId")
            if is_id(cancelled) and not self._calls.is_running(cancelled):
                # Nothing more is sent about it.
                opened = self._open.pop(cancelled, None)
                if opened is not None:
                    opened.exchange.withdraw(cancelled)

    # From the thread that sends, one at a time.

    def _send(self, outgoing: Outgoing) -> None:
        message, about, cancels = outgoing
        if cancels and about is not None:
            about = self._asked.pop(about, None)
        data = encode_outgoing(message).rstrip(b"\n")
        opened = self._open.get(about) if about is not None else None
        if opened is None:
            if about is None:
                with suppress(StoreError):  # As if its client had been disconnected meanwhile.
                    if self.keep_listening():
                        self.listening.append(data, is_last=False)
            return
        answered = [each for part in (message if isinstance(message, list) else [message]) for each in _answers(part)]
        if not answered and isinstance(message, dict) and "id" in message:
            self._asked[message["id"]] = about  # type: ignore[assignment]
        exchange, log = opened
        is_last = bool(answered) and exchange.open <= set(answered)
        # A lone response is not a stream, and nothing of it can be resumed.
        event_id = log.append(data, is_last=is_last) if exchange.is_stream or not is_last else ""
        for request_id in answered:
            self._open.pop(request_id, None)
        exchange.put(sent_of(message, data, event_id), answered)

    def _pace(self, call: ServedCall) -> None:
        opened = self._open.get(call.request.id)
        if opened is not None:
            # One that takes nothing may come back for it: the log keeps what it misses.
            opened.exchange.await_room(self._served.limits.stalled_seconds)

    def _close_stream(self, call: ServedCall) -> None:
        opened = self._open.get(call.request.id)
        if opened is not None and self.can_resume:
            opened.exchange.release()


def _by_key(saved: bytes) -> dict[str, Any]:
    return {_key_of(message): message for message in json.loads(saved)["messages"]}


def _key_of(message: dict[str, Any]) -> str:
    """What a lasting message takes the place of: an earlier one of its method, or a subscription to its resource."""
    method: str = message["method"]
    return f"{method} {message['params'].get('uri')}" if method == _SUBSCRIBE else method


def _answers(message: dict[str, Any]) -> list[Any]:
    """The id of the request that a message responds to, if it is a response."""
    return [message["id"]] if "method" not in message and "id" in message else []
