"""AgentVault's dialect: the method is the tool, and the params are its arguments."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, current_call
from gaia_mcp.server.http.app import app_for
from gaia_mcp.server.http.workers import Limits
from tests.server.http.asgi import text_of
from tests.server.talk import DISCOVER, initialize, plain, stateless
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.http.asgi import Reply, Server

    Serve = Callable[..., Server]


class Agent:
    """What a server of AgentVault has: tools with names in two parts."""

    def __init__(self) -> None:
        self.running: list[Call] = []
        self.may_end = threading.Event()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        names = ("files.echo", "files.fail", "code.run", "files.ask", "files.wait", "files.flood")
        return [{"name": name, "inputSchema": schema if name == "files.echo" else {"type": "object"}} for name in names]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "files.fail":
            raise ValueError("there is no such file")
        if name == "code.run":
            output = {"stdout": "4\n", "stderr": "", "exit_status": 0}
            return {"content": [{"type": "text", "text": json.dumps(output)}], "structuredContent": output}
        if name == "files.ask":
            return str(current_call().elicit("Sure?", {"type": "object", "properties": {}}))
        if name == "files.wait":
            self.running.append(current_call())
            assert self.may_end.wait(PATIENCE_SECONDS)
        if name == "files.flood":
            current_call().progress(1, 2, "half")
            current_call().log("error", "oh")
        return arguments.get("path", "done")


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def server(serve: Serve, agent: Agent) -> Server:
    return serve(app_for(agent, rpc=True))


def ask(server: Server, message: Any, path: str = "/rpc", **headers: str) -> Reply:
    """The reply to a POST of this message, or of these bytes, as AgentVault's proxy sends it."""
    return server.send(message, path, **{"accept": "*/*", **headers}).reply()


def test_the_method_of_a_request_is_the_name_of_a_tool(server: Server) -> None:
    """Spec, C4, and the document: ids are returned with their type, and the result has no members of MCP alone."""
    for request_id in (1, "req-123", 0, "", -7):
        reply = ask(server, {"jsonrpc": "2.0", "id": request_id, "method": "files.echo", "params": {"path": "a.txt"}})
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert reply.json == {
            "jsonrpc": "2.0",
            "id": request_id,
            "result": {"content": [{"type": "text", "text": "a.txt"}]},
        }
        assert type(reply.json["id"]) is type(request_id)


def test_a_failure_of_a_tool_is_a_result(server: Server) -> None:
    """Spec, C3, and the document."""
    failed = ask(server, plain(1, "files.fail")).json["result"]

    assert failed == {"content": [{"type": "text", "text": "there is no such file"}], "isError": True}


def test_invalid_arguments_of_a_tool_are_invalid_params(server: Server) -> None:
    """Seed systems, C4: the arguments are the params of the method. Those of `tools/call` fail the call, as in MCP."""
    bare = {"jsonrpc": "2.0", "id": 1, "method": "files.echo"}
    replies = [
        ask(server, each).json for each in (plain(1, "files.echo", {"path": 3}), plain(1, "files.echo", {}), bare)
    ]
    called = ask(server, plain(1, "tools/call", {"name": "files.echo", "arguments": {"path": 3}})).json["result"]

    assert [reply["error"]["code"] for reply in replies] == [-32602] * 3
    assert 'path: 3 is not of type "string"' in replies[0]["error"]["message"]
    assert "'path' is missing" in replies[1]["error"]["message"]
    assert called["isError"] is True


def test_the_output_of_a_program_is_a_code_output_block(server: Server) -> None:
    """Spec, C3: `code_output`, which MCP does not know."""
    result = ask(server, plain(1, "code.run")).json["result"]

    assert result["content"] == [{"type": "code_output", "stdout": "4\n", "stderr": ""}]
    assert result["structuredContent"]["exit_status"] == 0


