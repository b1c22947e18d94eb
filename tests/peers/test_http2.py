"""HTTP/2 over TLS, by the package `h2`, with our server under another ASGI server."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gaia_mcp.client import MCPClient
from gaia_mcp.core.errors import CancelledError
from tests.client.transports.http.certificates import Authority
from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.prepare.peers import HTTP2
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.prepare.fixtures import Prepared

ERAS = ["2025-11-25", "2026-07-28"]
# How hypercorn ends a line of its log: with the method, the protocol and the status of a request.
FORMAT = "%(m)s %(H)s %(s)s"


class Server(NamedTuple):
    """The server: an entry for it, its log of requests, and what its tools have noted."""

    entry: dict[str, Any]
    log: Path
    notes: Path

    def client(self, revision: str) -> MCPClient:
        return MCPClient.from_config("http2", {**self.entry, "protocol": revision}, timeout=TIMEOUT_SECONDS)

    def protocols(self) -> set[str]:
        """By which versions of HTTP it was asked."""
        return {line.split()[-2] for line in self.log.read_text().splitlines()}


@pytest.fixture(scope="module")
def server(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("http2")
    path = str(prepared.folder(HTTP2))
    authority = Authority(folder)
    signed = authority.signed("server")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    log, notes = folder / "log", folder / "notes"
    options = ["--certfile", signed, "--keyfile", signed, "--access-logfile", str(log), "--access-logformat", FORMAT]
    process = subprocess.Popen(
        [sys.executable, "-m", "hypercorn", *options, "--workers", "0", "--bind", address, "http2_app:app"],
        cwd=PROGRAMS,
        env={"PATH": "", "HOME": str(folder), "NOTES": str(notes), "PYTHONPATH": path},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path)
        try:
            host, _, port = address.partition(":")
            wait_until(lambda: _listens(host, int(port)), TIMEOUT_SECONDS)
            yield Server({"url": f"https://{address}/mcp", "ssl_verify": authority.file}, log, notes)
        finally:
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


@pytest.mark.parametrize("revision", ERAS)
def test_calls_and_progress_are_sent_by_http_2(server: Server, revision: str) -> None:
    """Ours: many requests, and responses that are streams, on connections that are used again."""
    with server.client(revision) as client:
        for number in range(20):
            assert client.call("double", {"number": number})["structuredContent"] == {"result": 2 * number}
        seen: list[float] = []
        client.call("steps", {"count": 5}, on_progress=lambda report: seen.append(report.progress))
    assert seen[-1] == 5
    assert server.protocols() == {"2"}


@pytest.mark.parametrize("revision", ERAS)
def test_concurrent_calls_get_their_own_results(server: Server, revision: str) -> None:
    """Ours: from many threads, each with a connection of its own."""
    with server.client(revision) as client, ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda number: client.call("double", {"number": number}), range(64)))
    assert [result["structuredContent"]["result"] for result in found] == [2 * number for number in range(64)]


@pytest.mark.parametrize("revision", ERAS)
def test_a_call_is_cancelled_and_the_others_go_on(server: Server, revision: str) -> None:
    """Spec, HS-4 and LC-5: by closing the stream, or by a notification."""
    server.notes.unlink(missing_ok=True)
    with server.client(revision) as client:
        deadline = client.deadline()
        with pytest.raises(CancelledError):
            client.call("wait", {}, deadline, on_progress=lambda _: deadline.cancel())
        wait_until(server.notes.exists)
        assert client.call("double", {"number": 4})["structuredContent"] == {"result": 8}
