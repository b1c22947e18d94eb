"""Conversations of real clients with real servers, recorded and played back without the server."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from gaia_mcp.client import Host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gaia_mcp.client import MCPClient

    Connect = Callable[..., MCPClient]

GAIA = Path(sys.executable).parent / "gaia"
TIMEOUT_SECONDS = 60


class Tape:
    """The commands that record a server, and that play it back."""

    def __init__(self, folder: Path, server: list[str], env: dict[str, str]) -> None:
        self._config = folder / "servers.json"
        entry = {"command": server[0], "args": server[1:], "env": env}
        self._config.write_text(json.dumps({"mcpServers": {"real": entry}}))
        self.file = folder / "tape.jsonl"

    @property
    def record(self) -> list[str]:
        return [str(GAIA), "mcp", "record", "real", "--to", str(self.file), "--config", str(self._config)]

    @property
    def replay(self) -> list[str]:
        # Whatever is left to be started would not start.
        self._config.unlink(missing_ok=True)
        return [str(GAIA), "mcp", "replay", str(self.file)]


def _texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def test_a_recording_of_everything_answers_our_client_as_the_server_did(
    npm_servers: dict[str, list[str]], connect: Connect, mark: dict[str, str], tmp_path: Path
) -> None:
    """Ours: pages, progress, a question to a person, an image, errors."""
    tape = Tape(tmp_path, npm_servers["everything"], mark)

    def use(command: list[str]) -> list[Any]:
        client = connect(*command, host=Host(elicit=lambda _: {"action": "decline"}))
        heard: list[Any] = []
        arguments = {"duration": 0.4, "steps": 2}
        return [
            client.peer,
            sorted(tool.name for tool in client.fetch_tools()),
            client.call("echo", {"message": "grüße \U0001f30d"}),
            client.call(
                "trigger-long-running-operation",
                arguments,
                on_progress=lambda progressed: heard.append(progressed.progress),
            ),
            # Of several that come together, the client passes on the newest.
            heard[-1],
            client.call("get-tiny-image", {}),
            _texts(client.call("trigger-elicitation-request", {}))[0],
            client.list_prompts(),
            client.list_resources(),
        ]

    real = use(tape.record)
    assert real[4]

    assert use(tape.replay) == real


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_recording_answers_the_sdk_as_the_server_did_in_both_eras(
    serve_demo: list[str], mark: dict[str, str], tmp_path: Path, mode: str, version: str
) -> None:
    """Spec, both eras: a recording replays the revision that it was made of."""
    tape = Tape(tmp_path, serve_demo, mark)

    async def use(client: Client) -> list[Any]:
        assert client.protocol_version == version
        heard: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        counted = await client.call_tool("countdown", {"steps": 2, "seconds": 0.01}, progress_callback=on_progress)
        return [
            client.server_info,
            client.instructions,
            (await client.list_tools()).tools,
            (await client.call_tool("greet", {"name": "Ada"})).content,
            (await client.call_tool("add", {"a": 1, "b": 2})).structured_content,
            (await client.call_tool("fail", {"message": "no"})).is_error,
            (await client.get_prompt("introduce", {"name": "Ada"})).messages,
            (await client.read_resource("demo://about")).contents,
            counted.content,
            heard,
        ]

    real = _with_client(use, tape.record, mark, mode)
    assert real[-1]

    assert _with_client(use, tape.replay, mark, mode) == real

    async def ask_more(client: Client) -> list[Any]:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("greet", {"name": "Grace"})
        return [str(caught.value)]

    (problem,) = _with_client(ask_more, tape.replay, mark, mode)
    assert "the recording has no tools/call with these params" in problem


def test_a_recording_of_everything_answers_the_sdk_as_the_server_did(
    npm_servers: dict[str, list[str]], mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec, compatibility: another maker's client with another maker's server."""
    tape = Tape(tmp_path, npm_servers["everything"], mark)

    async def use(client: Client) -> list[Any]:
        return [
            client.protocol_version,
            (await client.list_tools()).tools,
            (await client.call_tool("get-sum", {"a": 1, "b": 2})).content,
            (await client.list_resources()).resources,
        ]

    real = _with_client(use, tape.record, mark, "auto")

    assert _with_client(use, tape.replay, mark, "auto") == real


def _with_client(
    use: Callable[[Client], Awaitable[list[Any]]], command: list[str], env: dict[str, str], mode: str
) -> list[Any]:
    program, *arguments = command

    async def run() -> list[Any]:
        server = StdioServerParameters(command=program, args=arguments, env=env)
        async with asyncio.timeout(TIMEOUT_SECONDS), Client(server, mode=mode) as client:  # type: ignore[arg-type]
            return await use(client)

    return asyncio.run(run())
