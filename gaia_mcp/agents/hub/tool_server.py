"""Serves the registered tools of an agent as an MCP server that routes each to a configured server's tool.

Agents that are programs start this server (`ToolsOfFile`). For each run the hub writes the tools to a file, since
descriptions and schemas may exceed the maximum length of a program's arguments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.hub.drivers.own import tool_server
from gaia_mcp.agents.hub.entries import HubError
from gaia_mcp.agents.hub.registering import RegisteredTool, Routes
from gaia_mcp.client.transports.stdio.command_line import child_environment
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.filebytes import read_file

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.drivers.base import ToolServer

# The maximum size of a file that the hub writes: 128 tools with long schemas.
MAX_BYTES = 64 << 20


class Tools(NamedTuple):
    """The registered tools of `agent`, and the file that configures their servers, None for the default files."""

    agent: str
    tools: Sequence[RegisteredTool] = ()
    config: Path | None = None

    def server(self, folder: Path) -> ToolServer | None:
        """How an agent starts the server of the tools, after writing its file to `folder`; None without tools."""
        if not self.tools:
            return None
        file = folder / "tools.json"
        found = {
            "agent": self.agent,
            "config": str(self.config.absolute()) if self.config is not None else "",
            "folder": _working_folder(),
            "tools": [tool.as_json() for tool in self.tools],
        }
        file.write_text(json.dumps(found), "utf-8")
        inherited = child_environment({}, os.environ, inherits_all=True)
        return tool_server(file, [tool.name for tool in self.tools], inherited)


class RegisteredTools(MCPAgent):
    """Serves `tools`, and calls them for `agent` through `routes`."""

    def __init__(self, agent: str, tools: Sequence[RegisteredTool], routes: Routes) -> None:
        super().__init__()
        self._agent = agent
        self._routes = routes
        self._tools = {tool.name: tool for tool in tools}

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [tool.definition() for tool in self._tools.values()]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        tool = self._tools.get(tool_name)
        if tool is None:
            raise ValueError(f"Unknown tool: {tool_name}")
        try:
            result = self._routes.call(tool.route, arguments, self._agent)
        except HubError as problem:
            return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
        return result if result["content"] else None

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "agents-tools", "title": "Registered tools", "version": __version__}


class ToolsOfFile(RegisteredTools):
    """The registered tools in `file`, which `Tools.server` wrote. Their servers are configured as for the hub: in the
    hub's file, or by default in the user's file and the project's file for the hub's working folder.
    """

    def __init__(self, file: str) -> None:
        found = json.loads(read_file(Path(file), MAX_BYTES))
        config = Path(found["config"]) if found["config"] else None
        folder = Path(found["folder"]) if found["folder"] else None
        tools = [RegisteredTool.of(tool) for tool in found["tools"]]
        super().__init__(found["agent"], tools, Routes(ConfigStore.locate(config, cwd=folder)))


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (a string is written)
    except OSError:
        return ""  # The working folder was removed, and with it any project.
