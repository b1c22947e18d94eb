"""Stories: `gaia mcp serve agents`, used with our own commands and our own client. Agents are stand-ins on PATH."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPClient
from tests.cli.conftest import BIN
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

EXECUTE = ("call", "agents", "execute_agent_request", "agent_name=claude")
# It lists the registered tools and calls one, through the server that is named in its arguments, and answers with
# what it got.
CALLS_BACK = f"""#!{sys.executable} -I
import json, subprocess, sys
prompt = sys.stdin.read()
server = json.loads(sys.argv[sys.argv.index("--mcp-config") + 1])["mcpServers"]["gaia"]
process = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(number, method, **params):
    process.stdin.write(json.dumps({{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}).encode())
    process.stdin.write(b"\\n")
    process.stdin.flush()
    while (found := json.loads(process.stdout.readline())).get("id") != number: pass
    return found["result"]
ask(1, "initialize", protocolVersion="2025-06-18", capabilities={{}}, clientInfo={{"name": "x", "version": "1"}})
(tool,) = ask(2, "tools/list")["tools"]
result = ask(3, "tools/call", name=tool["name"], arguments=json.loads(prompt))
process.stdin.close()
process.wait()
text = tool["name"] + " gave " + result["content"][0]["text"]
print(json.dumps({{"type": "result", "result": text, "usage": {{"input_tokens": 1, "output_tokens": 1}}}}))
"""


@pytest.fixture
def hub(gaia: Gaia) -> Gaia:
    """The program, with a folder for agents before all others on PATH, and no key."""
    (gaia.home / "bin").mkdir()
    gaia.environ["PATH"] = f"{gaia.home / 'bin'}{os.pathsep}{gaia.environ['PATH']}"
    return gaia


def write_agent(hub: Gaia, text: str, name: str = "claude") -> None:
    path = hub.home / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def configure(hub: Gaia, **document: Any) -> None:
    hub.config.parent.mkdir(exist_ok=True)
    hub.config.write_text(json.dumps(document))


def test_agents_are_listed_and_prompted(hub: Gaia) -> None:
    """B2, B4: without any configuration."""
    write_agent(hub, '#!/bin/sh\nprintf \'{"type": "result", "result": "%s"}\' "$(cat)"\n')

    listed = hub("call", "agents", "list_available_agents", "include_status=true")
    asked = hub(*EXECUTE, "prompt=--version")

    status = {agent["name"]: agent["status"] for agent in listed.json["agents"]}
    assert (status["claude"], listed.code) == ("key_missing", 0)
    assert (asked.json["status"], asked.json["content"], asked.code) == ("success", "--version", 0)


def test_the_config_option_names_the_file_of_the_agents(hub: Gaia) -> None:
    """Ours: `--config` means the same for the hub."""
    (hub.cwd / "other.json").write_text(
        '{"mcpServers": {}, "agents": {"local": {"endpoint": "http://127.0.0.1:1/v1"}}}'
    )

    listed = hub("call", "--config", "other.json", "agents", "list_available_agents").json
    tools = hub("tools", "--config", "other.json", "agents", "--json")

    assert "local" in [agent["name"] for agent in listed["agents"]]
    assert tools.code == 0


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_saved_hub_serves_the_agents_of_its_own_file(hub: Gaia, debug: tuple[str, ...]) -> None:
    """Ours: like a hub that is typed, unless its entry names another file."""
    other = {"mcpServers": {}, "agents": {"other": {"endpoint": "http://127.0.0.1:1/v1"}}}
    (hub.cwd / "more.json").write_text(json.dumps(other))
    more = {"agent": "agents", "settings": {"config": str(hub.cwd / "more.json")}}
    local = {"local": {"endpoint": "http://127.0.0.1:1/v1"}}
    (hub.cwd / "other.json").write_text(json.dumps({"mcpServers": {"more": more}, "agents": local}))
    (hub.cwd / "bad.json").write_text('{"mcpServers": {}, "agents": {"x": 1}}')

    added = hub("add", "--config", "other.json", "hub", "agents")
    bad = hub("add", "--config", "bad.json", "hub", "agents")

    def agents_of(server: str) -> list[str]:
        found = hub(
            "call", "--config", "other.json", server, "list_available_agents", "include_status=true", *debug
        ).json
        return [agent["name"] for agent in found["agents"]]

    assert (added.code, bad.code) == (0, 3)
    assert agents_of("hub") == ["claude", "codex", "gemini", "local"]
    assert agents_of("more") == ["claude", "codex", "gemini", "other"]


def test_an_exported_hub_serves_the_agents_of_its_own_file(hub: Gaia) -> None:
    """Ours: another host starts it without `--config`."""
    (hub.cwd / "other.json").write_text('{"mcpServers": {"hub": {"agent": "agents"}}}')

    printed = hub("export", "--config", "other.json", "hub", "--as", "claude-code")

    env = json.loads(printed.stdout)["mcpServers"]["hub"]["env"]
    assert json.loads(env["GAIA_MCP_SERVE"])["settings"] == {"config": str(hub.cwd / "other.json")}


def test_a_failing_agent_exits_with_9(hub: Gaia) -> None:
    """B1, B5: the tool reports an error, and so does the command."""
    write_agent(hub, "#!/bin/sh\necho 'your key sk-private-1 is bad' >&2\nexit 1\n")

    ran = hub(*EXECUTE, "prompt=hi", "--json", MY_API_KEY="sk-private-1")

    assert ran.code == 9
    assert ran.json["structuredContent"]["error"] == "your key **** is bad (claude ended with exit status 1)"
    assert "sk-private-1" not in ran.stdout + ran.stderr


def test_the_hub_has_three_tools_with_output_schemas(hub: Gaia) -> None:
    """B: exactly three, each with an output schema (B1)."""
    tools = hub("tools", "agents", "--json").json

    names = {tool["name"]: "outputSchema" in tool for tool in tools["servers"][0]["tools"]}
    assert names == {"execute_agent_request": True, "list_available_agents": True, "register_tool_with_agent": True}


def test_invalid_arguments_exit_with_7(hub: Gaia) -> None:
    """B6: they are checked against the input schema first."""
    assert hub(*EXECUTE, "prompt=hi", "timeout=soon").code == 7


def test_a_registered_tool_is_called_back_by_the_next_request(hub: Gaia) -> None:
    """B7: one hub, our own client, a configured server, and an agent that starts our server of the registered tools."""
    demo = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
    configure(hub, mcpServers={"demo": demo}, agents={"codex": {"disabled": True}})
    write_agent(hub, CALLS_BACK)
    entry = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "agents"], "env": hub.environ}
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    spec = {"description": "Add", "schema": schema, "function": "demo.add"}

    client = MCPClient.from_config("agents", {**entry, "cwd": str(hub.cwd)})
    assert client.connect()
    try:
        registered = client.call_tool("register_tool_with_agent", {"tool_name": "sum", "tool_spec": spec})
        found = client.call_tool(
            "execute_agent_request", {"agent_name": "claude", "prompt": '{"a": 1, "b": 2}', "timeout": 60}
        )
    finally:
        client.disconnect()

    assert registered["structuredContent"] == {"status": "success", "registered_with": ["claude", "gemini"]}
    assert found["structuredContent"]["error"] is None
    assert found["structuredContent"]["content"].startswith("sum gave {")
    assert '"sum": 3' in found["structuredContent"]["content"]


def test_an_invalid_agent_entry_is_reported_with_its_member(hub: Gaia) -> None:
    """Ours: the file, the agent and the member are named; the hint is one thing to type."""
    configure(hub, mcpServers={}, agents={"local": {"endpoint": "http://127.0.0.1:1/v1", "timeout": "long"}})

    for words in (("serve", "agents"), ("call", "agents", "list_available_agents")):
        ran = hub(*words)

        assert ran.code == 3
        error, hint = ran.errors
        problem = f"{hub.config}: agent 'local': 'timeout' must be a number of seconds"
        assert error.startswith(f"error: agent 'agents' cannot be configured: {problem}")
        assert hint == "hint: correct the file"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_a_call_leaves_no_agent(hub: Gaia, how: signal.Signals) -> None:
    """Ours: the fixture proves that nothing is left running, not even what ignores SIGTERM and left the process
    group.
    """
    begun = hub.cwd / "begun"
    write_agent(hub, f"#!/bin/sh\ntrap '' TERM HUP\nsetsid sleep 600 &\nsleep 600 &\ntouch {begun}\nsleep 600\n")
    process = hub.popen(*EXECUTE, "prompt=hi", "timeout=600")
    wait_until(begun.exists, seconds=20)

    process.send_signal(how)

    process.communicate(timeout=20)
    assert process.returncode == (-how if how is signal.SIGKILL else 128 + how)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, None])
def test_a_hub_that_ends_leaves_no_agent(hub: Gaia, how: signal.Signals | None) -> None:
    """Ours: also when it is killed, and when its client closes its input."""
    begun = hub.cwd / "begun"
    write_agent(hub, f"#!/bin/sh\ntrap '' TERM HUP\nsleep 600 &\ntouch {begun}\nsleep 600\n")
    process = hub.popen("serve", "agents")
    assert process.stdin is not None
    arguments = {"agent_name": "claude", "prompt": "hi", "timeout": 600}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {"name": "execute_agent_request", "arguments": arguments}
    for number, method, params in ((1, "initialize", client), (2, "tools/call", call)):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
    wait_until(begun.exists, seconds=20)

    if how is not None:
        process.send_signal(how)

    process.communicate(timeout=20)


def test_nothing_in_the_working_folder_is_run(hub: Gaia) -> None:
    """Ours: neither a module in it, nor the file of a project that was not approved."""
    ran = hub.cwd / "ran"
    for name in ("typer.py", "json.py", "jsonschema_rs.py", "httpx2.py", "gaia_mcp.py", "claude.py"):
        (hub.cwd / name).write_text(f"open({str(ran)!r}, 'a').write(__name__)\n")
    agents = {"claude": {"command": f"touch {ran}"}, "evil": {"kind": "claude", "command": f"touch {ran}"}}
    Path(hub.cwd, "mcp_servers.json").write_text(json.dumps({"mcpServers": {}, "agents": agents}))
    write_agent(hub, '#!/bin/sh\necho \'{"type": "result", "result": "ok"}\'\n')

    listed = hub("call", "agents", "list_available_agents", "include_status=true")
    asked = hub(*EXECUTE, "prompt=hi")

    assert [agent["name"] for agent in listed.json["agents"]] == ["claude", "codex", "gemini"]
    assert asked.json["content"] == "ok"
    assert not ran.exists()
