"""Real peers, connected, and the proof that none of them is left."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import MCPClient
from tests.prepare.peers import CACHE
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client import Host

PROGRAMS = Path(__file__).parent / "programs"

# A cold interpreter with a large SDK, or node, on a busy machine.
TIMEOUT_SECONDS = 60
# A server that does not end by itself is not waited for: how it is ended has tests of its own.
ENDING_SECONDS = 0.3


@contextmanager
def marking(folder: Path) -> Iterator[dict[str, str]]:
    """An environment for children: at the end no process that has it may be left. Node keeps what it has compiled."""
    yield {"PEER_OF_TEST": str(folder), "NODE_COMPILE_CACHE": str(CACHE / "compiled")}
    wait_until(lambda: not living_with(str(folder)))


@contextmanager
def connecting(mark: dict[str, str]) -> Iterator[Callable[..., MCPClient]]:
    """Connects our client to a command, or to what an entry names; it is let go of at the end."""
    clients: list[MCPClient] = []

    def open_client(
        *command: str | Path, host: Host | None = None, env: dict[str, str] | None = None, **entry: Any
    ) -> MCPClient:
        if command:
            program, *arguments = [str(word) for word in command]
            entry |= {"command": program, "args": arguments, "env": {**mark, **(env or {})}}
        clients.append(MCPClient.from_config("peer", entry, timeout=TIMEOUT_SECONDS, host=host))
        clients[-1].open()
        return clients[-1]

    yield open_client
    for client in clients:
        client.close(ENDING_SECONDS)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment for the children of a test."""
    with marking(tmp_path) as environ:
        yield environ


@pytest.fixture
def connect(mark: dict[str, str]) -> Iterator[Callable[..., MCPClient]]:
    """Connects our client for a test."""
    with connecting(mark) as open_client:
        yield open_client


@pytest.fixture(scope="module")
def lasting_mark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment for children that all tests of a module use."""
    with marking(tmp_path_factory.mktemp("lasting")) as environ:
        yield environ


@pytest.fixture(scope="module")
def connect_once(lasting_mark: dict[str, str]) -> Iterator[Callable[..., MCPClient]]:
    """Connects our client for all tests of a module. What starts takes its time, and they leave it as it was."""
    with connecting(lasting_mark) as open_client:
        yield open_client


@pytest.fixture
def serve_demo() -> list[str]:
    """The command that serves the built-in agent."""
    return [sys.executable, "-m", "gaia_mcp", "mcp", "serve", "demo"]
