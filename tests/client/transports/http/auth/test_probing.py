"""The request that shows a challenge."""

from __future__ import annotations

import json

from gaia_mcp.client.transports.http.auth.probing import PROBE, PROBE_HEADERS
from tests.wire_support import is_request


def test_the_probe_is_a_request_of_the_stateless_era() -> None:
    """Spec: §3.3 of the transport: it runs nothing, and has no token."""
    message = json.loads(PROBE)

    is_request("2026-07-28", message)
    assert PROBE_HEADERS["Mcp-Method"] == message["method"] == "server/discover"
    assert PROBE_HEADERS["MCP-Protocol-Version"] == "2026-07-28"
    assert PROBE_HEADERS["Accept"] == "application/json, text/event-stream"
