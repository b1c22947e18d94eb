"""The callers that wait on a channel for the outcome of a request."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Channel
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import MCPError
    from gaia_mcp.protocol.events import Event, Progressed


class RequestFailed(NamedTuple):
    """One request has ended without a response. The connection stays open."""

    error: MCPError


class Waiter:
    """One caller of `channel`: the queue for the outcomes of its request, and its deadline.

    Only the newest progress is stored, beside the queue, and at most one progress event in the queue announces it, so
    that events do not pile up for a slow caller.
    """

    __slots__ = ("_channel", "_is_announced", "_progress", "deadline", "outcomes")

    def __init__(self, channel: Channel, deadline: Deadline) -> None:
        self._channel = channel
        self.deadline = deadline
        self.outcomes: SimpleQueue[Event | MCPError | RequestFailed | None] = SimpleQueue()
        self._progress: Progressed | None = None
        # Whether a progress event is among the outcomes.
        self._is_announced = False

    def report(self, progressed: Progressed) -> None:
        """Store the newest progress for the caller. For the thread that reads."""
        self._progress = progressed
        # A caller that has not taken the event before will find this progress instead.
        if not self._is_announced:
            self._is_announced = True
            self.outcomes.put(progressed)

    def newest_progress(self) -> Progressed | None:
        """The newest progress, for the caller that has taken a progress event. It may be the same as before."""
        # First, so that progress stored from here on is announced again.
        self._is_announced = False
        return self._progress

    def fail(self, error: MCPError) -> None:
        """End the request with `error`, from any thread."""
        self.outcomes.put(RequestFailed(error))
        self._channel.wake()

    def wake(self) -> None:
        """Make the caller check its deadline now, wherever it waits."""
        self.outcomes.put(None)
        self._channel.wake()
