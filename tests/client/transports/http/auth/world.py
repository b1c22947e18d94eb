"""A protected server and its authorization server on the loopback address, and a person with a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from gaia_mcp.client.transports.http.auth.token_requests import Sources

if TYPE_CHECKING:
    from collections.abc import Callable

# The time of all tests that need one.
NOW = 1_800_000_000.0
SOURCES = Sources(now=lambda: NOW)
# Without any certificates, which each client would load anew: all servers here are those of the loopback address.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class Request:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass
class Answer:
    """What is sent back. `pieces` come one by one in place of the body, without a length."""

    status: int = 200
    value: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Callable[[], Any] | None = None


class World:
    """The two servers, behind one port. What they do is in `routes` and in the fields, for a test to change."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.routes: dict[str, Callable[[Request], Answer]] = {
            "/mcp": self.mcp,
            "/.well-known/oauth-protected-resource/mcp": lambda _: Answer(value=self.resource),
            "/.well-known/oauth-authorization-server": lambda _: Answer(value=self.metadata),
            "/authorize": self.authorize,
            "/token": self.token,
            "/register": self.register,
            "/revoke": lambda _: Answer(value={}),
        }
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.origin}/mcp"
        self.resource: dict[str, Any] = {"resource": self.url, "authorization_servers": [self.origin]}
        self.metadata: dict[str, Any] = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        # By code: what it was asked for with. By refresh token: whether it is still good. Access tokens by scopes.
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.needs_scope = ""
        self.answer_of_token: Callable[[Request], Answer | None] = lambda _: None
        self.lifetime: int | None = 3600
        self._made = 0
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self, path: str) -> list[Request]:
        """The requests to a path."""
        return [request for request in self.requests if request.path == path]

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def mcp(self, request: Request) -> Answer:
        """Wants a token, with a scope if one is needed."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        metadata = f'resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp"'
        scope = f', scope="{self.needs_scope}"' if self.needs_scope else ""
        if kind != "Bearer" or token not in self.tokens:
            return Answer(401, headers={"WWW-Authenticate": f"Bearer {metadata}{scope}"})
        if not set(self.needs_scope.split()) <= set(self.tokens[token].split()):
            return Answer(403, headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", {metadata}{scope}'})
        return Answer(value={"ok": True})

    def register(self, request: Request) -> Answer:
        self._made += 1
        return Answer(201, {**json.loads(request.body), "client_id": f"client-{self._made}"})

    def authorize(self, request: Request) -> Answer:
        """Grants everything at once."""
        self._made += 1
        code = f"code-{self._made}"
        self.codes[code] = request.query
        back = {"code": code, "state": request.query["state"], "iss": self.metadata["issuer"]}
        return Answer(302, headers={"Location": f"{request.query['redirect_uri']}?{urlencode(back)}"})

    def token(self, request: Request) -> Answer:
        """Checks what a real one checks, and rotates refresh tokens."""
        if (answer := self.answer_of_token(request)) is not None:
            return answer
        form = request.form
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
            if (
                asked is None
                or asked["code_challenge"] != digest.rstrip(b"=").decode()
                or asked["redirect_uri"] != form["redirect_uri"]
                or asked["resource"] != form["resource"]
            ):
                return Answer(400, {"error": "invalid_grant"})
            return self.granted(asked.get("scope", ""))
        if form["grant_type"] == "refresh_token":
            scope = self.refresh_tokens.pop(form["refresh_token"], None)
            return Answer(400, {"error": "invalid_grant"}) if scope is None else self.granted(scope)
        return self.granted(form.get("scope", ""))

    def granted(self, scope: str) -> Answer:
        self._made += 1
        access, refresh = f"access-token-{self._made}-of-the-world", f"refresh-token-{self._made}-of-the-world"
        self.tokens[access] = scope
        self.refresh_tokens[refresh] = scope
        value = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh, "scope": scope}
        return Answer(value={**value, "expires_in": self.lifetime} if self.lifetime is not None else value)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
                world.requests.append(request)
                answer = world.routes.get(parts.path, lambda _: Answer(404))(request)
                self.send_response(answer.status)
                headers = {"Content-Type": "application/json", "Connection": "close", **answer.headers}
                body = answer.value if isinstance(answer.value, bytes) else json.dumps(answer.value).encode()
                if answer.pieces is None:
                    headers["Content-Length"] = str(len(body))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in [body] if answer.pieces is None else answer.pieces():
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    return  # The client has had enough.

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                return

        return Handler


class Browser:
    """A person whose browser follows every redirect at once."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.pages: list[httpx2.Response] = []

    def show(self, url: str) -> None:
        self.shown.append(url)
        self.pages.append(httpx2.get(self.redirect(url), verify=TLS))

    def pasted(self) -> str | None:
        return None

    def redirect(self, url: str) -> str:
        """Where the authorization server sends the browser to."""
        return httpx2.get(url, follow_redirects=False, verify=TLS).headers["location"]


class Paster(Browser):
    """A person whose browser is on another machine: they paste what they see in it, changed as a test wants it."""

    def __init__(self, change: Callable[[str], str] = lambda text: text) -> None:
        super().__init__()
        self._change = change
        self._pasted: list[str | None] = []

    def show(self, url: str) -> None:
        self.shown.append(url)
        self._pasted = [None, self._change(self.redirect(url))]

    def pasted(self) -> str | None:
        return self._pasted.pop(0) if self._pasted else None
