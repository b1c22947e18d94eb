"""Tools that are registered with agents: which are refused, and that a stand-in can really call them back."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.hub import AgentsHub
from gaia_mcp.contrib.hub.entries import HubError
from gaia_mcp.contrib.hub.tool_server import (
    IDLE_SECONDS,
    MAX_OWNER_BYTES,
    MAX_OWNERS,
    MAX_TOOLS,
    Owner,
    RegisteredTool,
    Registry,
    Route,
)
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.server.http.received import Caller
from gaia_mcp.storage.server_cache import ServerCache
from tests.contrib.hub.conftest import Agents, call, execute
from tests.server.http.conftest import serve
from tests.server.talk import call as stateless_call
from tests.server.talk import plain
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.server.http.received import Received
    from tests.server.http.asgi import Server

__all__ = ["serve"]  # A fixture.

pytestmark = pytest.mark.story

DEMO = {"command": sys.executable, "args": ["-m", "gaia_mcp", "serve", "demo"], "inherit": True}
SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
SPEC = {"description": "Add two numbers", "schema": SCHEMA, "function": "demo.add"}
ASKED = {"agent_name": "claude", "prompt": "hi", "timeout": 60}
REGISTERED = {"tool_name": "sum", "tool_spec": SPEC, "agent_name": "claude"}

# A client of MCP, by hand. `server()` is how each agent reads where our server is; the answer is all that it got.
CLIENT = """
import subprocess
sys.stdin.read()
{server}
process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
def ask(number, method, **params):
    message = {{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}
    process.stdin.write(json.dumps(message) + "\\n")
    process.stdin.flush()
    while (found := json.loads(process.stdout.readline())).get("id") != number:
        pass
    return found.get("result") or found
ask(1, "initialize", protocolVersion="2025-06-18", capabilities={{}}, clientInfo={{"name": "x", "version": "1"}})
tools = ask(2, "tools/list")["tools"]
results = [ask(3 + number, "tools/call", name=name, arguments=arguments) for number, (name, arguments) in
           enumerate({calls!r})]
process.stdin.close()
process.wait()
text = json.dumps({{"tools": tools, "results": results}})
{answer}
"""
SERVERS = {
    "claude": """
found = json.loads(sys.argv[sys.argv.index("--mcp-config") + 1])["mcpServers"]["gaia"]
words, env = [found["command"], *found["args"]], None
""",
    "codex": """
import tomllib
found = tomllib.loads(sys.argv[sys.argv.index("-c") + 1])["mcp_servers"]["gaia"]
words, env = [found["command"], *found["args"]], {name: os.environ[name] for name in found["env_vars"]}
assert "GAIA_MCP_STARTED" in env
""",
    "gemini": """
with open(os.environ["GEMINI_CLI_HOME"] + "/.gemini/settings.json") as file:
    found = json.load(file)["mcpServers"]["gaia"]
words = [found["command"], *found["args"]]
env = {name: os.environ[value[2:-1]] for name, value in found["env"].items()}
assert "GAIA_MCP_STARTED" in env
""",
}
ANSWERS = {
    "claude": "answer(text)",
    "codex": "print(json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': text}}))",
    "gemini": "print(json.dumps({'type': 'message', 'role': 'assistant', 'content': text}))\n"
    "print(json.dumps({'type': 'result', 'status': 'success'}))",
}


def write_client(agents: Agents, kind: str, *calls: tuple[str, dict[str, Any]]) -> None:
    """A stand-in that lists the registered tools and makes these calls."""
    agents.write(CLIENT.format(server=SERVERS[kind], calls=calls, answer=ANSWERS[kind]), kind)


def remember(agents: Agents, *servers: str) -> None:
    """Have the cache know the tools of these servers, so that none of them is started to be asked."""
    for server in servers:
        tools = [{"name": name, "inputSchema": {}} for name in ("add", "greet")]
        ServerCache(cache_folder(), ConfigStore(agents.config).entry(server)).keep_seen(tools)


def register(hub: AgentsHub, name: str = "sum", spec: Any = SPEC, **arguments: Any) -> dict[str, Any]:
    found = hub.execute_mcp_tool("register_tool_with_agent", {"tool_name": name, "tool_spec": spec, **arguments})
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("kind", "function"), [("claude", "demo.add"), ("codex", "mcp_demo_add"), ("gemini", "demo.add")]
)
def test_a_registered_tool_is_listed_and_called(agents: Agents, kind: str, function: str) -> None:
    """B7: the agent sees it under its name, with its description and schema, and gets what the server returns. Either
    name of the function stands for every agent: it is resolved without one.
    """
    agents.configure({}, {"demo": DEMO})
    write_client(agents, kind, ("sum", {"a": 1, "b": 2}), ("sum", {"a": "x"}), ("add", {"a": 1, "b": 2}))
    hub = agents.hub()

    assert register(hub, spec={**SPEC, "function": function}, agent_name=kind) == {
        "status": "success",
        "registered_with": [kind],
    }
    found = execute(hub, agent_name=kind, timeout=60)

    assert (found["status"], found["error"]) == ("success", None)
    got = json.loads(found["content"])
    assert got["tools"] == [{"name": "sum", "description": "Add two numbers", "inputSchema": SCHEMA}]
    added, invalid, hidden = got["results"]
    assert added["structuredContent"] == {"sum": 3}
    assert invalid["isError"] is True
    assert "Unknown tool: add" in json.dumps(hidden)
    assert agents.left() == []


def test_the_file_may_be_named_from_the_home_folder(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the server of the tools reads the same file, wherever the agent runs."""
    monkeypatch.setenv("HOME", str(agents.folder))
    (agents.folder / "elsewhere").mkdir()
    agents.configure({"claude": {"cwd": str(agents.folder / "elsewhere")}}, {"demo": DEMO})
    remember(agents, "demo")
    write_client(agents, "claude", ("sum", {"a": 1, "b": 2}))
    hub = AgentsHub("~/mcp_servers.json")

    assert register(hub, agent_name="claude")["status"] == "success"
    assert json.loads(execute(hub, timeout=60)["content"])["results"][0]["isError"] is False


def test_variables_of_the_entry_reach_the_server_of_the_tool(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """B7: variables that the entry refers to are those of the hub, and no argument of a program holds them."""
    monkeypatch.setenv("STYLE_OF_DEMO", "4711-secret")
    script = agents.folder / "server.py"
    script.write_text(
        "import os\nfrom gaia_mcp import MCPAgent, tool\n"
        "class Server(MCPAgent):\n    @tool\n    def style(self) -> str:\n        return os.environ['STYLE'][:4]\n"
    )
    entry = {"command": sys.executable, "args": ["-m", "gaia_mcp", "serve", str(script)]}
    agents.configure({}, {"styles": {**entry, "env": {"STYLE": "${STYLE_OF_DEMO}"}}})
    client = CLIENT.format(server=SERVERS["codex"], calls=[("style", {})], answer=ANSWERS["codex"])
    agents.write(client + f"open({str(agents.folder / 'arguments')!r}, 'w').write(str(sys.argv))\n", "codex")
    hub = agents.hub()

    assert register(hub, "style", {"schema": {}, "function": "styles.style"})["status"] == "success"
    found = execute(hub, agent_name="codex", timeout=60)

    assert json.loads(found["content"])["results"][0]["content"][0]["text"] == "4711"
    assert "4711" not in (agents.folder / "arguments").read_text()


@pytest.mark.parametrize("kind", ["claude", "codex", "gemini"])
def test_an_agent_and_its_tools_do_not_get_the_secrets_of_the_hub(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Ours: with the token an agent could call the hub as any of its clients."""
    monkeypatch.setenv("GAIA_MCP_TOKEN", "s3cret-of-the-hub")
    monkeypatch.setenv("GAIA_MCP_STORE", "redis://:s3cret@127.0.0.1/0")
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")
    noting = f"open({str(agents.folder / 'seen')!r}, 'w').write(str((dict(os.environ), sys.argv, env)))\n"
    agents.write(CLIENT.format(server=SERVERS[kind] + noting, calls=[], answer=ANSWERS[kind]), kind)
    hub = agents.hub()
    register(hub)

    assert execute(hub, agent_name=kind, timeout=60)["status"] == "success"

    seen = (agents.folder / "seen").read_text()
    assert "HUB_TEST" in seen
    assert "GAIA_MCP_TOKEN" not in seen
    assert "GAIA_MCP_STORE" not in seen


def test_a_tool_without_an_agent_is_registered_with_all(agents: Agents) -> None:
    """B7: those of the configuration included."""
    agents.configure({"local": {"endpoint": "http://127.0.0.1:1/v1"}, "gemini": {"disabled": True}}, {"demo": DEMO})
    remember(agents, "demo")

    assert register(agents.hub())["registered_with"] == ["claude", "codex", "local"]


def test_a_repeated_registration_overwrites_with_a_warning(agents: Agents) -> None:
    """B7: the next request shows the newer one."""
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")
    write_client(agents, "claude", ("sum", {"name": "Ada"}))
    hub = agents.hub()
    register(hub, agent_name="claude")

    newer = {"schema": {"properties": {"name": {"type": "string"}}}, "function": "demo.greet"}
    again = register(hub, spec=newer)

    assert (again["status"], again["registered_with"]) == ("success", ["claude", "codex", "gemini"])
    assert again["warnings"] == ["tool 'sum' was registered with claude before, and is overwritten"]
    got = json.loads(execute(hub, timeout=60)["content"])
    assert [tool["name"] for tool in got["tools"]] == ["sum"]
    assert got["results"][0]["content"][0]["text"] == "Hello, Ada!"


def test_an_invalid_tool_is_registered_with_no_agent(agents: Agents) -> None:
    """B7: and one that cannot be routed."""
    servers = {
        "demo": DEMO,
        "off": {**DEMO, "disabled": True},
        "gone": {"command": "hub-has-no-such-program"},
        "broken": {"command": "x", "args": 7},
    }
    agents.configure({}, servers)
    cases: list[tuple[str, Any, str]] = [
        ("", SPEC, "tool_name"),
        ("a b", SPEC, "tool_name"),
        ("a.b", SPEC, "tool_name"),
        ("--sum", {**SPEC, "function": 7}, "function"),
        ("x" * 65, SPEC, "tool_name"),
        ("sum\n", SPEC, "tool_name"),
        ("sum", {}, "function"),
        ("sum", {"function": "demo.add"}, "schema must be a JSON Schema, an object, not null"),
        ("sum", {**SPEC, "schema": "object"}, "not a string"),
        ("sum", {**SPEC, "schema": {"type": "array"}}, "schema of an object"),
        ("sum", {**SPEC, "schema": {"properties": 7}}, "schema cannot be used"),
        ("sum", {**SPEC, "description": 7}, "description"),
        ("sum", {**SPEC, "function": ""}, "function"),
        ("sum", {**SPEC, "function": "lambda a, b: a + b"}, "is not SERVER.TOOL"),
        ("sum", {**SPEC, "function": "add"}, "is not SERVER.TOOL"),
        ("sum", {**SPEC, "function": "calc.add"}, "is not SERVER.TOOL"),
        ("sum", {**SPEC, "function": "demo.ad"}, "has no tool 'ad'; did you mean 'add'"),
        ("sum", {**SPEC, "function": "mcp_demo_nothing"}, "has no tool 'nothing'"),
        ("sum", {**SPEC, "function": "off.add"}, "is disabled"),
        ("sum", {**SPEC, "function": "gone.add"}, "was not found on PATH"),
        ("sum", {**SPEC, "function": "broken.add"}, "'args'"),
    ]

    wrong = []
    for name, spec, problem in cases:
        found = register(agents.hub(), name, spec)
        is_error = (found["status"], found["registered_with"]) == ("error", [])
        if not is_error or problem not in found["error"]:
            wrong.append((name, spec, found))

    assert not wrong
    assert agents.left() == []


def test_a_tool_for_an_unknown_agent_is_refused(agents: Agents) -> None:
    """B7: no agent of another name gets the tool in its place."""
    agents.configure({}, {"demo": DEMO})
    found = register(agents.hub(), agent_name="react-agent")

    assert (found["status"], found["registered_with"]) == ("error", [])
    assert "'react-agent'" in found["error"]


def test_a_tool_is_registered_only_with_agents_in_the_scope_of_its_server(agents: Agents) -> None:
    """A3, B7: `agents` in the entry of a server."""
    agents.configure({}, {"demo": {**DEMO, "agents": ["claude", "codex"]}, "none": {**DEMO, "agents": []}})
    remember(agents, "demo", "none")
    hub = agents.hub()

    every, refused = register(hub), register(hub, agent_name="gemini")
    nowhere = register(hub, spec={**SPEC, "function": "none.add"})

    assert (every["registered_with"], every["warnings"]) == (["claude", "codex"], ["server 'demo' is not for gemini"])
    assert (refused["status"], refused["registered_with"]) == ("error", [])
    assert "'demo' is not for gemini" in refused["error"]
    assert (nowhere["status"], nowhere["registered_with"]) == ("error", [])


def test_the_scope_is_checked_when_the_tool_is_called(agents: Agents) -> None:
    """A3: the entry may have been changed since, and the server may have gone."""
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")
    write_client(agents, "claude", ("sum", {"a": 1, "b": 2}))
    hub = agents.hub()
    register(hub, agent_name="claude")

    texts = []
    gone = {"command": "hub-has-no-such-program"}
    for entry in ({**DEMO, "agents": ["codex"]}, {**DEMO, "disabled": True}, gone, None):
        servers = {} if entry is None else {"demo": entry}
        agents.configure({}, servers)
        (got,) = json.loads(execute(hub, timeout=60)["content"])["results"]
        assert got["isError"] is True
        texts.append(got["content"][0]["text"])

    assert texts[:2] == ["server 'demo' is not for claude", "server 'demo' is disabled"]
    assert "was not found on PATH" in texts[2]
    assert "no server 'demo'" in texts[3]


def test_unknown_members_are_warnings_and_never_code(agents: Agents) -> None:
    """B7: never code in strings."""
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")

    found = register(agents.hub(), spec={**SPEC, "code": "import os"})

    assert (found["status"], found["warnings"]) == ("success", ["tool_spec.code is unknown, and is ignored"])


def test_a_server_whose_tools_are_known_is_not_started(agents: Agents) -> None:
    """Ours: the cache of tools is believed."""
    agents.configure({}, {"demo": {"command": "hub-has-no-such-program"}})
    remember(agents, "demo")

    assert register(agents.hub())["status"] == "success"


def test_the_lookup_of_a_tool_can_be_cancelled(agents: Agents) -> None:
    """Ours: a server that does not answer is ended."""
    agents.write_shell(f"echo x >> {agents.folder}/begun\nexec sleep 600\n", "slow")
    agents.configure({}, {"slow": {"command": "slow", "args": [], "timeout": 600, "inherit": True}})
    running, ends = Call(), []

    def run() -> None:
        try:
            spec = {**SPEC, "function": "slow.add"}
            call(agents.hub(), "register_tool_with_agent", running, tool_name="sum", tool_spec=spec)
        except CallCancelledError:
            ends.append("cancelled")

    thread = threading.Thread(target=run)
    thread.start()
    wait_until((agents.folder / "begun").exists)
    running.cancel()
    thread.join()

    assert ends == ["cancelled"]
    assert agents.left() == []
    assert (agents.folder / "begun").read_text() == "x\n"  # It was not started again.
    assert not [one for one in threading.enumerate() if one.name == "attended"]


def test_the_number_of_tools_of_an_agent_is_limited() -> None:
    """Ours: a model's context is limited, and so is the memory of the hub."""
    registry = Registry()
    for number in range(MAX_TOOLS):
        registry.add(Owner(), tool_named(f"t{number}"), ["claude"])

    assert registry.add(Owner(), tool_named("t0", "new"), ["claude", "codex"]) == ["claude"]
    with pytest.raises(HubError, match="128 tools"):
        registry.add(Owner(), tool_named("more"), ["codex", "claude"])
    assert [tool.name for tool in registry.of(Owner(), "codex")] == ["t0"]
    assert registry.of(Owner(), "claude")[0].description == "new"


def test_the_size_of_the_tools_of_a_caller_is_limited() -> None:
    """Ours: one client must not fill the memory of the hub. A tool of all agents counts once."""
    registry = Registry()
    half = "x" * (MAX_OWNER_BYTES // 2 - 1000)
    registry.add(Owner(), tool_named("one", half), ["claude", "codex", "gemini"])
    registry.add(Owner(), tool_named("two", half), ["claude"])

    with pytest.raises(HubError, match="1024 KiB"):
        registry.add(Owner(), tool_named("three", half), ["claude"])
    registry.add(Owner(session="other"), tool_named("three", half), ["claude"])
    assert [tool.name for tool in registry.of(Owner(), "claude")] == ["one", "two"]


def test_an_idle_caller_makes_room_for_another() -> None:
    """Ours: sessions end without a word; the tools of one that is in use are never dropped."""
    now = [0.0]
    registry = Registry(lambda: now[0])
    for number in range(MAX_OWNERS):
        registry.add(Owner(session=str(number)), tool_named("t"), ["claude"])

    with pytest.raises(HubError, match="200 clients"):
        registry.add(Owner("ada"), tool_named("t"), ["claude"])
    now[0] = IDLE_SECONDS - 1
    assert registry.of(Owner(session="7"), "claude")
    now[0] = IDLE_SECONDS + 1
    registry.add(Owner("ada"), tool_named("t"), ["claude"])

    assert registry.of(Owner(session="7"), "claude")
    assert not registry.of(Owner(session="8"), "claude")


def tool_named(name: str, description: str = "") -> RegisteredTool:
    return RegisteredTool(name, description, {}, Route("demo", "add"))


class ByHeader:
    """An authorizer that believes the name in a header."""

    async def authorize(self, request: Received) -> Caller:
        return Caller(request.headers.get("user"))


def prompted(server: Server, session: dict[str, str]) -> str:
    """The answer of an agent to a client in this session."""
    asked = plain(2, "tools/call", {"name": "execute_agent_request", "arguments": ASKED})
    answered: str = server.send(asked, **session).reply().json["result"]["structuredContent"]["content"]
    return answered


def sessions_of(server: Server) -> list[dict[str, str]]:
    """Two sessions of users without names, and one of each of two users."""
    return [
        server.open_session(),
        server.open_session(),
        server.open_session(user="ada"),
        server.open_session(user="bob"),
    ]


def test_a_tool_reaches_only_the_agents_of_the_client_that_registered_it(
    agents: Agents, serve: Callable[..., Server]
) -> None:
    """DESIGN, decision 6: the description of a tool is a prompt, which must not reach another client's agent. Clients
    with the same token, or none, are distinguished by their sessions.
    """
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")
    agents.write("sys.stdin.read()\nanswer('has tools' if '--mcp-config' in sys.argv else 'has none')\n")
    server = serve(agents.hub(), authorizer=ByHeader())
    sessions = sessions_of(server)

    for index, session in enumerate(sessions):
        message = plain(1, "tools/call", {"name": "register_tool_with_agent", "arguments": REGISTERED})
        registered = server.send(message, **session).reply().json
        seen = [prompted(server, other) for other in sessions]

        assert registered["result"]["structuredContent"] == {"status": "success", "registered_with": ["claude"]}
        assert seen == ["has tools"] * (index + 1) + ["has none"] * (len(sessions) - index - 1)


def test_a_client_without_a_session_registers_tools_under_the_name_of_its_user(
    agents: Agents, serve: Callable[..., Server]
) -> None:
    """DESIGN, decision 6: in the stateless era a token may name a user. Without one, all clients would be the same."""
    agents.configure({}, {"demo": DEMO})
    remember(agents, "demo")
    server = serve(agents.hub(), authorizer=ByHeader())
    message = stateless_call(1, "register_tool_with_agent", REGISTERED)

    refused, accepted = server.stateless(message).reply().json, server.stateless(message, user="ada").reply().json

    assert refused["result"]["isError"] is True
    assert "only in a session" in refused["result"]["structuredContent"]["error"]
    assert accepted["result"]["structuredContent"]["status"] == "success"
