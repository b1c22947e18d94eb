"""What a gateway asks of all its servers at once: their lists, which of them may have a resource, and subscriptions to
resources on behalf of its clients.

Slow servers are waited for up to a limit; when one responds later, clients are notified that the list has changed.
Unlike names, URIs are not changed by the gateway.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS
from gaia_mcp.core.errors import MCPError
from gaia_mcp.text.uri_templates import Template, TemplateError

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.fleet.gateway.backend import Backend

Wire = dict[str, Any]

# Some hosts give a server six seconds to start and to list its tools; most servers answer within three.
PATIENCE_SECONDS = 3.0
# Servers usually answer at once; a slow one must not delay requests to others.
SETTLE_SECONDS = 1.0
# A resource, and the session whose own instances of servers notify about it; None for the shared instances.
Wanted = tuple[str, str | None]
# The rank of a server that does not list the resource.
_UNLISTED = 2


class Listing:
    """Fetches lists of backends. Concurrent requests for the same list of a backend share one fetch. `on_late` is
    called with the kind of a list that arrived after a client was answered with an earlier one, or without it. A
    backend is waited for once: until its list has arrived, later requests are answered with its last one, which may be
    a cached one of an earlier connection. Safe to use from several threads.
    """

    def __init__(
        self,
        on_late: Callable[[str], None],
        patience_seconds: float = PATIENCE_SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_late = on_late
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._asking: dict[tuple[Backend, str], _Asking] = {}

    def ask(self, kind: str, call: Call, backends: Sequence[Backend]) -> list[Backend]:
        """Fetch the lists of this `kind` from `backends`. Returns those whose lists have arrived in time, or are known
        from before.

        Raises `CallCancelledError`.
        """
        ends = self._clock() + self._patience_seconds
        asking = [(backend, self._begin(backend, kind)) for backend in backends if backend.may_try(kind)]
        for backend, each in asking:
            while not each.wait(min(ends - self._clock(), WAIT_SLICE_SECONDS)):
                call.raise_if_cancelled()
                if self._clock() >= ends or {kind, ""} & backend.late:
                    backend.late |= {kind, ""} if backend.problem is not None or not backend.is_open else {kind}
                    backend.recall(kind)
                    each.leave(backend.lists.get(kind, []))
                    break
        return [backend for backend, each in asking if each.has_succeeded or (each.is_left and kind in backend.lists)]

    def _begin(self, backend: Backend, kind: str) -> _Asking:
        key = backend, kind
        with self._lock:
            if (asking := self._asking.get(key)) is not None:
                return asking
            asking = _Asking()
            threading.Thread(target=self._fetch, args=(backend, kind, asking), name="list", daemon=True).start()
            self._asking[key] = asking
        return asking

    def _fetch(self, backend: Backend, kind: str, asking: _Asking) -> None:
        found: list[Wire] = []
        try:
            found = backend.fetch(kind)
            asking.has_succeeded = True
            backend.late -= {kind, ""}
        except MCPError:
            pass  # The backend keeps the error.
        finally:
            with self._lock:
                del self._asking[backend, kind]
            earlier = asking.end()
        if earlier is not None and found != earlier:
            self._on_late(kind)


class _Asking:
    """A running fetch of a list. `has_succeeded` is set when the list has arrived, `is_left` when a client is answered
    with an earlier list, or without one.
    """

    def __init__(self) -> None:
        self.has_succeeded = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._earlier: list[Wire] | None = None

    @property
    def is_left(self) -> bool:
        return self._earlier is not None

    def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Returns whether the fetch has ended."""
        return self._ended.wait(max(0.0, seconds))

    def leave(self, earlier: list[Wire]) -> None:
        """Note that a client is answered with this list instead."""
        with self._lock:
            self._earlier = earlier

    def end(self) -> list[Wire] | None:
        """End the fetch. Returns the list with which a client was answered meanwhile, or None."""
        with self._lock:
            self._ended.set()
            return self._earlier


