"""One handshake session in this worker: its connection, its running calls, and the streams of its POSTs.

The store has what another worker needs to continue the session: the *lasting* messages of its client, which apply to
all later requests and are replayed to a new connection, and the logs of its streams.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.envelope import LOG_LEVELS
from gaia_mcp.protocol.jsonrpc import RequestId, is_id
from gaia_mcp.protocol.revisions import known_client
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.http.event_log import KEPT_SECONDS, EventLog
from gaia_mcp.server.http.exchange import Exchange, sent_of
from gaia_mcp.server.http.received import Received, RefusalError
from gaia_mcp.server.outcomes import Job, encode_outgoing
from gaia_mcp.server.provider import LISTS, Change
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.running_call import RunningCall

# The key of the stream that belongs to no request, which a client opens with GET.
LISTENING = "0"
# The revision whose clients accept an event without data, from which they can resume a stream.
_PRIMING_VERSION = "2025-11-25"
# The lasting messages. The last one of each method applies; for subscriptions, the last one for each resource.
_INITIALIZE, _INITIALIZED, _SET_LEVEL = "initialize", "notifications/initialized", "logging/setLevel"
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_CANCELLED = "notifications/cancelled"
# The id of a request is stored with its stream. Clients count their requests, or use UUIDs.
MAX_ID_CHARS = 1000
# Each worker of a session numbers its requests in a range of its own, which starts at a random multiple of
# 2**_NUMBER_BITS. All ids stay below 2**53, so every JSON parser reads them exactly.
_NUMBER_BITS, _PLACE_BITS = 20, 32


class DamagedError(ValueError):
    """What the store has as the state of a session is not one: something else has written to the store."""


class _State(NamedTuple):
    """A saved state: its lasting messages by their keys, and how often the session was saved."""

    principal: str | None
    revision: int
    messages: dict[str, Any]


class _Open(NamedTuple):
    """A POST that is being answered: the exchange for its messages, and their log once the response is a stream."""

    exchange: Exchange
    log: EventLog


class Session:
    """A session of `principal`. Messages may be received in any thread.

    `saved` is its last known state in the store. `followers` counts the open streams of GET, by the key of the log that
    they follow: `listening`, or that of the response to a POST.
    """

    def __init__(self, session_id: str, served: Served, store: Store, principal: str | None) -> None:
        self.id = session_id
        self.principal = principal
        self.saved = b""
        self.listening = EventLog(store, session_id, LISTENING)
        self.followers: Counter[str] = Counter()
        self._served = served
        self._store = store
        # Guards the fields below. Also held while messages are received.
        self._lock = threading.RLock()
        # The lasting messages by their keys, those of them that are saved, and the number of times they were saved.
        self._lasting: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._revision = 0
        self._open: dict[RequestId, _Open] = {}
        # By the id of each request to the client: the client's request in whose stream it was sent.
        self._asked: dict[RequestId, RequestId] = {}
        self._place = secrets.randbits(_PLACE_BITS) + 1
        # The name of this worker in the store entry `_listener`, which names the only worker that adds to `listening`.
        self._name = b"%d" % self._place
        self._listener = f"{self.listening.name}:listener"
        self._connection = ServerConnection(served.describe(), (self._place << _NUMBER_BITS) + 1)
        self._connection.subscriptions.session = session_id
        self._share = served.workers.share(principal, is_session=True)
        waiting = partial(served.workers.asking, share=self._share, is_gone=self._is_gone)
        self._calls = served.calls(self._connection, self._send, self._pace, waiting, self._close_stream)

    @classmethod
    def loaded(cls, session_id: str, served: Served, store: Store, saved: bytes) -> Session:
        """The session from a state that `dumped` has returned. Raises `DamagedError`."""
        session = cls(session_id, served, store, _read_state(saved).principal)
        session.catch_up(saved)
        return session

    def catch_up(self, saved: bytes) -> None:
        """Apply a state that another worker has saved. Messages that were received here and are not saved yet stay.
        Raises `DamagedError`.
        """
        with self._lock:
            _, revision, theirs = _read_state(saved)
            if revision <= self._revision:
                return  # Another thread has already applied this state or a later one.
            for key, message in theirs.items():
                if message != self._known.get(key) and message != self._lasting.get(key):
                    # The response is dropped: no stream is open for its request.
                    self.receive(message)
            for key in self._known.keys() - theirs.keys():
                # Subscriptions are the only lasting messages that can be removed.
                self.receive({**self._known[key], "method": _UNSUBSCRIBE})
            self.saved, self._known, self._revision = saved, theirs, revision

    def has_saved(self, state: bytes) -> None:
        """Note that the store has `state`, which `dumped` has returned."""
        with self._lock:
            self.saved, self._known, self._revision = state, _read_state(state).messages, self._revision + 1

    def dumped(self) -> bytes:
        """The state for other workers; `saved` itself if nothing has changed."""
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
        """The negotiated revision; None before the negotiation."""
        return self._connection.version

    @property
    def can_resume(self) -> bool:
        """Whether its client can resume a stream before its first message."""
        return self.version == _PRIMING_VERSION

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered in this worker."""
        return bool(self._open)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered and no client listens."""
        return not self._open and not len(self._calls) and not self.followers[LISTENING]

    def is_open(self, request_id: RequestId) -> bool:
        """Whether a request with this id is being answered."""
        return request_id in self._open or self._calls.is_running(request_id)

    def open(self, exchange: Exchange, worker: str = "") -> EventLog:
        """Register the requests of an exchange. Returns the log of its messages once its response is a stream. `worker`
        names this worker.

        Raises `RefusalError` if a request with the same id is being answered.
        """
        # A batch has no single response that could be replaced by an error.
        request_id = next(iter(exchange.open)) if len(exchange.open) == 1 else None
        log = EventLog(self._store, self.id, worker=worker, request_id=request_id)
        opened = _Open(exchange, log)
        with self._lock:
            for request_id in exchange.open:
                if self.is_open(request_id):
                    raise RefusalError(400, f"id {request_id!r} is still in use", request_id=request_id)
            self._open.update(dict.fromkeys(exchange.open, opened))
        return log

    def receive(self, message: Any) -> list[Job]:
        """Process the body of a POST. Returns the jobs to run for it. A batch must contain only requests."""
        if not isinstance(message, list) and self._is_foreign(message):
            return []
        with self._lock:
            jobs = self._calls.receive_message(message)
            for each in message if isinstance(message, list) else [message]:
                self._note(each)
        return jobs

    def for_others(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """What another worker needs of a response or a notification that is about to be received; None if nothing: the
        state has the lasting ones, and a worker ignores all others.
        """
        if "method" not in message:
            return message if self._is_foreign(message) else None
        cancelled = (message.get("params") or {}).get("requestId")
        if message["method"] != _CANCELLED or not is_id(cancelled) or self.is_open(cancelled):
            return None
        if isinstance(cancelled, str) and len(cancelled) > MAX_ID_CHARS:
            return None
        return {"jsonrpc": "2.0", "method": _CANCELLED, "params": {"requestId": cancelled}}

    def start(self, job: Job, request: Received | None = None, size: int = 0) -> None:
        """Run a job of a request in a thread, whose message takes about `size` bytes. If there are too many calls, the
        request is answered by an error.
        """
        job.call.principal, job.call.session = self.principal, self.id
        if request is not None:
            job.call.scopes = request.caller.scopes
            transport = request.transport
            job.call.transport = transport._replace(attributes={**transport.attributes, "mcp.session.id": self.id})
        try:
            self._served.start(self._calls, job, self._share, size)
        except RefusalError as refusal:
            self._calls.refuse(job, refusal.text, refusal.code)

    def take_listening(self) -> None:
        """Become the only worker that adds to `listening`: all workers learn of a change. Raises `StoreError`."""
        self.listening.open()
        before = self._store.get(self._listener, KEPT_SECONDS)
        if before != self._name:
            self._store.put(self._listener, self._name, KEPT_SECONDS)
            if before is not None:
                # The previous worker may have ended before it sent all notifications.
                self._calls.announce(Change(LISTS, tuple(self._connection.subscriptions.uris())))

    def keep_listening(self) -> bool:
        """Whether this worker is still the one that adds to `listening`. Raises `StoreError`."""
        return self._store.get(self._listener, KEPT_SECONDS) == self._name

    def forget_listening(self) -> None:
        """Remove `listening`, and the entry of the worker that adds to it. Raises `StoreError`."""
        self.listening.end()
        self._store.remove(self._listener)

    def drop(self, exchange: Exchange) -> None:
        """Unregister the requests of an exchange."""
        for request_id in list(exchange.open):
            self._open.pop(request_id, None)

    def close(self) -> None:
        """Cancel the running calls, and end their streams."""
        self._calls.close()
        while self._open:
            _, opened = self._open.popitem()
            for request_id in list(opened.exchange.open):
                opened.exchange.withdraw(request_id)

    def _is_foreign(self, message: dict[str, Any]) -> bool:
        """Whether a message responds to a request of another worker. An id that no worker has used is not foreign."""
        number = message.get("id") if "method" not in message else None
        return isinstance(number, int) and number >> _NUMBER_BITS not in (0, self._place)

    def _note(self, message: dict[str, Any]) -> None:
        # Of each lasting message only what the connection has accepted, and knows: the rest may have any size.
        method, params = message.get("method"), message.get("params") or {}
        if method == _INITIALIZE and self.version is not None:
            info, capabilities = known_client(params.get("clientInfo", {}), params.get("capabilities", {}))
            kept = {"protocolVersion": self.version, "capabilities": capabilities, "clientInfo": info}
            self._keep(_INITIALIZE, kept)
        elif method == _INITIALIZED:
            self._lasting[method] = {"jsonrpc": "2.0", "method": method}
        elif method == _SET_LEVEL:
            if (level := params.get("level")) in LOG_LEVELS:
                self._keep(_SET_LEVEL, {"level": level})
        elif method == _SUBSCRIBE:
            # The number of subscriptions is limited, and so is the length of their URIs.
            if isinstance(uri := params.get("uri"), str) and uri in self._connection.subscriptions:
                self._keep(_SUBSCRIBE, {"uri": uri})
        elif method == _UNSUBSCRIBE:
            self._lasting.pop(_key_of({"method": _SUBSCRIBE, "params": params}), None)
        elif method == _CANCELLED:
            cancelled = params.get("requestId")
            if is_id(cancelled) and not self._calls.is_running(cancelled):
                # No response follows.
                opened = self._open.pop(cancelled, None)
                if opened is not None:
                    opened.exchange.withdraw(cancelled)

    def _keep(self, method: str, params: dict[str, Any]) -> None:
        # When a request is replayed, its id must differ from the ids of other requests.
        message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        self._lasting[_key_of(message)] = message

    # Called by the sending thread, one at a time.

    def _send(self, outgoing: Outgoing) -> None:
        message, about, cancels = outgoing
        if cancels and about is not None:
            about = self._asked.pop(about, None)
        data = encode_outgoing(message).rstrip(b"\n")
        opened = self._open.get(about) if about is not None else None
        if opened is None:
            if about is None:
                with suppress(StoreError):  # The client misses the message, as if it were disconnected.
                    if self.keep_listening():
                        self.listening.append(data, is_last=False)
            return
        answered = [each for part in (message if isinstance(message, list) else [message]) for each in _answers(part)]
        if not answered and isinstance(message, dict) and "id" in message:
            self._asked[message["id"]] = about  # type: ignore[assignment]
        exchange, log = opened
        is_last = bool(answered) and exchange.open <= set(answered)
        # A single response is sent as JSON, which cannot be resumed.
        event_id = log.append(data, is_last=is_last) if exchange.is_stream or not is_last else ""
        for request_id in answered:
            self._open.pop(request_id, None)
        exchange.put(sent_of(message, data, event_id), answered)

    def _pace(self, call: RunningCall) -> None:
        opened = self._open.get(call.request.id)
        if opened is not None:
            # After this time the call continues: a client that reads nothing can resume from the log.
            opened.exchange.await_room(self._served.limits.stalled_seconds)

    def _is_gone(self, call: RunningCall) -> bool:
        """Whether the client of a call has disconnected, and has not resumed the stream here."""
        opened = self._open.get(call.request.id)
        return (
            opened is not None
            and opened.exchange.is_closed
            and not opened.exchange.is_released
            and not self.followers[opened.log.key]
        )

    def _close_stream(self, call: RunningCall) -> None:
        opened = self._open.get(call.request.id)
        if opened is not None and self.can_resume:
            opened.exchange.release()


def _read_state(saved: bytes) -> _State:
    """Raises `DamagedError`."""
    try:
        state = json.loads(saved)
        principal, revision = state["principal"], state["revision"]
        messages = {_key_of(message): message for message in state["messages"]}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as cause:
        raise DamagedError(repr(cause)) from cause
    is_valid = isinstance(principal, str | None) and isinstance(revision, int)
    params = [each.get("params", {}) for each in messages.values()]
    if not is_valid or not all(isinstance(each, dict) for each in params):
        raise DamagedError("it has a member of the wrong type")
    # As the connection requires it: a session without it could only answer that it is missing.
    begun = messages.get(_INITIALIZE, {}).get("params", {})
    if [type(begun.get(name)) for name in ("protocolVersion", "capabilities", "clientInfo")] != [str, dict, dict]:
        raise DamagedError("it has no initialize")
    return _State(principal, revision, messages)


def _key_of(message: dict[str, Any]) -> str:
    """The key of a lasting message, which replaces an earlier one with the same key: its method, and for a subscription
    also its URI.
    """
    method: str = message["method"]
    return f"{method} {message['params'].get('uri')}" if method == _SUBSCRIBE else method


def _answers(message: dict[str, Any]) -> list[Any]:
    """The id of the request that a message responds to, if it is a response."""
    return [message["id"]] if "method" not in message and "id" in message else []
