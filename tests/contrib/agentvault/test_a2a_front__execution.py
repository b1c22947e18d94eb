"""Executing a tool for a client of A2A: whatever happens is one outcome."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.contrib.agentvault.a2a_front import EXECUTE_TOOL, ExecutingProvider
from gaia_mcp.fleet.gateway.naming import prefixed_name
from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.server.provider import RequestError
from tests.client.transports.http.web import Answer, Asked, as_json, serving
from tests.fleet.gateway.conftest import MakeGateway, script

if TYPE_CHECKING:
    from gaia_mcp.fleet.gateway.provider import GatewayProvider

Wire = dict[str, Any]


class Task(Call):
    """A call that can become a task."""

    def __init__(self) -> None:
        super().__init__()
        self.is_task = False

    def continue_as_task(self, *, required: bool = False) -> bool:
        assert required
        self.is_task = True
        return True


class Servers:
    """A gateway whose servers list `tools`, and whose calls end with `result`, which may be raised."""

    def __init__(self, result: Wire | Exception, **tools: list[str]) -> None:
        self.result = result
        self.tools = tools
        self.called: list[Wire] = []

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        assert method == "tools/call"
        assert isinstance(call, Task)
        assert call.is_task
        self.called.append(params)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def has_tool(self, server: str, name: str, call: Call) -> bool | None:
        return name in self.tools[server] if self.tools[server] else None

    def name_of(self, server: str, name: str, call: Call) -> str | None:
        return prefixed_name(server, name) if name != "unclear" else None


def execute_at(provider: ExecutingProvider, content: Any) -> Wire:
    """The outcome of a message at a provider."""
    result = provider.answer("tools/call", {"name": EXECUTE_TOOL, "arguments": content}, Task())
    found: Wire = result["structuredContent"]
    return found


def execute(servers: Any, content: Any, meta: Wire | None = None, names: Any = None) -> Wire:
    """The outcome of a message with this data."""
    provider = ExecutingProvider(servers, names or servers.tools, servers.has_tool, servers.name_of)
    params: Wire = {"name": EXECUTE_TOOL, "arguments": content, **({"_meta": meta} if meta else {})}
    result = provider.answer("tools/call", params, Task())
    assert result.keys() == {"content", "structuredContent"}
    found: Wire = result["structuredContent"]
    assert found.keys() == {"success", "mcp_result", "error"}
    return found


def wanted(server: Any, tool: Any, arguments: Any = None) -> Wire:
    return {"target_mcp_server_id": server, "tool_name": tool, "arguments": arguments}


def error(outcome: Wire) -> tuple[str, str]:
    assert (outcome["success"], outcome["mcp_result"]) == (False, None)
    return outcome["error"]["source"], outcome["error"]["code"]


def test_the_named_server_is_called() -> None:
    """Seed systems, C7 and C9: with what the message has for MCP servers."""
    servers = Servers({"content": [], "resultType": "complete", "_meta": {"a": 1}, "extra": 2}, files=[])

    outcome = execute(servers, wanted("files", "read", {"path": "a"}), {"mcp_context": 5})
    assert outcome == {"success": True, "mcp_result": {"content": [], "extra": 2}, "error": None}
    assert servers.called == [{"name": "files__read", "arguments": {"path": "a"}, "_meta": {"mcp_context": 5}}]


def test_a_server_is_also_found_by_the_prefix_of_its_tool() -> None:
    """Seed systems, C7: an unknown name falls back to the tool's; and a server of MCP may list the rest of it."""
    rows: list[tuple[str | None, str, list[str], str]] = [
        ("files", "files.read", ["files.read"], "files__files.read"),
        ("files", "files.read", ["read"], "files__read"),
        ("files", "files.read", ["read", "files.read"], "files__files.read"),
        # A server of AgentVault's dialect lists nothing.
        ("files", "files.read", [], "files__files.read"),
        ("elsewhere", "files.read", ["read"], "files__read"),
        (None, "files.read", [], "files__files.read"),
        ("", "files", [], "files__files"),
        ("files", "other.read", ["read"], "files__other.read"),
    ]

    for server, tool, listed, called in rows:
        servers = Servers({"content": []}, files=listed, other=[])
        success = execute(servers, wanted(server, tool))["success"]
        assert (success, servers.called) == (True, [{"name": called, "arguments": {}}]), (server, tool, listed)


def test_an_unknown_server_is_reported_with_the_known_ones() -> None:
    """Seed systems, C8."""
    outcome = execute(Servers({}, files=[], code=[]), wanted("tip", "ip.report"))

    assert error(outcome) == ("A2A_PROXY", "MCP_CONNECTION_ERROR")
    assert outcome["error"]["message"] == (
        "no server is known as 'tip', nor by the prefix of 'ip.report'; known are: files, code"
    )
    many = {f"s{number}": [] for number in range(1000)}
    assert len(execute(Servers({}, **many), wanted("tip", "x"))["error"]["message"]) < 100


