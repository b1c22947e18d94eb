"""The caller of a request, as its access token tells, and what asks it for another token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_mcp.server.http.refusals import Headers


class Caller(NamedTuple):
    """Who sends a request. `principal` is None where callers are not told apart. `scopes` are those of its token, None
    where tokens have none. `needed` are the scopes that every request needs, and `where` the parameters of a challenge
    that tell where to get a token.
    """

    principal: str | None = None
    scopes: frozenset[str] | None = None
    needed: Sequence[str] = ()
    where: Sequence[str] = ()

    def scope_challenge(self, scopes: Iterable[str]) -> Headers:
        """The headers that demand a token with these scopes. Spec AS-3: with all that the request needs."""
        scope = " ".join(dict.fromkeys([*self.needed, *scopes]))
        return challenge('error="insufficient_scope"', f'scope="{scope}"', *self.where)


def challenge(*parameters: str) -> Headers:
    """The header that demands a bearer token (RFC 6750)."""
    value = " ".join(["Bearer", ", ".join(parameters)]).strip()
    return ((b"www-authenticate", value.encode("latin-1")),)
