"""Renewal: an access token that has expired is replaced with the refresh token, by one process at a time.

A server that rotates refresh tokens accepts each once, and may revoke the grant if one is used twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.endpoint import Sources, request_tokens
from gaia_mcp.client.transports.http.auth.tokens import (
    CLIENT_REFUSED,
    GRANT_REFUSED,
    TokenRefusedError,
    read_tokens,
    refresh_form,
)
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
    from gaia_mcp.deadline import Deadline


def renewed(
    grant: Grant, grants: Grants, settings: Settings, fetcher: Fetcher, sources: Sources, deadline: Deadline
) -> Grant | None:
    """The stored grant, with new tokens in place of those in `grant`. None if there are none: the refresh token was
    rejected for good, or another process has logged out.

    Raises `AuthorizationError` and `DeadlineError`, without changing anything, and `ConfigFileError`.
    """
    with grants.locked(grant.issuer, grant.resource, deadline):
        kept = grants.read(grant.issuer, grant.resource)
        if kept is None or kept.tokens is None:
            return None
        if grant.tokens is None or kept.tokens.access != grant.tokens.access:
            return kept  # Another process has renewed it.
        if not kept.tokens.refresh:
            return None
        try:
            document = request_tokens(
                kept.token_endpoint,
                refresh_form(kept.tokens.refresh, kept.resource),
                kept.identity,
                fetcher,
                sources,
                deadline,
                issuer=kept.issuer,
                settings=settings,
                dpop_key=kept.dpop_key,
            )
            tokens = read_tokens(document, sources.now(), kept.requested, kept.tokens)
        except TokenRefusedError as cause:
            if cause.code == GRANT_REFUSED:
                grants.keep(kept._replace(tokens=None))
            elif cause.code in CLIENT_REFUSED:
                grants.forget(kept)
            else:
                raise fetcher.error(f"did not renew its token: {one_line(str(cause))}") from cause
            return None
        except UnacceptableError as cause:
            raise fetcher.unusable(f"its authorization server {kept.issuer} {cause}") from cause
        after = kept._replace(tokens=tokens)
        grants.keep(after)
        return after
