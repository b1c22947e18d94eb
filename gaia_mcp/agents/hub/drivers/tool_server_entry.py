"""How agents start our own program: the stdio server of the registered tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gaia_mcp.agents.hub.drivers.base import ToolServer
from gaia_mcp.client.transports.stdio.processes import VARIABLE
from gaia_mcp.config.served import own_module

if TYPE_CHECKING:
    from pathlib import Path

# The loader's name for the server, which users do not type.
TARGET = "agents-tools"
# Excludes functions that a shell exported, which are not passed on.
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


def tool_server(file: Path, tools: Sequence[str], variables: Iterable[str]) -> ToolServer:
    """How agents start the server of the tools in `file`. It needs all our `variables`, since server entries refer to
    them, and the variable by which its process is found when a run ends, since some agents start it in a separate
    process group.
    """
    program, *words = own_module()
    arguments = [*words, "serve", TARGET, "--kwarg", f"file={file}"]
    names = sorted({VARIABLE, *(name for name in variables if re.fullmatch(_VARIABLE, name))})
    return ToolServer(program, arguments, names, list(tools))
