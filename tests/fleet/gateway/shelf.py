"""An agent whose tools change, and what its provider answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp import MCPAgent
from gaia_mcp.asking import Call
from gaia_mcp.fleet.gateway.naming import Owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.server.provider import Provider

Wire = dict[str, Any]


def tool(name: str, description: str = "", **members: Any) -> Wire:
    """The definition of a tool; its annotations are `annotations`."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **members}


def reader(name: str, description: str = "") -> Wire:
    """The definition of a tool that claims to only read."""
    return tool(name, description, annotations={"readOnlyHint": True})


class Shelf(MCPAgent):
    """Has these tools; `run` is what each of them does."""

    def __init__(self, *tools: Wire | str) -> None:
        self.tools = [tool(each) if isinstance(each, str) else each for each in tools]
        self.ran: list[str] = []
        self.run: Callable[[Wire], Any] = lambda arguments: arguments

    def put(self, *tools: Wire) -> None:
        """Have these tools now, and announce it."""
        self.tools = list(tools)
        self.tools_changed()

    def get_mcp_tool_definitions(self) -> list[Wire]:
        return self.tools

    def execute_mcp_tool(self, tool_name: str, arguments: Wire) -> Any:
        self.ran.append(tool_name)
        return self.run(arguments)

    def get_mcp_resources(self) -> list[Wire]:
        return [{"uri": "shelf://all", "text": "all"}]


def owners(name: str) -> Owner:
    """The owner of a tool whose name may begin with that of its server: `two__add`."""
    server, _, own = name.rpartition("__")
    return Owner(server or "one", own)


def answer(provider: Provider, method: str, **params: Any) -> Wire:
    """What a provider answers to a client that is not there."""
    return provider.answer(method, params, Call())


def names(provider: Provider) -> list[str]:
    """The names of the tools on the first page."""
    return [each["name"] for each in answer(provider, "tools/list")["tools"]]


def text_of(result: Wire) -> str:
    """The text of a tool's result."""
    return "".join(block["text"] for block in result["content"])
