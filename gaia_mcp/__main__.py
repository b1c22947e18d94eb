"""`python -m gaia_mcp`."""

from __future__ import annotations

from gaia_mcp.cli.program import main

if __name__ == "__main__":
    main()
