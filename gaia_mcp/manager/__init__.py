"""Many servers behind one object, connected in parallel; one that fails does not delay the others.

>>> from gaia_mcp import MCPClientManager, MCPConfig
>>> config = MCPConfig("servers.json")
>>> config.add_server("broken", {"command": "surely-not-installed"})
>>> with MCPClientManager(config) as manager:
...     client = manager.add_server("demo", {"command": "gaia", "args": ["mcp", "serve", "demo"]})
...     manager.load_from_config()
...     for line in manager.get_status_report():
...         print(line["name"], line["connected"], line["error"])
...     print(manager.list_servers(), client.call_tool("add", {"a": 2, "b": 3})["structuredContent"])
demo True None
broken False Failed to connect to MCP server 'broken': ... was not found on PATH
['demo'] {'sum': 5}
"""

from __future__ import annotations

from gaia_mcp.manager.client_manager import MCPClientManager

__all__ = ["MCPClientManager"]
