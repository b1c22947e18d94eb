"""Several clients of a gateway over HTTP, whose server can only tell that it has a client."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from tests.fleet.gateway.conftest import ERAS, HANDSHAKE, STATELESS, script
from tests.forking.client import ForkServer, served_over_http
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story
# Makes a connected client of the gateway: of this era, that answers with this word, and has these roots.
Connect = Callable[..., MCPClient]


class Dumb(Host):
    """A client that cannot be asked."""

    def capabilities(self) -> dict[str, Any]:
        return {}


# The servers of one crowd. The whole proof is 20 servers, 8 clients and 1,250 calls of each.
CROWD_SERVERS, CROWD_CLIENTS, CROWD_CALLS = (int(each) for each in os.environ.get("CROWD", "2,8,25").split(","))


@pytest.fixture
def connect(fork_server: ForkServer, tmp_path: Path) -> Iterator[Connect]:
    """A gateway to `remembers.py` in a process of its own, and clients of it."""
    entry = script("remembers.py", RUN=str(tmp_path))
    crowd = {f"s{number}": entry for number in range(CROWD_SERVERS)}
    servers = {"keeper": entry, "common": {**entry, "shared": True}, **crowd}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    environ = {"HOME": str(tmp_path)}
    with ExitStack() as open_:
        options = ["--all", "--prefix", "always", "--config", str(tmp_path / "servers.json")]
        url = open_.enter_context(served_over_http(fork_server, *options, environ=environ))

        def make(
            revision: str, word: str = "", roots: tuple[str, ...] = (), logs: list[Any] | None = None
        ) -> MCPClient:
            answers = {"action": "accept", "content": {"word": word}}
            kind = Host if word else Dumb
            host = kind(elicit=lambda _: answers, roots=[{"uri": uri} for uri in roots], on_log=_logging(logs))
            config = {"url": url, "protocolVersion": revision}
            return open_.enter_context(MCPClient.from_config("gateway", config, host=host))

        yield make


def _logging(logs: list[Any] | None) -> Callable[..., None] | None:
    return None if logs is None else lambda level, logger, data: logs.append(data)


def said(client: MCPClient, tool: str, label: str = "") -> str:
    """The text of the result of a tool."""
    text: str = client.call(tool, {"label": label})["content"][0]["text"]
    return text


def running(tmp_path: Path) -> int:
    """The number of instances of the servers."""
    return len(living_with(f"RUN={tmp_path}"))


@pytest.mark.parametrize("eras", [(one, other) for one in ERAS for other in ERAS])
def test_a_question_reaches_the_client_whose_call_caused_it(connect: Connect, eras: tuple[str, str]) -> None:
    """Ours: of several clients, also where they have the same token or none, and the server asks at the same time."""
    clients = [connect(era, f"word of {name}") for era, name in zip(eras, "ab", strict=True)]
    with ThreadPoolExecutor(2) as at_once:
        answers = list(at_once.map(lambda client, label: said(client, "keeper__ask", label), clients, "ab"))

    assert answers == ["a: word of a", "b: word of b"]


def test_what_a_server_keeps_of_a_session_is_not_shown_to_another(connect: Connect) -> None:
    """Ours: roots, a word, and a tool that a client has switched on."""
    ada, bob = connect(HANDSHAKE, "a", roots=("file:///ada",)), connect(HANDSHAKE, "b", roots=("file:///bob",))
    said(ada, "keeper__keep", "secret")
    said(ada, "keeper__switch", "extra")

    assert "file:///ada" in said(ada, "keeper__roots")
    assert "file:///bob" in said(bob, "keeper__roots")
    assert (said(ada, "keeper__keep"), said(bob, "keeper__keep")) == ("secret", "")
    assert [tool.name for tool in ada.fetch_tools(refresh=True) if tool.name.endswith("extra")] == ["keeper__extra"]
    assert not [tool for tool in bob.fetch_tools(refresh=True) if tool.name.endswith("extra")]


def test_a_single_client_costs_one_process_until_its_session_ends(connect: Connect, tmp_path: Path) -> None:
    """Ours: it lists the tools and calls them."""
    client = connect(HANDSHAKE, "a")
    client.fetch_tools()
    said(client, "keeper__keep", "here")

    assert said(client, "keeper__keep") == "here"
    # With one for the list of each server that it has not used.
    assert running(tmp_path) == 2 + CROWD_SERVERS
    client.disconnect()
    wait_until(lambda: running(tmp_path) == 1 + CROWD_SERVERS)


def test_calls_of_a_client_without_sessions_use_a_server_that_has_not_asked_again(connect: Connect) -> None:
    """Ours: starting a server may take seconds. One that has asked may remember the answer of another client."""
    client = connect(STATELESS, "a")

    assert said(client, "keeper__pid") == (first := said(client, "keeper__pid"))
    assert said(client, "keeper__ask", "x") == "x: a"
    assert said(client, "keeper__pid") != first


def test_clients_that_cannot_be_asked_share_a_server(connect: Connect) -> None:
    """Ours: an error names what the client lacks, for a server that asks nevertheless."""
    ada, bob = connect(HANDSHAKE), connect(STATELESS)

    assert said(ada, "keeper__pid") == said(bob, "keeper__pid")
    assert "asked for" not in (answer := said(ada, "keeper__ask", "x"))
    assert "elicitation" in answer


def test_log_messages_reach_the_client_whose_call_they_are_about(connect: Connect) -> None:
    """Ours: a message of a server that several clients share, and that may be of any of them, reaches none."""
    logs: dict[str, list[Any]] = {name: [] for name in "abcd"}
    clients = {
        "a": connect(HANDSHAKE, "a", logs=logs["a"]), "b": connect(HANDSHAKE, "b", logs=logs["b"]),
        "c": connect(HANDSHAKE, logs=logs["c"]), "d": connect(HANDSHAKE, logs=logs["d"]),
    }  # fmt: skip
    for client in clients.values():
        client.set_log_level("info")
    for number in range(3):
        for name, client in clients.items():
            said(client, "keeper__log", f"{name}{number}")

    assert logs["a"] == ["a0", "a1", "a2"]
    assert logs["b"] == ["b0", "b1", "b2"]
    # The first one had the server alone; the message of the second made that it has one of its own.
    assert logs["c"][0] == "c0"
    assert logs["d"] == ["d1", "d2"]
    assert all(text.startswith("c") for text in logs["c"])


def test_a_server_whose_entry_is_shared_keeps_one_state_for_all(connect: Connect) -> None:
    """Ours, `shared`: and of two calls at the same time it cannot ask about either, until one of them has ended."""
    ada, bob = connect(HANDSHAKE, "a"), connect(STATELESS, "b")
    said(ada, "common__keep", "tab")
    assert said(bob, "common__keep", "tab") == "tab"
    assert said(ada, "common__ask", "x") == "x: a"

    with ThreadPoolExecutor(2) as at_once:
        answers = list(at_once.map(lambda client: said(client, "common__ask_together", "x"), (ada, bob)))
    assert any("several clients call this server" in answer for answer in answers)
    for answer, own in zip(answers, ("x: a", "x: b"), strict=True):
        assert answer == own or "several clients call this server" in answer


class Guest:
    """A client of a crowd, and all that it has heard. It sends its own word with each call."""

    def __init__(self, connect: Connect, number: int) -> None:
        self.word = f"word-{number}."
        self.heard: list[str] = []
        self.has_session = number % 2 == 0
        logs: list[Any] = []
        revision = HANDSHAKE if self.has_session else STATELESS
        self.client = connect(revision, self.word, roots=[f"file:///{self.word}"], logs=logs)
        self.client.host._elicit = self._answer
        self.logs = logs
        self._random = random.Random(number)
        # Without a session, what a server keeps between two calls is not the client's own.
        self._tools = ["ask", "log", "roots", *(["keep", "switch"] if self.has_session else [])]

    def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        self.heard.append(params["message"])
        return {"action": "accept", "content": {"word": self.word}}

    def visit(self, calls: int) -> None:
        """Use tools of all servers, by the same dice in every run."""
        if self.has_session:
            self.client.set_log_level("info")
        for _ in range(calls):
            server, tool = f"s{self._random.randrange(CROWD_SERVERS)}", self._random.choice(self._tools)
            self.heard.append(said(self.client, f"{server}__{tool}", self.word))
        self.heard += [tool.name for tool in self.client.fetch_tools(refresh=True)]


def test_a_crowd_of_clients_hears_no_word_of_another(connect: Connect) -> None:
    """Ours: of both eras, in calls that ask, log, read roots, keep a word and switch on a tool, all at once."""
    guests = [Guest(connect, number) for number in range(CROWD_CLIENTS)]
    with ThreadPoolExecutor(len(guests)) as at_once:
        list(at_once.map(lambda guest: guest.visit(CROWD_CALLS), guests))

    for guest in guests:
        text = "\n".join([*guest.heard, *map(str, guest.logs)])
        assert guest.word in text
        assert [other.word for other in guests if other is not guest and other.word in text] == [], text
