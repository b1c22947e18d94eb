"""What answers MCP requests: a provider. A front, such as a stdio server, shows one to clients.

Knows the methods of MCP and plain dicts, nothing of agents, connections or revisions: a provider returns results as the
newest revision defines them, and the connection adapts them to each client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.toolcall import Call

# Given the lists that have changed, of `LISTS`; none when only the description has.
Listener: TypeAlias = Callable[[tuple[str, ...]], None]

# The lists that a provider may have, by the names of their capabilities.
LISTS = ("tools", "prompts", "resources")


class RequestError(Exception):
    """The response to the request is a JSON-RPC error with `code`, this text and `data`."""

    def __init__(self, text: str, code: int = INVALID_PARAMS, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class ResultError(ValueError):
    """What was returned for a request is not a result that may be sent. The text completes "it returned …"."""


def method_not_found(method: str) -> RequestError:
    """The error for a method that a provider does not have."""
    return RequestError(f"Method not found: {method}", METHOD_NOT_FOUND)


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

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener`, from any thread, after every change. Returns a function that ends this."""

    def close(self) -> None:
        """Release what it holds. Nothing is asked of it afterwards."""


class Listeners:
    """The listeners of one provider. Safe to use from several threads."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def add(self, listener: Listener) -> Callable[[], None]:
        """Keep `listener` until the returned function is called."""
        key = object()
        self._listeners[key] = listener

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    def announce(self, *lists: str) -> None:
        """Call every listener with the lists that have changed."""
        for listener in list(self._listeners.values()):
            listener(lists)
