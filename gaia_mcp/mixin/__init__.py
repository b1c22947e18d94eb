"""The module of `MCPClientMixin` under its path in GAIA: an alias, as `client.mcp_client_manager` is."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.client.config import MCPConfig as MCPConfig
    from gaia_mcp.contrib.gaia.client_manager import MCPClientManager as MCPClientManager
    from gaia_mcp.contrib.gaia.mixin import MCPClientMixin as MCPClientMixin

sys.modules[__name__] = import_module("gaia_mcp.contrib.gaia.mixin")
