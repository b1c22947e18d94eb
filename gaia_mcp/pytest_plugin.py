"""Fixtures for pytest, which finds them by itself: a connected client of a server, once for each revision of MCP.

    # conftest.py
    @pytest.fixture
    def mcp_server():
        return Notes()  # or a command line, a URL, or an entry as in a configuration file

    # test_notes.py
    def test_a_note_is_added(mcp_client):
        assert mcp_client.call("add", {"text": "milk"})["content"][0]["text"] == "1"

Loaded in every run of pytest, so it loads the client only for a test that asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol import ALL_VERSIONS

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient


@pytest.fixture
def mcp_server() -> Any:
    """The server to test: an agent, as for `gaia_mcp.testing.client_for`; a command line or a URL; or an entry, with
    `command` or `url`. To be defined by the tests.
    """
    pytest.fail("define a fixture 'mcp_server' that returns the server: an agent, a command line, a URL or an entry")


@pytest.fixture(params=ALL_VERSIONS)
def mcp_revision(request: pytest.FixtureRequest) -> str:
    """Each revision of MCP, the newest first. `@pytest.mark.parametrize("mcp_revision", [...])` chooses some."""
    return str(request.param)


@pytest.fixture
def mcp_client(mcp_server: Any, mcp_revision: str) -> Iterator[MCPClient]:
    """A client of `mcp_server`, connected with `mcp_revision`; what the server does not support is skipped."""
    from gaia_mcp.core.errors import PeerError, VersionError

    client = _client(mcp_server, mcp_revision)
    try:
        client.open()
    except (PeerError, VersionError) as error:
        # A server of the handshake era refuses the other one with any code.
        if isinstance(error, PeerError) and error.asked != "server/discover":
            raise
        pytest.skip(f"the server does not support {mcp_revision}: {error}")
    try:
        yield client
    finally:
        client.disconnect()


def _client(server: Any, revision: str) -> MCPClient:
    if isinstance(server, str):
        server = {"url": server} if server.startswith(("http://", "https://")) else {"command": server}
    if not isinstance(server, dict):
        from gaia_mcp.testing import client_for

        return client_for(server, revision=revision)
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.entries import REVISION

    return MCPClient.from_config("mcp_server", {**server, REVISION: revision})
