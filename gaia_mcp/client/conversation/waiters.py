"""The callers that wait for something on a channel."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Channel
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import MCPError
    from gaia_mcp.protocol.events import Event, Progressed


class RequestFailed(NamedTuple):
    """One request has ended without a response. The connection goes on."""

    error: MCPError


class Waiter:
    """One caller of `channel`: where the outcome of its request is put, and how long that may take.

    The newest progress is kept beside the outcomes, and one progress event among these says that there is some: a
    caller that is slow to hear of it would have to keep them all.
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
        """Keep the newest progress for the caller. For the thread that reads."""
        self._progress = progressed
        # A caller that has not taken the one before will find this instead.
        if not self._is_announced:
            self._is_announced = True
            self.outcomes.put(progressed)

    def newest_progress(self) -> Progressed | None:
        """For the caller, when it has taken a progress event: the newest, which it may have had before."""
        # First, so that what is kept from here on is announced again.
        self._is_announced = False
        return self._progress

    def fail(self, error: MCPError) -> None:
        """End the request with `error`, from any thread."""
        self.outcomes.put(RequestFailed(error))
        self._channel.wake()

    def wake(self) -> None:
        """Have the caller look at its deadline now, wherever it waits."""
        self.outcomes.put(None)
        self._channel.wake()
