"""Programs that stand in for the command lines of agents: real processes, written by the tests."""

from __future__ import annotations

import json
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.contrib.hub import AgentsHub
from gaia_mcp.contrib.hub.drivers.base import ToolServer
from gaia_mcp.server.agent import AgentProvider
from tests.processes import living_with

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A server of registered tools, whose command has everything that a format may have to escape.
TOOLS = ToolServer("/usr/bin/python3", ["-m", "server", 'a "quoted" \\ word'], ["PATH", "HOME"], ["add", "sub"])
# Before the body of a stand-in: `prompt` is its standard input, and `answer` writes what Claude Code writes.
_PRELUDE = """#!{python} -I
import json, os, sys, time
def answer(text, **more):
    print(json.dumps({{"type": "result", "is_error": False, "result": text, **more}}), flush=True)
"""


class Agents:
    """A home, and a folder on PATH with the programs of agents."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.config = folder / "mcp_servers.json"
        self._mark = mark

    def write(self, body: str, name: str = "claude") -> Path:
        """A program in Python."""
        return self._program(_PRELUDE.format(python=sys.executable) + body, name)

    def write_shell(self, body: str, name: str = "claude") -> Path:
        """A program of the shell, which starts in no time."""
        return self._program(f"#!/bin/sh\n{body}", name)

    def configure(self, agents: Any, servers: Mapping[str, Any] | None = None) -> None:
        """The configuration file."""
        self.config.write_text(json.dumps({"mcpServers": dict(servers or {}), "agents": agents}))

    def hub(self, max_concurrent: int = 16) -> AgentsHub:
        """The hub over the file, or over nothing."""
        return AgentsHub(str(self.config), max_concurrent)

    def execute(self, prompt: str = "hi", agent_name: str = "claude", **arguments: Any) -> dict[str, Any]:
        """The result of one request."""
        return execute(self.hub(), prompt, agent_name, **arguments)

    def left(self) -> list[str]:
        """The processes that are left of all runs."""
        return living_with(self._mark)

    def _program(self, text: str, name: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def execute(hub: AgentsHub, prompt: str = "hi", agent_name: str = "claude", **arguments: Any) -> dict[str, Any]:
    """The result of one request."""
    found = hub.execute_mcp_tool("execute_agent_request", {"agent_name": agent_name, "prompt": prompt, **arguments})
    assert isinstance(found, dict)
    return found


def call(hub: AgentsHub, tool: str, running: Call | None = None, **arguments: Any) -> dict[str, Any]:
    """The MCP result of a call, as a client gets it."""
    return AgentProvider(hub).answer("tools/call", {"name": tool, "arguments": arguments}, running or Call())


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agents:
    mark = f"mark-{uuid.uuid4().hex}"
    found = Agents(tmp_path, mark)
    monkeypatch.setenv("PATH", f"{found.bin}:/usr/bin:/bin")
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUB_TEST", mark)
    return found
