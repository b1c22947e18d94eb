"""The two interfaces to a server: a transport, which a program may implement, and a channel, used by our transports.

`MCPTransport` is the documented class: four methods, one request at a time. A `Channel` carries whole messages in both
directions, for one connection to one server, without interpreting them; the conversation does that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS, Deadline
from gaia_mcp.core.errors import CancelledError, DeadlineError, MCPError
from gaia_mcp.protocol.jsonrpc import RequestId, encode

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.events import Change, Progressed
    from gaia_mcp.text.redaction.masker import Masker

T = TypeVar("T")
OnProgress: TypeAlias = "Callable[[Progressed], None]"
OnChange: TypeAlias = "Callable[[Change], None]"

# The message about a server whose tools are not all known, because it cannot list them.
UNLISTED = "its dialect cannot list tools: call them by name, and name them in the entry's 'tools'"


class MCPTransport(ABC):
    """The minimal interface of a transport. Subclass it to implement your own."""

    @abstractmethod
    def connect(self) -> bool:
        """Connect to the server; False on failure."""

    @abstractmethod
    def disconnect(self) -> None:
        """End the connection. May be called twice."""

    @abstractmethod
    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a JSON-RPC request and return the whole response, with its `result` or `error`.

        Raises `RuntimeError` when not connected, `TimeoutError` when no response came in time.
        """

    @abstractmethod
    def is_connected(self) -> bool:
        """Whether requests can be sent."""

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:  # noqa: B027
        """Send a notification. Does nothing by default, for transports that cannot send one."""


class Receiver(Protocol):
    """Receives what arrives on a channel. Called from any thread, but from one at a time."""

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        """A record has arrived; `about` is the request on whose own stream it arrived."""

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        """As `receive`, for a channel that has parsed it already."""

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        """No response to the request `about` will arrive. Other requests are not affected."""

    def channel_ended(self, error: MCPError) -> None:
        """Nothing more will arrive. May be called again: the first reason counts."""


class UnencodableError(ValueError):
    """A message that JSON cannot express. Nothing of it was sent."""


class Channel(ABC):
    """One connection to one server. It is started once and closed for good; a new connection is a new channel.

    May be used from several threads at once. Errors carry `name`, the server's.
    """

    # Whether messages other than responses can arrive: requests, notifications, progress.
    listens: ClassVar[bool] = True
    # The `case` of the error for a server that does not respond at its start.
    silence_case: ClassVar[str] = ""
    # Whether all responses arrive in one place, so that one thread can wait for several.
    has_one_stream: ClassVar[bool] = False
    # Where the other end writes its messages, for an error; empty if they are responses.
    output: ClassVar[str] = ""

    def __init__(self, name: str) -> None:
        self.name = name
        # The name of the dialect that it has in place of MCP.
        self.dialect = ""

    @abstractmethod
    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        """Connect, without sending anything, and pass what arrives from then on to `receiver`.

        Raises `ConnectError` or `DeadlineError`.
        """

    @abstractmethod
    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        """Send one message; `stage` names its purpose in errors.

        Raises `UnencodableError`, `ConnectError` or `DeadlineError`.
        """

    def ask(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        """As `send`, for a request whose caller calls `wait` for it next. It may be sent only then."""
        self.send(outgoing, deadline, stage)

    @abstractmethod
    def send_soon(self, outgoing: Outgoing) -> None:
        """Send a message that no caller waits for, now or later. It is dropped if the server does not read. Never waits
        or raises.
        """

    def abandon(self, cancellation: Outgoing) -> None:
        """Cancel a request. A channel with a stream for each request closes that stream instead."""
        self.send_soon(cancellation)

    def wait(self, outcomes: SimpleQueue[T], about: RequestId | None, deadline: Deadline) -> T | None:  # noqa: ARG002
        """The next of `outcomes`, the queue in which the receiver puts the outcomes of the request `about`; None once
        `deadline` has passed. If the channel can, it reads on the calling thread meanwhile. None in the queue is
        skipped.
        """
        while True:
            outcome = next_outcome(outcomes, deadline)
            if outcome is not None or deadline.expired:
                return outcome

    def attributes(self) -> dict[str, str | int]:
        """Span attributes of the connection, with the names of OpenTelemetry."""
        return {}

    def wake(self) -> None:  # noqa: B027
        """Make a thread that reads in `wait` check its queue and its deadline again."""

    def expect_many(self, at_once: int) -> None:  # noqa: B027
        """Many requests follow, so many at once. They are to be no burden on what is measured: a caller sleeps rather
        than polls, although a response may reach it later, and connections are kept open.
        """

    @abstractmethod
    def is_running(self) -> bool:
        """Whether the other end is there. Called before every request, so it is quick."""

    def is_drained(self) -> bool:
        """Whether the other end has read everything that was sent. False also if unknown."""
        return False

    def is_unread(self) -> bool:
        """Whether the other end has left something unread. False also if unknown."""
        return False

    @abstractmethod
    def why_lost(self, stage: str, noise: str = "") -> MCPError:
        """The error for a caller that waited for `stage` when the connection ended. `noise` describes the server's
        output that is not MCP.
        """

    @abstractmethod
    def close(self, grace_seconds: float | None) -> None:
        """End the connection, waiting for the other end up to `grace_seconds`, or the channel's default if None. May be
        called twice; never raises.
        """

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        from gaia_mcp.text.redaction.masker import Masker

        return Masker()

    def noise(self) -> str:
        """What is known about a server that does not respond, for an error; empty if nothing is known."""
        return ""

    def tools_left_out(self) -> dict[str, str]:
        """The tools that this channel removed from the server's last list, as the protocol requires: the reason by the
        tool's name.
        """
        return {}

    @property
    def lists_tools(self) -> bool:
        """Whether the server's list is complete: a tool that is not listed does not exist."""
        return True


def next_outcome(outcomes: SimpleQueue[T], deadline: Deadline) -> T | None:
    """The next of `outcomes`; None if there is none before `deadline` passes or must be checked again. For the only
    thread that takes them.
    """
    if outcomes.qsize():
        return outcomes.get_nowait()
    try:
        return outcomes.get(timeout=min(deadline.remaining(), WAIT_SLICE_SECONDS))
    except Empty:
        return None


def encoded(outgoing: Outgoing) -> bytes:
    """The record of a message. Raises `UnencodableError`."""
    try:
        return encode(outgoing.message)
    except (TypeError, ValueError) as cause:
        raise UnencodableError(str(cause)) from cause


def time_ran_out(server: str, deadline: Deadline, stage: str, *, noise: str = "", case: str = "") -> MCPError:
    """The error for a deadline that has passed."""
    if deadline.is_cancelled:
        return CancelledError(server, stage)
    return DeadlineError(server, stage, deadline.allowed, noise=noise, case=case)
