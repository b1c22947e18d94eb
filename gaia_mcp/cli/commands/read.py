"""`gaia mcp read`: read a resource of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import resource_uris, template_words
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import ANSWER, CONFIG, FRESH, HEADER, JSON, OUTPUT, TIMEOUT, ServerArgument
from gaia_mcp.cli.typer_command import ArgumentsCommand

Uri = Annotated[
    str,
    typer.Argument(
        metavar="URI", help="The resource, or a template such as 'file:///{path}'.", autocompletion=resource_uris
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ARG...]",
        help="key=value for the variables of a template.",
        show_default=False,
        autocompletion=template_words,
    ),
]

SETTINGS = {"cls": ArgumentsCommand}

COMMON = (OUTPUT, ANSWER, FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def read(invocation: Invocation, name: ServerArgument, uri: Uri, words: Words = None) -> None:
    """Read a resource and print it.

    With -o the resource is saved unchanged, and its path printed; without it a terminal shows or describes what is not
    text. The arguments are the values of a template's variables (RFC 6570).

    Example: gaia mcp read demo demo://about
    """
    screen = invocation.screen
    from gaia_mcp.cli.calls import check_no_option, check_utf8
    from gaia_mcp.cli.calls.answering import Answering
    from gaia_mcp.cli.calls.tool_call import filled_uri, read_resource
    from gaia_mcp.cli.screen.render import show_contents
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.fleet.session import connected

    check_no_option(screen.line, name)
    destination, answering = invocation.destination(), Answering.of(invocation)
    entry, (uri, *given) = invocation.server(name, uri, *(words or []))
    check_no_option(screen.line, uri)
    check_utf8((uri, *given))
    name, wanted = entry.name, filled_uri(screen.line, entry.name, uri, given)
    with (
        answering,
        SessionView(screen, f"starting {name}") as view,
        connected(entry, view, deadline=invocation.deadline(), answerers=answering.answerers(name, view)) as session,
    ):
        view.rename(f"asking {name}")
        result = read_resource(screen.line, session, wanted)
        view.hide()
        show_contents(screen, wanted, result, destination)
