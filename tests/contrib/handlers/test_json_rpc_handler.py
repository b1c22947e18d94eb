"""The handler that is shipped to be copied: it sends JSON-RPC by HTTP to a server on a loopback port."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.contrib.handlers.json_rpc_handler import JsonRpcHandler, NoAnswerError
from gaia_mcp.handlers import MCPHandlerConfig, MCPManager, MCPRegistry, load_handler
from tests.client.transports.http.web import Answer, Asked, as_json, serving
from tests.contrib.handlers.loopback import RemoteServer, http_server


class FailingServer(RemoteServer):
    """A server whose tools report errors; only one of them says which."""

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] != "tools/call":
            return super().result(message)
        texts = [{"type": "text", "text": "no such page"}] if message["params"]["name"] == "goto" else []
        return {"content": texts, "isError": True}


@pytest.mark.parametrize(("failing", "attempts", "fails"), [(0, 1, False), (2, 3, False), (9, 3, True)])
def test_the_example_that_is_shipped_runs(failing: int, attempts: int, fails: bool) -> None:
    """A1: a handler that sends JSON-RPC, to be copied; `max_retries + 1` attempts, and the reason of the last."""
    remote = RemoteServer(failing)
    with http_server(remote) as url:
        config = MCPHandlerConfig("browser", settings={"url": f"{url}/v2", "api_key": "lpd_secret"})
        registry = MCPRegistry()
        registry.register_custom(load_handler("gaia_mcp.contrib.handlers.json_rpc_handler:JsonRpcHandler", config))
        with MCPManager(registry) as manager:
            (offered,) = manager.get_tools_as_openai_schema()
            result = manager.call_tool("goto", {"url": "https://example.org"})

    assert offered["function"]["description"] == "Go to a page"
    assert remote.methods()[:3] == ["initialize", "notifications/initialized", "tools/list"]
    assert remote.methods().count("tools/call") == attempts
    assert remote.authorizations == {"Bearer lpd_secret"}
    assert (result.is_error, result.content.endswith("done")) == (fails, not fails)
    assert ("the server" in result.error_message) is fails


def test_a_server_that_does_not_answer_is_reported_with_the_reason() -> None:
    """A1: the manager prints it, and leaves the handler out."""
    answers = [
        (500, b"", "the server answered with status 500"),
        (200, b"", "the server's answer to initialize: it is not a result"),
        (200, b"[]", "the server's answer to initialize: it is not a result"),
        (200, b'{"result": 5}', "the server's answer to initialize: it is not a result"),
        (200, b'{"error": {"code": 1, "message": "no"}}', "the server's answer to initialize: no"),
    ]

    for status, body, reason in answers:
        with http_server(lambda _, answer=(status, body): answer) as url:
            handler = JsonRpcHandler(MCPHandlerConfig("browser", settings={"url": url}))
            with pytest.raises(NoAnswerError) as caught:
                handler.connect()
        assert (str(caught.value), handler.list_tools()) == (reason, [])
    with pytest.raises(NoAnswerError):
        handler.connect()  # Nobody listens there any more.


def test_a_tool_that_fails_is_not_called_again() -> None:
    """A1: only a missing answer is tried once more; the server has run a tool that reports an error."""
    remote = FailingServer()
    with http_server(remote) as url:
        handler = JsonRpcHandler(MCPHandlerConfig("browser", max_retries=2, settings={"url": url}))
        handler.connect()
        failed, silent = handler.call_tool("goto", {}), handler.call_tool("wait", {})
        handler.disconnect()

    assert (failed.is_error, failed.error_message) == (True, "no such page")
    assert (silent.is_error, silent.error_message) == (True, "the tool failed")
    assert remote.methods().count("tools/call") == 2
    assert (handler.list_tools(), handler.health_check()) == ([], False)


def test_the_session_of_a_server_is_named_in_every_further_request() -> None:
    """LC-6: with each request after the handshake; a new connection begins a new session."""
    named = []

    def answer(asked: Asked) -> Answer:
        named.append(asked.headers.get("mcp-session-id"))
        if "id" not in asked.message:
            return Answer(202)
        header = {"Mcp-Session-Id": "s-1"} if asked.message["method"] == "initialize" else {}
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}, **header)

    with serving(answer) as web:
        handler = JsonRpcHandler(MCPHandlerConfig("browser", settings={"url": web.origin}))
        for _ in range(2):
            handler.connect()
            handler.call_tool("goto", {})
            handler.disconnect()

    assert named == [None, "s-1", "s-1", "s-1"] * 2
