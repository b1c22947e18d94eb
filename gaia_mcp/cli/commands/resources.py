"""`gaia mcp resources`: the resources of servers, and their templates."""

from __future__ import annotations

from typing import Any

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, FRESH, HEADER, JSON, TIMEOUT, ServersArgument
from gaia_mcp.cli.typer_command import ServerCommand

SETTINGS = {"cls": ServerCommand}

COMMON = (FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def resources(invocation: Invocation, names: ServersArgument = None) -> None:
    """Show the resources of servers, and their templates.

    Without a name, asks all enabled servers at once, and shows those that have some.

    Example: gaia mcp resources demo
    """
    from gaia_mcp.cli.screen.inventory import Inventory, Kind, show_inventory

    kind = Kind(
        "resources", lambda session: Inventory(session.resources_and_templates(), session.problems), dict, _lines
    )
    typed = invocation.typed(names or [])
    store = invocation.open_store_for(typed)
    show_inventory(kind, invocation.servers(store, typed), store, invocation)


def _lines(resource: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen import fitted
    from gaia_mcp.cli.screen.inventory import INDENT, description_lines
    from gaia_mcp.text import one_line

    uri, kind, size = resource.get("uri") or resource.get("uriTemplate"), resource.get("mimeType"), resource.get("size")
    facts = [kind] if isinstance(kind, str) else []
    facts += [f"{size} bytes"] if isinstance(size, int) and not isinstance(size, bool) else []
    name = resource.get("title") or resource.get("name")
    line = f"{uri}" + (f" ({', '.join(facts)})" if facts else "") + (f" {name}" if isinstance(name, str) else "")
    shown = fitted(one_line(line, 1000), one_line(str(uri), 1000), margin=INDENT)
    return [shown, *description_lines(resource.get("description"))]
