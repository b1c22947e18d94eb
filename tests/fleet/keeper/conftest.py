"""A keeper in a thread of the test, with servers of `tests/servers`; and peers by hand in place of one.

A keeper that a test does not end is ended; then no server, no thread and no file of it may be left.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp._version import __version__
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ServerUnknownError
from gaia_mcp.fleet.keeper import SOCKET, Address, encoded_line, read_line
from gaia_mcp.fleet.keeper.process import Keeper as Process
from gaia_mcp.fleet.keeper.requests import Keeper
from tests.processes import children
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

SERVERS = Path(__file__).parents[2] / "servers"
Wire = dict[str, Any]


def script(name: str, *arguments: str, **env: str) -> Wire:
    """The entry of one of the servers that behave in a way of their own."""
    return {"command": sys.executable, "args": [str(SERVERS / f"{name}.py"), *arguments], "env": env}


def enough() -> Deadline:
    """A deadline that is not to run out."""
    return Deadline(ENOUGH_SECONDS)


class Running:
    """A keeper in a thread. `entries` are the servers that it finds by their names; it may be changed."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.entries: dict[str, ServerEntry] = {}
        self.reports: list[str] = []
        self.clock = Clock()
        # A thread that reports this stands still.
        self.stands_at = "'brief' is ended"
        self._stands, self._goes_on = False, threading.Event()
        self.process = Process(folder, self.find, self._report, **{"clock": self.clock, **options})
        self.keeper = Keeper(folder / SOCKET)
        self._thread = threading.Thread(target=self.process.serve, name="keeper")
        self._thread.start()

    def find(self, address: Address) -> ServerEntry:
        """The entry at an address."""
        if address.name not in self.entries:
            raise ServerUnknownError(address.name, Path("servers.json"))
        name = address.shown
        return self.entries[address.name]._replace(name=name, instance=address.instance)

    def add(self, name: str, raw: Wire) -> None:
        """Configure a server, or change its entry."""
        self.entries[name] = read_entry(name, raw, Path("/servers.json"))

    def hold(self, name: str, raw: Wire | None = None, seconds: float | None = None, **address: Any) -> Wire:
        """Hold a server, whose entry may be given."""
        if raw is not None:
            self.add(name, raw)
        return self.keeper.hold(Address(name, **address), seconds, enough())

    def client(self, name: str, **address: Any) -> MCPClient:
        """A client of a held server."""
        held = self.keeper.use(Address(name, **address), enough())
        assert held is not None
        return MCPClient.from_entry(self.entries[name]._replace(held=held), ENOUGH_SECONDS)

    def facts(self) -> dict[str, Wire]:
        """The servers that are held, by name and instance."""
        described = self.keeper.described()
        assert described is not None
        return {f"{each['name']}@{each.get('instance', '')}".rstrip("@"): each for each in described["servers"]}

    def connect(self, name: str = SOCKET) -> socket.socket:
        """A connection by hand."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(str(self.folder / name))
        return connection

    def answers(self, line: bytes) -> Wire:
        """The response to a line."""
        with self.connect() as connection:
            connection.sendall(line + b"\n")
            return response_on(connection)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """A context in which its thread accepts no connection, and looks at nothing; those of clients go on."""
        self.hold("brief", script("good_handshake"), seconds=1.0)
        self.clock.now += 10.0
        self.process._ring()
        with self.standing():
            yield

    @contextmanager
    def standing(self) -> Iterator[None]:
        """A context that begins when the thread that reports `stands_at` does so, and at whose end it goes on."""
        wait_until(lambda: self._stands)
        try:
            yield
        finally:
            self._goes_on.set()

    def _report(self, text: str) -> None:
        self.reports.append(text)
        if self.stands_at in text:
            self._stands = True
            assert self._goes_on.wait(PATIENCE_SECONDS)

    def wait_until_alone(self) -> None:
        """Wait until no client is connected."""
        wait_until(lambda: not [one for one in threading.enumerate() if one.name in ("client", "watch")])

    def has_ended(self) -> bool:
        """Whether it serves no more."""
        self._thread.join(0)
        return not self._thread.is_alive()

    def wait_until_ended(self) -> None:
        """Wait until it serves no more."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def end(self) -> None:
        """End it with all its servers."""
        self.process.end()
        self.wait_until_ended()


class Peer:
    """Listens in place of a keeper, and does to each connection what it is told."""

    def __init__(self, folder: Path, do: Callable[[socket.socket], object]) -> None:
        self.keeper = Keeper(folder / SOCKET)
        folder.mkdir(mode=0o700)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.keeper.path))
        self._listener.listen()
        self._do = do
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._do(connection)


def request(method: str, **params: Any) -> bytes:
    """The line of a request of this version."""
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"version": __version__, **params}}
    return encoded_line(message).rstrip(b"\n")


def response_on(connection: socket.socket) -> Wire:
    """The next message on a connection."""
    found = read_line(connection, enough())
    assert found is not None
    return dict(json.loads(found[0]))


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other end has closed the connection; whether nothing came before."""
    connection.settimeout(PATIENCE_SECONDS)
    return connection.recv(1) == b""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder of a keeper, which does not exist yet: its path is short."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    outer = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    yield outer / "k"
    shutil.rmtree(outer)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Running]]:
    """Starts keepers."""
    before, threads = set(children()), set(threading.enumerate())
    started: list[Running] = []

    def make(name: str = folder.name, **options: Any) -> Running:
        started.append(Running(folder.with_name(name), **options))
        return started[-1]

    yield make
    for each in started:
        each.end()
    assert not folder.exists()
    wait_until(lambda: not set(children()) - before)
    wait_until(lambda: not set(threading.enumerate()) - threads)


@pytest.fixture
def running(start: Callable[..., Running]) -> Running:
    """A keeper that holds nothing yet."""
    return start()


@pytest.fixture
def peer(folder: Path) -> Iterator[Callable[[Callable[[socket.socket], object]], Keeper]]:
    """Makes a peer in place of a keeper, and returns what a command has of that."""
    made: list[Peer] = []

    def make(do: Callable[[socket.socket], object]) -> Keeper:
        made.append(Peer(folder, do))
        return made[-1].keeper

    yield make
    for each in made:
        each.close()
