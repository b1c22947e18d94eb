"""The module of `MCPClientManager` under its path in GAIA: programs import it from here, and their tests patch names in
it. It is an alias of that module, which belongs to a package above this one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.contrib.gaia.client_manager import MCPClientManager as MCPClientManager

sys.modules[__name__] = import_module("gaia_mcp.contrib.gaia.client_manager")
