"""One server in use, over a transport in this process: its lists, its errors, and its end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import MCPClient, MCPTransport
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import MCPError, NotConnectedError, PeerError
from gaia_mcp.fleet import ServerInUse, close_all, unsupported
from gaia_mcp.fleet.server_process import StderrLog
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text.redaction.masker import Masker
from tests.fleet.conftest import QUIET
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENTRY = read_entry("one", {"command": "one", "env": {"TOKEN": "hunter2222"}, "excludeTools": ["hidden"]})
CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
ECHO: dict[str, Any] = {"name": "echo", "inputSchema": {"type": "object"}}


class Answers(MCPTransport):
    """Answers each method with a member of `results`, a result or the code of an error."""

    def __init__(self, results: dict[str, Any], capabilities: dict[str, Any] = CAPABILITIES) -> None:
        about = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s"}, "capabilities": capabilities}
        self._results = {"initialize": about, **results}
        self.at_start: Callable[[], object] = lambda: None
        self.runs = False

    def connect(self) -> bool:
        self.runs = True
        return True

    def disconnect(self) -> None:
        self.runs = False

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "initialize":
            self.at_start()
        result = self._results.get(method, METHOD_NOT_FOUND)
        return {"error": {"code": result, "message": "no"}} if isinstance(result, int) else {"result": result}

    def is_connected(self) -> bool:
        return self.runs


class Masking(MCPClient):
    """A client of a server that was given a secret."""

    def masker(self) -> Masker:
        return Masker(["hunter2222"])


def in_use(transport: MCPTransport, cache: ServerCache | None = None) -> ServerInUse:
    client = Masking("one", transport, tool_filter=ENTRY.tool_filter)
    return ServerInUse(client, ENTRY, cache, StderrLog(ENTRY, "test", client.masker))


def opened(results: dict[str, Any], cache: ServerCache | None = None, **options: Any) -> ServerInUse:
    server = in_use(Answers(results, **options), cache)
    assert server.open().version == "2025-11-25"
    return server


def test_it_is_ready_once_it_has_been_connected() -> None:
    """Ours: a server that runs is not yet one that answers requests."""
    transport = Answers({})
    server = in_use(transport)
    transport.connect()
    assert not server.is_ready

    server.open()
    assert server.is_ready
    server.client.disconnect()
    assert (server.is_ready, server.was_open) == (False, True)
    server.open()
    assert server.is_ready


def test_a_server_that_is_closed_is_not_started() -> None:
    """Ours: nothing would stop it later."""
    transport = Answers({})
    server = in_use(transport)
    server.client.on_list_changed = print

    assert not server.is_closed
    assert server.close(0.1) is None
    assert server.close(0.1) is None

    with pytest.raises(NotConnectedError):
        server.open()
    assert server.is_closed
    assert not transport.runs
    assert server.client.on_list_changed is None


def test_a_server_that_is_closed_while_it_starts_is_stopped() -> None:
    """Ours: in time, and also at the last moment."""
    transport = Answers({})
    server = in_use(transport)
    transport.at_start = lambda: server.close(0.1)
    with pytest.raises(NotConnectedError):
        server.open()

    late = in_use(transport)
    opening = late.client.open

    def open_and_close(deadline: Deadline | None = None) -> Any:
        peer = opening(deadline)
        late._is_closed = True
        return peer

    transport.at_start = lambda: None
    late.client.open = open_and_close  # type: ignore[method-assign]
    with pytest.raises(NotConnectedError):
        late.open()
    assert not transport.runs
    assert not late.was_open


def test_lists_are_masked_and_cached_by_their_kind(tmp_path: Path) -> None:
    """Ours: resources and their templates are one list there, so neither is cached alone."""
    cache = ServerCache(tmp_path, ENTRY)
    server = opened(
        {
            "tools/list": {"tools": [{**ECHO, "description": "hunter2222"}, {**ECHO, "name": "hidden"}, 7]},
            "prompts/list": {"prompts": [{"name": "review"}, 7]},
            "resources/list": {"resources": [{"name": "a", "uri": "x://a", "title": "hunter2222"}]},
            "resources/templates/list": {"resourceTemplates": [{"name": "b", "uriTemplate": "x://{b}"}]},
        },
        cache,
    )

    assert [tool.name for tool in server.fetch_tools(Deadline(5))] == ["echo"]
    server.keep("tools")
    assert cache.listed() == [{**ECHO, "description": "****"}, {**ECHO, "name": "hidden"}]
    assert server.fetch("prompts", Deadline(5)) == [{"name": "review"}]
    assert server.problems == ["item 2 of prompts/list has no name"]
    server.keep("prompts")
    assert cache.seen("prompts") == [{"name": "review"}]
    resource = {"name": "a", "uri": "x://a", "title": "****"}
    assert server.fetch("resources", Deadline(5)) == [resource]
    server.keep("resources")
    assert cache.seen("resources") is None
    (template,) = server.fetch("resourceTemplates", Deadline(5))
    server.keep("resourceTemplates")
    assert cache.seen("resources") == [resource, template]


def test_a_server_need_not_know_the_list_of_a_feature_that_it_declares() -> None:
    """Ours: its other features can be used. Without a cache nothing is written."""
    server = opened({})

    assert server.fetch_tools(Deadline(5)) == []
    assert server.problems == [unsupported("tools")]
    assert server.fetch("prompts", Deadline(5)) == []
    assert server.problems == [unsupported("prompts")]
    server.keep("prompts")


def test_tools_are_requested_from_a_server_that_declares_nothing() -> None:
    """Ours: small servers do not declare what they have, and one without tools may refuse."""
    refused: dict[str, Any] = {"tools/list": INTERNAL_ERROR, "prompts/list": INTERNAL_ERROR}

    assert opened({"tools/list": {"tools": [ECHO]}}, capabilities={}).fetch_tools(Deadline(5))
    assert opened(refused, capabilities={}).fetch_tools(Deadline(5)) == []
    for fetch in (opened(refused).fetch_tools, lambda deadline: opened(refused).fetch("prompts", deadline)):
        with pytest.raises(PeerError):
            fetch(Deadline(5))


def test_an_error_is_reported_without_secrets() -> None:
    """Ours: also without an entry."""
    for server in (opened({}), ServerInUse(Masking("one", Answers({})))):
        told = server.explained(MCPError("hunter2222 is wrong", hint="hunter2222"))
        assert "hunter2222" not in f"{told.message}{told.hint}{told.args}{told.facts}"
        assert "**** is wrong" in str(told)
        assert server.close(0.1) is None


@pytest.mark.parametrize("number", [0, 1, 3])
def test_servers_are_closed_at_once(number: int) -> None:
    """Ours: none waits for another; and one alone needs no thread."""
    all_close = threading.Barrier(max(number, 1))
    closed: list[int] = []

    def close() -> None:
        all_close.wait(PATIENCE_SECONDS)
        closed.append(threading.get_ident())

    close_all([close] * number, "close")

    assert len(closed) == number
    assert (threading.get_ident() in closed) is (number == 1)


def test_servers_are_closed_also_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: an interpreter that shuts down starts none."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    closed: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", refuse)

    close_all([lambda: closed.append("one"), lambda: closed.append("two")], "close")

    assert closed == ["one", "two"]


def test_a_front_without_a_keeper_uses_the_entry_as_it_is() -> None:
    """Ours: only the command line has one."""
    assert QUIET.held(ENTRY) is ENTRY
