"""The servers' tools as an agent's own: `MCPClientMixin`, and the registry that it writes to.

    >>> from gaia_mcp import Agent, MCPClientMixin
    >>> class MyAgent(Agent, MCPClientMixin):
    ...     def __init__(self, **options):
    ...         super().__init__(**options)
    ...         self.connect_mcp_server("demo", {"command": "gaia", "args": ["mcp", "serve", "demo"]})
    >>> def model(messages):
    ...     if len(messages) == 2:
    ...         return {"tool": "mcp_demo_greet", "tool_args": {"name": "Ada"}}
    ...     return {"answer": "I have greeted Ada."}
    >>> agent = MyAgent(silent_mode=True, model=model)
    >>> agent.run("Greet Ada")["result"]
    I have greeted Ada.
    'I have greeted Ada.'

The first of the two lines is what the agent's console prints. No language model is included: `model` is any function
from messages to a reply, and without one the result of `run` is an error.

The mixin also works with the `Agent` of AMD's GAIA, and registers the tools in the registry of that.
"""

from __future__ import annotations

from gaia_mcp.mixin.client_mixin import MCPClientMixin

__all__ = ["MCPClientMixin"]
