"""Searches a registry for servers: `gaia mcp search --registry`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from gaia_mcp.catalog.packages import ways_of
from gaia_mcp.cli.entries.published import open_registry
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import print_json, print_line, remark
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.cli.screen.terminal import fitted
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.errors import ToolError
from gaia_mcp.redaction import masked_url
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.catalog.documents import Document
    from gaia_mcp.deadline import Deadline

# With more results, a narrower search helps more.
MAX_FOUND = 100
# The limit for a description after a name.
DESCRIPTION_CHARS = 100


def print_published(words: list[str], deadline: Deadline | None, as_json: bool) -> None:
    """Print the newest versions of the servers that match all of `words`, of which the first may be the registry's URL.

    Raises `ToolError` if there are none, `UsageError` without a word, `RegistryError`, `DeadlineError`.
    """
    url = words[0] if words[0].lower().startswith(URL_SCHEMES) else None
    wanted = words[1:] if url else words
    if not any(wanted):
        raise UsageError("no search words given", hint="give a word of the server's name or description")
    with open_registry(url, deadline) as registry, SessionView(f"searching {masked_url(registry.url)}"):
        found = list(islice(registry.search(wanted), MAX_FOUND + 1))
    is_complete, found = len(found) <= MAX_FOUND, found[:MAX_FOUND]
    # Servers whose name matches come first, then those whose description matches.
    found.sort(key=lambda one: not all(word.casefold() in one.name.rpartition("/")[2].casefold() for word in wanted))
    if not found:
        hint = "the registry looks for the longest word in names; use another, or a part of it"
        raise ToolError(f"no server of {masked_url(registry.url)} matches {' '.join(wanted)!r}", hint=hint)
    if as_json:
        print_json({"servers": [_object(one) for one in found], "complete": is_complete})
        return
    for one in found:
        name = f"{one_line(one.name)} {one_line(one.version)}"
        print_line(fitted(f"{name}  {one_line(one.description, DESCRIPTION_CHARS)}".rstrip(), name))
    if not is_complete:
        remark(f"only the first {MAX_FOUND} are shown; more words find fewer")
    remark(f"add one with: {to_type('add', one_line(found[0].name))}")


def _object(one: Document) -> dict[str, Any]:
    shown = {"name": one.name, "version": one.version, "title": one.title, "description": one.description}
    return {**shown, "status": one.status, "via": list(dict.fromkeys(way.name for way in ways_of(one)))}
