"""Registering the tools of servers: one name for each, and everybody's own taken out again."""

from __future__ import annotations

from typing import Any

from gaia_mcp.agents.base import _TOOL_REGISTRY, Agent
from gaia_mcp.client import MCPClient, MCPTool
from gaia_mcp.client.transports.base import MCPTransport
from gaia_mcp.contrib.gaia.tool_registry import Registry, register, registries_of, registry_of, unregister, wrapped
from gaia_mcp.core.errors import NotConnectedError


class Answering(MCPTransport):
    """A transport that answers every call with the name of its server and what was asked."""

    def __init__(self, server: str, result: Any = None) -> None:
        self.server = server
        self.result = result
        self.connected = True

    def connect(self) -> bool:
        return True

    def disconnect(self) -> None:
        self.connected = False

    def is_connected(self) -> bool:
        return self.connected

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "tools/call":
            assert params is not None
            return {"result": self.result or {"server": self.server, **params}}
        return {"result": {}}


def client_of(name: str, result: Any = None) -> MCPClient:
    client = MCPClient(name, Answering(name, result))
    client.connect()
    return client


def tools_of(*names: str) -> list[MCPTool]:
    return [MCPTool(name, f"does {name}", {"type": "object"}) for name in names]


def test_a_tool_is_registered_with_the_prefix_of_its_server() -> None:
    """GAIA's documents: the entry and the wrapped answer."""
    registry: Registry = {}

    register(registry, client_of("files"), tools_of("read_file"))

    entry = registry["mcp_files_read_file"]
    assert entry["name"] == "mcp_files_read_file"
    assert entry["description"] == "[MCP:files] does read_file"
    assert (entry["_mcp_server"], entry["_mcp_tool_name"], entry["atomic"]) == ("files", "read_file", True)
    assert entry["function"](path="x") == {
        "status": "success",
        "message": "Tool 'read_file' returned data",
        "data": {"server": "files", "name": "read_file", "arguments": {"path": "x"}},
        "instruction": "Parse this JSON data and provide a human-readable summary. "
        "Your answer must be a plain text string, not a JSON object.",
    }


def test_servers_with_the_same_normalised_name_have_different_prefixes() -> None:
    """MC-17: in GAIA one of them takes the other's place."""
    registry: Registry = {}

    for name in ("a.b", "a@b", "a_b"):
        register(registry, client_of(name), tools_of("x", "y"))

    assert {name: entry["_mcp_server"] for name, entry in registry.items()} == {
        "mcp_a_b_x": "a.b",
        "mcp_a_b_y": "a.b",
        "mcp_a_b_2_x": "a@b",
        "mcp_a_b_2_y": "a@b",
        "mcp_a_b_3_x": "a_b",
        "mcp_a_b_3_y": "a_b",
    }
    assert all(entry["function"]()["data"]["server"] == entry["_mcp_server"] for entry in registry.values())


def test_names_of_different_servers_and_tools_do_not_collide() -> None:
    """Ours: `a` with `b_c`, and `a_b` with `c`."""
    registry: Registry = {}

    register(registry, client_of("a"), tools_of("b_c"))
    register(registry, client_of("a_b"), tools_of("c"))

    assert {name: entry["_mcp_server"] for name, entry in registry.items()} == {
        "mcp_a_b_c": "a", "mcp_a_b_2_c": "a_b"
    }  # fmt: skip


def test_tools_with_the_same_normalised_name_are_numbered() -> None:
    """Ours: names of functions hold neither dots nor slashes."""
    registry: Registry = {}

    register(registry, client_of("s"), tools_of("a.b", "a/b", "a_b_2"))

    assert {name: entry["_mcp_tool_name"] for name, entry in registry.items()} == {
        "mcp_s_a_b": "a.b", "mcp_s_a_b_2": "a/b", "mcp_s_a_b_2_2": "a_b_2"
    }  # fmt: skip


def test_an_agents_own_tool_is_never_replaced() -> None:
    """Ours: a model would call the server's tool in its place, unnoticed."""
    registry: Registry = {"mcp_s_x": {"name": "mcp_s_x", "function": print}}

    register(registry, client_of("s"), tools_of("x"))

    assert sorted(registry) == ["mcp_s_2_x", "mcp_s_x"]
    assert registry["mcp_s_x"]["function"] is print


def test_registering_again_replaces_the_tools() -> None:
    """Ours: a server's tools have changed."""
    registry: Registry = {}
    client = client_of("s")
    register(registry, client, tools_of("x", "y"))

    register(registry, client, tools_of("y", "z"))

    assert sorted(registry) == ["mcp_s_y", "mcp_s_z"]


def test_unregister_removes_every_tool_of_a_server() -> None:
    """Ours: also what a subclass has entered by itself, and without asking the server, which may have gone."""
    registry: Registry = {"other": {"name": "other", "function": print}}
    client = client_of("s")
    register(registry, client, tools_of("x"))
    register(registry, client_of("t"), tools_of("x"))
    registry["mcp_s_own"] = {**tools_of("own")[0].to_gaia_format("s"), "function": print}
    client.disconnect()

    assert unregister(registry, client) == 2

    assert sorted(registry) == ["mcp_t_x", "other"]
    assert unregister(registry, client) == 0


