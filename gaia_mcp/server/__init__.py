"""Serving an agent: whatever has `get_mcp_tool_definitions` and `execute_mcp_tool`, shown to MCP clients."""
