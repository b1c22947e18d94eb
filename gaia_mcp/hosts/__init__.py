"""Other MCP hosts: where they keep their servers, in which shape, and how to write there without touching the rest."""
