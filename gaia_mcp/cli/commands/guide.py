"""`gaia mcp guide`: explain this program to a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import only_server
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, FRESH, HEADER, JSON, TIMEOUT
from gaia_mcp.cli.typer_command import ServerCommand

Name = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]", help="Describe this server too.", show_default=False, autocompletion=only_server),
]

SETTINGS = {"cls": ServerCommand}

COMMON = (FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def guide(invocation: Invocation, words: Name = None) -> None:
    """Explain this program to a language model.

    Takes less than 300 tokens. With a server's name, connects to it, and adds its own instructions and the names of its
    tools.

    Example: gaia mcp guide demo
    """
    screen = invocation.screen
    from gaia_mcp.cli import manual

    shown: dict[str, Any] = {"guide": Path(manual.__file__).with_name("guide.txt").read_text("utf-8")}
    if words:
        shown["server"] = _described(words, invocation)
    if screen.as_json:
        screen.print_json(shown)
        return
    screen.print_line(shown["guide"].rstrip())
    if words:
        server = shown["server"]
        screen.print_line(f"\nServer {server['name']}")
        if server["instructions"]:
            screen.print_line(server["instructions"].strip())
        screen.print_line(f"Tools: {', '.join(server['tools']) or 'none'}")


def _described(words: list[str], invocation: Invocation) -> dict[str, Any]:
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.fleet.session import connected

    entry = invocation.only_server(words)
    with (
        SessionView(invocation.screen, f"starting {entry.name}") as view,
        connected(entry, view, deadline=invocation.deadline()) as session,
    ):
        tools = [tool.name for tool in session.tools()]
        return {"name": entry.name, "instructions": session.peer.instructions if session.peer else "", "tools": tools}
