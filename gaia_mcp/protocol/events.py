"""What a connection reports to its owner. For the result of a request of ours, `jsonrpc.Result` is the event.

Named tuples: one is made for every message, and they cost a fraction of a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.protocol.jsonrpc import RequestId, Result

if TYPE_CHECKING:
    from gaia_mcp.core.errors import MCPError


class Peer(NamedTuple):
    """The server at the other end, as it presents itself. Names are for display, never a basis for behaviour."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str
    # "handshake", "stateless", or the name of a dialect: for display and caches, never a basis for behaviour.
    era: str


class RequestContext(NamedTuple):
    """How a client describes itself: with one request, or in its handshake for all of them."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    progress_token: RequestId | None
    log_level: str | None


class Opened(NamedTuple):
    """Both sides have agreed on a revision; requests may be sent."""

    peer: Peer


class NegotiationFailed(NamedTuple):
    """The two sides could not agree on a revision."""

    error: MCPError


class ErrorResponse(NamedTuple):
    """The response to one of our requests is an error."""

    id: RequestId
    method: str
    code: int
    text: str
    data: Any


class InvalidResponse(NamedTuple):
    """The response to one of our requests is invalid. `excerpt` is its beginning, if it says more than `problem`."""

    id: RequestId
    problem: str
    excerpt: str = ""


class RequestReceived(NamedTuple):
    """The peer has sent a request: call `respond()` or `respond_error()` with its id."""

    id: RequestId
    method: str
    params: dict[str, Any]
    context: RequestContext


class Cancelled(NamedTuple):
    """The peer has cancelled its request. A response to it is dropped."""

    id: RequestId
    reason: str


class Progressed(NamedTuple):
    """Progress of one of our requests, with its `id`."""

    id: RequestId
    progress: float
    total: float | None
    text: str


class Logged(NamedTuple):
    """A log message of the peer. `data` is any JSON value."""

    level: str
    logger: str
    data: Any


class ListChanged(NamedTuple):
    """A list of the peer has changed: `kind` is "tools", "prompts" or "resources"."""

    kind: str


class ResourceUpdated(NamedTuple):
    """A resource that was subscribed to has changed, or a part of it."""

    uri: str


class NotGranted(NamedTuple):
    """The peer declares `listChanged` for this list but did not grant the subscription: `kind` is as above."""

    kind: str


class SubscriptionEnded(NamedTuple):
    """The peer has ended the subscription to this resource: later changes of it are not reported."""

    uri: str


class Discarded(NamedTuple):
    """A record was ignored: it is not a valid message, or not allowed here. `excerpt` is its beginning."""

    problem: str
    excerpt: str


class Garbled(NamedTuple):
    """A line was ignored that begins a JSON object and is invalid. It may have been the response to `id`, the only
    pending request. `excerpt` is its beginning.
    """

    id: RequestId
    excerpt: str


# The changes that a peer announces.
Change: TypeAlias = ListChanged | NotGranted | ResourceUpdated | SubscriptionEnded
Event: TypeAlias = (
    Opened
    | NegotiationFailed
    | Result
    | ErrorResponse
    | InvalidResponse
    | RequestReceived
    | Cancelled
    | Progressed
    | Logged
    | Change
    | Discarded
    | Garbled
)