class Following:
    """Subscribes to the `wanted` resources in a background thread, each at the first of its `owners` that accepts. Safe
    to use from several threads.
    """

    def __init__(
        self,
        wanted: Callable[[], set[Wanted]],
        owners: Callable[[str, str | None], Iterable[Backend]],
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._wanted = wanted
        self._owners = owners
        self._settle_seconds = settle_seconds
        # Guards the fields below.
        self._condition = threading.Condition()
        # The background thread, while it runs.
        self._thread: threading.Thread | None = None
        self._is_to_look = False
        self._is_closed = False
        # The server of each subscription.
        self._followed: dict[Wanted, Backend] = {}
        # Those that no server accepts. They are tried again when a server has connected.
        self._refused: set[Wanted] = set()

    def look(self) -> None:
        """Update the subscriptions in the background, because `wanted` may have changed."""
        with self._condition:
            self._is_to_look = not self._is_closed
            if self._is_to_look and self._thread is None:
                thread = threading.Thread(target=self._run, name="subscriptions", daemon=True)
                thread.start()
                self._thread = thread

    def server_connected(self) -> None:
        """Try the refused URIs again: a server has connected, which may accept them."""
        with self._condition:
            # If it was connected for a subscription, it is being asked: one that fails would be asked without an end.
            is_for_us = self._thread is threading.current_thread()
            if is_for_us or (self._thread is None and not self._refused):
                return
            self._refused = set()
        self.look()

    def settle(self) -> None:
        """Wait until the subscriptions are up to date, for up to `settle_seconds`."""
        if self._thread is not None:
            with self._condition:
                self._condition.wait_for(lambda: self._thread is None, self._settle_seconds)

    def close(self) -> None:
        """Make no more subscriptions."""
        with self._condition:
            self._is_closed = True
            self._is_to_look = False

    def _run(self) -> None:
        try:
            while self._has_to_look():
                self._update(self._wanted())
        except BaseException:
            with self._condition:
                self._thread = None
                self._condition.notify_all()
            raise

    def _has_to_look(self) -> bool:
        with self._condition:
            if not self._is_to_look:
                self._thread = None
                self._condition.notify_all()
            found, self._is_to_look = self._is_to_look, False
            return found

    def _update(self, wanted: set[Wanted]) -> None:
        for each in wanted - self._followed.keys() - self._refused:
            # The set of before the attempt: it is replaced if a server connects meanwhile.
            refused = self._refused
            if (backend := self._subscribed(*each)) is not None:
                self._followed[each] = backend
            else:
                refused.add(each)
        self._refused.intersection_update(wanted)
        for each in self._followed.keys() - wanted:
            backend = self._followed.pop(each)
            # Where all callers share one instance, another session may have subscribed there.
            if (each[0], backend) not in [(uri, other) for (uri, _), other in self._followed.items()]:
                backend.unsubscribe(each[0])

    def _subscribed(self, uri: str, session: str | None) -> Backend | None:
        for backend in self._owners(uri, session):
            try:
                backend.subscribe(uri)
            except MCPError:
                continue  # Another server may have it. Until one does, the client's subscription is silent.
            return backend
        return None


def owners_of(uri: str, backends: Sequence[Backend]) -> list[Backend]:
    """The backends that may have the resource: first those that list it, then those with a template that equals or
    matches the URI; each group in the order of the configuration. If there are none, all that declare resources,
    because some servers have more resources than they list. Other servers never receive the URI.
    """
    ranks = [(rank, backend) for backend in backends if (rank := _rank(uri, backend)) is not None]
    known = [
        backend for _, backend in sorted((each for each in ranks if each[0] < _UNLISTED), key=lambda each: each[0])
    ]
    return known or [backend for _, backend in ranks]


def _rank(uri: str, backend: Backend) -> int | None:
    """The rank of a server, 0 if it most likely has the resource; None if it has no resources."""
    if any(resource["uri"] == uri for resource in backend.lists.get("resources", ())):
        return 0
    templates = backend.lists.get("resourceTemplates", ())
    if any(template["uriTemplate"] == uri or _matches(template["uriTemplate"], uri) for template in templates):
        return 1
    return _UNLISTED if backend.declares("resources") else None


def _matches(template: str, uri: str) -> bool:
    parsed = _parsed(template)
    return parsed is not None and parsed.match(uri) is not None


@lru_cache(maxsize=1024)
def _parsed(template: str) -> Template | None:
    try:
        return Template(template)
    except TemplateError:
        return None
