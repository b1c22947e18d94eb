"""A channel within this process: records both ways, and an end that each caller reads in its own words."""

from __future__ import annotations

import pytest

from gaia_mcp.client.transports.base import UnencodableError
from gaia_mcp.client.transports.memory import MemoryChannel
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConnectError, MCPError, NotConnectedError
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.redaction.masker import Masker
from tests.client.transports.talk import Heard

PING = Outgoing({"jsonrpc": "2.0", "method": "ping"})
RECORD = b'{"jsonrpc":"2.0","method":"ping"}\n'


def test_records_pass_in_both_directions() -> None:
    """Ours: the same bytes as on a pipe."""
    sent: list[bytes] = []
    channel, heard = MemoryChannel("s", sent.append, Masker(["hunter22"])), Heard()
    with pytest.raises(NotConnectedError):
        channel.arrive(RECORD)
    assert not channel.is_running()

    channel.start(heard, Deadline(5))
    channel.send(PING, Deadline(5), "ping")
    channel.send_soon(PING)
    channel.arrive(b"x")

    assert (sent, heard.records, channel.masker().secrets, channel.is_running()) == (
        [RECORD] * 2,
        [b"x"],
        ["hunter22"],
        True,
    )
    assert isinstance(channel.why_lost("x"), NotConnectedError)


def test_a_failed_request_does_not_end_the_channel() -> None:
    """Ours: as over a channel with a stream for each request."""
    failed: list[tuple[object, str]] = []

    class Failing(Heard):
        def request_failed(self, about: object, error: MCPError) -> None:
            failed.append((about, error.message))

    channel = MemoryChannel("s", print)
    with pytest.raises(NotConnectedError):
        channel.fail(1, ConnectError("cut"))
    channel.start(Failing(), Deadline(5))
    channel.fail(1, ConnectError("cut"))

    assert (failed, channel.is_running()) == ([(1, "cut")], True)


def test_a_message_that_json_cannot_express_is_not_sent() -> None:
    """Ours: the tests of a conversation must meet the same error as over a pipe."""
    sent: list[bytes] = []

    with pytest.raises(UnencodableError):
        MemoryChannel("s", sent.append).send(Outgoing({"a": object()}), Deadline(5), "x")
    assert sent == []


def test_the_end_is_reported_with_the_stage_of_each_caller() -> None:
    """Ours: the first reason is the one that counts."""
    sent: list[bytes] = []
    channel, heard = MemoryChannel("s", sent.append), Heard()
    channel.end(lambda stage: ConnectError(f"gone {stage}"))
    channel.start(heard, Deadline(5))
    channel.end(lambda stage: ConnectError(f"late {stage}"))
    channel.close(None)
    channel.send_soon(PING)

    assert (channel.is_running(), channel.why_lost("x").message, sent) == (False, "gone x", [])
    assert heard.ends[0].message == "late before it was asked to"


def test_closing_reports_not_connected() -> None:
    """Ours: callers that wait are no longer connected."""
    channel, heard = MemoryChannel("s", print), Heard()
    channel.start(heard, Deadline(5))

    channel.close(1.0)

    assert isinstance(channel.why_lost("x"), NotConnectedError)
    assert len(heard.ends) == 1
