"""A gateway with servers that others wrote behind it, and clients that others wrote in front."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters, types

from tests.forking.client import served_over_http
from tests.peers.conftest import PROGRAMS
from tests.prepare.peers import NPM_CLIENTS, PYTHON, PYTHON_SDK_1

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

TIMEOUT_SECONDS = 60
BIN = Path(sys.executable).parent
OURS = [sys.executable, "-m", "gaia_mcp", "mcp"]


@pytest.fixture(scope="module")
def options(
    npm_servers: dict[str, list[str]], lasting_mark: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The options of a gateway to a server of npm (handshake), one of the SDK and an agent of ours (stateless), and one
    that does not start.
    """

    def entry(*words: str) -> dict[str, Any]:
        return {"command": words[0], "args": list(words[1:]), "env": lasting_mark}

    servers = {
        "every": entry(*npm_servers["everything"]),
        "sdk": entry(sys.executable, str(PROGRAMS / "sdk_server.py")),
        "agent": entry(*OURS, "serve", f"{PROGRAMS / 'asking_agent.py'}:Asking"),
        "broken": entry("surely-not-installed"),
    }
    file = tmp_path_factory.mktemp("gateway") / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return ["serve", "--all", "--config", str(file)]


@pytest.fixture(scope="module")
def url(options: list[str], lasting_mark: dict[str, str], fork_server: ForkServer) -> Iterator[str]:
    """The URL of one gateway for several clients: its servers take their time to start."""
    environ = {"HOME": str(Path(options[-1]).parent), **lasting_mark}
    with served_over_http(fork_server, *options[1:], environ=environ) as address:
        yield address


class _Person:
    """Answers everything, and keeps the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def elicit(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        schema = params.requested_schema
        given = {"size": "large", "sure": True, "name": "Ada", "colour": "Ada"}
        content = {name: given[name] for name in schema["properties"] if name in given}
        return types.ElicitResult(action="accept", content=content)

    async def roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///here")])

    async def sample(self, _: Any, params: Any) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text=f"at most {params.max_tokens}")
        return types.CreateMessageResult(role="assistant", content=text, model="m")


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_sdk_uses_three_servers_as_one(
    request: pytest.FixtureRequest, options: list[str], mark: dict[str, str], mode: Any, version: str
) -> None:
    """Spec, compatibility: a client of either era in front of servers of both; one over stdio, one over HTTP."""
    program, *arguments = [*OURS, *options]
    stdio = StdioServerParameters(command=program, args=arguments, env=mark)
    server: Any = stdio if mode == "auto" else request.getfixturevalue("url")
    person, heard = _Person(), list[float]()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def use(client: Client) -> None:
        assert client.protocol_version == version
        listed = await client.list_tools()
        # A list lacks those of servers that take longer to start.
        while not {"echo", "greet", "order", "trigger-sampling-request"} <= {tool.name for tool in listed.tools}:
            await asyncio.sleep(0.1)
            listed = await client.list_tools()
        assert listed.meta is not None
        assert "surely-not-installed" in listed.meta["gaia-mcp/unavailable"]["broken"]

        async def text_of(name: str, **given: Any) -> str:
            result = await client.call_tool(name, given, progress_callback=on_progress)
            assert not result.is_error, result
            text: str = result.content[0].text
            return text

        assert await text_of("get-sum", a=1, b=2) == "The sum of 1 and 2 is 3."
        assert await text_of("work", steps=2) == "worked"
        assert (await client.call_tool("weather", {"city": "Oslo"})).structured_content["degrees"] == 4.5
        assert "provided the requested information" in await text_of("trigger-elicitation-request")
        assert await text_of("favourite", question="Which colour?") == "it is Ada"
        assert "LARGE" in await text_of("order")
        assert "at most" in await text_of("trigger-sampling-request", prompt="Hi", maxTokens=7)
        assert "at most 10" in await text_of("dream")
        assert "file:///here" in await text_of("look")
        assert (await client.get_prompt("review", {"language": "C"})).messages[0].content.text == "Review this C."
        assert (await client.read_resource("sdk://about")).contents[0].text == "a server"
        assert (await client.list_resource_templates()).resource_templates

    async def run() -> None:
        answering = {"list_roots_callback": person.roots, "sampling_callback": person.sample}
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            Client(server, mode=mode, elicitation_callback=person.elicit, **answering) as client,
        ):
            await use(client)

    asyncio.run(run())
    # Of several reports that wait together, a client gets the newest.
    assert heard[-1] == 2
    assert {"Which colour?", "Which one?"} <= set(person.asked)


@pytest.mark.parametrize(("generation", "era"), [("1", "handshake"), ("2", "stateless")])
def test_the_sdk_of_typescript_uses_three_servers_as_one(
    url: str, prepared: Prepared, tmp_path: Path, generation: str, era: str
) -> None:
    """As the SDK of Python, with validation of its own."""
    shutil.copy(PROGRAMS / "through_gateway.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(prepared.folder(NPM_CLIENTS) / "node_modules")

    done = subprocess.run(
        [prepared.node(), "through_gateway.mjs", generation, era, url],
        cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {"echo", "greet", "order"} <= set(seen["tools"])
    assert (seen["sum"], seen["greet"]) == ("The sum of 1 and 2 is 3.", "Hello, Ada!")
    assert "provided the requested information" in seen["every"]
    assert seen["sdk"] == "it is Ada"
    assert {"Which colour?", "Which one?"} <= set(seen["asked"])
    assert "review" in seen["prompts"]


def test_sdks_of_2025_use_a_gateway(mark: dict[str, str], prepared: Prepared, old_python: Path) -> None:
    """Spec 2025-03-26 and 2025-11-25: clients get only what they can read."""
    running = [
        subprocess.Popen(
            [python, PROGRAMS / "old_client.py", *OURS, "serve", "--server", "demo"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**mark, "PATH": "/usr/bin:/bin"},
        )
        for python in (old_python, prepared.folder(PYTHON_SDK_1) / PYTHON)
    ]  # fmt: skip
    for process in running:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 0, err
        seen = json.loads(out)
        assert seen["greet"] == [False, "Hello, Ada!"]
        assert seen["invalid"][0] is True
        assert "Unknown tool: nope" in seen["unknown"]
        assert "Ada" in seen["prompt"]
        assert "gaia-mcp" in seen["about"]
