"""What one pipe has to do with one conversation: who waits for what on it, and how it ended. Values, no behaviour."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

from gaia_mcp.client.transports.stdio.outbox import Outbox

if TYPE_CHECKING:
    import threading

    from gaia_mcp.client.transports.stdio.leader_follower import TurnReader
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import MCPError
    from gaia_mcp.protocol.client import ClientConnection
    from gaia_mcp.protocol.events import Event, Progressed
    from gaia_mcp.protocol.jsonrpc import RequestId


class Pipe(Protocol):
    """What a conversation writes to."""

    @property
    def is_closing(self) -> bool:
        """Whether it is being closed, by us."""

    def is_running(self) -> bool:
        """Whether there is still somebody at its other end. Asked before every request, so it must be quick."""

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Write all of it.

        Raises `BrokenPipeError`; `TimeoutError` when there was no room and nothing is out; `CutError` when a part is.
        """


class Waiter:
    """One open request: where its outcome is put, and how long it may take.

    Of news of progress the newest is in `progress`, and one is in `outcomes` to say that there are any: whoever hears
    them slowly would have to keep them all.
    """

    __slots__ = ("deadline", "outcomes", "progress")

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.outcomes: SimpleQueue[Event | MCPError] = SimpleQueue()
        self.progress: Progressed | None = None


class Exchange:
    """What belongs to one pipe and ends with it, so that a thread that comes late cannot disturb the next one.

    `questions` is how many of the server's are being answered; `telling` the thread that tells the host something, and
    reads nothing meanwhile.
    """

    __slots__ = (
        "connection", "is_open", "lost", "opening", "outbox", "pipe", "questions", "reader", "telling", "turns",
        "waiters",
    )  # fmt: skip

    def __init__(self, connection: ClientConnection, pipe: Pipe) -> None:
        self.connection = connection
        self.pipe = pipe
        self.outbox = Outbox(pipe.write)
        self.reader: threading.Thread | None = None
        self.turns: TurnReader | None = None
        self.waiters: dict[RequestId, Waiter] = {}
        self.questions = 0
        self.telling: int | None = None
        self.opening: Waiter | None = None
        self.is_open = False
        self.lost: MCPError | None = None
