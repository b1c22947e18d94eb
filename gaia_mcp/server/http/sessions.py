"""The handshake sessions of one endpoint: those that live in this worker, and all of them behind the store.

A session is served by any worker. The first request of it that comes here makes it live here too. What its client sends
about the calls of another worker (answers, cancellations) is kept in a log of the session, which every worker reads
where the session lives.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.jsonrpc import encode, parse
from gaia_mcp.server.http.lookups import Lookups
from gaia_mcp.server.http.refusals import RefusalError, overloaded, store_failed
from gaia_mcp.server.http.session import Session
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from gaia_mcp.server.http.served import Served

# A session that nothing was asked of for this long no longer lives here; the store still knows it.
IDLE_SECONDS = 300.0
SWEEP_SECONDS = 30.0
# How long what a client has sent is kept for the other workers. They read it at once, unless they cannot.
RECEIVED_SECONDS = 600.0
_ID_BYTES = 24
# Of the name of a worker.
_NAME_BYTES = 8


class _Live:
    """A session that lives here, and how far the log of what its client has sent was read."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.used_at = time.monotonic()
        # None until it hears of what other workers do.
        self.unsubscribe: Callable[[], None] | None = None
        # Held to begin that, and to read the log.
        self.reading = threading.Lock()
        self.position = 0


class Sessions:
    """The sessions of `served` at `path`. Safe to use from several threads.

    Every method raises `RefusalError`, with 503 where the store fails.
    """

    def __init__(self, served: Served, store: Store, path: str) -> None:
        self._served = served
        self._store = store
        self._path = path
        self._seconds = served.limits.session_seconds
        # Tells this worker's own messages to the others apart.
        self._worker = secrets.token_bytes(_NAME_BYTES)
        # Held to touch what follows.
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}
        self._swept_at = time.monotonic()
        self._lookups = Lookups(store, self._seconds)

    def __len__(self) -> int:
        """How many live here."""
        return len(self._live)

    def create(self, principal: str | None) -> Session:
        """A new session, which is not saved yet."""
        self._sweep()
        session = Session(secrets.token_urlsafe(_ID_BYTES), self._served, self._store, principal)
        live = _Live(session)
        with self._lock:
            is_full = len(self._live) >= self._served.limits.sessions
            if not is_full:
                self._live[session.id] = live
        if is_full:
            session.close()
            raise overloaded("too many sessions are open already")
        return session

    def find(self, session_id: str, principal: str | None) -> Session:
        """The session of this caller, with status 404 if there is none."""
        self._sweep()
        try:
            saved = self._store.get(self._name(session_id), self._seconds)
        except StoreError as problem:
            raise store_failed(problem) from problem
        if saved is None:
            self._end(session_id)
            raise _unknown()
        with self._lock:
            if (live := self._live.get(session_id)) is None:
                live = self._live[session_id] = _Live(Session.loaded(session_id, self._served, self._store, saved))
        session = live.session
        live.used_at = time.monotonic()
        self._listen(live)
        if session.saved != saved:
            session.catch_up(saved)
        # A caller that has the id of another caller's session learns no more than that.
        if session.principal != principal:
            raise _unknown()
        return session

    def look_up(self, session_id: str, principal: str | None, found: Callable[[Session | None], object]) -> bool:
        """As `find`, for many requests at once: `found` is called by another thread, with the session if it lives here
        and has not changed elsewhere. With None `find` has to tell. Whether it will be called: not after the end.
        """
        return self._lookups.ask(
            self._name(session_id), lambda saved: found(self._current(session_id, principal, saved))
        )

    def save(self, session: Session) -> None:
        """Let every worker know what this one knows of a session."""
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
        except StoreError as problem:
            raise store_failed(problem) from problem
        if (live := self._live.get(session.id)) is not None:
            self._listen(live)

    def deliver(self, session: Session, message: dict[str, Any]) -> None:
        """Take in a response or a notification, here and in every other worker where the session lives."""
        session.receive(message)
        self.save(session)
        try:
            self._store.append(self._received(session), self._worker + encode(message), RECEIVED_SECONDS)
            self._store.publish(self._name(session.id), self._worker)
        except StoreError as problem:
            raise store_failed(problem) from problem

    def renew(self, session: Session) -> bool:
        """Let a session that is in use expire no sooner; whether it still is one."""
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
        """Let a session live here no longer."""
        self._end(session.id)

    def close(self) -> None:
        """Let none live here any more. The store still knows them."""
        self._lookups.close()
        for session_id in list(self._live):
            self._end(session_id)

    def _current(self, session_id: str, principal: str | None, saved: bytes | None) -> Session | None:
        """The session, if there is nothing to ask the store for beside what it has `saved`."""
        now = time.monotonic()
        live = self._live.get(session_id)
        if live is None or live.unsubscribe is None or now >= self._swept_at + SWEEP_SECONDS:
            return None
        session = live.session
        if session.saved != saved or session.principal != principal:
            return None
        live.used_at = now
        return session

    def _name(self, session_id: str) -> str:
        """The name of a session in the store: of what is saved of it, and of the channel for its changes."""
        return f"http:session:{self._path}:{session_id}"

    def _received(self, session: Session) -> str:
        """The name of the log of what its client has sent about calls."""
        return f"http:received:{self._path}:{session.id}"

    def _listen(self, live: _Live) -> None:
        """Hear from now on of what other workers do with a session."""

        def arrived(message: bytes | None) -> None:
            if message != self._worker:
                with suppress(StoreError):  # The next request that comes here finds out, or the next message.
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
        """Learn what other workers have saved and received. Raises `StoreError`."""
        session = live.session
        with live.reading:
            if (saved := self._store.get(self._name(session.id))) is None:
                self._end(session.id)
                return
            if saved != session.saved:
                session.catch_up(saved)
            for position, record in self._store.read(self._received(session), live.position):
                live.position = position
                if not record.startswith(self._worker):
                    session.receive(parse(record[_NAME_BYTES:]))

    def _end(self, session_id: str) -> None:
        with self._lock:
            live = self._live.pop(session_id, None)
        if live is not None:
            if live.unsubscribe is not None:
                live.unsubscribe()
            live.session.close()

    def _sweep(self) -> None:
        """Let go of what has expired or is not used, and keep what is in use from expiring."""
        now = time.monotonic()
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


def _unknown() -> RefusalError:
    return RefusalError(404, "there is no such session, or it has expired: send initialize again")
