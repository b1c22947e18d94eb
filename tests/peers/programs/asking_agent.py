"""An agent that asks its client for everything that the specification has."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from gaia_mcp import Elicit, ListRoots, MCPAgent, current_call, tool


class Size(enum.Enum):
    """How large."""

    SMALL = "small"
    LARGE = "large"


@dataclass
class Order:
    """A form with each kind of field."""

    size: Size
    name: str = "Ada"
    count: int = 1
    gift: bool = False
    toppings: list[Literal["cheese", "ham"]] | None = None


class Asking(MCPAgent):
    """Each tool asks."""

    runs = 0

    @tool
    def order(self) -> str:
        """Ask for a form, then for a confirmation."""
        Asking.runs += 1
        call = current_call()
        number = call.once("number", lambda: Asking.runs)
        order = call.elicit("Which one?", Order)
        if order.action != "accept":
            return f"no order: {order.action}"
        sure = call.elicit("Sure?", {"type": "object", "properties": {"sure": {"type": "boolean"}}}, name="sure")
        value = order.value
        return f"{number} {value.size.name} {value.name} {value.count} {value.gift} {value.toppings} {sure.action}"

    @tool
    async def login(self) -> str:
        """Ask to open a URL."""
        answer = await current_call().elicit_url("Log in", "https://example.com/login?x=1")
        return answer.action

    @tool
    def think(self) -> str:
        """Ask the model."""
        return current_call().sample("Think.", max_tokens=5).text

    @tool
    def look(self) -> str:
        """Ask for the folders and for a name at once."""
        name = Elicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})
        roots, who = current_call().ask_all(ListRoots(), name)
        return f"{roots[0].uri} {who.value['name']}"
