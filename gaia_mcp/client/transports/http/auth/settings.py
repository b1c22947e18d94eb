"""What an entry says about the authorization of its server, ready for use: variables expanded, secrets fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# How a program gets a token without a person, by the word in an entry.
CLIENT_CREDENTIALS = "client_credentials"
JWT_BEARER = "jwt_bearer"
ENTERPRISE = "enterprise"
GRANTS = (CLIENT_CREDENTIALS, JWT_BEARER, ENTERPRISE)


class Settings(NamedTuple):
    """The settings; empty for what the entry does not name.

    `grant` is one of `GRANTS`, or empty where a person logs in. `issuer` pins the authorization server, and
    `metadata_url` the place of its metadata. `client_document` is the URL of a document that describes this program.
    `private_key` is PEM, for `algorithm`. `assertion` is the JWT of a workload, or the ID token of a person at the
    identity provider of their company, whose token endpoint is `provider` and where this program is `provider_client`.
    """

    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    issuer: str = ""
    metadata_url: str = ""
    client_document: str = ""
    callback_port: int = 0
    grant: str = ""
    private_key: str = ""
    algorithm: str = "ES256"
    assertion: str = ""
    provider: str = ""
    provider_client: str = ""

    @property
    def is_for_programs(self) -> bool:
        """Whether a token is had without a person."""
        return self.grant != ""


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings of an entry's members, whose names are the fields. Those that are not there have their defaults."""
    return Settings(**{**values, "scopes": tuple(values.get("scopes", ()))})
