"""The handshake sessions of one endpoint: those that are live in this worker, and all of them in the store.

Any worker can serve a session, which becomes live in a worker with its first request there. Responses and notifications
of the client, which may concern a call in another worker, are kept in a log of the session. Every worker in which the
session is live reads that log.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.jsonrpc import encode, parse
from gaia_mcp.server.http.received import RefusalError, overloaded, store_failed
from gaia_mcp.server.http.session import Session
from gaia_mcp.server.http.sharing import Lookups
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from gaia_mcp.server.http.served import Served

# A session without requests for this long is closed in this worker, but stays in the store.
IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
# How long a message of a client is kept for the other workers. They read it at once, unless the store fails.
RECEIVED_SECONDS = 600.0
# How many of them. Each may be as large as a body.
RECEIVED_KEPT = 64
# Of the sessions of this worker, how many one caller may have.
CALLER_PART = 0.5
# When there are too many, this part is closed at once: finding them takes milliseconds.
_CLOSED_PART = 0.01
# A request that has just found a session, or created it, may not have begun yet: such a session is not closed.
_FOUND_SECONDS = 1.0
_ID_BYTES = 24
# The length of a worker's name.
_NAME_BYTES = 8


class _Live:
    """A session that is live in this worker, and the position up to which its log of messages has been read."""

    def __init__(self, session: Session, used_at: float) -> None:
        self.session = session
        self.used_at = used_at
        # Whether its client has sent anything after `initialize`.
        self.is_used = False
        # None until this worker has subscribed to the channel of the session.
        self.unsubscribe: Callable[[], None] | None = None
        # Held to subscribe, and to read the log.
        self.reading = threading.Lock()
        self.position = 0


class Sessions:
    """The sessions of `served` at `path`. Safe to use from several threads.

    Every method raises `RefusalError`, with status 503 if the store fails. `clock` decides when sessions are idle.
    """

    def __init__(self, served: Served, store: Store, path: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._served = served
        self._store = store
        self._path = path
        self._clock = clock
        self._seconds = served.limits.session_seconds
        # The prefix of this worker's messages, which it ignores when it receives them.
        self._worker = secrets.token_bytes(_NAME_BYTES)
        # Guards the fields below.
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}
        self._by_caller: Counter[str | None] = Counter()
        self._swept_at = clock()
        self._lookups = Lookups(store, self._seconds)

    def __len__(self) -> int:
        """The number of sessions that are live in this worker."""
        return len(self._live)

    @property
    def are_answering(self) -> bool:
        """Whether a request is being answered in this worker."""
        return any(live.session.is_answering for live in list(self._live.values()))

    def create(self, principal: str | None) -> Session:
        """A new session, which is not saved yet. If there are too many, idle ones are closed: first those that were
        never used, then those that have been idle for longest.
        """
        self._sweep()
        self._make_room(principal)
        session = Session(secrets.token_urlsafe(_ID_BYTES), self._served, self._store, principal)
        live = _Live(session, self._clock())
        with self._lock:
            is_full = self._is_full(principal)
            if not is_full:
                self._add(session.id, live)
        if is_full:
            session.close()
            raise overloaded("too many sessions are open already")
        return session

    def find(self, session_id: str, principal: str | None) -> Session:
        """The session of this caller. Raises `RefusalError` with status 404 if there is none."""
        self._sweep()
        try:
            live = self._loaded(session_id)
        except StoreError as problem:
            raise store_failed(problem) from problem
        except ValueError as problem:
            raise self._damaged(session_id, problem) from problem
        if live is None:
            self._end(session_id)
            raise _unknown()
        session = live.session
        # The same error as for an unknown id: it does not reveal that another caller has this session.
        if session.principal != principal:
            raise _unknown()
        live.used_at, live.is_used = self._clock(), True
        return session

    def _loaded(self, session_id: str) -> _Live | None:
        """A session with the state that the store has; None if it has none. Raises `StoreError`, and `ValueError` for a
        damaged state.
        """
        if (saved := self._store.get(self._name(session_id), self._seconds)) is None:
            return None
        if session_id not in self._live:
            self._make_room(None)
        with self._lock:
            if (live := self._live.get(session_id)) is None:
                loaded = Session.loaded(session_id, self._served, self._store, saved)
                live = _Live(loaded, self._clock())
                self._add(session_id, live)
        self._listen(live)
        if live.session.saved != saved:
            live.session.catch_up(saved)
        return live

    def _damaged(self, session_id: str, problem: ValueError) -> RefusalError:
        """End a session whose state is damaged. Returns the refusal, with which a client begins another one."""
        self._served.on_failure(f"the state of a session in the store is damaged: {problem}", problem)
        self._end(session_id)
        with suppress(StoreError):
            self._store.remove(self._name(session_id))
        return _unknown()

    def look_up(self, session_id: str, principal: str | None, found: Callable[[Session | None], object]) -> bool:
        """As `find`, for many requests at once. `found` is called by another thread: with the session if it is live
        here and up to date, else with None, and `find` must be used. Returns False, and never calls `found`, after
        `close`.
        """
        return self._lookups.ask(
            self._name(session_id), lambda saved: found(self._current(session_id, principal, saved))
        )

    def save(self, session: Session) -> None:
        """Save the state of a session, and notify the other workers."""
        name = self._name(session.id)
        try:
            while (state := session.dumped()) != (saved := session.saved):
                if self._store.replace(name, saved or None, state, self._seconds):
                    session.has_saved(state)
                    self._store.publish(name, self._worker)
                elif (current := self._store.get(name)) is not None:
                    session.catch_up(current)
                else:
                    raise _unknown()
            if (live := self._live.get(session.id)) is not None:
                self._listen(live)
        except StoreError as problem:
            raise store_failed(problem) from problem
        except ValueError as problem:
            raise self._damaged(session.id, problem) from problem

    def deliver(self, session: Session, message: dict[str, Any]) -> None:
        """Process a response or a notification, in this worker and, if another one may need it, wherever the session is
        live.
        """
        needed = session.for_others(message) if self._store.is_shared else None
        session.receive(message)
        self.save(session)
        if needed is None:
            return
        try:
            record = self._worker + encode(needed)
            self._store.append(self._received(session), record, RECEIVED_SECONDS, RECEIVED_KEPT)
            self._store.publish(self._name(session.id), self._worker)
        except StoreError as problem:
            raise store_failed(problem) from problem

    def renew(self, session: Session) -> bool:
        """Renew a session that is in use. Returns whether it still exists."""
        try:
            return self._store.renew(self._name(session.id), self._seconds)
        except StoreError as problem:
            raise store_failed(problem) from problem

    def remove(self, session: Session) -> None:
        """End a session, in every worker: its running calls are cancelled."""
        try:
            self._store.remove(self._name(session.id))
            self._store.publish(self._name(session.id), self._worker)
            session.forget_listening()
            self._store.remove(self._received(session))
        except StoreError as problem:
            raise store_failed(problem) from problem
        finally:
            self._end(session.id)

    def discard(self, session: Session) -> None:
        """Close a session in this worker only."""
        self._end(session.id)

    def close(self) -> None:
        """Close all sessions in this worker. They stay in the store."""
        self._lookups.close()
        for session_id in list(self._live):
            self._end(session_id)

    def _current(self, session_id: str, principal: str | None, saved: bytes | None) -> Session | None:
        """The session, if it is live and its state equals `saved`, so that no other query of the store is needed."""
        now = self._clock()
        live = self._live.get(session_id)
        if live is None or live.unsubscribe is None or now >= self._swept_at + SWEEP_SECONDS:
            return None
        session = live.session
        if session.saved != saved or session.principal != principal:
            return None
        live.used_at, live.is_used = now, True
        return session

    def _name(self, session_id: str) -> str:
        """The name of a session in the store: of its state, and of the channel for its changes."""
        return f"http:session:{self._path}:{session_id}"

    def _received(self, session: Session) -> str:
        """The name of the log of its client's responses and notifications."""
        return f"http:received:{self._path}:{session.id}"

    def _listen(self, live: _Live) -> None:
        """Subscribe to the changes that other workers make to a session."""

        def arrived(message: bytes | None) -> None:
            if message != self._worker:
                # The next request or message of the channel reads it again, and a request ends a damaged session.
                with suppress(StoreError, ValueError):
                    self._read(live)

        try:
            with live.reading:
                if live.unsubscribe is not None:
                    return
                live.unsubscribe = self._store.subscribe(self._name(live.session.id), arrived)
            self._read(live)
        except StoreError as problem:
            self._end(live.session.id)
            raise store_failed(problem) from problem

    def _read(self, live: _Live) -> None:
        """Apply the state that other workers have saved, and the messages that they received. Raises `StoreError`, and
        `ValueError` for a damaged state.
        """
        session = live.session
        with live.reading:
            if (saved := self._store.get(self._name(session.id))) is None:
                self._end(session.id)
                return
            if saved != session.saved:
                session.catch_up(saved)
            for position, record in self._store.read(self._received(session), live.position):
                live.position = position
                if not record.startswith(self._worker) and isinstance(read := _parsed(record[_NAME_BYTES:]), dict):
                    session.receive(read)

    def _end(self, session_id: str) -> None:
        with self._lock:
            live = self._live.pop(session_id, None)
            if live is not None:
                principal = live.session.principal
                self._by_caller[principal] -= 1
                if not self._by_caller[principal]:
                    del self._by_caller[principal]
        if live is not None:
            if live.unsubscribe is not None:
                live.unsubscribe()
            live.session.close()

    def _add(self, session_id: str, live: _Live) -> None:
        self._live[session_id] = live
        self._by_caller[live.session.principal] += 1

    def _is_full(self, principal: str | None) -> bool:
        limit = self._served.limits.sessions
        return len(self._live) >= limit or self._has_its_part(principal)

    def _has_its_part(self, principal: str | None) -> bool:
        most = max(1, int(CALLER_PART * self._served.limits.sessions))
        return principal is not None and self._by_caller[principal] >= most

    def _make_room(self, principal: str | None) -> None:
        """Close idle sessions if there are too many: those of this caller, if it has too many itself."""
        with self._lock:
            if not self._is_full(principal):
                return
            is_own = self._has_its_part(principal)
            live = [each for each in self._live.values() if not is_own or each.session.principal == principal]
        found_since = self._clock() - _FOUND_SECONDS
        idle = (each for each in live if each.session.is_idle and each.used_at <= found_since)
        count = max(1, int(_CLOSED_PART * self._served.limits.sessions))
        for each in nsmallest(count, idle, key=lambda each: (each.is_used, each.used_at)):
            if self._store.is_shared:
                self._end(each.session.id)
            else:
                # No other worker can continue it, and it would stay in memory for an hour.
                self.remove(each.session)

    def _sweep(self) -> None:
        """Close sessions that have expired or are idle, and renew those in use."""
        now = self._clock()
        with self._lock:
            if now < self._swept_at + SWEEP_SECONDS:
                return
            self._swept_at = now
            live = list(self._live.values())
        for each in live:
            if each.session.is_idle:
                is_needed = each.used_at + IDLE_SECONDS > now
            else:
                try:
                    is_needed = self.renew(each.session)
                except RefusalError:
                    is_needed = True
            if not is_needed:
                self._end(each.session.id)


def _parsed(record: bytes) -> Any:
    """The message that another worker has received; None if it is damaged."""
    try:
        return parse(record)
    except ValueError:
        return None


def _unknown() -> RefusalError:
    return RefusalError(404, "there is no such session, or it has expired: send initialize again")
