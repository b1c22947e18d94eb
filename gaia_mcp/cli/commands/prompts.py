"""`gaia mcp prompts`: the prompts of servers."""

from __future__ import annotations

from typing import Any

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, FRESH, HEADER, JSON, TIMEOUT, ServersArgument
from gaia_mcp.cli.typer_command import ServerCommand

SETTINGS = {"cls": ServerCommand}

COMMON = (FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def prompts(invocation: Invocation, names: ServersArgument = None) -> None:
    """Show the prompts of servers, with their arguments.

    Arguments in brackets may be left out. Without a name, asks all enabled servers at once, and shows those that have
    some.

    Example: gaia mcp prompts demo
    """
    from gaia_mcp.cli.screen.inventory import Inventory, Kind, show_inventory

    kind = Kind("prompts", lambda session: Inventory(session.prompts(), session.problems), dict, _lines)
    typed = invocation.typed(names or [])
    store = invocation.open_store_for(typed)
    show_inventory(kind, invocation.servers(store, typed), store, invocation)


def _lines(prompt: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.calls.tool_call import signature_of
    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines

    return signature_lines(signature_of(prompt)) + description_lines(prompt.get("description"))
