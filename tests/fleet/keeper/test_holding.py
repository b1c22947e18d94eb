"""A held server as a command uses it: its connections, and the errors that the keeper reports of it."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.unix_socket import Connected
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import (
    CallCutError,
    CallLostError,
    MCPError,
    NotConnectedError,
    ServerExitedError,
    outcome_unknown,
)
from gaia_mcp.fleet.keeper import SERVER_ERROR, errors
from gaia_mcp.fleet.keeper.holding import Holding, Reading
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import is_closed
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.core.deadline import Deadline

ENTRY = read_entry("calc", {"command": "never-started", "env": {"API_TOKEN": "secret12345"}})
EXITED = outcome_unknown(ServerExitedError("calc", "while answering", 3, "out of memory"), "add")


class End:
    """The keeper's end of a connection: the errors with which it answers calls, by their tools."""

    def __init__(self) -> None:
        self.ours, self._theirs = socket.socketpair()
        self.thread, _ = in_thread(self._serve)
        self.answers: dict[str, Any] = {}

    def _serve(self) -> None:
        with self._theirs, self._theirs.makefile("rb") as lines:
            for line in lines:
                asked = json.loads(line)
                if "id" in asked and (answer := self._answer(asked)) is not None:
                    self._theirs.sendall(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode() + b"\n")
                elif "id" in asked:
                    return

    def _answer(self, asked: dict[str, Any]) -> Any:
        if asked["method"] == "tools/call":
            return self.answers[asked["params"]["name"]]
        if asked["method"] == "tools/list":
            return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.answers]}}
        info = {"name": "n", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}


@pytest.fixture
def ends() -> Iterator[list[End]]:
    """Ends of connections, which are all closed at the end."""
    made = [End(), End()]
    yield made
    for each in made:
        each.ours.close()
        each.thread.join(PATIENCE_SECONDS)
        assert not each.thread.is_alive()


def holding(first: End, *more: End, **options: Any) -> Holding:
    """A held server at this end, and later at the others."""
    left = list(more)

    def connect(_: Deadline) -> Connected | None:
        return Connected(left.pop(0).ours) if left else None

    return Holding(
        "calc@b", first.ours, "a remark", lambda: "no secret12345", lambda *_: None, connect=connect, **options
    )


def client_of(held: Holding) -> MCPClient:
    """A client of a held server."""
    return MCPClient.from_entry(ENTRY._replace(held=held), ENOUGH_SECONDS)


def test_what_the_keeper_reports_of_a_server_is_raised(ends: list[End]) -> None:
    """Ours: as if the command had started the server; the connection goes on."""
    text = {"content": [{"type": "text", "text": f"about {SERVER_ERROR}"}]}
    ends[0].answers = {
        "add": {"error": {"code": SERVER_ERROR, "message": "m", "data": errors.as_json(EXITED)}},
        "odd": {"error": {"code": SERVER_ERROR, "message": "m", "data": {"class": "Thread"}}},
        "text": {"result": text},
    }
    with client_of(holding(ends[0], revision="2025-11-25")) as client:
        client.open()
        with pytest.raises(CallLostError) as caught:
            client.call("add", {})
        assert (caught.value.returncode, caught.value.stderr_tail) == (3, "out of memory")
        with pytest.raises(MCPError, match="error -32053: m"):
            client.call("odd", {})
        assert client.call("text", {}) == text


def test_secrets_are_those_of_the_entry(ends: list[End]) -> None:
    """Ours: with the variables of this command; in the keeper, with those of the server."""
    with client_of(holding(ends[0])) as client:
        assert client.masker().text("secret12345") == "****"
        assert client.transport.stderr_tail() == "no ****"
    masker = client.masker()
    with client_of(holding(ends[1], masker=lambda: masker)) as client:
        assert client.masker() is masker


def test_a_keeper_that_ends_is_named(ends: list[End]) -> None:
    """Ours: a call may have run, and is not made again; the next one connects again, if the server is still held."""
    ends[0].answers = ends[1].answers = {"add": None}
    with client_of(holding(*ends)) as client:
        client.open()
        for _ in ends:
            with pytest.raises(CallCutError, match="the keeper, which held server 'calc', ended while answering"):
                client.call("add", {})
        with pytest.raises(NotConnectedError, match="calc@b"):
            client.call("add", {})


def test_a_connection_that_is_not_used_is_closed(ends: list[End]) -> None:
    """Ours: a client that has gone is noticed before its command has begun."""
    held = holding(ends[0])
    held.close()
    held.close()
    client = client_of(held)

    with pytest.raises(NotConnectedError):
        client.open()
    held.close()
    assert not ends[0].thread.join(PATIENCE_SECONDS)


def test_what_was_received_already_comes_first() -> None:
    """Ours: it may have come with the keeper's response."""
    ours, theirs = socket.socketpair()
    held = Holding(
        "calc", ours, "", str, lambda *_: None, received=b'{"jsonrpc":"2.0","method":"notifications/x"}\nrest'
    )
    channel = held.transport(ENTRY, ENOUGH_SECONDS, debug=False)
    assert channel.connect()
    held.close()

    assert is_closed(theirs)
    theirs.close()


class Heard:
    """A receiver that notes what it gets."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def receive(self, record: bytes, about: Any = None) -> None:
        self.heard.append((record, about))

    def receive_message(self, value: Any, about: Any = None) -> None:
        self.heard.append((value, about))

    def request_failed(self, about: Any, error: MCPError) -> None:
        self.heard.append((about, error))

    def channel_ended(self, error: MCPError) -> None:
        self.heard.append(error)


def test_only_errors_of_the_server_are_taken_out() -> None:
    """Ours: everything else is passed on as it came, also what JSON cannot be read from."""
    heard = Heard()
    reading = Reading(heard)
    error = MCPError("m")
    response = {"id": 3, "error": {"code": SERVER_ERROR, "message": "m", "data": errors.as_json(error)}}
    code = str(SERVER_ERROR).encode()
    others = [b"{}", code, b'{"%b":' % code, b"[" * 100_000 + code, json.dumps({**response, "error": 5}).encode()]
    for record in (*others, json.dumps({"error": response["error"]}).encode()):
        reading.receive(record, 1)
    assert [record for record, _ in heard.heard[:5]] == others
    assert len(heard.heard) == 6
    heard.heard.clear()
    reading.receive(json.dumps(response).encode())
    reading.receive_message(response)
    reading.receive_message({"id": 4}, 2)
    reading.request_failed(5, error)
    reading.channel_ended(error)

    assert [str(each) for each in heard.heard] == [
        "(3, MCPError('m'))", "(3, MCPError('m'))", "({'id': 4}, 2)", "(5, MCPError('m'))", "m"
    ]  # fmt: skip
