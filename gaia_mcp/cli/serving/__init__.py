"""What `gaia mcp serve` shows: an agent, a handler, or a folder of handlers."""
