"""Our own program, as agents start it: the stdio server of the registered tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gaia_mcp.agents.hub.drivers.base import ToolServer
from gaia_mcp.client.transports.stdio.marks import VARIABLE
from gaia_mcp.config.served import own_module

if TYPE_CHECKING:
    from pathlib import Path

# The name under which the loader knows the server. It is not for people to type.
TARGET = "agents-tools"
# A function that a shell has exported is not a variable to pass on.
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


def tool_server(file: Path, tools: Sequence[str], variables: Iterable[str]) -> ToolServer:
    """How agents start the server of the tools in `file`. It needs all our `variables`: the entries of servers refer to
    them. And it needs the one by which it is found when a run is ended, since some put it into a group of its own.
    """
    program, *words = own_module()
    arguments = [*words, "serve", TARGET, "--kwarg", f"file={file}"]
    names = sorted({VARIABLE, *(name for name in variables if re.fullmatch(_VARIABLE, name))})
    return ToolServer(program, arguments, names, list(tools))
