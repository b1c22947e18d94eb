"""Our client with servers that others wrote, over HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import CallLateError, StatusError
from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.waiting import deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.peer

HANDSHAKE = "2025-11-25"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """A process with several servers, whose names are those that `http_server.py` knows."""

    def __init__(self, python: Path | str, mark: dict[str, str], *names: str) -> None:
        self._ports = {name: free_port() for name in names}
        words = [f"{name}:{port}" for name, port in self._ports.items()]
        self._command = [python, PROGRAMS / "http_server.py", *words]
        self._environ = {"PATH": "/usr/bin:/bin", **mark}
        self.urls = {
            name: f"http://127.0.0.1:{port}/{'sse' if name == 'sse' else 'mcp'}" for name, port in self._ports.items()
        }

    @contextmanager
    def running(self) -> Iterator[Servers]:
        self.start()
        try:
            yield self
        finally:
            self.end()

    def start(self) -> None:
        """Start it, again perhaps."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, env=self._environ, stdout=quiet, stderr=quiet)
        wait_until(lambda: all(map(listens, self._ports.values())), TIMEOUT_SECONDS)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def newest(lasting_mark: dict[str, str]) -> Iterator[Servers]:
    """Servers of the newest SDK, which serves both eras."""
    with Servers(sys.executable, lasting_mark, "streamable-http", "sse").running() as servers:
        yield servers


@pytest.fixture(scope="module")
def of_2025(lasting_mark: dict[str, str], old_python: Path) -> Iterator[Servers]:
    """Servers of the SDK of 2025."""
    # Once a session has been ended by its client, a server of this SDK begins no other.
    names = ("streamable-http", "restarted", "stateless", "sse")
    with Servers(old_python, lasting_mark, *names).running() as servers:
        yield servers


@contextmanager
def running(command: list[str], port: int, mark: dict[str, str], **env: str) -> Iterator[str]:
    """The address of a server that listens at `port`."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", **mark, **env}, stdout=quiet, stderr=quiet)
    try:
        wait_until(lambda: listens(port), TIMEOUT_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def client_of(url: str, host: Host | None = None, **entry: Any) -> MCPClient:
    return MCPClient.from_entry(read_entry("peer", {"url": url, **entry}), TIMEOUT_SECONDS, host=host)


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def use(client: MCPClient) -> None:
    """Everything that the two programs of the SDK can be asked."""
    assert {tool.name for tool in client.fetch_tools()} == {"echo", "fail"}
    assert text_of(client.call("echo", {"text": "hi"})) == "hi"
    large = "ä" * 300_000
    assert text_of(client.call("echo", {"text": large})) == large
    assert client.call("fail", {})["isError"] is True
    client.check_alive()


@pytest.mark.parametrize(
    ("transport", "entry", "era"),
    [
        ("streamable-http", {}, "stateless"),
        ("streamable-http", {"protocolVersion": HANDSHAKE, "type": "http"}, "handshake"),
        ("sse", {}, "handshake"),
        ("sse", {"type": "sse"}, "stateless"),
    ],
)
def test_our_client_uses_a_server_of_the_newest_sdk(
    newest: Servers, transport: str, entry: dict[str, Any], era: str
) -> None:
    """DE-2 and HC-7: both eras, both transports, named or found out."""
    client = client_of(newest.urls[transport], **entry)
    assert client.open().era == era
    use(client)
    client.disconnect()


@pytest.mark.parametrize("transport", ["streamable-http", "stateless", "sse"])
def test_our_client_uses_a_server_of_the_sdk_of_2025(of_2025: Servers, transport: str) -> None:
    """DE-2: with sessions and without, and by the older transport."""
    client = client_of(of_2025.urls[transport])
    assert client.open().era == "handshake"
    use(client)
    client.disconnect()


def test_a_session_survives_the_restart_of_its_server(of_2025: Servers) -> None:
    """LC-6: the server no longer knows the session, and a new one is begun."""
    client = client_of(of_2025.urls["restarted"])
    client.open()
    assert text_of(client.call("echo", {"text": "first"})) == "first"

    of_2025.end()
    of_2025.start()

    with client:
        assert text_of(client.call("echo", {"text": "second"})) == "second"


@pytest.mark.parametrize(("transport", "path"), [("streamableHttp", "mcp"), ("sse", "sse")])
def test_our_client_uses_the_reference_server(
    mark: dict[str, str], npm_servers: dict[str, list[str]], transport: str, path: str
) -> None:
    """Handshake era, TypeScript: progress, questions in the middle of a call, and a call that times out."""
    port = free_port()
    asked: list[dict[str, Any]] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "decline"}

    command = [*npm_servers["everything"], transport]
    with (
        running(command, port, mark, PORT=str(port)) as origin,
        client_of(f"{origin}/{path}", Host(elicit=elicit)) as client,
    ):
        assert "echo" in {tool.name for tool in client.fetch_tools()}
        assert text_of(client.call("echo", {"message": "hi"})) == "Echo: hi"
        reports: list[float] = []
        slow = {"duration": 0.4, "steps": 2}
        client.call("trigger-long-running-operation", slow, on_progress=lambda one: reports.append(one.progress))
        assert reports[-1] == 2
        assert "declined" in text_of(client.call("trigger-elicitation-request", {}))
        assert len(asked) == 1
        reports.clear()
        deadline, endless = deadline_until(lambda: reports), {"duration": 60, "steps": 600}
        with pytest.raises(CallLateError):
            client.call(
                "trigger-long-running-operation",
                endless,
                deadline,
                on_progress=lambda one: reports.append(one.progress),
            )
        assert text_of(client.call("echo", {"message": "still"})) == "Echo: still"


def test_a_wrong_path_of_a_real_server_is_reported(newest: Servers) -> None:
    """Ours: the status is the first hint at a mistyped URL."""
    with pytest.raises(StatusError) as caught:
        client_of(f"{newest.urls['streamable-http']}/wrong").open()
    assert caught.value.status == 404
