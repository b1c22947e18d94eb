"""`gaia mcp remove`: remove servers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore

# The time limit for the requests to the authorization server.
LOGOUT_SECONDS = 15.0
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Servers to remove.", autocompletion=server_names)]

COMMON = (CONFIG, JSON)


def remove(invocation: Invocation, names: Names) -> None:
    """Remove servers from the configuration.

    If one of them does not exist, none is removed. A login that no other server uses ends.

    Example: gaia mcp remove time
    """
    from gaia_mcp.core.paths import shown

    store = invocation.open_store()
    unique = list(dict.fromkeys(names))
    before = _readable(store, unique)
    store.remove(unique)
    ended = _logged_out(before, _readable(store, store.names()))
    listed = ", ".join(repr(name) for name in unique)
    more = {"logged_out": ended} if ended else {}
    also = " and logged out of it" if ended else ""
    invocation.screen.done(
        f"removed {listed} from {shown(store.path)}{also}", removed=unique, path=str(store.path), **more
    )


def _readable(store: ConfigStore, names: Iterable[str]) -> list[ServerEntry]:
    """The valid entries: only those can have a login."""
    from gaia_mcp.core.errors import EntryError, ServerUnknownError

    found = []
    for name in names:
        with contextlib.suppress(EntryError, ServerUnknownError):
            found.append(store.entry(name))
    return found


def _logged_out(removed: list[ServerEntry], left: list[ServerEntry]) -> list[str]:
    """End the logins of the removed servers that no other entry uses. Returns the servers that were logged out."""
    if not any(entry.is_remote for entry in removed):
        return []
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.authorization import forget_unused, has_grants

    return forget_unused(removed, left, Deadline(LOGOUT_SECONDS)) if has_grants() else []
