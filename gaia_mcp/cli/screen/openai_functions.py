"""The tools of servers as functions of a language model's API."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import print_json, remark
from gaia_mcp.safetext import one_line
from gaia_mcp.toolspec.repair import FunctionNames, openai_function

if TYPE_CHECKING:
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.session.parallel import Result

# The limit for a remark about one schema.
REMARK_CHARS = 300


def _remark(owner: str, problem: str) -> None:
    remark(one_line(f"{owner}: {problem}", REMARK_CHARS))


class Functions:
    """The functions of several servers, printed together once all are known, because their names must be unique."""

    def __init__(self) -> None:
        self._tools: list[tuple[str, MCPTool]] = []

    def add(self, result: Result) -> None:
        """Add the tools of a server."""
        self._tools += [(result.entry.name, tool) for tool in result.value.items]

    def print(self, *, with_names: bool) -> None:
        """Print the `tools` of a chat completion as JSON; `with_names`, an object with these and, for each function,
        its server and its tool.

        A function is named after its tool, or SERVER_TOOL if several servers have a tool of that name.
        """
        counts = Counter(tool.name for _, tool in self._tools)
        names = FunctionNames()
        wanted = {
            (server, tool.name): tool.name if counts[tool.name] == 1 else f"{server}_{tool.name}"
            for server, tool in self._tools
        }
        names.add((f"{server}.{tool}", name) for (server, tool), name in wanted.items())
        functions: list[dict[str, Any]] = []
        origins = {}
        for server, tool in self._tools:
            name = names.function_of(f"{server}.{tool.name}")
            owner = f"tool {tool.name!r} of {server!r}"
            functions.append(openai_function(name, tool.description, tool.input_schema, partial(_remark, owner)))
            origins[name] = {"server": server, "tool": tool.name}
        print_json({"tools": functions, "names": origins} if with_names else functions)
