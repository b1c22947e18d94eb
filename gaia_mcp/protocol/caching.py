"""How long a result may be used again, and by whom (specification 2026-07-28, utilities/caching)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import is_number
from gaia_mcp.protocol.versions import STATELESS_VERSIONS


class Freshness(NamedTuple):
    """A result is fresh for `ttl_ms` milliseconds; a private one belongs to the credentials that it was asked with."""

    ttl_ms: int
    is_private: bool

    def with_page(self, other: Freshness | None) -> Freshness:
        """The freshness of a list, of which `other` is that of another page."""
        if other is None:
            return self
        return Freshness(min(self.ttl_ms, other.ttl_ms), self.is_private or other.is_private)


def freshness(version: str, result: dict[str, Any]) -> Freshness | None:
    """What `result` says of its freshness; None in a revision in which results do not say so. What is missing or
    invalid is read as the specification has it: not fresh at all, and private.
    """
    if version not in STATELESS_VERSIONS:
        return None
    ttl = result.get("ttlMs")
    return Freshness(int(ttl) if is_number(ttl) and ttl > 0 else 0, result.get("cacheScope") != "public")
