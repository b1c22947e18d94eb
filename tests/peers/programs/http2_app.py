"""An ASGI app for a server that speaks HTTP/2: tools that report, wait and answer."""

from __future__ import annotations

import os
from pathlib import Path

from gaia_mcp import Call, MCPAgent, tool
from gaia_mcp.asking import CallCancelledError
from gaia_mcp.server.http import app_for


class Patient(MCPAgent):
    """Notes in a file what has been cancelled."""

    @tool
    def double(self, number: int) -> int:
        """Twice the number."""
        return 2 * number

    @tool
    def steps(self, count: int, call: Call) -> str:
        """Reports each step."""
        for step in range(1, count + 1):
            call.progress(step, count)
        return "done"

    @tool
    def wait(self, call: Call) -> str:
        """Waits until it is cancelled."""
        call.progress(1)
        try:
            call.wait(60)
        except CallCancelledError:
            Path(os.environ["NOTES"]).write_text("cancelled")
            raise
        return "not cancelled"


app = app_for(Patient())
