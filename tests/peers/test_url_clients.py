"""Clients that others wrote, with an agent that we serve over HTTP to those who have its token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from tests.forking.client import served_over_http
from tests.model_servers.script import RESULT, Call, Text
from tests.model_servers.server import ModelServer
from tests.peers.agent_worlds import MODEL, WORLDS, World
from tests.peers.conftest import PROGRAMS
from tests.prepare.peers import NPM_URL_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

BIN = Path(sys.executable).parent
TOKEN = "token-4711-zebra"
HEADER = f"Authorization: Bearer {TOKEN}"
# One client, on a busy machine.
TIMEOUT_SECONDS = 120


@pytest.fixture(scope="module")
def url(fork_server: ForkServer) -> Iterator[str]:
    """The URL of the built-in agent."""
    with served_over_http(fork_server, "demo", environ={"GAIA_MCP_TOKEN": TOKEN}) as address:
        yield address


class Runs:
    """Runs a program to its end, with a home of its own."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self.home = home
        self.environ = environ

    def __call__(self, *command: str, stdin: str = "") -> str:
        """What it writes to stdout."""
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=self.home, env=self.environ,
            timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.parametrize(("entry", "era"), [({}, "stateless"), ({"protocolVersion": "2025-11-25"}, "handshake")])
def test_mcp_remote_carries_everything_between_stdio_and_our_server(
    entry: dict[str, Any], era: str, url: str, prepared: Prepared, connect: Callable[..., MCPClient], tmp_path: Path
) -> None:
    """Ours, both eras: a host that knows stdio alone reaches the agent, and its questions reach the host."""
    program = prepared.folder(NPM_URL_CLIENTS) / "node_modules" / "mcp-remote" / "dist" / "proxy.js"
    asked: list[str] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": "accept", "content": {"size": "small"}}

    command = [prepared.node(), str(program), url, "--allow-http", "--header", HEADER]
    client = connect(*command, host=Host(elicit=elicit), env={"HOME": str(tmp_path)}, **entry)

    assert (client.peer.era, client.peer.info["name"]) == (era, "demo")
    assert "greet" in {tool.name for tool in client.fetch_tools()}
    assert client.call("greet", {"name": "Ada"})["content"][0]["text"] == "Hello, Ada!"
    reports: list[str] = []
    client.call("countdown", {"steps": 2, "seconds": 0.1}, on_progress=lambda each: reports.append(each.text))
    # Of several reports that wait together, the client passes on the newest.
    assert reports in (["1 to go", "0 to go"], ["0 to go"])
    assert client.call("fail", {"message": "not today"})["isError"] is True
    assert "small" in client.call("order", {})["content"][0]["text"]
    assert asked == ["Which coffee?"]
    assert "gaia-mcp" in client.read_resource("demo://about")["contents"][0]["text"]
    assert "Ada" in client.get_prompt("introduce", {"name": "Ada"})["messages"][0]["content"]["text"]


def test_the_inspector_lists_and_calls_our_server(
    url: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Ours, both eras: its command line, by URL; one process for all lines, as it takes longer to start than to ask."""
    program = prepared.folder(NPM_URL_CLIENTS) / "node_modules" / ".bin" / "mcp-inspector"
    cli = program.resolve().parents[2] / "cli" / "build" / "index.js"
    run = Runs(tmp_path, {**mark, "HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    lines = [
        ("tools/list",),
        ("tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2"),
        ("resources/read", "--uri", "demo://about"),
        ("prompts/get", "--prompt-name", "introduce", "--prompt-args", "name=Ada"),
    ]
    eras = ("legacy", "modern")
    words = [[url, "--header", HEADER, "--protocol-era", era, "--method", *line] for era in eras for line in lines]

    out = run(prepared.node(), str(PROGRAMS / "inspector_runs.mjs"), str(cli), stdin=json.dumps(words))

    results = [json.loads(text) for text in out.split("\0")[:-1]]
    for era, (listed, called, read, got) in zip(eras, (results[:4], results[4:]), strict=True):
        assert "greet" in {tool["name"] for tool in listed["tools"]}, era
        assert (called["isError"], called["structuredContent"]) == (False, {"sum": 3}), era
        assert "gaia-mcp" in read["contents"][0]["text"], era
        (prompt,) = got["messages"]
        assert "Ada" in prompt["content"]["text"], era


# How each takes the URL of a server, and how it is asked then. The value of the header is in its environment.
AGENTS: dict[str, tuple[list[str], list[str]]] = {
    "claude": (
        ["mcp", "add", "--transport", "http", "ours", "URL", "--header", "Authorization: Bearer ${TOKEN}"],
        ["-p", "--model", MODEL, "--allowedTools", "mcp__ours__greet"],
    ),
    "codex": (
        ["mcp", "add", "ours", "--url", "URL", "--bearer-token-env-var", "TOKEN"],
        [
            *("exec", "--skip-git-repo-check", "--model", MODEL),
            *("-c", 'mcp_servers.ours.default_tools_approval_mode="approve"', "-"),
        ],
    ),
    "gemini": (
        ["mcp", "add", "-t", "http", "-s", "user", "--trust", "ours", "URL", "-H", "Authorization: Bearer ${TOKEN}"],
        ["--skip-trust", "--model", MODEL],
    ),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_an_agent_that_is_given_our_url_calls_our_tools(
    world: World, url: str, agents_path: str, mark: dict[str, str], tmp_path: Path
) -> None:
    """Ours: added by the agent's own command; its model, a script on a loopback port, calls a tool. claude checks it,
    too, and reports a refused token as that, and not as a login that it lacks.
    """
    add, ask = AGENTS[world.name]
    with ModelServer(world.dialect, Call("greet", {"name": "Ada"}), Text(f"so {RESULT}")) as model:
        world.write(tmp_path, model.url)
        environ = {**mark, "HOME": str(tmp_path), "PATH": agents_path, "TMPDIR": str(tmp_path), "TOKEN": TOKEN}
        run = Runs(tmp_path, {**environ, **world.environ(model.url)})

        run(world.name, *(url if word == "URL" else word for word in add))
        if world.name == "claude":
            refused = ["mcp", "add", "--transport", "http", "refused", url, "--header", "Authorization: Bearer another"]
            run(world.name, *refused)
            listed = run(world.name, "mcp", "list")
            states = {line.partition(":")[0]: line for line in listed.splitlines() if url in line}
            assert states["ours"].endswith("Connected")
            assert "HTTP 401" in states["refused"]
        answered = run(world.name, *ask, stdin="greet Ada")

        assert "Hello, Ada!" in model.results()[-1]
    assert "Hello, Ada!" in answered
