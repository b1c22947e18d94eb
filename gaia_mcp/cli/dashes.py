"""`-- COMMAND [ARG...]` in commands that use a server: the command of a server that is not saved."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Under this name the context of a command holds its arguments after two dashes.
AFTER_DASHES = "gaia_mcp.after_dashes"


class ServerCommand(TyperCommand):
    """A command whose arguments may end with the command of a server."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            from gaia_mcp.cli.grammar.parsing import parse_line

            # Typer does not tell which arguments were after them.
            ctx.meta[AFTER_DASHES] = parse_line(["mcp", self.name or "", *args]).after
        return super().parse_args(ctx, args)
