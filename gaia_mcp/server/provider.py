"""What answers MCP requests: a provider. A front, such as a stdio server, shows one to clients.

Knows the methods of MCP and plain dicts, nothing of agents, connections or revisions: a provider returns results as the
newest revision defines them, and the connection adapts them to each client.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.toolcall import Call

# The lists that a provider may have, by the names of their capabilities.
LISTS = ("tools", "prompts", "resources")
# The code of the error for a lack of scopes: the status of HTTP, since neither JSON-RPC nor MCP defines one.
INSUFFICIENT_SCOPE = 403


class Change(NamedTuple):
    """What has changed: lists, of `LISTS`; resources, by their URIs; the description, which may have with any list."""

    lists: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    description: bool = False


Listener: TypeAlias = Callable[[Change], None]


class RequestError(Exception):
    """Raised to answer a request with a JSON-RPC error of this `code`, text and `data`, by an agent's own code as well.

    It tells the client that something is wrong with the request or the server. What a tool fails at is any other
    exception: it becomes a result, which the client's model reads.
    """

    def __init__(self, text: str, code: int = INVALID_PARAMS, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class InsufficientScopeError(RequestError):
    """Raised for a call whose caller's access token lacks one of `scopes`: all that it needs.

    Over HTTP the status is 403, so that the client can get a token with these scopes and try again. Raises `ValueError`
    for what cannot be a scope.
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
    """The scopes that an error with this code and `data` demands; those that cannot be scopes are left out."""
    named = data.get("requiredScopes") if code == INSUFFICIENT_SCOPE and isinstance(data, dict) else None
    return tuple(scope for scope in named if _is_scope(scope)) if isinstance(named, list) else ()


def check_scope(scope: str) -> None:
    """Raises `ValueError` for what cannot be a scope of an access token."""
    if not _is_scope(scope):
        raise ValueError(f"{scope!r} cannot be a scope: it has no blanks, quotation marks, backslashes or other signs")


def _is_scope(value: Any) -> bool:
    """RFC 6749, section 3.3."""
    return isinstance(value, str) and re.fullmatch(r"[!#-\[\]-~]+", value) is not None


class ResultError(ValueError):
    """What was returned for a request is not a result that may be sent. The text completes "it returned …"."""


def method_not_found(method: str) -> RequestError:
    """The error for a method that a provider does not have."""
    return RequestError(f"Method not found: {method}", METHOD_NOT_FOUND)


def unknown_tool(name: str) -> RequestError:
    """The error for a call of a tool that a provider does not have."""
    return RequestError(f"Unknown tool: {name}")


class Provider(Protocol):
    """Describes itself and answers requests. Every method may be called from several threads at once."""

    def describe(self) -> Description:
        """What it is called and which capabilities it has. Asked again after every change that it announces."""

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The result of a request; may take as long as it needs.

        `call` takes progress and log messages to the client, and knows whether the client has cancelled the request.
        Raises `RequestError` for a request that is invalid, with METHOD_NOT_FOUND for a method that the provider does
        not have, and `CallCancelledError` when it stopped because the request was cancelled. Whatever else it raises is
        an internal error, with `ResultError` one of the code that it ran.
        """

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener`, from any thread, after every change. Returns a function that ends this.

        Changes in quick succession may be announced as one. `wanted` has the URIs of the resources whose changes the
        listener needs; it may change at any time, of which it tells if it is `Watched`. Those of others may be left
        out.
        """

    def close(self) -> None:
        """Release what it holds. Nothing is asked of it afterwards."""


@runtime_checkable
class Watched(Protocol):
    """URIs that tell of their changes."""

    on_change: Callable[[], None]

    def uris(self) -> set[str]:
        """All of them, for any thread."""


class Listeners:
    """The listeners of one provider. Safe to use from several threads. `uri in listeners`: one of them needs the
    changes of this resource. `on_change` is called after that may have changed for any resource; it must not wait.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._listeners: dict[object, tuple[Listener, Container[str]]] = {}

    def __contains__(self, uri: object) -> bool:
        return any(uri in wanted for _, wanted in list(self._listeners.values()))

    def add(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Keep `listener` until the returned function is called. `wanted` as for `Provider.on_change`."""
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

    def uris(self) -> set[str]:
        """The resources whose changes one of the listeners needs, as far as listeners tell."""
        found = (wanted.uris() for _, wanted in list(self._listeners.values()) if isinstance(wanted, Watched))
        return set().union(*found)

    def announce(self, change: Change) -> None:
        """Call every listener."""
        for listener, _ in list(self._listeners.values()):
            listener(change)
