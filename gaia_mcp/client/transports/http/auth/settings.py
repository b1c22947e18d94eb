"""The authorization settings of an entry, ready for use: variables expanded, secrets read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# The grant types without a user, as written in an entry.
CLIENT_CREDENTIALS = "client_credentials"
JWT_BEARER = "jwt_bearer"
ENTERPRISE = "enterprise"
GRANTS = (CLIENT_CREDENTIALS, JWT_BEARER, ENTERPRISE)


class Settings(NamedTuple):
    """The settings; empty if the entry does not set them.

    `grant` is one of `GRANTS`, or empty if a user logs in. `issuer` pins the authorization server, and `metadata_url`
    the URL of its metadata. `client_document` is the URL of a document that describes this program. The browser comes
    back to `redirect_uri`, at `callback_port` if that names no port. `private_key` is PEM, for `algorithm`. `assertion`
    is the JWT of a workload, or a user's ID token from their company's identity provider, whose token endpoint is
    `provider` and where this program's client id is `provider_client`.
    """

    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    issuer: str = ""
    metadata_url: str = ""
    client_document: str = ""
    redirect_uri: str = ""
    callback_port: int = 0
    grant: str = ""
    private_key: str = ""
    algorithm: str = "ES256"
    assertion: str = ""
    provider: str = ""
    provider_client: str = ""

    @property
    def is_for_programs(self) -> bool:
        """Whether a token is obtained without a user."""
        return self.grant != ""


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings in an entry's members, whose names are the fields. Missing ones have their defaults."""
    return Settings(**{**values, "scopes": tuple(values.get("scopes", ()))})
