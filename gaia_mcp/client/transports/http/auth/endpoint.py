"""The token endpoint: one request, with the authentication of the client and, for bound tokens, a DPoP proof."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.http.auth.signing import UnsignableError, client_assertion, proof
from gaia_mcp.client.transports.http.auth.tokens import SECRET_FIELDS, authenticated, refusal
from gaia_mcp.redaction.masker import secrets_in

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.tokens import Identity
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import AuthorizationError

NONCE_WANTED = "use_dpop_nonce"
UNIQUE_BYTES = 16


class Sources(NamedTuple):
    """The sources of values that the rules take as arguments: the time in seconds since 1970, and random bytes."""

    now: Callable[[], float] = time.time
    random: Callable[[int], bytes] = os.urandom


def request_tokens(
    url: str,
    form: Mapping[str, str],
    identity: Identity,
    fetcher: Fetcher,
    sources: Sources,
    deadline: Deadline,
    *,
    issuer: str,
    settings: Settings,
    dpop_key: str = "",
) -> Mapping[str, Any]:
    """The response of the token endpoint at `url`. With a `dpop_key` the tokens are bound to it.

    Raises `TokenRefusedError`, `AuthorizationError` and `DeadlineError`.
    """
    nonce = ""
    while True:
        # Each request has an assertion and a proof of its own: servers reject one that they have seen.
        try:
            assertion = ""
            if identity.method == "private_key_jwt":
                assertion = client_assertion(
                    identity.client_id,
                    settings.private_key,
                    settings.algorithm,
                    issuer,
                    sources.now(),
                    sources.random(UNIQUE_BYTES),
                )
            fields, headers = authenticated(form, identity, assertion)
            if dpop_key:
                unique = sources.random(UNIQUE_BYTES)
                headers["DPoP"] = proof(dpop_key, "POST", url, sources.now(), unique, nonce=nonce)
        except UnsignableError as cause:
            raise unsignable(fetcher, cause) from cause
        reply = fetcher.post(url, "its token endpoint", deadline, form=fields, headers=headers)
        if reply.is_success:
            return reply.document
        refused = refusal(reply.document, _secrets_in(fields, headers))
        if refused.code == NONCE_WANTED and dpop_key and reply.nonce and not nonce:
            nonce = reply.nonce
            continue
        if not refused.code:
            raise fetcher.error(f"cannot be used: its token endpoint at {url} answered with status {reply.status}")
        raise refused


def _secrets_in(fields: Mapping[str, str], headers: Mapping[str, str]) -> list[str]:
    return [*(value for name, value in fields.items() if name in SECRET_FIELDS), *secrets_in(headers, [])]


def unsignable(fetcher: Fetcher, cause: UnsignableError) -> AuthorizationError:
    """The error for a JWT that cannot be signed."""
    error = fetcher.error(f"cannot be used: its authorization {cause}")
    if cause.is_missing:
        error.case = "pyjwt-missing"
    return error
