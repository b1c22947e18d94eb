"""A client written with the official Python SDK, 2.x."""

from __future__ import annotations

import warnings
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters, types
from mcp.client.subscriptions import listen
from player import Player, Stage, callbacks, main, wire

# Of what the handshake era alone has.
warnings.simplefilter("ignore")

LISTS = {"tools": "list_tools", "prompts": "list_prompts", "resources": "list_resources"}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class Python2(Player):
    """Everything by the methods of `Client`."""

    async def server(self) -> Any:
        """How the server has described itself."""
        info, capabilities = wire(self.client.server_info), wire(self.client.server_capabilities)
        return {"version": self.client.protocol_version, "serverInfo": info, "capabilities": capabilities}

    async def list(self, kind: str) -> Any:
        if kind == "templates":
            return await self.client.list_resource_templates()
        return await getattr(self.client, LISTS[kind])()

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, log_level: str | None = None) -> Any:
        meta = {LOG_LEVEL: log_level} if log_level and self.era == "stateless" else None
        if log_level and meta is None:
            await self.client.set_logging_level(log_level)
        return await self.client.call_tool(tool, arguments or {}, progress_callback=self.progress, meta=meta)

    async def send_round(self, **params: Any) -> Any:
        return await self.client.session.call_tool(**params, allow_input_required=True)

    async def watch(self, uri: str) -> Any:
        if self.era == "handshake":
            return await self.client.subscribe_resource(uri)
        lists = {"tools_list_changed": True, "prompts_list_changed": True}
        self.subscription = listen(self.client.session, **lists, resource_subscriptions=[uri])
        return (await self.subscription.__aenter__()).honored

    async def unwatch(self, uri: str) -> Any:
        if self.era == "handshake":
            return await self.client.unsubscribe_resource(uri)
        return await self.subscription.__aexit__(None, None, None)

    async def prompt(self, name: str, arguments: dict[str, str] | None = None) -> Any:
        return await self.client.get_prompt(name, arguments)

    async def read(self, uri: str) -> Any:
        return await self.client.read_resource(uri)

    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> Any:
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await self.client.complete(kind(**ref), argument)


@asynccontextmanager
async def connect(script: dict[str, Any], stage: Stage) -> Any:
    """The connected client."""

    server: Any = script.get("url")
    if server is None:
        program, *arguments = script["command"]
        server = StdioServerParameters(command=program, args=arguments, env=script["env"])
    mode = "auto" if script["era"] == "stateless" else "legacy"
    answers = callbacks(stage, types) if script["capable"] else {}
    async with Client(
        server, mode=mode, logging_callback=stage.log, message_handler=stage.notified, **answers
    ) as client:
        yield Python2(client, stage, script["era"])


if __name__ == "__main__":
    main(connect)
