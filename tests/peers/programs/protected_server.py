"""A server of the official SDK with the SDK's own authorization server, on the port that is given."""

from __future__ import annotations

import secrets
import sys
import time

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

ORIGIN = f"http://127.0.0.1:{sys.argv[1]}"
URL = f"{ORIGIN}/mcp"


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Grants everything to everybody, and keeps it in memory. Tokens are for the resource that was asked for."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: object, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: object, authorization_code: AuthorizationCode) -> OAuthToken:
        code = self.codes.pop(authorization_code.code)
        return self.granted(code.client_id, code.scopes, code.resource)

    async def load_refresh_token(self, client: object, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: object, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        old = self.refresh.pop(refresh_token.token)
        return self.granted(old.client_id, scopes or old.scopes, old.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access = {key: held for key, held in self.access.items() if held.client_id != token.client_id}
        self.refresh = {key: held for key, held in self.refresh.items() if held.client_id != token.client_id}

    def granted(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        # Shorter than a client waits before it renews.
        ends = int(time.time()) + 20
        self.access[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=ends, resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(access_token=access, expires_in=20, refresh_token=refresh, scope=" ".join(scopes))


server = MCPServer(
    "protected",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=ORIGIN,  # type: ignore[arg-type]
        resource_server_url=URL,  # type: ignore[arg-type]
        required_scopes=["files"],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["files"]),
        revocation_options=RevocationOptions(enabled=True),
        validate_token_resource=True,
    ),
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
