"""What happened on a connection, for whoever owns it. That one of our requests has its result, `jsonrpc.Result` says.

Named tuples: one is made for every message, and they cost a fraction of a frozen dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.protocol.jsonrpc import RequestId, Result

if TYPE_CHECKING:
    from gaia_mcp.errors import MCPError


class Peer(NamedTuple):
    """The server at the other end, as it presented itself. Names are for display, never a basis for behaviour."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str
    # "handshake" or "stateless": to be shown and remembered, never to be asked.
    era: str


class RequestContext(NamedTuple):
    """The client behind one request."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    progress_token: RequestId | None
    log_level: str | None


class Opened(NamedTuple):
    """The conversation can begin."""

    peer: Peer


class NegotiationFailed(NamedTuple):
    """It never will."""

    error: MCPError


class ErrorResponse(NamedTuple):
    """One of our requests was answered with an error."""

    id: RequestId
    method: str
    code: int
    text: str
    data: Any


class InvalidResponse(NamedTuple):
    """One of our requests was answered with something that is no answer."""

    id: RequestId
    problem: str


class RequestReceived(NamedTuple):
    """The peer wants an answer: `respond()` or `respond_error()` with this id."""

    id: RequestId
    method: str
    params: dict[str, Any]
    context: RequestContext


class Cancelled(NamedTuple):
    """The peer no longer wants the answer to this request. None must be sent."""

    id: RequestId
    reason: str


class Progressed(NamedTuple):
    """One of our requests is getting on; `id` is the request's."""

    id: RequestId
    progress: float
    total: float | None
    text: str


class Logged(NamedTuple):
    """The peer says something to a person. `data` is any JSON value."""

    level: str
    logger: str
    data: Any


class ListChanged(NamedTuple):
    """`kind` is "tools", "prompts" or "resources"."""

    kind: str


class ResourceUpdated(NamedTuple):
    """A resource that was subscribed to, or a part of it, is no longer what it was."""

    uri: str


class SubscriptionEnded(NamedTuple):
    """The peer no longer tells of this resource. What changed meanwhile, and changes from now on, nobody hears."""

    uri: str


class Discarded(NamedTuple):
    """Something arrived that is not part of the conversation; it was passed over."""

    problem: str
    excerpt: str


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
    | ListChanged
    | ResourceUpdated
    | SubscriptionEnded
    | Discarded
)