def test_an_invalid_message_is_an_error_with_status_200(server: Server) -> None:
    """Spec, C4."""
    invalid: list[tuple[Any, int, Any]] = [
        (b"{", -32700, None),
        (b"", -32700, None),
        (b"\xff", -32700, None),
        (b"[]", -32600, None),
        (b'"x"', -32600, None),
        (plain(1, "files.echo", ["a.txt"]), -32602, 1),
        ({"jsonrpc": "2.0", "id": "r"}, -32600, "r"),
        ({"jsonrpc": "1.0", "id": 1, "method": "files.echo"}, -32600, 1),
        ({"id": 1, "method": "files.echo"}, -32600, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 3}, -32600, 1),
        ({"jsonrpc": "2.0", "id": {}, "method": "files.echo"}, -32600, None),
        (plain(1, "files.nothing"), -32601, 1),
        (plain("x", "resources/list"), -32601, "x"),
    ]
    replies = [(body, ask(server, body)) for body, _, _ in invalid]

    assert [(body, reply.error, reply.json["id"]) for body, reply in replies] == invalid
    assert {reply.status for _, reply in replies} == {200}


def test_a_body_beyond_the_limit_is_refused_with_413(serve: Serve, agent: Agent) -> None:
    """Ours: an error of HTTP keeps its status, for the body was not read to its end."""
    server = serve(app_for(agent, rpc=True, limits=Limits(body_bytes=10)))

    assert ask(server, plain(1, "code.run")).status == 413


def test_methods_of_mcp_are_answered_too(server: Server) -> None:
    """Spec, C4: with an envelope as in MCP, without one as in the dialect."""
    listed = ask(server, plain(1, "tools/list")).json["result"]
    called = ask(server, plain(2, "tools/call", {"name": "files.echo", "arguments": {"path": "b"}})).json["result"]
    begun = ask(server, initialize()).json["result"]
    modern = ask(server, stateless(3, "tools/list")).json["result"]
    discovered = ask(server, DISCOVER).json["result"]

    assert listed["tools"][0]["name"] == "files.echo"
    assert set(listed) == {"tools"}
    assert called == {"content": [{"type": "text", "text": "b"}]}
    assert begun["protocolVersion"]
    assert begun["capabilities"]["tools"] is not None
    assert modern["resultType"] == "complete"
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert ask(server, plain(2, "tools/call", {"name": "nothing"})).json["error"]["code"] == -32602


def test_a_notification_gets_no_response(server: Server, agent: Agent) -> None:
    """Spec, C4: 202, and the tool does not run, for its result could not be sent."""
    reply = ask(server, {"jsonrpc": "2.0", "method": "files.wait"})

    assert (reply.status, reply.body) == (202, b"")
    assert agent.running == []


def test_a_tool_sends_neither_requests_nor_notifications(server: Server) -> None:
    """Ours: there is one response, and nothing else."""
    assert ask(server, plain(1, "files.ask")).json["error"]["code"] == -32021
    reply = ask(server, plain(1, "files.flood"))
    assert (reply.headers["content-type"], text_of(reply.json)) == ("application/json", "done")


def test_a_disconnect_cancels_the_call(server: Server, agent: Agent) -> None:
    """Ours: as everywhere over HTTP."""
    asked = server.send(plain(1, "files.wait"), "/rpc")
    wait_until(lambda: agent.running)

    asked.leave()

    wait_until(lambda: agent.running[0].is_cancelled)
    agent.may_end.set()


def test_the_rpc_endpoint_is_protected_as_the_mcp_endpoint_is(serve: Serve, agent: Agent) -> None:
    """Ours: hosts, tokens, methods."""
    server, right = serve(app_for(agent, rpc=True, token="t")), {"authorization": "Bearer t"}

    assert ask(server, plain(1, "code.run")).status == 401
    assert ask(server, plain(1, "code.run"), **right).status == 200
    assert ask(server, plain(1, "code.run"), **right, host="evil.example").status == 403
    assert server.ask("GET", "/rpc", **right).reply().headers["allow"] == "POST"


def test_the_rpc_endpoint_exists_on_demand(serve: Serve, agent: Agent) -> None:
    """Spec, C4."""
    assert ask(serve(app_for({"files": "demo"})), plain(1, "greet"), "/files/rpc").status == 404
    both = serve(app_for({"a": agent, "b": agent}, rpc=True))
    assert ask(both, plain(1, "code.run"), "/a/rpc").status == 200
    assert ask(both, plain(1, "code.run"), "/b/rpc/").status == 200


@pytest.mark.story  # It looks whether the network can be cut off.
def test_the_rpc_endpoint_exists_for_agentvault_agents_by_default(serve: Serve) -> None:
    """Spec, C4: by default."""
    (tool,) = ask(serve(app_for("code-runner")), plain(1, "tools/list")).json["result"]["tools"]
    assert tool["name"] == "code.runPython"
