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
from gaia_mcp.errors import CallLateError, StatusError
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
    mark: dict[str, str], transport: str, entry: dict[str, Any], era: str
) -> None:
    """DE-2 and HC-7: both eras, both transports, named or found out."""
    port = free_port()
    command = [sys.executable, str(PROGRAMS / "http_server.py"), transport, str(port)]

    with running(command, port, mark) as origin:
        url = f"{origin}/{'sse' if transport == 'sse' else 'mcp'}"
        client = client_of(url, **entry)
        assert client.open().era == era
        use(client)
        client.disconnect()


@pytest.mark.parametrize(
    ("transport", "more"), [("streamable-http", ()), ("streamable-http", ("stateless",)), ("sse", ())]
)
def test_our_client_uses_a_server_of_the_sdk_of_2025(
    mark: dict[str, str], old_python: Path, transport: str, more: tuple[str, ...]
) -> None:
    """DE-2: with sessions and without, and by the older transport."""
    port = free_port()
    command = [str(old_python), str(PROGRAMS / "http_server.py"), transport, str(port), *more]

    with running(command, port, mark) as origin:
        client = client_of(f"{origin}/{'sse' if transport == 'sse' else 'mcp'}")
        assert client.open().era == "handshake"
        use(client)
        client.disconnect()


def test_a_session_survives_the_restart_of_its_server(mark: dict[str, str], old_python: Path) -> None:
    """LC-6: the server no longer knows the session, and a new one is begun."""
    port = free_port()
    command = [str(old_python), str(PROGRAMS / "http_server.py"), "streamable-http", str(port)]

    with running(command, port, mark) as origin:
        client = client_of(f"{origin}/mcp")
        client.open()
        assert text_of(client.call("echo", {"text": "first"})) == "first"
    with running(command, port, mark), client:
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


def test_a_wrong_path_of_a_real_server_is_reported(mark: dict[str, str]) -> None:
    """Ours: the status is the first hint at a mistyped URL."""
    port = free_port()
    command = [sys.executable, str(PROGRAMS / "http_server.py"), "streamable-http", str(port)]

    with running(command, port, mark) as origin, pytest.raises(StatusError) as caught:
        client_of(f"{origin}/wrong").open()
    assert caught.value.status == 404
