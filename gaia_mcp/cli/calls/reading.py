"""A resource, read from its server; one that the server does not have is told from every other failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import to_type
from gaia_mcp.errors import NotOfferedError, OfferUnknownError, PeerError

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.session.session import Session


def read_resource(session: Session, uri: str) -> dict[str, Any]:
    """What the server has under `uri`. Raises `OfferUnknownError` if it has no such resource, and as `Session.read`
    does.
    """
    server = session.entry.name
    try:
        return session.read(uri)
    except NotOfferedError as error:
        hint = f"it has no resources; see its tools with: {to_type('tools', server)}"
        raise OfferUnknownError(server, "resource", uri, suggestion=hint) from error
    except PeerError as error:
        error.hint = _suggestion(session.entry, uri)
        raise


def _suggestion(entry: ServerEntry, uri: str) -> str:
    """What may have been meant, among the resources that were last seen; empty if no URI is similar."""
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])
