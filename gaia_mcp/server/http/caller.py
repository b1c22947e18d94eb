"""The caller of a request, as its access token identifies it, and the challenge that demands another token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_mcp.server.http.refusals import Headers


class Caller(NamedTuple):
    """The sender of a request. `principal` is None if callers are not distinguished. `scopes` are those of its token,
    None if tokens have no scopes. `needed` are the scopes that every request requires, and `where` the parameters of a
    challenge that point to the authorization server.
    """

    principal: str | None = None
    scopes: frozenset[str] | None = None
    needed: Sequence[str] = ()
    where: Sequence[str] = ()

    def scope_challenge(self, scopes: Iterable[str]) -> Headers:
        """The headers that demand a token with these scopes. Spec AS-3: with all scopes that the request requires."""
        scope = " ".join(dict.fromkeys([*self.needed, *scopes]))
        return challenge('error="insufficient_scope"', f'scope="{scope}"', *self.where)


def challenge(*parameters: str) -> Headers:
    """The header that demands a bearer token (RFC 6750)."""
    value = " ".join(["Bearer", ", ".join(parameters)]).strip()
    return ((b"www-authenticate", value.encode("latin-1")),)
