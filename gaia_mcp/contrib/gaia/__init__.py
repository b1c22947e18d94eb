"""What AMD's GAIA has: a manager of MCP clients, and a mixin that registers the tools of servers with an agent."""
