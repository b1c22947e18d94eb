"""Tokens without a login: with client credentials, a workload identity, or an employee's identity token.

A rejected request is neither repeated nor replaced by another grant type: then the configuration is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.client.transports.http import auth as words
from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.endpoint import (
    Sources,
    UnsignableError,
    check_signing,
    new_key,
    request_tokens,
    unsignable,
)
from gaia_mcp.client.transports.http.auth.grants import Grant, granted
from gaia_mcp.client.transports.http.auth.tokens import Identity, TokenRefusedError, configured_identity
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.metadata import Found
    from gaia_mcp.deadline import Deadline

JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 (the name of a type)
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def obtained(
    found: Found,
    settings: Settings,
    scopes: tuple[str, ...],
    fetcher: Fetcher,
    sources: Sources,
    deadline: Deadline,
) -> Grant:
    """The grant of the authorization server to this program, not yet stored.

    Raises `AuthorizationError` and `DeadlineError`.
    """
    server, resource = found.server, found.resource.identifier
    try:
        identity = _identity(found, settings)
        key = ""
        if found.wants_dpop:
            check_signing()
            key = new_key()

        def request(url: str, form: Mapping[str, str], identity: Identity, key: str = "") -> Mapping[str, Any]:
            return request_tokens(
                url, form, identity, fetcher, sources, deadline, issuer=server.issuer, settings=settings, dpop_key=key
            )

        form = {"resource": resource, **({"scope": " ".join(scopes)} if scopes else {})}
        if settings.grant == words.CLIENT_CREDENTIALS:
            form["grant_type"] = "client_credentials"
        else:
            assertion = settings.assertion
            if settings.grant == words.ENTERPRISE:
                exchange = {
                    **form,
                    "grant_type": EXCHANGE_GRANT,
                    "subject_token": assertion,
                    "subject_token_type": ID_TOKEN,
                    "requested_token_type": ID_JAG,
                    "audience": server.issuer,
                }
                answer = request(settings.provider, exchange, Identity(settings.provider_client))
                assertion = _exchanged(answer)
            form |= {"grant_type": JWT_GRANT, "assertion": assertion}
        document = request(server.token_endpoint, form, identity, key)
        return granted(server, resource, identity, document, scopes, key, sources.now())
    except UnacceptableError as cause:
        raise fetcher.unusable(f"its authorization server {server.issuer} {cause}") from cause
    except UnsignableError as cause:
        raise unsignable(fetcher, cause) from cause
    except TokenRefusedError as cause:
        raise fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause


def _identity(found: Found, settings: Settings) -> Identity:
    if settings.private_key:
        return Identity(settings.client_id, "private_key_jwt")
    return configured_identity(settings.client_id, settings.client_secret, found.server)


def _exchanged(document: Mapping[str, Any]) -> str:
    """The assertion that the identity provider issued (RFC 8693). It is not an access token: `token_type` is unused."""
    token = document.get("access_token")
    if not isinstance(token, str) or document.get("issued_token_type") != ID_JAG:
        raise UnacceptableError("got no identity assertion from the provider of identities")
    return token
