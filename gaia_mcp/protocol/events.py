"""What a connection reports to its owner. For the result of a request of ours, `jsonrpc.Result` is the event.

Named tuples: one is made for every message, and they cost a fraction of a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.protocol.jsonrpc import RequestId, Result

if TYPE_CHECKING:
    from gaia_mcp.errors import MCPError


class Peer(NamedTuple):
    """The server at the other end, as it presents itself. Names are for display, never a basis for behaviour."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str
    # "handshake", "stateless", or "rpc" where there is no MCP: to be shown and cached, never a basis for behaviour.
    era: str


class RequestContext(NamedTuple):
    """What a client says of itself with one request, or said for all of them in its handshake."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    progress_token: RequestId | None
    log_level: str | None


class Opened(NamedTuple):
    """Both sides have agreed on a revision; requests may be sent."""

    peer: Peer


class NegotiationFailed(NamedTuple):
    """They could not agree."""

    error: MCPError


class ErrorResponse(NamedTuple):
    """The response to one of our requests is an error."""

    id: RequestId
    method: str
    code: int
    text: str
    data: Any


class InvalidResponse(NamedTuple):
    """The response to one of our requests is invalid."""

    id: RequestId
    problem: str


class RequestReceived(NamedTuple):
    """The peer has sent a request: call `respond()` or `respond_error()` with its id."""

    id: RequestId
    method: str
    params: dict[str, Any]
    context: RequestContext


class Cancelled(NamedTuple):
    """The peer has cancelled its request. What is sent as the response is dropped."""

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
    """The peer declares that it announces changes of this list, and was asked to, but does not: `kind` is as above."""

    kind: str


class SubscriptionEnded(NamedTuple):
    """The peer has ended the subscription to this resource: later changes of it are not reported."""

    uri: str


class Discarded(NamedTuple):
    """A record that is not a valid message, or is not allowed here, was ignored. `excerpt` is how it begins."""

    problem: str
    excerpt: str


# What a peer announces.
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
)
