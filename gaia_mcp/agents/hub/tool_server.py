"""The server of the registered tools, which an agent of the hub starts: exactly these tools, each routed to the one
that it stands for.

The hub writes what to serve into a file for each run (`write_tools`), since descriptions and schemas may be longer than
arguments of a program can be.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.hub.problems import HubError
from gaia_mcp.agents.hub.registering import RegisteredTool
from gaia_mcp.agents.hub.routing import Routes
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.filebytes import read_file

# Of a file that the hub has written: 128 tools with long schemas.
MAX_BYTES = 64 << 20


class RegisteredTools(MCPAgent):
    """Serves the tools in `file`."""

    def __init__(self, file: str) -> None:
        super().__init__()
        found = json.loads(read_file(Path(file), MAX_BYTES))
        config = Path(found["config"]) if found["config"] else None
        folder = Path(found["folder"]) if found["folder"] else None
        self._routes = Routes(ConfigStore.locate(config, cwd=folder))
        self._agent = found["agent"]
        self._tools = {tool["name"]: RegisteredTool.of(tool) for tool in found["tools"]}

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


def write_tools(path: Path, agent: str, tools: Sequence[RegisteredTool], config: Path | None) -> None:
    """Write the file that `RegisteredTools` serves: the tools of `agent`, and where their servers are configured, which
    without `config` is the user's own file, and the project's of our working folder.
    """
    try:
        folder = os.getcwd()  # noqa: PTH109 (a string is written)
    except OSError:
        folder = ""  # It has been removed, and every project with it.
    found = {
        "agent": agent,
        "config": str(config.absolute()) if config is not None else "",
        "folder": folder,
        "tools": [tool.as_json() for tool in tools],
    }
    path.write_text(json.dumps(found), "utf-8")
