"""The request that elicits a server's challenge: `server/discover` of the stateless era, which runs no tool.

A server of the handshake era rejects it for another reason, but only after it has checked the token.
"""

from __future__ import annotations

from gaia_mcp._version import __version__
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY, with_meta
from gaia_mcp.protocol.headers import standard_headers
from gaia_mcp.protocol.jsonrpc import encode
from gaia_mcp.protocol.versions import STATELESS_VERSIONS

_META = {
    VERSION_KEY: STATELESS_VERSIONS[0],
    INFO_KEY: {"name": "gaia-mcp", "version": __version__},
    CAPABILITIES_KEY: {},
}
_MESSAGE = {"jsonrpc": "2.0", "id": "login-1", "method": "server/discover", "params": with_meta(None, _META)}
PROBE = encode(_MESSAGE)
PROBE_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    **standard_headers(_MESSAGE),
}
