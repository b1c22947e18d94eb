"""The instances of one server behind a gateway that several clients use: which of them a request uses.

What a server sees of "the client" must be one client. By default all callers share one instance, to which no client
capability is declared, so that it cannot ask. A caller whose client can be asked has an instance to itself: a session
until it ends, a call of a client without sessions until it has its result. So has a session for which the shared
instance has logged what may belong to another caller. A server of the stateless era keeps nothing of its clients, and
gets their capabilities with each request: it has one instance.

Lists are fetched from the caller's own instance, or from one with the same capabilities that no call has used; the next
caller that needs an instance of its own takes that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS
from gaia_mcp.fleet.gateway.questions import ALL_CAPABILITIES, Declared, ServerRequests, passed_on
from gaia_mcp.protocol.input_required import is_asked_by_result

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.fleet.gateway.backend import Backend

Wire = dict[str, Any]

# Of one server, beside the shared instance: each is a process, or a session of a remote server.
MAX_INSTANCES = 32
# How long a call waits for an instance. Most clients wait a minute for a result.
BUSY_SECONDS = 10.0
# People pause for minutes; what a server keeps for a session of this morning is no longer expected in the afternoon.
IDLE_SECONDS = 1800.0

# Makes an instance, whose requests are answered by the given object. Its changes are announced to the session that the
# function returns; to all callers if that is None.
Make = Callable[[ServerRequests, "Callable[[], str | None]"], "Backend"]
# The capabilities of a client that servers may use, in a form that can be compared.
Kind = tuple[tuple[str, tuple[str, ...]], ...]


class BusyError(Exception):
    """All instances of a server are in use."""


class Instance:
    """One instance, and who uses it: the session that owns it, or None; the number of requests that use it now; when
    the last one ended; and whether a call has used it.
    """

    def __init__(self, backend: Backend, kind: Kind, now: float) -> None:
        self.backend = backend
        self.kind = kind
        self.session: str | None = None
        self.users = 0
        self.used_at = now
        self.was_called = False


class Instances:
    """The instances of the server `name`. With `max_instances` 0 there is one, for a single client. With `is_shared`
    all callers use one, which can ask them: then what the server keeps for one of them may reach another.

    Safe to use from several threads.
    """

    def __init__(
        self,
        name: str,
        make: Make,
        declared: Declared,
        max_instances: int = 0,
        *,
        is_shared: bool = False,
        busy_seconds: float = BUSY_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._make = make
        self._max = max_instances
        self._tells_apart = max_instances > 0 and not is_shared
        self._busy_seconds = busy_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        if max_instances > 0:
            declared = Declared(ALL_CAPABILITIES if is_shared else {})
        requests = ServerRequests(declared, tells_apart=max_instances > 0, logged_to=self._note_logged)
        self._shared = Instance(make(requests, lambda: None), (), clock())
        self._shared.backend.keeps_lists = True
        # Whether the server asks in its results, and then keeps nothing of its clients. None until it is known.
        self._by_result: bool | None = self._shared.backend.is_known_to_ask_by_result() or None
        # Guards the fields below.
        self._condition = threading.Condition()
        # Those without an owner, and those of sessions.
        self._free: list[Instance] = []
        self._owned: dict[str, Instance] = {}
        # The sessions that need an instance of their own, although their clients cannot be asked.
        self._logged_to: set[str] = set()
        self._sweeper: threading.Thread | None = None
        self._is_closed = False

    @property
    def shared(self) -> Backend:
        """The instance that callers share by default."""
        return self._shared.backend

    def all(self) -> list[Backend]:
        """All instances, the shared one first."""
        with self._condition:
            return [each.backend for each in (self._shared, *self._free, *self._owned.values())]

    @property
    def instructions(self) -> str:
        """The server's instructions; empty if unknown."""
        return next(filter(None, (backend.instructions for backend in self.all())), "")

    def listed_by(self, call: Call, kind: Kind | None = None) -> Backend:
        """The instance for the lists of this caller, whose `kind` may be known. It may not be connected yet."""
        if self._has_one:
            return self.shared
        kind = kind_of(call) if kind is None else kind
        with self._condition:
            if (own := self._owned.get(call.session or "")) is not None:
                return own.backend
            if not kind:
                return self.shared
            found = next((each for each in self._free if each.kind == kind), None)
            if found is None and self._has_room():
                found = self._add(kind)
            return (found or self._shared).backend

    def asks_by_result(self, call: Call) -> bool:
        """Whether the server asks in its results. Connects to it. Raises `MCPError`."""
        backend = self.listed_by(call)
        by_result = is_asked_by_result(str(backend.ready().client.protocol_version))
        if by_result != self._by_result:
            with self._condition:
                self._by_result = by_result
                if by_result and not self._shared.backend.has_connected:
                    # One connection serves all callers; this one is open already.
                    for each in self._free:
                        if each.backend is backend:
                            self._free.remove(each)
                            self._shared = each
                            backend.keeps_lists = True
                            break
        return by_result

    @contextmanager
    def entered(self, call: Call) -> Iterator[Backend]:
        """The instance for a request of this call, for as long as the context lasts.

        Raises `BusyError`, `CallCancelledError`.
        """
        instance = self._taken(call)
        try:
            yield instance.backend
        finally:
            self._give_back(instance)

    def owned_by(self, call: Call) -> Backend:
        """The instance that is kept for the session of this call. Raises as `entered`."""
        with self.entered(call) as backend:
            return backend

    def end_session(self, session: str) -> None:
        """Stop the instance of this session, which has ended."""
        with self._condition:
            self._logged_to.discard(session)
            ended = self._owned.pop(session, None)
            self._condition.notify_all()
        if ended is not None:
            _stop([ended])

    def close(self) -> None:
        """Start no further instances. The caller closes those of `all`."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    @property
    def _has_one(self) -> bool:
        """Whether all callers use one instance."""
        return not self._tells_apart or bool(self._by_result)

    def _taken(self, call: Call) -> Instance:
        kind, session = kind_of(call), call.session
        with self._condition:
            if self._has_one or not (kind or session in self._logged_to):
                self._shared.users += 1
                return self._shared
            found = self._waited_for(kind, call)
            if session is not None and found.session is None:
                self._free.remove(found)
                found.session = session
                self._owned[session] = found
            found.users += 1
            return found

    def _waited_for(self, kind: Kind, call: Call) -> Instance:
        ends = self._clock() + self._busy_seconds
        while (found := self._found(kind, call.session)) is None:
            call.raise_if_cancelled()
            if self._is_closed or self._clock() >= ends:
                raise BusyError(
                    f"server {self.name!r} is busy: {self._max} clients, the most at a time, have an instance of it to "
                    "themselves; try again later"
                )
            self._condition.wait(WAIT_SLICE_SECONDS)
        return found

    def _found(self, kind: Kind, session: str | None) -> Instance | None:
        """An instance for a caller, without one that another caller uses or has used; None if there is no room."""
        if session is not None and (own := self._owned.get(session)) is not None:
            return own
        for each in self._free:
            if each.kind == kind and not each.users and not (session is not None and each.was_called):
                return each
        return self._add(kind) if self._has_room() else None

    def _give_back(self, instance: Instance) -> None:
        ended = None
        with self._condition:
            instance.users -= 1
            instance.used_at = self._clock()
            instance.was_called = True
            if instance in self._free and instance.backend.requests.has_kept:
                # The server has asked the client of that call: it may remember the answers.
                self._free.remove(instance)
                ended = instance
            self._condition.notify_all()
        if ended is not None:
            _stop([ended])

    def _has_room(self) -> bool:
        """Whether another instance may be started. Stops one that nobody uses, if that makes room."""
        if self._is_closed:
            return False
        if len(self._free) + len(self._owned) < self._max:
            return True
        unused = [each for each in self._free if not each.users]
        if not unused:
            return False
        oldest = min(unused, key=lambda each: each.used_at)
        self._free.remove(oldest)
        _stop([oldest])
        return True

    def _add(self, kind: Kind) -> Instance:
        added: Instance
        declared = Declared({name: {mode: {} for mode in modes} for name, modes in kind})
        backend = self._make(ServerRequests(declared), lambda: added.session)
        added = Instance(backend, kind, self._clock())
        self._free.append(added)
        if self._sweeper is None:
            self._sweeper = threading.Thread(target=self._sweep, name="idle instances", daemon=True)
            self._sweeper.start()
        return added

    def _sweep(self) -> None:
        """Stop instances that have not been used for long, as long as there are any."""
        while True:
            with self._condition:
                now = self._clock()
                idle = [each for each in (*self._free, *self._owned.values()) if self._ends_at(each) <= now]
                self._free = [each for each in self._free if each not in idle]
                self._owned = {session: each for session, each in self._owned.items() if each not in idle}
                left = [*self._free, *self._owned.values()]
                if self._is_closed or not left:
                    self._sweeper = None
            _stop(idle)
            with self._condition:
                if self._sweeper is None:
                    return
                self._condition.wait(max(0.0, min(map(self._ends_at, left)) - now))

    def _ends_at(self, instance: Instance) -> float:
        is_kept = instance.users or instance.backend.has_subscriptions
        return (self._clock() if is_kept else instance.used_at) + self._idle_seconds

    def _note_logged(self, call: Call) -> None:
        """The shared instance has logged what may be about this call: its session gets an instance of its own."""
        if call.session is not None:
            with self._condition:
                self._logged_to.add(call.session)


def kind_of(call: Call) -> Kind:
    """What tells the instances for the client of this call from others; empty if that client cannot be asked."""
    passed = passed_on(call.client.capabilities)
    return tuple(sorted((name, tuple(sorted(modes))) for name, modes in passed.items()))


def _stop(instances: list[Instance]) -> None:
    """Stop instances in the background: a server may take its time to end."""
    for each in instances:
        threading.Thread(target=each.backend.close, name=f"close {each.backend.name}", daemon=True).start()