def test_an_invalid_message_reaches_no_server() -> None:
    """Seed systems, C8."""
    servers = Servers({"content": []}, files=[])
    contents: list[Any] = [
        None,
        [],
        {},
        wanted("files", None),
        wanted("files", ""),
        wanted("files", 5),
        wanted(5, "read"),
        wanted("files", "read", []),
        wanted("files", "read", "path"),
    ]
    errors = [(content, error(execute(servers, content))) for content in contents]

    assert errors == [(content, ("A2A_PROXY", "-32602")) for content in contents]
    assert servers.called == []


def test_a_tool_with_an_ambiguous_name_is_not_called() -> None:
    """Ours: no call reaches a server by chance."""
    servers = Servers({"content": []}, files=[])

    assert error(execute(servers, wanted("files", "unclear"))) == ("A2A_PROXY", "-32602")
    assert servers.called == []


def test_a_tool_error_has_the_content_as_its_details() -> None:
    """Seed systems, C7."""
    content = [{"type": "text", "text": "no such file"}]
    outcome = execute(Servers({"content": content, "isError": True}, files=[]), wanted("files", "read"))

    assert error(outcome) == ("MCP_TOOL", "TOOL_EXECUTION_FAILED")
    assert outcome["error"]["details"] == {"mcp_tool_error_content": content}


def test_a_json_rpc_error_keeps_its_code_and_data() -> None:
    """Seed systems, C7."""
    outcome = execute(Servers(RequestError("no", -32601, {"why": 1}), files=[]), wanted("files", "read"))

    assert error(outcome) == ("MCP_PROTOCOL", "-32601")
    assert outcome["error"]["message"] == "no"
    assert outcome["error"]["details"] == {"mcp_protocol_error_data": {"why": 1}}


def test_each_failure_of_a_server_has_its_own_code() -> None:
    """Seed systems, C7."""
    codes = {
        "connection": "MCP_CONNECTION_ERROR",
        "timeout": "MCP_TIMEOUT",
        "protocol": "MCP_INVALID_RESPONSE",
        "result": "MCP_INVALID_RESULT",
        "arguments": "-32602",
        "weather": "PROXY_INTERNAL_ERROR",
    }
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    outcomes = {
        failure: execute(
            Servers({"content": content, "isError": True, "_meta": {"gaia-mcp/failure": failure}}, files=[]),
            wanted("files", "read"),
        )
        for failure in codes
    }

    assert {failure: error(outcome) for failure, outcome in outcomes.items()} == {
        failure: ("A2A_PROXY", code) for failure, code in codes.items()
    }
    assert outcomes.pop("timeout")["error"]["message"] == "timed out: one\ntwo"
    assert {outcome["error"]["message"] for outcome in outcomes.values()} == {"one\ntwo"}


def test_an_unknown_tool_is_an_unknown_method() -> None:
    """Seed systems, C7: in AgentVault's dialect a tool is a method. Of a server that lists nothing, only its own error
    tells whether it has the tool.
    """
    refused = RequestError("no such thing", -32602, {"why": 1})
    rows = [("burn", ["read"], "-32601"), ("read", ["read"], "-32602"), ("burn", [], "-32602")]

    for tool, listed, code in rows:
        outcome = execute(Servers(refused, files=listed), wanted("files", tool))
        assert error(outcome) == ("MCP_PROTOCOL", code), (tool, listed)
        assert outcome["error"]["details"] == {"mcp_protocol_error_data": {"why": 1}}
    unknown = execute(Servers(RequestError("Unknown tool: files__burn"), files=[]), wanted("files", "burn"))
    assert error(unknown) == ("MCP_PROTOCOL", "-32601")


def test_a_failure_mark_that_is_not_a_string_is_ignored() -> None:
    """Ours: a server may put any value there, and the client gets an outcome all the same."""
    result = {"content": [{"type": "image"}, 5], "isError": True, "_meta": {"gaia-mcp/failure": ["timeout"]}}

    assert error(execute(Servers(result, files=[]), wanted("files", "read"))) == ("MCP_TOOL", "TOOL_EXECUTION_FAILED")
    result["_meta"] = {"gaia-mcp/failure": "timeout"}
    assert error(execute(Servers(result, files=[]), wanted("files", "read"))) == ("A2A_PROXY", "MCP_TIMEOUT")


def test_a_tool_that_requires_input_is_an_internal_error() -> None:
    """Ours: AgentVault's clients have nothing to answer with."""
    outcome = execute(Servers(QuestionError("the client cannot be asked"), files=[]), wanted("files", "read"))

    assert error(outcome) == ("A2A_PROXY", "PROXY_INTERNAL_ERROR")


