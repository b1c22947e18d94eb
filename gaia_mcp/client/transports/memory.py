"""A channel within this process, whose other end is a function. For tests, and for an agent in the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.base import Channel, Receiver, encoded
from gaia_mcp.errors import MCPError, NotConnectedError

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.redaction.masker import Masker


class MemoryChannel(Channel):
    """Each record that is sent is passed to `deliver`, on the sender's thread; `deliver` may raise what `send` may.

    The other end sends by `arrive`, from any thread, and may end the connection with `end`.
    """

    def __init__(self, name: str, deliver: Callable[[bytes], None], masker: Masker | None = None) -> None:
        super().__init__(name)
        self._deliver = deliver
        self._masker = masker
        self._receiver: Receiver | None = None
        self._why: Callable[[str], MCPError] | None = None

    def arrive(self, record: bytes) -> None:
        """Receive a record from the other end. Raises `NotConnectedError` before the start."""
        if self._receiver is None:
            raise NotConnectedError(self.name)
        self._receiver.receive(record)

    def fail(self, about: RequestId, error: MCPError) -> None:
        """Fail a request without a response. Raises `NotConnectedError` before the start."""
        if self._receiver is None:
            raise NotConnectedError(self.name)
        self._receiver.request_failed(about, error)

    def end(self, why: Callable[[str], MCPError]) -> None:
        """End the connection from the other end; `why` returns the error for a caller that waited for a stage."""
        self._why = self._why or why
        if self._receiver is not None:
            self._receiver.channel_ended(why("before it was asked to"))

    def start(self, receiver: Receiver, deadline: Deadline) -> None:  # noqa: ARG002
        self._receiver = receiver

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:  # noqa: ARG002
        self._deliver(encoded(outgoing))

    def send_soon(self, outgoing: Outgoing) -> None:
        if self._why is None:
            self._deliver(encoded(outgoing))

    def is_running(self) -> bool:
        return self._receiver is not None and self._why is None

    def why_lost(self, stage: str, noise: str = "") -> MCPError:  # noqa: ARG002
        return self._why(stage) if self._why is not None else NotConnectedError(self.name)

    def close(self, grace_seconds: float | None) -> None:  # noqa: ARG002
        self.end(lambda _: NotConnectedError(self.name))

    def masker(self) -> Masker:
        return self._masker or super().masker()
