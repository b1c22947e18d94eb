"""Many servers, or many handlers, behind one object; one that fails does not delay the others.

An `MCPManager` connects handlers when they are first needed, and finds the owner of a tool. An `MCPClientManager` does
the same for servers, wrapping each as a handler, and can connect all of them at once.

>>> from gaia_mcp import MCPClientManager, MCPConfig
>>> config = MCPConfig("servers.json")
>>> config.add_server("broken", {"command": "surely-not-installed"})
>>> with MCPClientManager(config) as manager:
...     client = manager.add_server("demo", {"command": "gaia", "args": ["mcp", "serve", "demo"]})
...     manager.load_from_config()
...     for line in manager.get_status_report():
...         print(line["name"], line["connected"], line["error"])
...     print(manager.list_servers(), client.call_tool("add", {"a": 2, "b": 3})["structuredContent"])
...     print(manager.call_tool("demo.greet", {"name": "Ada"}).content)
demo True None
broken False server 'broken' could not be started: ... was not found on PATH
['demo'] {'sum': 5}
Hello, Ada!
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from gaia_mcp.contrib.gaia.client_manager import MCPClientManager

__all__ = ["MCPClientManager"]

# Serving a handler does not need the client.
__getattr__, __dir__ = lazily(__name__, {"gaia_mcp.contrib.gaia.client_manager": ("MCPClientManager",)})
