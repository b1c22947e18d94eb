"""The front for agents of AgentVault's A2A, which call the tools of a gateway's servers.

Those of AgentVault's proxy are among the servers: the variable `MCP_SERVER_MAP` is a JSON object of their names and
base URLs, below which each answers at `/rpc`, and `MCP_CALL_TIMEOUT` limits their calls.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.contrib.agentvault.execution import EXECUTE_TOOL, ExecutingProvider
from gaia_mcp.core.errors import ConfigError
from gaia_mcp.core.names import is_server_name

if TYPE_CHECKING:
    from gaia_mcp.fleet.gateway.provider import GatewayProvider
    from gaia_mcp.server.http.app import Front
    from gaia_mcp.server.provider import Provider

MAP_VARIABLE = "MCP_SERVER_MAP"
TIMEOUT_VARIABLE = "MCP_CALL_TIMEOUT"
# The default of AgentVault's proxy.
CALL_SECONDS = 60.0
_FORM = f'write {MAP_VARIABLE}=\'{{"files": "http://localhost:8001"}}\''


class A2aFront:
    """Serves `mcp.execute_tool`, at `/a2a`. `servers` are those that the variables name; a call to a server without a
    timeout of its own takes at most `call_seconds`. Raises `ConfigError` for invalid variables.
    """

    # That of the endpoint, which is not imported before it serves.
    path = "/a2a"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.servers = mapped_servers(environ)
        self.call_seconds = call_seconds(environ)

    def front(self, called: Provider, names: Collection[str], gateway: GatewayProvider) -> Front:
        """The front that calls the tools of the servers with these `names` through `called`, the restricted gateway."""
        from gaia_mcp.contrib.agentvault.a2a_endpoint import TaskFront

        return TaskFront(EXECUTE_TOOL, ExecutingProvider(called, names, gateway.has_tool, gateway.name_of))

    def announcement(self, url: str) -> str:
        """What is printed when it serves."""
        return f"agents of A2A can use it at {url}"


def mapped_servers(environ: Mapping[str, str]) -> dict[str, ServerEntry]:
    """The entries of the map, by their names; none without it. Raises `ConfigError`."""
    text = environ.get(MAP_VARIABLE, "")
    if not text.strip():
        return {}
    try:
        urls = json.loads(text)
    except (ValueError, RecursionError) as problem:
        # Its message contains the text, which may include credentials.
        at = f" at character {problem.pos + 1}" if isinstance(problem, json.JSONDecodeError) else ""
        raise ConfigError(f"{MAP_VARIABLE} is not valid JSON{at}", hint=_FORM) from None
    if not isinstance(urls, dict):
        raise ConfigError(f"{MAP_VARIABLE} is not a JSON object", hint=_FORM)
    return {name: _entry(name, url) for name, url in urls.items()}


def call_seconds(environ: Mapping[str, str]) -> float:
    """The timeout of calls to servers whose entry has none. Raises `ConfigError`."""
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    try:
        seconds = float(text) if text else CALL_SECONDS
    except ValueError:
        seconds = 0.0
    if seconds <= 0 or not math.isfinite(seconds):
        raise ConfigError(
            f"{TIMEOUT_VARIABLE} is not a number of seconds: {text!r}", hint=f"write {TIMEOUT_VARIABLE}=60"
        )
    return seconds


def _entry(name: str, url: object) -> ServerEntry:
    if not is_server_name(name):
        problem = f"{MAP_VARIABLE} has a server named {name!r}, which is not a valid name"
        raise ConfigError(problem, hint="use up to 64 letters, digits and _ . @ -, such as tip_virustotal")
    if not isinstance(url, str) or not url.startswith(URL_SCHEMES):
        raise ConfigError(f"{MAP_VARIABLE} has no URL for {name!r} that begins with http:// or https://", hint=_FORM)
    base = url.rstrip("/")
    return read_entry(name, {"type": "rpc", "url": base if base.endswith("/rpc") else f"{base}/rpc"})