def test_a_cancelled_call_has_no_outcome() -> None:
    """Ours: the client reads the state of the task, which is cancelled."""
    with pytest.raises(CallCancelledError):
        execute(Servers(CallCancelledError(), files=[]), wanted("files", "read"))


def test_only_tool_calls_are_answered() -> None:
    """Ours: the front calls it, and lists nothing."""
    servers = Servers({}, files=[])
    provider = ExecutingProvider(servers, servers.tools, servers.has_tool, servers.name_of)  # type: ignore[arg-type]

    assert "tools" in provider.describe().capabilities
    provider.on_change(lambda _: None)()
    with pytest.raises(RequestError, match="tools/list"):
        provider.answer("tools/list", {}, Task())
    provider.close()


@pytest.mark.story
def test_failures_of_real_servers_have_their_codes(gateway: MakeGateway) -> None:
    """Seed systems, C7: through a gateway."""
    gate: GatewayProvider = gateway(
        odd=script("strange_results.py"), dead={"command": "no-such-program"}, away={"url": "http://127.0.0.1:9/mcp"}
    )
    provider = ExecutingProvider(gate, ("odd", "dead", "away"), gate.has_tool, gate.name_of)

    def outcome(server: str, tool: str) -> Wire:
        return execute_at(provider, wanted(server, tool))

    assert error(outcome("odd", "strange")) == ("MCP_TOOL", "TOOL_EXECUTION_FAILED")
    assert error(outcome("odd", "odd.refuse")) == ("MCP_PROTOCOL", "-31999")
    assert outcome("nowhere", "odd.told")["success"]
    for server in ("dead", "away"):
        assert error(outcome(server, "x")) == ("A2A_PROXY", "MCP_CONNECTION_ERROR")


def dialect(name: str, lists: list[str] | None) -> Callable[[Asked], Answer]:
    """A server of AgentVault's dialect with these tools, or that cannot list them: results tell what ran there."""

    def answer(asked: Asked) -> Answer:
        method, params = asked.message["method"], asked.message["params"]
        answered: Wire = {"result": {"ran": f"{name} {params['name'] if method == 'tools/call' else method}"}}
        if method == "tools/list" and lists is None:
            answered = {"error": {"code": -32601, "message": "Method not found"}}
        elif method == "tools/list":
            answered = {
                "result": {"tools": [{"name": each, "inputSchema": {"type": "object"}} for each in lists or ()]}
            }
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], **answered})

    return answer


@pytest.mark.story
@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ({"a.b": ["t"], "a_b": ["t"]}, {("a.b", "t"): "a.b t", ("a_b", "t"): "a_b t", ("a_b", "a_b.t"): "a_b t"}),
        ({"a": ["b__t", "t"], "a__b": ["t"]}, {("a", "b__t"): "a b__t", ("a__b", "t"): "a__b t", ("a", "t"): "a t"}),
        ({"a": ["a__t", "t"]}, {("a", "a__t"): "a a__t", ("a", "t"): "a t"}),
        ({"a": ["t"], "b": ["a__t"]}, {("a", "t"): "a t", ("b", "a__t"): "b a__t"}),
        # Of these it is not known whether they have the tool.
        ({"a.b": None, "a_b": None}, {("a.b", "t"): "a.b t", ("a_b", "t"): "-32602"}),
        ({"a": None, "a__b": None}, {("a", "b__t"): "-32602", ("a__b", "t"): "a__b t", ("a", "t"): "a t"}),
    ],
)
def test_no_call_reaches_another_server(
    gateway: MakeGateway, servers: dict[str, list[str] | None], expected: dict[tuple[str, str], str]
) -> None:
    """Ours: whichever names servers and tools have; an ambiguous one is not called."""
    with ExitStack() as webs:
        urls = {name: webs.enter_context(serving(dialect(name, lists))) for name, lists in servers.items()}
        gate = gateway(**{name: {"type": "rpc", "url": f"{web.origin}/rpc"} for name, web in urls.items()})
        provider = ExecutingProvider(gate, list(servers), gate.has_tool, gate.name_of)
        outcomes = {asked: execute_at(provider, wanted(*asked)) for asked in expected}

    assert {
        asked: outcome["mcp_result"]["ran"] if outcome["success"] else outcome["error"]["code"]
        for asked, outcome in outcomes.items()
    } == expected


@pytest.mark.story
def test_a_tool_that_the_entry_excludes_is_unknown(gateway: MakeGateway) -> None:
    """Ours: as to clients of MCP."""
    with serving(dialect("a", ["t"])) as web:
        gate = gateway(a={"type": "rpc", "url": f"{web.origin}/rpc", "excludeTools": ["t"]})
        provider = ExecutingProvider(gate, ["a"], gate.has_tool, gate.name_of)
        outcome = execute_at(provider, wanted("a", "t"))

    assert (error(outcome), outcome["error"]["message"]) == (("MCP_PROTOCOL", "-32601"), "Unknown tool: a__t")
