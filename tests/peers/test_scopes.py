"""Tools that need scopes, served to clients that have to get them: our own, and those of the official SDKs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from tests.cli.conftest import BIN, gaia, no_orphans, shared
from tests.client.transports.http.auth.world import Answer, Paster, World
from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.peers.test_http_servers import free_port
from tests.prepare.peers import NPM_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Gaia
    from tests.prepare.fixtures import Prepared

__all__ = ["gaia", "no_orphans", "shared"]
pytestmark = pytest.mark.peer

AGENT = """
from gaia_mcp import MCPAgent, current_call, tool

class Trips(MCPAgent):
    @tool
    def look(self) -> str:
        return " ".join(sorted(current_call().scopes))

    @tool(scopes=["trips:write"])
    def cancel(self) -> str:
        return " ".join(sorted(current_call().scopes))
"""
ASKED = ["trips:read", "trips:read trips:write"]


class Issuer(World):
    """An authorization server whose tokens are signed and say what they are for. It grants whatever it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.audience = ""
        self.metadata["response_types_supported"] = ["code"]
        public = {**json.loads(ECAlgorithm.to_jwk(self._key.public_key())), "kid": "one", "use": "sig", "alg": "ES256"}
        self.routes["/jwks"] = lambda _: Answer(value={"keys": [public]})

    def granted(self, scope: str) -> Answer:
        claims = {"iss": self.origin, "aud": self.audience, "sub": "ada", "scope": scope, "exp": time.time() + 600}
        token = jwt.encode(claims, self._key, "ES256", headers={"kid": "one"})
        return Answer(value={"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": scope})

    @property
    def asked_for(self) -> list[str]:
        """The scopes of each login."""
        return [request.query["scope"] for request in self.asked("/authorize")]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    started = Issuer()
    yield started
    started.close()


@pytest.fixture
def url(gaia: Gaia, issuer: Issuer, no_orphans: None) -> str:
    """The agent, served for access tokens that have at least the scope to read."""
    (gaia.cwd / "trips.py").write_text(AGENT)
    port = free_port()
    issuer.audience = f"http://127.0.0.1:{port}/mcp"
    options = ["--jwks", f"{issuer.origin}/jwks", "--issuer", issuer.origin, "--audience", issuer.audience]
    process = gaia.popen(
        "serve", "trips.py", "--http", f"127.0.0.1:{port}", "--json", *options, "--scope", "trips:read"
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["url"] == issuer.audience
    return issuer.audience


def test_our_command_prints_the_login_for_a_missing_scope(gaia: Gaia, issuer: Issuer, url: str) -> None:
    """Spec: AS-3, AC-10: both ends are ours; what is hinted is typed."""
    gaia.write({"trips": {"url": url}})
    log_in(gaia)
    assert gaia("call", "trips", "look").stdout == "trips:read\n"

    # Not by `gaia`, which would type the hint alone, and wait for a browser.
    refused = gaia.command(BIN / "gaia", "mcp", "call", "trips", "cancel", text=True)
    error, hint = refused.stderr.splitlines()
    assert (refused.returncode, "trips:write" in error) == (4, True)
    _, words = hint.split("gaia mcp login trips ")
    log_in(gaia, *words.split())

    assert gaia("call", "trips", "cancel").stdout == "trips:read trips:write\n"
    assert issuer.asked_for == ASKED


class Storage:
    """Keeps what the SDK gives it."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    async def get_tokens(self) -> Any:
        return self._kept.get("tokens")

    async def set_tokens(self, tokens: Any) -> None:
        self._kept["tokens"] = tokens

    async def get_client_info(self) -> Any:
        return self._kept.get("client")

    async def set_client_info(self, client_info: Any) -> None:
        self._kept["client"] = client_info


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdk_of_python_steps_up(issuer: Issuer, url: str, mode: Any) -> None:
    """Spec: AS-3: the SDK reads our challenge, and asks for the scopes of both."""
    shown: list[str] = []

    async def redirect(at: str) -> None:
        shown.append(at)

    async def called_back() -> AuthorizationCodeResult:
        back = await asyncio.to_thread(Paster().redirect, shown[-1])
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(back).query)))

    async def use() -> list[str]:
        metadata = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:9/callback"])  # type: ignore[list-item]
        auth = OAuthClientProvider(url, metadata, Storage(), redirect, called_back)
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            httpx2.AsyncClient(auth=auth) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            results = [await client.call_tool(name, {}) for name in ("look", "cancel")]
        return [result.content[0].text for result in results]  # type: ignore[union-attr]

    assert asyncio.run(use()) == ASKED
    assert issuer.asked_for == ASKED


@pytest.mark.parametrize(("generation", "era"), [("1", "handshake"), ("2", "stateless")])
def test_the_sdk_of_typescript_steps_up(
    issuer: Issuer, url: str, prepared: Prepared, tmp_path: Path, generation: str, era: str
) -> None:
    """Spec: AS-3: as the SDK of Python; a program has to finish each login itself."""
    # Modules of JavaScript are found beside the program alone.
    shutil.copy(PROGRAMS / "stepping_up.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(prepared.folder(NPM_CLIENTS) / "node_modules")

    done = subprocess.run(
        [prepared.node(), "stepping_up.mjs", generation, url, era, "look", "cancel"],
        cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ASKED
    assert issuer.asked_for[-1].split() == ASKED[-1].split()


def log_in(gaia: Gaia, *more: str) -> None:
    """As a person whose browser is elsewhere."""
    running = gaia.popen("login", "trips", "--no-browser", *more)
    assert running.stdin is not None
    assert running.stderr is not None
    lines = [running.stderr.readline().decode() for _ in range(3)]
    running.stdin.write(f"{Paster().redirect(lines[1].strip())}\n".encode())
    _, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
