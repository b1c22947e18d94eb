"""A server behind a gateway, of the handshake era and over HTTP, in the process of its test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import jsonrpc
from tests.client.transports.http.web import Answer, Asked, as_events, as_json, error, event, handshake, result, serving
from tests.fleet.gateway.shelf import tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.client.transports.http.web import Web

Wire = dict[str, Any]

LISTED = {"listChanged": True}
CAPABILITIES: Wire = {"tools": LISTED, "prompts": LISTED, "resources": {**LISTED, "subscribe": True}}


class Offering:
    """Has these tools, and what is in its fields. `answers` are those to other methods, and come first."""

    web: Web

    def __init__(self, *tools: str) -> None:
        self.tools = [tool(name) for name in tools]
        self.prompts: list[Wire] = []
        self.resources: list[Wire] = []
        # The resources that may be subscribed to.
        self.accepted: set[str] = set()
        # Sent before the result of each call of a tool.
        self.notifications: list[Wire] = []
        self.answers: dict[str, Callable[[Asked], Answer]] = {}

    @property
    def entry(self) -> Wire:
        """The entry of this server."""
        return {"url": self.web.url}

    def answer(self, asked: Asked) -> Answer:
        """The response to a request."""
        method, params = asked.message.get("method", asked.method), asked.message.get("params", {})
        if (own := self.answers.get(method)) is not None:
            return own(asked)
        if method == "initialize":
            info = {"name": "offering", "version": "1"}
            about = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info}
            return as_json(jsonrpc.result(asked.message["id"], about), **{"Mcp-Session-Id": "s"})
        if method == "resources/subscribe" and params["uri"] not in self.accepted:
            return error(asked, jsonrpc.INVALID_PARAMS, "no such resource", status=200)
        if method == "tools/call":
            value = {"content": [{"type": "text", "text": params["name"]}]}
            return as_events(*map(event, [*self.notifications, jsonrpc.result(asked.message["id"], value)]))
        lists = {
            "tools/list": {"tools": self.tools},
            "prompts/list": {"prompts": self.prompts},
            "resources/list": {"resources": self.resources},
            "resources/templates/list": {"resourceTemplates": []},
        }
        return handshake(lambda asked: result(asked, **lists.get(method, {})))(asked)


@contextmanager
def offering(*tools: str) -> Iterator[Offering]:
    """A server with these tools."""
    made = Offering(*tools)
    with serving(made.answer) as made.web:
        yield made
