"""How long a result may be reused, and for whom (specification 2026-07-28, utilities/caching)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import is_number
from gaia_mcp.protocol.versions import STATELESS_VERSIONS


class Freshness(NamedTuple):
    """A result is fresh for `ttl_ms` milliseconds; a private one may be reused with the same credentials only."""

    ttl_ms: int
    is_private: bool

    def with_page(self, other: Freshness | None) -> Freshness:
        """The freshness of a list with this page and another one, whose freshness is `other`."""
        if other is None:
            return self
        return Freshness(min(self.ttl_ms, other.ttl_ms), self.is_private or other.is_private)


def freshness(version: str, result: dict[str, Any]) -> Freshness | None:
    """The freshness that `result` states; None in revisions without it. A missing or invalid member has the default
    of the specification: not fresh, and private.
    """
    if version not in STATELESS_VERSIONS:
        return None
    ttl = result.get("ttlMs")
    return Freshness(int(ttl) if is_number(ttl) and ttl > 0 else 0, result.get("cacheScope") != "public")
