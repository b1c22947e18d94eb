"""Reads a resource from its server, and distinguishes an unknown resource from other errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import to_type
from gaia_mcp.errors import FeatureUnknownError, NotSupportedError, PeerError

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.session.session import Session


def read_resource(session: Session, uri: str) -> dict[str, Any]:
    """The contents of the resource `uri`. Raises `FeatureUnknownError` if the server has no such resource, and as
    `Session.read` does.
    """
    server = session.entry.name
    try:
        return session.read(uri)
    except NotSupportedError as error:
        hint = f"it has no resources; see its tools with: {to_type('tools', server)}"
        raise FeatureUnknownError(server, "resource", uri, suggestion=hint) from error
    except PeerError as error:
        error.hint = _suggestion(session.entry, uri)
        raise


def _suggestion(entry: ServerEntry, uri: str) -> str:
    """A suggestion from the cached resources; empty if no URI is similar."""
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])
