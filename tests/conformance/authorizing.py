"""Who grants access in the suite's `auth/*` scenarios, and with which settings the client is known there."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.oauth import OAuth
from gaia_mcp.core.grant_kinds import CLIENT_CREDENTIALS, ENTERPRISE, JWT_BEARER

if TYPE_CHECKING:
    from collections.abc import Iterator

# The document that the suite expects where its server takes one. Nothing fetches it.
DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Granting:
    """A person who grants everything, and pastes where their browser was sent to."""

    def __init__(self) -> None:
        self._redirects: list[str] = []

    def show(self, url: str) -> None:
        """Open the URL; the suite redirects at once."""
        self._redirects.append(httpx2.get(url, follow_redirects=False).headers["location"])

    def pasted(self) -> str | None:
        """Where the browser was sent to."""
        return self._redirects.pop() if self._redirects else None


def settings_of(scenario: str, context: dict[str, Any]) -> Settings:
    """What a user would write into the entry."""
    client = Settings(client_id=context.get("client_id", ""), client_secret=context.get("client_secret", ""))
    match scenario.removeprefix("auth/"):
        case "pre-registration":
            return client._replace(issuer=context["issuer"])
        case "basic-cimd":
            return client._replace(client_document=DOCUMENT)
        case "client-credentials-basic":
            return client._replace(grant=CLIENT_CREDENTIALS)
        case "client-credentials-jwt":
            key, algorithm = context["private_key_pem"], context["signing_algorithm"]
            return client._replace(grant=CLIENT_CREDENTIALS, private_key=key, algorithm=algorithm)
        case "wif-jwt-bearer":
            return client._replace(grant=JWT_BEARER, assertion=context["valid_jwt"])
        case "enterprise-managed-authorization":
            return client._replace(
                grant=ENTERPRISE,
                assertion=context["idp_id_token"],
                provider=context["idp_token_endpoint"],
                provider_client=context["idp_client_id"],
            )
    return client


@contextmanager
def authorizer_of(server: str, scenario: str, url: str, context: dict[str, Any]) -> Iterator[OAuth]:
    """The authorizer of a client that has never been used before."""
    with tempfile.TemporaryDirectory() as folder:
        yield OAuth(server, url, settings_of(scenario, context), Path(folder), person=Granting())
