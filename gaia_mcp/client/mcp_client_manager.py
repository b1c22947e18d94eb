"""The module of `MCPClientManager` under its path in GAIA: programs import it from here, and their tests replace names
in it. It is that very module, which is above this package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.manager.client_manager import MCPClientManager as MCPClientManager

sys.modules[__name__] = import_module("gaia_mcp.manager.client_manager")
