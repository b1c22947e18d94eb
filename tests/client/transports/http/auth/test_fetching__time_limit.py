"""Requests end in time, whatever their server does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import httpx2
import pytest

from gaia_mcp.client.transports.http.auth.fetching import TimeLimit
from gaia_mcp.core.deadline import Deadline
from tests.waiting import ENOUGH_SECONDS, wait_until


@pytest.fixture
def dripping() -> Iterator[str]:
    """The URL of a server whose headers never end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                    while True:
                        connection.sendall(b"a")
                        gone.wait(0.01)
                except OSError:
                    return

        gone = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(ENOUGH_SECONDS)
        assert not thread.is_alive()


def test_the_time_limit_applies_to_headers_sent_byte_by_byte(dripping: str) -> None:
    """Ours: a timeout for each read would never pass."""
    limit = TimeLimit()
    with httpx2.Client() as client, limit.until(Deadline(0.2)), pytest.raises(httpx2.HTTPError):
        client.get(dripping, extensions=limit.extensions)
    assert limit.has_passed


def test_a_connection_made_after_the_deadline_is_closed(dripping: str) -> None:
    """Ours: the time may pass while the name is looked up."""
    limit = TimeLimit()
    with httpx2.Client() as client, limit.until(Deadline(0)):
        wait_until(lambda: limit.has_passed)
        with pytest.raises(httpx2.HTTPError):
            client.get(dripping, extensions=limit.extensions)
