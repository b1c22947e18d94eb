"""The targets of `gaia mcp serve`: an agent, handlers, or configured servers, over stdio or HTTP."""
