"""Servers of AgentVault's dialect, of both kinds: those that list their tools, and those that only run them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.base import UNLISTED
from gaia_mcp.client.transports.factory import transport_of
from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.channel import HttpChannel
from gaia_mcp.client.transports.http.connections import Endpoint
from gaia_mcp.client.transports.http.transport import HttpTransport
from gaia_mcp.config.entries import read_entry
from gaia_mcp.contrib.agentvault.rpc_channel import RpcChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CancelledError,
    EntryError,
    MCPError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    StatusError,
)
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.transports.http.web import EVENT_STREAM, Answer, Asked, Web, as_json, noting, serving
from tests.client.transports.talk import opened_by
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

TOOL = {"name": "files.read", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}
DETAIL = [{"loc": ["body", "path"], "msg": "field required"}]


def error(asked: Asked, code: int, text: str, status: int = 200) -> Answer:
    return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": {"code": code, "message": text}}, status)


def content(asked: Asked, *blocks: Any, **more: Any) -> Answer:
    return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": [*blocks], **more}})


def runs(asked: Asked) -> Answer:
    """A server that knows nothing but its tools, at `/rpc`."""
    if asked.path != "/rpc":
        return as_json({"detail": "Not Found"}, 404)
    method, params = asked.message["method"], asked.message.get("params") or {}
    if method == "files.read":
        return content(asked, {"type": "text", "text": str(params)})
    if method == "files.fail":
        return content(asked, {"type": "text", "text": "no such file"}, isError=True)
    if method == "code.run":
        return content(asked, {"type": "code_output", "stdout": "4\n", "stderr": ""})
    if method == "files.detail":
        return as_json({"detail": DETAIL if params else "a text"}, 422)
    return error(asked, -32601, f"Method not found: {method}")


def lists(asked: Asked) -> Answer:
    """A server that has `tools/list` and `tools/call`, on any path."""
    method, params = asked.message["method"], asked.message.get("params") or {}
    if method == "tools/list":
        page = {"tools": [{**TOOL, "name": "last"}]} if "cursor" in params else {"tools": [TOOL], "nextCursor": "2"}
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": page})
    if method == "tools/call":
        return content(asked, {"type": "text", "text": str(params)})
    return error(asked, -32601, f"Method not found: {method}", status=400)


@contextmanager
def client_of(
    answer: Callable[[Asked], Answer], path: str = "", *, opens: bool = True, **options: Any
) -> Iterator[tuple[Web, MCPClient]]:
    with serving(answer) as web:
        client = MCPClient("web", HttpTransport(f"{web.origin}{path}", timeout=ENOUGH_SECONDS, name="web", **options))
        try:
            if opens:
                client.open()
            yield web, client
        finally:
            client.disconnect()


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize("way", [None, "rpc"])
def test_a_tool_is_called_by_its_name(way: str | None) -> None:
    """Spec, C1: found out, or known; `/rpc` is added to a URL without a path."""
    with client_of(runs, way=way) as (web, client):
        peer = client.peer
        assert peer is not None
        assert (peer.era, peer.capabilities) == ("rpc", {"tools": {}})
        assert client.list_tools() == []
        assert client.tool_problems == [UNLISTED]
        assert text_of(client.call("files.read", {"path": "a"})) == "{'path': 'a'}"
        last = web.asked[-1]

    assert (last.path, last.message["method"], last.message["params"]) == ("/rpc", "files.read", {"path": "a"})
    assert "mcp-protocol-version" not in last.headers
    assert any(asked.path != "/rpc" for asked in web.asked) is (way is None)


def test_an_unlisted_tool_is_assumed_to_exist() -> None:
    """Ours: a call to an unknown tool is an error of the server."""
    with client_of(runs, way="rpc") as (_, client):
        for _ in range(2):
            tool = client.find_tool("files.read")
            assert tool is not None
            assert tool.input_schema == {"type": "object"}
            client.fetch_tools()
        with pytest.raises(PeerError, match=r"Method not found: files\.nothing"):
            client.call("files.nothing", {})


def test_a_server_with_tools_list_is_called_by_tools_call() -> None:
    """Spec, C1: the other kind, at a path of its own, which is kept."""
    with client_of(lists, "/any/path") as (web, client):
        assert [tool.name for tool in client.fetch_tools()] == ["files.read", "last"]
        assert client.find_tool("nothing") is None
        called = text_of(client.call("files.read", {"path": "a"}))

    assert called == "{'name': 'files.read', 'arguments': {'path': 'a'}}"
    assert {asked.path for asked in web.asked} == {"/any/path"}


def test_a_tool_failure_is_a_result_and_invalid_params_an_error() -> None:
    """Spec, C3, C2: `isError` is a result; 422 with a `detail` is invalid parameters, with the reason."""
    with client_of(runs, way="rpc") as (_, client):
        assert client.call("files.fail", {})["isError"] is True
        assert client.call("code.run", {})["content"] == [{"type": "code_output", "stdout": "4\n", "stderr": ""}]
        with pytest.raises(PeerError) as caught:
            client.call("files.detail", {"a": 1})
        assert (caught.value.code, caught.value.text) == (
            -32602,
            '[{"loc": ["body", "path"], "msg": "field required"}]',
        )
        with pytest.raises(PeerError, match="a text"):
            client.call("files.detail", {})


RESPONSES = {
    "400": (lambda asked: error(asked, -32602, "bad", 400), "bad"),
    "404": (lambda asked: error(asked, -32601, "unknown", 404), "unknown"),
    "500": (lambda asked: error(asked, -32603, "broken", 500), "broken"),
    "405": (lambda _: as_json({"detail": "Method Not Allowed"}, 405), "405 Method Not Allowed"),
    "422 without a reason": (lambda _: as_json([], 422), "422"),
    "a page": (lambda _: Answer(200, {"Content-Type": "text/html"}, b"<html>"), "HTML page"),
    "no body": (lambda _: as_json(None)._replace(body=b""), "empty body"),
    "no JSON": (lambda _: as_json(None)._replace(body=b"{"), "not valid JSON"),
    "no object": (lambda _: as_json([1]), "not a response"),
    "neither": (lambda asked: as_json({"jsonrpc": "2.0", "id": asked.message["id"]}), "not a response"),
    "a list": (lambda asked: as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": []}), "not an object"),
    "another id": (lambda _: as_json({"jsonrpc": "2.0", "id": "x", "result": {"content": []}}), "not a response"),
}  # fmt: skip


def test_any_other_response_is_an_error_with_the_reason() -> None:
    """Spec, C2: a person who reads it must be able to correct the URL or the server."""
    for name, (answer, words) in RESPONSES.items():

        def answers(asked: Asked, given: Callable[[Asked], Answer] = answer) -> Answer:
            return given(asked) if asked.message["method"] == "t" else runs(asked)

        with noting(name), client_of(answers, way="rpc") as (_, client):
            with pytest.raises(MCPError, match=words) as caught:
                client.call("t", {})
            assert (caught.value.facts.get("invalid") == "result") is (name == "a list")


def test_a_server_of_neither_dialect_is_reported_with_the_first_error() -> None:
    """Ours: what is said of the first attempt names the URL that was given."""
    nothing = client_of(lambda _: as_json({"detail": "Not Found"}, 404), opens=False)
    with nothing as (web, client), pytest.raises(StatusError, match="404"):
        client.open()
    assert client.peer is None
    assert web.asked[-1].path == "/rpc"

    refusing = client_of(lambda asked: error(asked, -32600, "not for you"), "/x", opens=False)
    with refusing as (web, client), pytest.raises(MCPError):
        client.open()
    assert "tools/list" not in web.methods()


def test_an_error_other_than_method_not_found_ends_the_connection_attempt() -> None:
    """Ours: only the one for an unknown method means that there is no list."""
    down = client_of(lambda asked: error(asked, -32000, "down"), way="rpc", opens=False)
    with down as (_, client), pytest.raises(MCPError, match="down"):
        client.open()


def test_the_dialect_is_cached(tmp_path: Path) -> None:
    """Spec, C1: the next command does not find it out again, and finds out that it has changed."""
    with serving(runs) as web:
        entry = read_entry("web", {"url": web.origin})
        cache = ServerCache(tmp_path, entry)
        for _ in range(2):
            del web.asked[:-1]
            client = MCPClient("web", transport_of(entry, ENOUGH_SECONDS), era_cache=cache)
            client.open()
            client.disconnect()
            assert cache.era() == "rpc"
        assert {asked.path for asked in web.asked} == {"/rpc"}
        web.answer = lists
        client.open()
        assert [tool.name for tool in client.list_tools()] == ["files.read", "last"]
        client.disconnect()


def test_the_tools_of_an_entry_are_listed() -> None:
    """Spec, C1: names, or definitions; other hosts choose among the tools by the same member."""
    with serving(runs) as web:
        given = ["files.read", {"name": "code.run", "description": "Runs code"}, "*"]
        entry = read_entry("web", {"url": web.origin, "type": "rpc", "tools": given})
        client = MCPClient("web", transport_of(entry, ENOUGH_SECONDS))
        client.open()
        tools = client.fetch_tools()
        client.disconnect()

        assert [(tool.name, tool.description) for tool in tools] == [("files.read", ""), ("code.run", "Runs code")]
        for bad in (3, [3], [{"name": 3}]):
            with pytest.raises(EntryError, match="'tools' must be"):
                transport_of(read_entry("web", {"url": web.origin, "tools": bad}), ENOUGH_SECONDS)


def test_the_dialect_has_nothing_but_tools() -> None:
    """Spec, C1: it says plainly what the dialect cannot do."""
    with client_of(runs, way="rpc") as (web, client):
        asked = len(web.asked)

        assert client.list_prompts() == []
        client.check_alive()
        with pytest.raises((NotSupportedError, PeerError)):
            client.get_prompt("p", {})
        assert len(web.asked) == asked


def test_an_unsupported_method_is_not_sent() -> None:
    """Ours: also where a program asks below the client, and on a connection that has ended."""
    with serving(runs) as web:
        transport = HttpTransport(web.origin, way="rpc", timeout=ENOUGH_SECONDS, name="web")
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
        asked = len(web.asked)

        assert transport.send_request("prompts/list")["error"]["code"] == -32601
        transport.send_notification("notifications/roots/list_changed")
        assert len(web.asked) == asked
        transport.disconnect()
        with pytest.raises(NotConnectedError):
            transport.send_request("files.read")

    channel = RpcChannel(HttpChannel(Endpoint("web", web.origin), NoAuthorizer("web")))
    assert isinstance(channel.why_lost("a call"), NotConnectedError)


def test_a_response_may_be_an_event_after_invalid_ones() -> None:
    """Ours: what is no JSON among them is read over."""

    def as_stream(asked: Asked) -> Answer:
        if asked.message["method"] != "files.read":
            return runs(asked)
        return Answer(200, EVENT_STREAM, b"data: noise\n\ndata: " + runs(asked).body + b"\n\n")

    with client_of(as_stream, way="rpc") as (_, client):
        assert text_of(client.call("files.read", {"path": "a"})) == "{'path': 'a'}"


def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    """Ours: the dialect has no other way to say so."""
    begun, go_on = threading.Event(), threading.Event()

    def pieces() -> Iterator[bytes | threading.Event]:
        yield b" "
        begun.set()
        yield go_on

    def waits(asked: Asked) -> Answer:
        is_slow = asked.message["method"] == "slow"
        return Answer(200, {"Content-Type": "application/json"}, cast("Any", pieces())) if is_slow else runs(asked)

    with client_of(waits, way="rpc") as (web, client):
        deadline = Deadline(ENOUGH_SECONDS)
        threading.Thread(target=lambda: (begun.wait(ENOUGH_SECONDS), deadline.cancel())).start()
        with pytest.raises(CancelledError):
            client.call("slow", {}, deadline)
        wait_until(lambda: web.broken)
    assert "notifications/cancelled" not in web.methods()
