"""`gaia mcp tools`: the tools of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation, ServersArgument

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.inventory import Inventory
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.session.session import Session

SchemaOption = Annotated[bool, typer.Option("--schema", help="Print the whole input schema of each tool.")]

COMMON = (CONFIG, JSON, TIMEOUT)


def tools(invocation: Invocation, names: ServersArgument = None, schema: SchemaOption = False) -> None:
    """Show the tools of servers, as signatures.

    Required parameters come first. Without a name, asks all enabled servers at once.

    Example: gaia mcp tools time --schema
    """
    from gaia_mcp.cli.screen.inventory import Kind, show_inventory

    kind = Kind("tools", _read, lambda tool: tool.definition, lambda tool: _lines(tool, with_schema=schema))
    show_inventory(kind, names, invocation)


def _read(session: Session) -> Inventory:
    from gaia_mcp.cli.screen.inventory import Inventory

    found = session.tools()
    if not found and "tools" not in session.capabilities:
        return Inventory([], [f"offers no tools, only {', '.join(session.capabilities) or 'nothing'}"])
    return Inventory(found, session.problems)


def _lines(tool: MCPTool, *, with_schema: bool) -> list[str]:
    import json

    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines
    from gaia_mcp.toolspec.schema import signature

    lines = signature_lines(signature(tool.name, tool.input_schema))
    lines += description_lines(tool.description, whole=with_schema)
    if with_schema:
        lines += [f"    {line}" for line in json.dumps(tool.input_schema, indent=2, ensure_ascii=False).splitlines()]
    return lines
