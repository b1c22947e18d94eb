"""`gaia mcp resources` and `gaia mcp read`: what servers have to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.commands.tools import Names
from gaia_mcp.cli.completion.sources import resource_uris, template_words
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation, OutputOption, ServerArgument

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.inventory import Inventory
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.session.session import Session

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

COMMON = (CONFIG, JSON, TIMEOUT)


def resources(invocation: Invocation, names: Names = None) -> None:
    """Show the resources of servers, and their templates.

    Without a name, all servers are asked at once.

    Example: gaia mcp resources demo
    """
    from gaia_mcp.cli.screen.inventory import Kind, show_inventory

    kind = Kind("resources", "resources", _read, lambda resource: resource, _lines)
    show_inventory(kind, names, invocation)


def read(
    invocation: Invocation, name: ServerArgument, uri: Uri, words: Words = None, output_dir: OutputOption = None
) -> None:
    """Read a resource and print it.

    Text goes to stdout as it is; images and other files are saved, and their paths printed. The arguments fill in a
    template, as RFC 6570 says.

    Example: gaia mcp read demo demo://about
    """
    from gaia_mcp.cli.calls.elicitation import asker
    from gaia_mcp.cli.screen.render import show_contents
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.errors import PeerError
    from gaia_mcp.session.session import connected

    entry = invocation.open_store().entry(name)
    wanted = _filled(uri, words or [])
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
        show_contents(wanted, result, output_dir)


def _meant(entry: ServerEntry, uri: str) -> str:
    """The resources that may have been meant, among those that were seen before."""
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])


def _filled(uri: str, words: list[str]) -> str:
    """`uri` with its variables replaced. Raises `UsageError` for some that are missing, or that it does not have."""
    from gaia_mcp.cli.calls.plan import assignment, typed
    from gaia_mcp.cli.status import UsageError

    if not words and "{" not in uri:
        return uri
    from uritemplate import URITemplate

    given = typed([assignment(word) for word in words], {})
    try:
        template = URITemplate(uri)
        filled: str = template.expand(given)
    except ValueError as problem:
        raise UsageError(f"{uri!r} is not a template: {problem}", hint="see: gaia mcp resources NAME") from None
    known = list(template.variable_names)
    missing = [name for name in known if name not in given]
    unknown = [name for name in given if name not in known]
    if missing or unknown:
        said = [f"{name!r} is missing" for name in missing] + [f"there is no {name!r}" for name in unknown]
        hint = f"its variables are: {', '.join(known)}" if known else "only a template takes arguments"
        raise UsageError(f"{uri!r}: {'; '.join(said)}", hint=hint)
    return filled


def _read(session: Session) -> Inventory:
    from gaia_mcp.cli.screen.inventory import Inventory

    return Inventory(session.resources_and_templates(), session.problems)


def _lines(resource: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen.inventory import INDENT, description_lines
    from gaia_mcp.cli.screen.terminal import fitted
    from gaia_mcp.safetext import one_line

    uri, kind, size = resource.get("uri") or resource.get("uriTemplate"), resource.get("mimeType"), resource.get("size")
    facts = [kind] if isinstance(kind, str) else []
    facts += [f"{size} bytes"] if isinstance(size, int) and not isinstance(size, bool) else []
    name = resource.get("title") or resource.get("name")
    line = f"{uri}" + (f" ({', '.join(facts)})" if facts else "") + (f" {name}" if isinstance(name, str) else "")
    shown = fitted(one_line(line, 1000), one_line(str(uri), 1000), margin=INDENT)
    return [shown, *description_lines(resource.get("description"))]
