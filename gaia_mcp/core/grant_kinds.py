"""The kinds of OAuth grants: how an entry names each, the settings that it requires, and the grant types that it sends.

Knows no request: what else is in one is known where it is made.
"""

from __future__ import annotations

from typing import NamedTuple

# The kinds, as the setting `grant` names them: a user logs in; a program has credentials, a workload identity, or an
# employee's identity token.
LOGIN = ""
CLIENT_CREDENTIALS = "client_credentials"
JWT_BEARER = "jwt_bearer"
ENTERPRISE = "enterprise"
# The values of `grant_type` in a request for tokens (RFC 6749, RFC 7523, RFC 8693).
CODE_TYPE = "authorization_code"
REFRESH_TYPE = "refresh_token"
CREDENTIALS_TYPE = "client_credentials"
JWT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"


class GrantKind(NamedTuple):
    """One kind. `names` are those that an entry may use, `needs` the settings that it must have, and `grant_types` are
    sent in this order.
    """

    names: tuple[str, ...]
    needs: tuple[str, ...]
    grant_types: tuple[str, ...]


GRANT_KINDS = {
    LOGIN: GrantKind((CODE_TYPE,), (), (CODE_TYPE, REFRESH_TYPE)),
    CLIENT_CREDENTIALS: GrantKind((CLIENT_CREDENTIALS,), ("client_id",), (CREDENTIALS_TYPE,)),
    JWT_BEARER: GrantKind((JWT_BEARER, JWT_TYPE), ("assertion",), (JWT_TYPE,)),
    ENTERPRISE: GrantKind(
        (ENTERPRISE,), ("client_id", "assertion", "provider", "provider_client"), (EXCHANGE_TYPE, JWT_TYPE)
    ),
}
