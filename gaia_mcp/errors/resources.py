"""A resource that its server does not have: of a branch of its own, for it is an error response as well."""

from __future__ import annotations

import re

from gaia_mcp.errors.connection import FeatureUnknownError, PeerError
from gaia_mcp.errors.root import MCPError

# The code of revisions up to 2025-11-25, and that of later ones, which also stands for any other wrong parameter.
_CODES = (-32002, -32602)
# Some servers have no code of their own for it. A method that is not found is another matter.
_NOT_FOUND = re.compile(r"unknown resource|not found|no such|does not exist", re.IGNORECASE)


class ResourceUnknownError(FeatureUnknownError, PeerError):
    """The server answered that it has no resource of this URI, whichever code and words it has for that."""

    def __init__(self, error: PeerError, uri: str) -> None:
        # Both parents have an initializer that would call the other's.
        unknown = FeatureUnknownError(
            error.server, "resource", uri, reason="" if _NOT_FOUND.search(error.text) else error.text
        )
        MCPError.__init__(self, unknown.message, server=error.server)
        vars(self).update({**vars(error), **vars(unknown), "facts": error.facts})


def resource_unknown(error: PeerError, uri: str) -> PeerError:
    """What `error` is as the response to a request about the resource `uri`: a `ResourceUnknownError`, or the same."""
    if error.code in _CODES or (_NOT_FOUND.search(error.text) and "method" not in error.text.lower()):
        return ResourceUnknownError(error, uri)
    return error
