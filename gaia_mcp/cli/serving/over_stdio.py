"""`gaia mcp serve` without `--http`: serves a provider on stdin and stdout until the client closes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import remark, report_failure
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.server.stdio.process import StdioServer

if TYPE_CHECKING:
    from gaia_mcp.cli.serving.loading import Loaded
    from gaia_mcp.server.provider import Provider


def serve_stdio(target: str, load: Callable[[], Loaded]) -> None:
    """Serve the provider that `load` returns. The pipes are taken over before `load` runs an agent's code."""
    if on_terminal(sys.stdin):
        remark(f"serving {target} to the MCP client on standard input; Ctrl-C ends it")
    server = StdioServer(
        target,
        on_full=lambda limit: remark(f"{limit} calls of {target} are running, and the next ones wait: see --max-calls"),
        on_failure=report_failure,
    )

    def provider() -> Provider:
        loaded = load()
        if loaded.limit is not None:
            server.allow(loaded.limit)
        return loaded.provider

    server.run(provider)
