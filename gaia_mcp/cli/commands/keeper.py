"""`gaia mcp keeper`: the process that holds servers, which `up` starts."""

from __future__ import annotations

from gaia_mcp.cli.invocation import Invocation

COMMON = ()


def keeper(invocation: Invocation) -> None:
    """Hold servers open until none is left. Started by `up`.

    Example: gaia mcp keeper
    """
    from gaia_mcp.cli.keeping.holding import serve

    serve(invocation.screen)
