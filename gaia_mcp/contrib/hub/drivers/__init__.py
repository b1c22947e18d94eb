"""The drivers of the kinds of agents: the command-line programs of their vendors, and HTTP endpoints.

A driver is a set of pure functions that convert a request to an invocation (arguments, stdin, environment, files), and
the output to an answer. Nothing here starts a program, opens a file or connects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.contrib.hub.drivers.claude import ClaudeDriver
from gaia_mcp.contrib.hub.drivers.codex import CodexDriver
from gaia_mcp.contrib.hub.drivers.gemini import GeminiDriver

if TYPE_CHECKING:
    from gaia_mcp.contrib.hub.drivers.base import Driver

__all__ = ["DRIVERS"]

# Drivers by the kind of agent, in the order in which agents are listed.
DRIVERS: dict[str, Driver] = {driver.kind: driver for driver in (ClaudeDriver(), CodexDriver(), GeminiDriver())}
