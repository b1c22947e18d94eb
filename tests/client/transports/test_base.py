"""What every transport and channel shares."""

from __future__ import annotations

import math
from queue import SimpleQueue
from typing import Any

import pytest

from gaia_mcp.client.transports.base import MCPTransport, UnencodableError, encoded, time_ran_out
from gaia_mcp.client.transports.in_process import CustomChannel, MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError, DeadlineError
from gaia_mcp.protocol.connection import Outgoing


class Least(MCPTransport):
    """The four methods of the documents, and nothing else."""

    def connect(self) -> bool:
        return True

    def disconnect(self) -> None:
        pass

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {}

    def is_connected(self) -> bool:
        return True


def test_sending_notifications_is_optional_for_a_transport() -> None:
    """GAIA's documents: four methods."""
    Least().send_notification("notifications/initialized")


def test_the_default_channel_needs_no_reading_caller() -> None:
    """Ours: leading is what a channel may add, and a cancellation is a message unless streams can be closed."""
    sent: list[bytes] = []
    channel = MemoryChannel("s", sent.append)

    queue: SimpleQueue[str | None] = SimpleQueue()

    channel.wake()
    channel.ask(Outgoing({"a": 0}, 1), Deadline(5), "a")
    channel.abandon(Outgoing({"a": 1}, 1, cancels=True))

    assert channel.wait(queue, 1, Deadline(0)) is None
    for outcome in (None, "first", "second"):
        queue.put(outcome)
    assert channel.wait(queue, 1, Deadline(5)) == "first"
    assert (sent, channel.noise(), channel.listens) == ([b'{"a":0}\n', b'{"a":1}\n'], "", True)
    assert (channel.is_drained(), channel.is_unread(), channel.tools_left_out()) == (False, False, {})
    assert channel.lists_tools


@pytest.mark.parametrize("value", [object(), math.nan])
def test_a_value_that_json_cannot_express_raises_an_unencodable_error(value: Any) -> None:
    """Ours: nothing was sent."""
    with pytest.raises(UnencodableError):
        encoded(Outgoing({"a": value}))


def test_a_cancelled_deadline_raises_cancelled_instead_of_deadline_error() -> None:
    """Ours: a caller that cancels must not be advised to allow more time."""
    deadline = Deadline(5)
    late = time_ran_out("s", deadline, "x", noise="it wrote rubbish")
    deadline.cancel()

    assert isinstance(late, DeadlineError)
    assert "within 5 s; it wrote rubbish" in late.message
    assert isinstance(time_ran_out("s", deadline, "x"), CancelledError)


def test_a_channel_has_no_secrets_by_default() -> None:
    """Ours: a custom transport keeps its secrets to itself."""
    assert CustomChannel("own", Least()).masker().text("hunter22") == "hunter22"


def test_a_channel_has_no_span_attributes_by_default() -> None:
    """Ours: in memory there is nothing to tell."""
    assert MemoryChannel("calc", lambda _: None).attributes() == {}
