"""A client written with FastMCP, 4.x."""

from __future__ import annotations

import logging
import warnings
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import types
from mcp.client.subscriptions import listen
from player import MESSAGE, Player, Stage, main, wire

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class FastMCP(Player):
    """Everything by the methods of FastMCP's `Client` that return what was on the wire."""

    async def server(self) -> Any:
        """How the server has described itself."""
        info, capabilities = wire(self.client.server_info), wire(self.client.server_capabilities)
        return {"version": self.client.protocol_version, "serverInfo": info, "capabilities": capabilities}

    async def list(self, kind: str) -> Any:
        name = "resource_templates" if kind == "templates" else kind
        return await getattr(self.client, f"list_{name}_mcp")()

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, log_level: Any = None) -> Any:
        meta = {LOG_LEVEL: log_level} if log_level and self.era == "stateless" else None
        if log_level and meta is None:
            await self.client.set_logging_level(log_level)
        return await self.client.call_tool_mcp(tool, arguments or {}, progress_handler=self.progress, meta=meta)

    async def send_round(self, **params: Any) -> Any:
        return await self.client.session.call_tool(**params, allow_input_required=True)

    async def ping(self) -> Any:
        return {} if await self.client.ping() else None

    async def watch(self, uri: str) -> Any:
        # FastMCP has no method for either, and offers the session of the official SDK.
        session = self.client.session
        if self.era == "handshake":
            return await session.subscribe_resource(uri)
        lists = {"tools_list_changed": True, "prompts_list_changed": True}
        self.subscription = listen(session, **lists, resource_subscriptions=[uri])
        return (await self.subscription.__aenter__()).honored

    async def unwatch(self, uri: str) -> Any:
        if self.era == "handshake":
            return await self.client.session.unsubscribe_resource(uri)
        return await self.subscription.__aexit__(None, None, None)

    async def prompt(self, name: str, arguments: dict[str, str] | None = None) -> Any:
        return await self.client.get_prompt_mcp(name, arguments)

    async def read(self, uri: str) -> Any:
        return await self.client.read_resource_mcp(uri)

    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> Any:
        kind: Any = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await self.client.complete_mcp(kind(**ref), argument)


def handlers(stage: Stage) -> dict[str, Any]:
    """What answers the server, by the names that FastMCP's handlers have."""

    async def elicit(_: str, __: Any, params: Any, ___: Any) -> Any:
        return ElicitResult(**stage.answer("elicitation/create", wire(params)))

    async def sample(_: Any, params: Any, __: Any) -> Any:
        stage.answer("sampling/createMessage", wire(params))
        return MESSAGE["content"]["text"]  # type: ignore[index]

    async def roots(_: Any) -> Any:
        return [types.Root.model_validate(root) for root in stage.answer("roots/list", None)["roots"]]

    return {"elicitation_handler": elicit, "sampling_handler": sample, "roots": roots}


@asynccontextmanager
async def connect(script: dict[str, Any], stage: Stage) -> Any:
    """The connected client."""

    transport: Any
    if "url" in script:
        transport = StreamableHttpTransport(script["url"])
    else:
        program, *arguments = script["command"]
        transport = StdioTransport(program, arguments, env=script["env"], keep_alive=False)
    mode = "auto" if script["era"] == "stateless" else "legacy"
    answers = handlers(stage) if script["capable"] else {}
    async with Client(transport, mode=mode, log_handler=stage.log, message_handler=stage.notified, **answers) as client:
        yield FastMCP(client, stage, script["era"])


if __name__ == "__main__":
    main(connect)
