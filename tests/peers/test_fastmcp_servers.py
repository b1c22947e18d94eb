"""Our client with servers of FastMCP over HTTP: with sessions, without, and with a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError
from tests.cli.conftest import gaia, no_orphans, shared
from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.peers.test_authorization import log_in
from tests.peers.test_http_servers import HANDSHAKE, client_of, free_port, listens, running, text_of
from tests.prepare.installing import python_in
from tests.prepare.peers import FASTMCP
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia
    from tests.prepare.fixtures import Prepared

__all__ = ["gaia", "no_orphans", "shared"]


@pytest.fixture(scope="module")
def urls(prepared: Prepared) -> Iterator[dict[str, str]]:
    """The URLs of servers of FastMCP, by their kinds."""
    python = python_in(prepared.folder(FASTMCP))
    ports = {kind: free_port() for kind in ("sessions", "stateless", "json", "sse", "oauth")}
    words = [f"{kind}={port}" for kind, port in ports.items()]
    with running([str(python), str(PROGRAMS / "fastmcp_server.py"), *words], ports["oauth"], {}):
        wait_until(lambda: all(map(listens, ports.values())), TIMEOUT_SECONDS)
        yield {kind: f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}" for kind, port in ports.items()}


def use(client: MCPClient) -> None:
    """What a server can do in every era, with sessions or without."""
    assert client.peer.info == {"name": "peer", "version": "1.2.3"}
    assert client.peer.instructions == "Add numbers."
    tools = {tool.name for tool in client.fetch_tools()}
    assert tools == {"add", "fail", "count", "wait", "ask", "session"}
    assert client.call("add", {"a": 1, "b": 2})["structuredContent"] == {"result": 3}
    failed = client.call("fail", {})
    assert (failed["isError"], text_of(failed)) == (True, "Error calling tool 'fail': as it should")
    with pytest.raises(DeadlineError):
        client.call("wait", {}, Deadline(0.3))
    assert client.read_resource("data://text")["contents"][0]["text"] == "Some text."
    assert client.read_resource("data://a/text")["contents"][0]["text"] == "Some text of a."
    (prompt,) = client.get_prompt("greet", {"name": "Ada"})["messages"]
    assert prompt["content"]["text"] == "Greet Ada."
    client.check_alive()


def count(client: MCPClient) -> list[str]:
    """The reports of a call's progress."""
    reports: list[str] = []
    counted = client.call("count", {"steps": 3}, on_progress=lambda each: reports.append(each.text))
    assert text_of(counted) == "counted"
    # Of several reports that wait together, the client passes on the newest.
    assert reports == [step for step in STEPS if step in reports]
    return reports


def answering(logged: list[Any]) -> Host:
    """Answers with a name, and keeps what is logged."""
    return Host(
        elicit=lambda _: {"action": "accept", "content": {"value": "Ada"}},
        on_log=lambda *message: logged.append(message[-1]["msg"]),
    )


STEPS = ["step 1", "step 2", "step 3"]


@pytest.mark.parametrize("kind", ["sessions", "sse"])
def test_all_requests_to_fastmcp_share_one_session(urls: dict[str, str], kind: str) -> None:
    """LC-5, handshake era: the server asks, reports and logs while a call runs."""
    logged: list[Any] = []

    with client_of(urls[kind], answering(logged), protocolVersion=HANDSHAKE) as client:
        assert client.peer.era == "handshake"
        use(client)
        assert count(client)[-1:] == STEPS[-1:]
        assert logged == ["at 1", "at 2", "at 3"]
        assert text_of(client.call("ask", {})) == "Hello, Ada!"
        assert text_of(client.call("session", {})) == text_of(client.call("session", {})) != ""


@pytest.mark.parametrize("kind", ["stateless", "json"])
def test_a_server_of_fastmcp_without_sessions_or_streams_is_used(urls: dict[str, str], kind: str) -> None:
    """LC-5, handshake era: no id of a session comes, or each response is a lone JSON message; neither can ask."""
    logged: list[Any] = []

    with client_of(urls[kind], answering(logged), protocolVersion=HANDSHAKE) as client:
        assert client.peer.era == "handshake"
        use(client)
        reports = count(client)
        last, messages = (STEPS[-1:], ["at 1", "at 2", "at 3"]) if kind == "stateless" else ([], [])
        assert (reports[-1:], logged) == (last, messages)
        assert "no back-channel" in text_of(client.call("ask", {}))


def test_a_server_of_fastmcp_is_used_in_the_stateless_era(urls: dict[str, str], gaia: Gaia) -> None:
    """DE-2: which is found out. It asks in the other era only: the hint leads there, and there it asks."""
    url = urls["sessions"]
    with client_of(url) as client:
        assert client.peer.era == "stateless"
        use(client)
        assert count(client)[-1:] == STEPS[-1:]
    added = gaia("add", "web", url)
    assert (added.code, added.stdout) == (0, "added 'web' to ~/.gaia/mcp_servers.json: peer 1.2.3, 6 tools\n")
    asked = gaia("call", "web", "ask", "--answer", "value=Ada")
    assert asked.code == 9
    fixed = "gaia mcp edit web --protocol 2025-11-25"
    assert asked.errors[-1] == f"hint: it can ask only in revisions before 2026-07-28; use an older one with: {fixed}"
    assert gaia(*fixed.split()[2:]).code == 0
    asked = gaia("call", "web", "ask", "--answer", "value=Ada")
    assert (asked.code, asked.stdout) == (0, "Hello, Ada!\n"), asked.stderr


def test_a_server_of_fastmcp_with_a_login_is_used_by_its_url(urls: dict[str, str], gaia: Gaia) -> None:
    """AC-1 to AC-12: from `add` to `logout`, each line as the one before advises it."""
    url = urls["oauth"]
    refused = gaia("add", "web", url)
    saved = f"gaia mcp add web {url} --no-check"
    assert (refused.code, refused.errors) == (
        4,
        [
            "error: server 'web' requires authorization",
            f"hint: nothing was saved; save it, then log in, with: {saved}",
        ],
    )
    assert gaia(*saved.split()[2:]).code == 0
    before = gaia("tools", "web")
    assert (before.code, before.errors[-1]) == (4, "hint: log in with: gaia mcp login web")

    assert b"scopes files" in log_in(gaia)
    assert "add(a: integer, b: integer)" in gaia("tools", "web").stdout
    assert gaia("call", "web", "add", "a=1", "b=2").stdout == "3\n"
    tested = gaia("test-client", "web")
    assert (tested.code, tested.stdout.splitlines()[-1].split(",")[0]) == (0, "1 of 1 server passed")
    assert gaia("login", "--status", "--json").json["logins"][0]["logged_in"] is True

    assert gaia("logout", "web").stdout == "logged out of 'web'\n"
    assert gaia("call", "web", "add", "a=1", "b=2").code == 4
