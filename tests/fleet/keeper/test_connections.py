"""The connections to a held server, of each kind of client."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CallLateError, CallLostError, NotConnectedError, PeerError
from gaia_mcp.fleet.keeper import Address
from gaia_mcp.fleet.keeper.connections import (
    EXIT,
    ON_STDERR,
    ON_STDOUT,
    RUNS,
    CommandView,
    HeldHere,
    LineClient,
    serve_lines,
)
from gaia_mcp.fleet.keeper.held import HeldServer, Key
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import script
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.story

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}).encode() + b"\n"


@pytest.fixture
def hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., HeldServer]]:
    """Connects to servers that are held until the end."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    made: list[HeldServer] = []

    def held(raw: dict[str, Any]) -> HeldServer:
        entry, address = read_entry("calc", raw), Address("calc")
        made.append(HeldServer(Key.of(address, entry), address, entry, None, print))
        made[-1].backend.ready()
        return made[-1]

    yield held
    for each in made:
        each.close()


def here(held: HeldServer) -> HeldHere:
    """The server as a command line in the keeper gets it."""
    server = held.backend.ready()
    return HeldHere(CommandView(held.provider), "", lambda: "its stderr", revision=held.revision, masker=server.masker)


def client_of(connection: HeldHere, held: HeldServer, seconds: float = ENOUGH_SECONDS) -> MCPClient:
    """A client over memory."""
    return MCPClient.from_entry(held.entry._replace(held=connection, timeout=seconds))


@pytest.mark.parametrize("name", ["good_handshake", "good_stateless"])
def test_over_memory_a_command_line_gets_what_the_server_sends(hold: Callable[..., HeldServer], name: str) -> None:
    """Ours: in the revision of the server, so that its results are the same as without a keeper."""
    held = hold(script(name, TOKEN="secret12345"))
    with client_of(here(held), held) as client:
        assert client.protocol_version == held.revision
        assert "echo" in [tool.name for tool in client.list_tools()]
        assert "content" in client.call_unchecked("echo", {"a": 1}, client.deadline())
        assert client.stderr_tail() == "its stderr"
        assert "secret12345" not in client.masker().text("with secret12345")
    assert held.is_ready


def test_over_memory_an_error_of_the_server_is_that_error(hold: Callable[..., HeldServer]) -> None:
    """Ours: with its last words; an error response is one."""
    held = hold(script("good_handshake"))
    with client_of(here(held), held) as client:
        with pytest.raises(PeerError):
            client.call_unchecked("refuse", {}, client.deadline())
        with pytest.raises(CallLostError, match="told to die"):
            client.call_unchecked("die", {}, client.deadline())


def test_over_memory_a_deadline_is_kept_and_the_call_cancelled(hold: Callable[..., HeldServer]) -> None:
    """Ours: a server that hangs holds up its caller alone, and not for longer than that waits."""
    held = hold(script("good_handshake"))
    with client_of(here(held), held) as client:
        with pytest.raises(CallLateError):
            client.call_unchecked("slow", {}, Deadline(0.05))
        wait_until(lambda: held.running == 0)


def test_over_memory_a_call_ends_when_its_person_has_gone(hold: Callable[..., HeldServer]) -> None:
    """Ours: the connection is closed then, and the call cancelled at the server."""
    held = hold(script("good_handshake"))
    connection = here(held)
    connection.close()
    client = client_of(connection, held)
    client.open()
    calling, outcomes = in_thread(lambda: client.call_unchecked("slow", {}, client.deadline()))
    wait_until(lambda: held.running == 1)

    connection.close()
    calling.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], NotConnectedError)
    wait_until(lambda: held.running == 0)


@pytest.mark.parametrize("is_own", [True, False])
def test_lines_are_served_from_what_was_received_already(hold: Callable[..., HeldServer], is_own: bool) -> None:
    """Ours: a command sends its first request behind the one that names the server. A command gets every tool, another
    program those of the entry.
    """
    held = hold({**script("good_handshake"), "includeTools": ["echo"]})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serving, _ = in_thread(lambda: serve_lines(theirs, LIST, held, is_own=is_own))
        ours.settimeout(PATIENCE_SECONDS)
        answer = ours.recv(1 << 16)
        ours.shutdown(socket.SHUT_RDWR)
        serving.join(PATIENCE_SECONDS)

    assert (b'"slow"' in answer) is is_own
    assert b'"echo"' in answer


def test_a_connection_that_breaks_off_is_the_end_of_its_client(hold: Callable[..., HeldServer]) -> None:
    """Ours: as if it had closed it."""
    held = hold(script("good_handshake"))
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        serving, outcomes = in_thread(lambda: serve_lines(theirs, b"", held, is_own=True))
        serving.join(PATIENCE_SECONDS)

    assert outcomes == [None]


class Watched:
    """A client of a line, whose connection is watched by hand."""

    def __init__(self, connection: socket.socket) -> None:
        self.cancelled = threading.Event()
        self.watched: list[Callable[[], None] | None] = []
        self.client = LineClient(connection, self.watched.append, lambda: self.watched.append(None))


@pytest.fixture
def ends() -> Iterator[tuple[Watched, socket.socket]]:
    """The keeper's end of a connection, and that of the command."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(PATIENCE_SECONDS)
    with ours, theirs:
        yield Watched(ours), theirs


def test_a_line_that_runs_is_announced_and_what_it_prints_comes_in_order(ends: tuple[Watched, socket.socket]) -> None:
    """Ours: from the first byte on the tool may run, so the command does not run the line itself any more."""
    watched, command = ends
    watched.client.begin(watched.cancelled.set)
    watched.client.send(ON_STDERR, b"a note\n")
    watched.client.send(ON_STDOUT, b"")
    watched.client.send(EXIT, b"0")

    assert command.recv(100) == RUNS + b"2 7\na note\n1 0\n0 1\n0"
    assert watched.watched == [watched.cancelled.set]


def test_an_answer_is_read_in_the_pieces_in_which_it_comes(ends: tuple[Watched, socket.socket]) -> None:
    """Ours: meanwhile what arrives is not taken for the end of the connection."""
    watched, command = ends
    watched.client.begin(watched.cancelled.set)
    asking, answers = in_thread(lambda: watched.client.ask(b"why?"))
    received = b""
    while len(received) < len(RUNS + b"3 4\nwhy?"):
        received += command.recv(100)
    assert received == RUNS + b"3 4\nwhy?"
    for piece in (b"1", b"1\nbe", b"cause so", b"!"):
        command.sendall(piece)
    asking.join(PATIENCE_SECONDS)

    assert answers == [b"because so!"]
    assert watched.watched == [watched.cancelled.set, None, watched.cancelled.set]


def test_a_person_who_leaves_a_question_cancels_the_call(ends: tuple[Watched, socket.socket]) -> None:
    """Ours: a Ctrl-C at a question is one at the call."""
    watched, command = ends
    watched.client.begin(watched.cancelled.set)
    asking, answers = in_thread(lambda: watched.client.ask(b"why?"))
    command.recv(100)
    command.shutdown(socket.SHUT_WR)
    asking.join(PATIENCE_SECONDS)

    assert isinstance(answers[0], ConnectionResetError)
    assert watched.cancelled.is_set()
