"""`gaia mcp read`: read a resource of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import resource_uris, template_words
from gaia_mcp.cli.options import CONFIG, JSON, OUTPUT, TIMEOUT, Invocation, ServerArgument

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

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

COMMON = (OUTPUT, CONFIG, JSON, TIMEOUT)


def read(invocation: Invocation, name: ServerArgument, uri: Uri, words: Words = None) -> None:
    """Read a resource and print it.

    With -o the resource is saved unchanged, and its path printed; without it a terminal shows or describes what is not
    text. The arguments are the values of a template's variables (RFC 6570).

    Example: gaia mcp read demo demo://about
    """
    from gaia_mcp.cli.calls.elicitation import asker
    from gaia_mcp.cli.calls.templates import filled_uri
    from gaia_mcp.cli.screen.render import show_contents
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.errors import PeerError
    from gaia_mcp.session.session import connected

    destination = invocation.destination()
    entry = invocation.open_store().entry(name)
    wanted = filled_uri(uri, words or [])
    with (
        SessionView(f"starting {name}") as view,
        connected(entry, view, deadline=invocation.deadline(), elicit=asker(name, view)) as session,
    ):
        view.rename(f"asking {name}")
        try:
            result = session.read(wanted)
        except PeerError as error:
            error.hint = _meant(entry, wanted)
            raise
        view.hide()
        show_contents(wanted, result, destination)


def _meant(entry: ServerEntry, uri: str) -> str:
    """A suggestion from the known resources of the server, empty if no URI is similar."""
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])
