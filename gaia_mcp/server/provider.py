"""The interface of a provider, which answers MCP requests, with the scopes it may require of a token, and the
announcement of its changes.

Changes in quick succession become one: a program may change a list thousands of times a second. Knows MCP's methods and
plain dicts, but not agents, connections or revisions.

`WrappingProvider` is the base of providers that wrap another one; `all_tools` lists the tools of all pages.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.server import Description

# The names of the capabilities that have a list.
LISTS = ("tools", "prompts", "resources")
# The error code for missing scopes: the HTTP status, since neither JSON-RPC nor MCP defines a code.
INSUFFICIENT_SCOPE = 403
Wire = dict[str, Any]
# A list that changes between two pages is read again from its beginning, at most this many times in all.
MAX_READINGS = 3
# Far more than any server has; protects against a list that never ends.
MAX_PAGES = 10_000
# The minimum between two announcements. People and models cannot use them faster.
INTERVAL_SECONDS = 0.1


class Change(NamedTuple):
    """What changed: lists (of `LISTS`), resources (by URI), and the description, which a changed list implies."""

    lists: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    description: bool = False


Listener: TypeAlias = Callable[[Change], None]


class RequestError(Exception):
    """Answers a request with a JSON-RPC error of this `code`, message and `data`. An agent's own code may raise it.

    It reports an invalid request or a server problem to the client. For the failure of a tool raise any other
    exception: it becomes a result, which the client's model reads.
    """

    def __init__(self, text: str, code: int = INVALID_PARAMS, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class InsufficientScopeError(RequestError):
    """The caller's access token lacks one of `scopes`, which lists all scopes that the call needs.

    Over HTTP the status is 403, so that the client can get a token with these scopes and try again. Raises `ValueError`
    for an invalid scope.
    """

    def __init__(self, scopes: Iterable[str]) -> None:
        self.scopes = tuple(scopes)
        for scope in self.scopes:
            check_scope(scope)
        plural = "s" if len(self.scopes) > 1 else ""
        named = ", ".join(repr(scope) for scope in self.scopes)
        super().__init__(
            f"the access token lacks what this needs: scope{plural} {named}",
            INSUFFICIENT_SCOPE,
            {"requiredScopes": list(self.scopes)},
        )


def required_scopes(code: int, data: Any) -> tuple[str, ...]:
    """The scopes that an error with this code and `data` requires, without invalid ones."""
    named = data.get("requiredScopes") if code == INSUFFICIENT_SCOPE and isinstance(data, dict) else None
    return tuple(scope for scope in named if _is_scope(scope)) if isinstance(named, list) else ()


def check_scope(scope: str) -> None:
    """Raises `ValueError` for an invalid scope."""
    if not _is_scope(scope):
        raise ValueError(f"{scope!r} cannot be a scope: it has no blanks, quotation marks, backslashes or other signs")


def _is_scope(value: Any) -> bool:
    """RFC 6749, section 3.3."""
    return isinstance(value, str) and re.fullmatch(r"[!#-\[\]-~]+", value) is not None


class ResultError(ValueError):
    """The return value is not a valid result. The message completes "it returned …"."""


def method_not_found(method: str) -> RequestError:
    """The error for a method that a provider does not have."""
    return RequestError(f"Method not found: {method}", METHOD_NOT_FOUND)


def unknown_tool(name: str) -> RequestError:
    """The error for a call of a tool that a provider does not have."""
    return RequestError(f"Unknown tool: {name}")


class Provider(Protocol):
    """Describes itself and answers requests. Every method may be called from several threads at once."""

    def describe(self) -> Description:
        """Its name and capabilities. Called again after every change that it announces."""

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The result of a request. May block for as long as it needs.

        `call` sends progress and log messages to the client, and reports whether the client cancelled the request.
        Raises `RequestError` for an invalid request, with METHOD_NOT_FOUND for a method that the provider does not
        have; `CallCancelledError` if it stopped because the request was cancelled; and `ResultError` if the code that
        it ran returned an invalid result. Any other exception is an internal error.
        """

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener`, from any thread, after every change. Returns a function that removes the listener.

        Changes in quick succession may be merged. `wanted` contains the URIs of the resources whose changes the
        listener needs; changes of other resources may be left out. `wanted` may change at any time; if it is `Watched`,
        it reports that, and names the session that the listener belongs to: changes that concern another session may be
        left out, and the session has ended when the listener is removed.
        """

    def close(self) -> None:
        """Release all resources. No method is called afterwards."""


class CheckedProvider(Provider, Protocol):
    """A provider that knows what is wrong with it."""

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong with it and with its tools."""


@runtime_checkable
class Watched(Protocol):
    """A set of URIs that calls `on_change` after it changes. `session` is that of the client that needs them, as in its
    calls.
    """

    on_change: Callable[[], None]
    session: str | None

    def __contains__(self, uri: object) -> bool:
        """Whether it contains this URI."""

    def uris(self) -> set[str]:
        """A copy of the set, from any thread."""


class Listeners:
    """The listeners of one provider. Safe to use from several threads. `uri in listeners` is true if one of them needs
    the changes of this resource. `on_change` is called when the set of these URIs may have changed; it must not block.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._listeners: dict[object, tuple[Listener, Container[str]]] = {}

    def __contains__(self, uri: object) -> bool:
        return any(uri in wanted for _, wanted in list(self._listeners.values()))

    def add(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Add a listener. Returns a function that removes it. `wanted` as for `Provider.on_change`."""
        key = object()
        self._listeners[key] = (listener, wanted)
        if isinstance(wanted, Watched):
            wanted.on_change = lambda: self.on_change()
            if wanted.uris():
                self.on_change()

        def remove() -> None:
            self._listeners.pop(key, None)
            if isinstance(wanted, Watched):
                self.on_change()

        return remove

    def uris(self, without: Collection[Container[str]] = ()) -> set[str]:
        """The resources whose changes a listener needs, of those with a `Watched` set that is not in `without`."""
        found = [wanted for _, wanted in list(self._listeners.values()) if isinstance(wanted, Watched)]
        return set().union(*(wanted.uris() for wanted in found if not any(wanted is each for each in without)))

    def announce(self, change: Change) -> None:
        """Call every listener."""
        for listener, _ in list(self._listeners.values()):
            listener(change)


class WrappingProvider:
    """Passes everything on to `provider`. Subclasses override methods."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def describe(self) -> Description:
        """As the provider does."""
        return self._provider.describe()

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider."""
        return self._provider.answer(method, params, call)

    def all_tools(self, call: Call) -> ToolList:
        """All tools. Raises as the function `all_tools`."""
        return all_tools(self._provider, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider does."""
        return self._provider.on_change(listener, wanted)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()


class ToolList(NamedTuple):
    """All tools of a provider, and the other members of the result, such as how long it may be cached."""

    tools: list[Wire]
    about: Wire

    @property
    def missing(self) -> list[str]:
        """The servers whose tools are missing from the list."""
        meta = self.about.get("_meta")
        missing = meta.get(UNAVAILABLE_KEY) if isinstance(meta, dict) else None
        return list(missing) if isinstance(missing, dict) else []


def all_tools(provider: Provider, call: Call, *, max_pages: int = MAX_PAGES) -> ToolList:
    """The tools of all pages. Raises as `provider`, and `RequestError` for a list that does not end."""
    if isinstance(provider, WrappingProvider):
        # Without pages: for each page, the provider may have to list all tools.
        return provider.all_tools(call)
    first = provider.answer("tools/list", {}, call)
    for _ in range(MAX_READINGS - 1):
        try:
            return _whole(provider, first, call, max_pages)
        except RequestError:
            first = provider.answer("tools/list", {}, call)
    return _whole(provider, first, call, max_pages)


def _whole(provider: Provider, first: Wire, call: Call, max_pages: int) -> ToolList:
    """The list that begins with this page. Raises `RequestError` if a cursor has become invalid."""
    tools, page = list(first["tools"]), first
    for _ in range(max_pages):
        if (cursor := page.get("nextCursor")) is None:
            about = {key: value for key, value in first.items() if key not in ("tools", "nextCursor")}
            return ToolList(tools, about)
        page = provider.answer("tools/list", {"cursor": cursor}, call)
        tools += page["tools"]
    raise RequestError(f"the list of tools has more than {max_pages} pages")


def require_scopes(granted: frozenset[str] | None, scopes: Iterable[str]) -> None:
    """Raises `InsufficientScopeError` if one of `scopes` is not in `granted`; `granted` None means all scopes."""
    needed = tuple(dict.fromkeys(scopes))
    if granted is not None and not granted.issuperset(needed):
        raise InsufficientScopeError(needed)


class Announcer:
    """Passes changes to `deliver`: the first at once, then, once per interval, all that followed as one.

    Resources that are not `wanted` are left out. Safe to use from several threads.
    """

    def __init__(
        self,
        deliver: Callable[[Change], None],
        wanted: Container[str],
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._deliver = deliver
        self._wanted = wanted
        self._interval_seconds = interval_seconds
        # Guards the fields below. Reentrant, because a signal handler may announce something at any moment.
        self._condition = threading.Condition()
        self._lists: dict[str, None] = {}
        self._uris: dict[str, None] = {}
        self._description = False
        self._is_running = False
        self._is_closed = False

    def announce(self, change: Change) -> None:
        """Schedule `deliver` for this change, possibly merged with others. Does not block. Ignored after `close`."""
        with self._condition:
            if self._is_closed:
                return
            self._lists.update(dict.fromkeys(change.lists))
            self._uris.update({uri: None for uri in change.uris if uri not in self._uris and uri in self._wanted})
            self._description |= change.description
            if not self._is_running and (self._lists or self._uris or self._description):
                threading.Thread(target=self._run, name="changes", daemon=True).start()
                self._is_running = True

    def close(self) -> None:
        """Announce no further changes. An announcement that is in progress in another thread may still complete."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def _run(self) -> None:
        try:
            while (change := self._next()) is not None:
                self._deliver(change)
                with self._condition:
                    self._condition.wait_for(lambda: self._is_closed, self._interval_seconds)
        except BaseException:
            with self._condition:
                self._is_running = False
            raise

    def _next(self) -> Change | None:
        """The pending change; None, which ends the thread, if there is none."""
        with self._condition:
            change = Change(tuple(self._lists), tuple(self._uris), self._description)
            self._lists, self._uris, self._description = {}, {}, False
            if self._is_closed or change == Change():
                self._is_running = False
                return None
            return change
