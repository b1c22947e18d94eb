"""Misbehaving servers by name, and the proof that nothing of them is left afterwards."""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from tests.client.eras import CAPABILITIES, ERAS, connected, usual
from tests.processes import living_with
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client.host import Host
    from gaia_mcp.storage.server_cache import ServerCache
    from tests.client.eras import StartTalk

SERVERS = Path(__file__).parent.parent / "servers"


class Started:
    """The clients that a test has started, by the name of their server, and what the servers noted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clients: list[MCPClient] = []

    def __call__(
        self,
        server: str,
        *arguments: str,
        timeout: float = ENOUGH_SECONDS,
        host: Host | None = None,
        era_cache: ServerCache | None = None,
        probe: bool = True,
        is_open: bool = True,
        **options: Any,
    ) -> MCPClient:
        """A client of `tests/servers/<server>.py`, connected unless `is_open` is false."""
        client = MCPClient(server, self.transport(server, *arguments, timeout=timeout, **options), timeout=timeout,
                           host=host, era_cache=era_cache)  # fmt: skip
        self.clients.append(client)
        if is_open:
            client.open()
        return client

    def transport(self, server: str, *arguments: str, **options: Any) -> StdioTransport:
        """A transport to `tests/servers/<server>.py`."""
        env = {"NOTES": str(self.folder / server), **options.pop("env", {})}
        return StdioTransport(sys.executable, [str(SERVERS / f"{server}.py"), *arguments], env, name=server, **options)

    def notes(self, server: str) -> list[str]:
        """What the server has seen, line by line, in all its lives."""
        path = self.folder / server
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment to start processes with: at the end none of them, nor of those they started, may be left."""
    before = set(threading.enumerate())
    yield {"MARK": str(tmp_path)}
    wait_until(lambda: not living_with(str(tmp_path)))
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive(), f"a thread was left behind: {thread.name}"


@pytest.fixture
def start_server(nothing_left: dict[str, str], tmp_path: Path) -> Iterator[Started]:
    """Starts a server by name; at the end all are let go of."""
    started = Started(tmp_path)
    yield started
    for client in started.clients:
        transport = client.transport
        assert isinstance(transport, StdioTransport)
        transport.close(0.3)


@pytest.fixture(autouse=True)
def _plain_logging() -> Iterator[None]:
    """`debug=True` changes the level for the whole process; undone here."""
    level = logging.getLogger("gaia_mcp").level
    yield
    logging.getLogger("gaia_mcp").setLevel(level)


def text_of(result: dict[str, Any]) -> Any:
    return json.loads(result["content"][0]["text"])


def error_of(work: Callable[..., object], *arguments: Any) -> Exception | None:
    """The exception that `work` raises: for a table of errors, all of whose rows are checked at once."""
    try:
        work(*arguments)
    except Exception as error:
        return error
    return None


@contextmanager
def noted(row: object) -> Iterator[None]:
    """Name the row of a table in whatever is raised."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"row: {row!r:.200}")
        raise


@pytest.fixture(params=ERAS)
def start_talk(request: pytest.FixtureRequest) -> StartTalk:
    """Connects a client to a function in each era."""
    return lambda answers=usual, capabilities=CAPABILITIES: connected(request.param, answers, capabilities)
