"""Channels over a pair of sockets."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.unix_socket import Connected
from gaia_mcp.core.deadline import Deadline
from tests.client.transports.sockets import new_channel
from tests.client.transports.talk import Heard
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.client.transports.unix_socket import SocketChannel
    from tests.client.transports.sockets import OpenChannel


@pytest.fixture
def socket_channel() -> Iterator[OpenChannel]:
    """A channel over a socket, what it has handed over, and the other end."""
    opened: list[tuple[SocketChannel, socket.socket]] = []

    def start(received: bytes = b"", **limits: int) -> tuple[SocketChannel, Heard, socket.socket]:
        ours, theirs = socket.socketpair()
        channel, heard = new_channel(lambda _: Connected(ours, received), **limits), Heard()
        opened.append((channel, theirs))
        channel.start(heard, Deadline(ENOUGH_SECONDS))
        return channel, heard, theirs

    yield start
    for channel, theirs in opened:
        channel.close(None)
        theirs.close()
        assert channel._reader is not None
        assert not channel._reader.is_alive()
