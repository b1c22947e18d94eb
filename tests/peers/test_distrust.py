"""What `test-client` warns about, with servers that others wrote and that mean well."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.checks.poisoning import names_checked, texts_checked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.client import MCPClient


@pytest.mark.parametrize("server", ["everything", "filesystem", "memory", "mcp_server_time", "mcp_server_git"])
def test_honest_servers_cause_no_warning(
    npm_servers: dict[str, list[str]], connect: Callable[..., MCPClient], tmp_path: Path, server: str
) -> None:
    """Ours: wrong warnings teach people to ignore all of them."""
    command = npm_servers.get(server, [sys.executable, "-m", server])
    folders = [tmp_path] if server == "filesystem" else []

    tools = connect(*command, *folders).fetch_tools()

    assert tools
    assert texts_checked(tools) == ("ok", "nothing suspicious")
    assert names_checked(server, tools, {}) == ("ok", "as recommended")
