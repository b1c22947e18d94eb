"""`gaia mcp serve --all --http --a2a`."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from tests.cli.conftest import entry_of
from tests.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import Gaia

Wire = dict[str, Any]


def start(gaia: Gaia, *words: str, **variables: str) -> tuple[subprocess.Popen[bytes], Wire]:
    """A proxy, and what it prints first."""
    process = gaia.popen("serve", *words, "--http", "127.0.0.1:0", "--a2a", "--json", env={**gaia.environ, **variables})
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def ask(url: str, method: str, params: Wire) -> Wire:
    """The result of a request."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urlopen(Request(url, body, {"content-type": "application/json"}), timeout=20) as response:
        found: Wire = json.loads(response.read())["result"]
    return found


def outcome(url: str, server: str, tool: str, **arguments: Any) -> Wire:
    """What comes of calling a tool."""
    content = {"target_mcp_server_id": server, "tool_name": tool, "arguments": arguments}
    message = {"role": "user", "parts": [{"type": "data", "content": content}]}
    task = ask(url, "tasks/send", {"message": message})
    wait_until(lambda: ask(url, "tasks/get", task)["state"] in ("COMPLETED", "FAILED"))
    [answer] = ask(url, "tasks/get", task)["messages"]
    found: Wire = answer["parts"][0]["content"]
    return found


def test_agents_call_the_tools_of_configured_servers(gaia: Gaia) -> None:
    """Seed systems, C6: at `/a2a`, whose URL is printed, with the card beside it."""
    gaia.write({"good": entry_of("good-handshake"), "demo": {"agent": "demo"}})
    process, started = start(gaia, "--all")

    assert outcome(started["a2a"], "demo", "greet", name="Ada")["mcp_result"]["content"][0]["text"] == "Hello, Ada!"
    assert outcome(started["a2a"], "", "good.echo", a="1")["success"]
    with urlopen(f"http://127.0.0.1:{started['port']}/agent-card.json", timeout=20) as response:
        assert json.loads(response.read())["url"] == f"http://localhost:{started['port']}/a2a"
    process.send_signal(signal.SIGTERM)
    assert f"agents of A2A can use it at {started['a2a']}" in process.communicate(timeout=20)[1].decode()


def test_the_server_map_of_agentvault_needs_no_configured_server(gaia: Gaia) -> None:
    """Seed systems, C10: a name in the map takes precedence over a configured one."""
    files = gaia.popen("serve", "filesystem", "--kwarg", "root=.", "--http", "127.0.0.1:0", "--json")
    assert files.stdout is not None
    base = json.loads(files.stdout.readline())["url"].removesuffix("/mcp")
    (gaia.cwd / "a.txt").write_text("hello")
    server_map = json.dumps({"files": base, "good": base})
    _, started = start(gaia, "--all", MCP_SERVER_MAP=server_map)

    read = outcome(started["a2a"], "files", "filesystem.readFile", path="a.txt")
    assert read["mcp_result"]["content"][0]["text"] == "hello"
    gaia.write({"good": entry_of("good-handshake")})
    _, started = start(gaia, "--server", "good", MCP_SERVER_MAP=server_map)
    assert outcome(started["a2a"], "good", "filesystem.readFile", path="a.txt")["success"]


def test_a_call_ends_after_the_timeout_of_the_environment(gaia: Gaia) -> None:
    """Seed systems, C10: MCP_CALL_TIMEOUT, which the timeout of an entry overrides."""
    gaia.write({"slow": entry_of("hangs-in-call"), "own": {**entry_of("good-handshake"), "timeout": 60}})
    _, started = start(gaia, "--all", MCP_CALL_TIMEOUT="0.01")

    error = outcome(started["a2a"], "slow", "echo")["error"]
    assert (error["source"], error["code"]) == ("A2A_PROXY", "MCP_TIMEOUT")
    assert outcome(started["a2a"], "own", "echo", a="1")["success"]


def test_denied_tools_are_denied_to_agents_too(gaia: Gaia) -> None:
    """Ours: `--search` restricts nothing here, since A2A messages name their tools."""
    gaia.write({"demo": {"agent": "demo"}})
    _, started = start(gaia, "--all", "--deny", "greet", "--search", "--audit", "audit.jsonl")

    error = outcome(started["a2a"], "demo", "greet", name="Ada")["error"]
    assert (error["source"], error["code"]) == ("MCP_PROTOCOL", "-32601")
    assert outcome(started["a2a"], "demo", "add", a=1, b=2)["success"]
    assert "add" in (gaia.cwd / "audit.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "variables", "code", "problem"),
    [
        (["demo", "--http", ":0"], {}, 2, "--a2a is for --all and --server"),
        (["--all"], {}, 2, "options such as --token"),
        (["--all", "--http", ":0"], {}, 3, "has no server that is enabled"),
        (["--all", "--http", ":0"], {"MCP_SERVER_MAP": "{"}, 3, "MCP_SERVER_MAP is not valid JSON at character 2"),
        (["--all", "--http", ":0"], {"MCP_CALL_TIMEOUT": "soon"}, 3, "MCP_CALL_TIMEOUT is not a number of seconds"),
    ],
)
def test_an_invalid_proxy_configuration_is_an_error_at_the_start(
    gaia: Gaia, words: list[str], variables: dict[str, str], code: int, problem: str
) -> None:
    """Seed systems, C10: a proxy that starts must be able to call."""
    if code == 2:
        gaia.write({"good": entry_of("good-handshake")})
    ran = gaia("serve", *words, "--a2a", **variables)

    assert ran.code == code
    assert problem in ran.stderr
    assert len(ran.stderr.splitlines()) == 2
