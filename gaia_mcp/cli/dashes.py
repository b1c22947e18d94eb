"""`-- COMMAND [ARG...]` in commands that use a server: the command of a server that is not saved."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# The key in a command's context for the arguments after two dashes.
AFTER_DASHES = "gaia_mcp.after_dashes"


def takes_server(error: Any) -> bool:
    """Whether `error` is about the line of a `ServerCommand`."""
    return isinstance(getattr(getattr(error, "ctx", None), "command", None), ServerCommand)


class ServerCommand(TyperCommand):
    """A command whose arguments may end with the command of a server."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            from gaia_mcp.cli.grammar.parsing import parse_line

            # Typer does not report which arguments followed the dashes.
            ctx.meta[AFTER_DASHES] = parse_line(["mcp", self.name or "", *args]).after
        return super().parse_args(ctx, args)


class ArgumentsCommand(ServerCommand):
    """A command that takes arguments for an item of the server. An unknown option is passed on as a word, since it may
    be one of these arguments.
    """

    ignore_unknown_options = True
