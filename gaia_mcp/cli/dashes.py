"""`-- COMMAND [ARG...]` in commands that use a server: the command of a server that is not saved."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Under this name the context of a command holds those of its arguments that were after two dashes.
AFTER_DASHES = "gaia_mcp.after_dashes"


def takes_server(error: Any) -> bool:
    """Whether the command that reports `error` about its line is one of these."""
    return isinstance(getattr(getattr(error, "ctx", None), "command", None), ServerCommand)


class ServerCommand(TyperCommand):
    """A command whose arguments may end with the command of a server."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            from gaia_mcp.cli.grammar.parsing import parse_line

            # Typer does not tell which arguments were after them.
            ctx.meta[AFTER_DASHES] = parse_line(["mcp", self.name or "", *args]).after
        return super().parse_args(ctx, args)


class ArgumentsCommand(ServerCommand):
    """One that takes arguments of an item of the server: an option that is not ours is a word among the others, since
    it may be one of these.
    """

    ignore_unknown_options = True