def test_agents_with_servers_of_the_same_name_keep_their_tools() -> None:
    """Ours: the last one is called; when it leaves, the one before is there again."""
    registry: Registry = {}
    first, second = client_of("s"), client_of("s")
    register(registry, first, tools_of("x", "y"))
    register(registry, second, tools_of("x"))
    assert registry["mcp_s_x"]["function"].client is second

    unregister(registry, second)

    assert {name: entry["function"].client for name, entry in registry.items()} == {
        "mcp_s_x": first, "mcp_s_y": first
    }  # fmt: skip
    unregister(registry, first)
    assert registry == {}


def test_a_client_that_was_unregistered_is_not_restored() -> None:
    """Ours: three agents, which leave in another order than they came."""
    registry: Registry = {}
    first, second, third = client_of("s"), client_of("s"), client_of("s")
    for client in (first, second, third):
        register(registry, client, tools_of("x"))

    unregister(registry, second)
    assert registry["mcp_s_x"]["function"].client is third
    unregister(registry, third)
    assert registry["mcp_s_x"]["function"].client is first
    unregister(registry, first)

    assert registry == {}


def test_a_failed_call_has_the_status_error() -> None:
    """GAIA's documents: `status`, `error` and the data; ours: `isError` is a failure too."""
    texts = [{"type": "text", "text": "no"}, {"type": "image"}, {"text": "way"}]
    rows: list[tuple[dict[str, Any], str]] = [
        ({"error": "File not found"}, "File not found"),
        ({"error": {"code": -1, "message": "no"}}, "no"),
        ({"isError": True, "content": texts}, "no\nway"),
        ({"isError": True, "content": None}, "the tool reported an error without a text"),
        ({"isError": True, "error": None, "content": [{"text": "no"}]}, "no"),
    ]

    assert [wrapped("t", result) for result, _ in rows] == [
        {"status": "error", "error": problem, "data": result} for result, problem in rows
    ]


def test_a_result_that_is_not_a_dict_is_returned_unchanged() -> None:
    """GAIA's documents."""
    results: list[Any] = ["text", 7, None, ["a"]]

    assert not [result for result in results if wrapped("t", result) is not result]


def test_a_tool_of_a_server_that_is_not_connected_is_a_failure() -> None:
    """Ours: a model reads results, and an exception would end its agent."""
    registry: Registry = {}
    client = client_of("s")
    register(registry, client, tools_of("x"))
    client.disconnect()

    answer = registry["mcp_s_x"]["function"]()

    assert answer == {
        "status": "error", "error": str(NotConnectedError("s")), "data": {"error": str(NotConnectedError("s"))}
    }  # fmt: skip
    assert repr(registry["mcp_s_x"]["function"]) == "<RegisteredTool 'x' of 's'>"


def test_the_registry_is_the_one_that_the_agents_base_class_reads() -> None:
    """Ours: beside GAIA's `Agent`, which has its own."""
    import sys
    import types

    theirs = types.ModuleType("theirs")
    theirs._TOOL_REGISTRY = {}  # type: ignore[attr-defined]
    sys.modules["theirs"] = theirs
    try:
        foreign = type("Agent", (), {"__module__": "theirs"})
        assert registry_of(type("Mine", (foreign,), {})()) is theirs._TOOL_REGISTRY
        assert registry_of(Agent(silent_mode=True)) is _TOOL_REGISTRY
        assert registry_of(object()) is _TOOL_REGISTRY
    finally:
        del sys.modules["theirs"]


def test_an_agents_own_copy_of_the_registry_is_one_of_its_registries() -> None:
    """GAIA 0.25: an agent may have taken a copy, and reads nothing else from then on."""
    agent = Agent(silent_mode=True)
    assert registries_of(agent) == [_TOOL_REGISTRY]

    agent._instance_tools = {}  # type: ignore[attr-defined]

    assert registries_of(agent) == [_TOOL_REGISTRY, {}]


def test_a_tool_may_have_an_argument_of_any_name() -> None:
    """Ours: Python's own `self` is one that servers may use too."""
    registry: Registry = {}
    register(registry, client_of("s"), tools_of("x"))

    answer = registry["mcp_s_x"]["function"](self=1, client=2)

    assert answer["data"]["arguments"] == {"self": 1, "client": 2}


def test_another_packages_registry_gets_types_as_strings() -> None:
    """GAIA 0.25: its agents take the type for a string, and fail altogether on a list. Ours: in our own it stays."""
    schema = {"properties": {"a": {"type": ["integer", "null"]}, "b": {"type": ["string", "integer"]}}}
    tool = MCPTool("x", "", schema)
    theirs: Registry = {}
    client = client_of("s")

    register(theirs, client, [tool])
    register(_TOOL_REGISTRY, client, [tool])
    ours = _TOOL_REGISTRY["mcp_s_x"]
    unregister(_TOOL_REGISTRY, client)

    assert {name: shown["type"] for name, shown in theirs["mcp_s_x"]["parameters"].items()} == {
        "a": "integer", "b": "string | integer"
    }  # fmt: skip
    assert ours["parameters"]["a"]["type"] == ["integer", "null"]


def test_foreign_entries_of_a_registry_are_left_unchanged() -> None:
    """Ours: it is a plain dict that every program may change."""
    registry: Registry = {"mcp_s_x": "odd"}  # type: ignore[dict-item]
    client = client_of("s")

    register(registry, client, tools_of("x"))
    registry["mcp_s_2_x"]["function"] = print  # A program wraps what is there.

    assert unregister(registry, client) == 1
    assert list(registry) == ["mcp_s_x"]
