"""What is written piece by piece goes out at once."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.network import MAX_HELD_BYTES, Network
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import line_to, result, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpcore2


@pytest.fixture
def ends() -> Iterator[tuple[httpcore2.NetworkStream, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = Network().connect_tcp("127.0.0.1", listener.getsockname()[1], 5)
        server, _ = listener.accept()
        server.settimeout(5)
        with server:
            yield stream, server
        stream.close()


def test_the_pieces_of_a_request_are_one_packet(ends: tuple[httpcore2.NetworkStream, socket.socket]) -> None:
    """Ours: a server that is told of the head alone does its work twice."""
    stream, server = ends
    stream.write(b"head ")
    stream.write(b"body")
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(100)
    server.settimeout(5)
    server.sendall(b"response")

    assert stream.read(100, 5) == b"response"
    assert server.recv(100) == b"head body"


def test_a_long_body_goes_out_as_it_is_written(ends: tuple[httpcore2.NetworkStream, socket.socket]) -> None:
    """Ours: it would be in memory twice."""
    stream, server = ends
    stream.write(b"x" * (MAX_HELD_BYTES + 1))

    assert server.recv(100) == b"x" * 100


def test_a_response_that_came_early_is_read_though_nothing_can_be_written(
    ends: tuple[httpcore2.NetworkStream, socket.socket],
) -> None:
    """HTTP: a server may refuse a request before all of it has arrived, and close."""
    stream, server = ends
    server.sendall(b"refused")
    own = stream.get_extra_info("socket")
    own.shutdown(socket.SHUT_WR)
    stream.write(b"body")

    assert stream.read(100, 5) == b"refused"


def test_it_is_the_same_for_an_encrypted_connection(tmp_path: Path) -> None:
    """Ours."""
    authority = Authority(tmp_path)
    with serving(result, server_context(authority.signed("web"))) as web, line_to(web, ca=authority.file) as line:
        assert "result" in line.ask("tools/list").message()
