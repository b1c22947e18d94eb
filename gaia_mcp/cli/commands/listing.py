"""`gaia mcp list`: the configured servers."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT

CheckOption = Annotated[bool, typer.Option("--check", help="Connect to every enabled server.")]
OutdatedOption = Annotated[
    bool, typer.Option("--outdated", help="Compare servers added from a registry with their newest versions.")
]

COMMON = (CONFIG, JSON, TIMEOUT)


def list_servers(invocation: Invocation, check: CheckOption = False, outdated: OutdatedOption = False) -> None:
    """Show the configured servers.

    Prints name, transport, state, the stages and agents that may use it, if not all may, and its command, URL or file.
    Connects to servers only with --check, and to registries only with --outdated. Secrets are not shown.

    Example: gaia mcp list --check
    """
    from gaia_mcp.cli.entries.overview import show_servers

    show_servers(invocation, checks=check, shows_outdated=outdated)
