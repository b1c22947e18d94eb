"""How each kind of agent is driven: the program of its vendor on the command line, or an HTTP endpoint.

A driver is a set of pure functions: from a request to what is run (arguments, standard input, environment, files), and
from what was written to an answer. Nothing here starts a program, opens a file or connects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.agents.hub.drivers.claude import ClaudeDriver
from gaia_mcp.agents.hub.drivers.codex import CodexDriver
from gaia_mcp.agents.hub.drivers.gemini import GeminiDriver

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.drivers.base import Driver

__all__ = ["DRIVERS"]

# By the kind of agent, in the order in which agents are listed.
DRIVERS: dict[str, Driver] = {driver.kind: driver for driver in (ClaudeDriver(), CodexDriver(), GeminiDriver())}
