"""A client written with the official Python SDK, 1.x, which knows the handshake era alone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from player import Player, Stage, callbacks, main, wire

if TYPE_CHECKING:
    import asyncio

LISTS = {"tools": "list_tools", "prompts": "list_prompts", "resources": "list_resources"}


class Python1(Player):
    """Everything by the methods of `ClientSession`."""

    began: Any

    async def server(self) -> Any:
        """How the server has described itself."""
        began = wire(self.began)
        return {"version": began["protocolVersion"], **{key: began[key] for key in ("serverInfo", "capabilities")}}

    async def list(self, kind: str) -> Any:
        return await getattr(self.client, LISTS.get(kind, "list_resource_templates"))()

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, log_level: Any = None) -> Any:
        if log_level:
            await self.client.set_logging_level(log_level)
        return await self.client.call_tool(tool, arguments or {}, progress_callback=self.progress)

    async def end(self, running: asyncio.Task[Any]) -> None:
        # This SDK sends nothing when its caller is cancelled.
        params = types.CancelledNotificationParams(requestId=self.client._request_id - 1)
        notification = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.client.send_notification(types.ClientNotification(notification))
        await super().end(running)

    async def watch(self, uri: Any) -> Any:
        return await self.client.subscribe_resource(uri)

    async def unwatch(self, uri: Any) -> Any:
        return await self.client.unsubscribe_resource(uri)

    async def prompt(self, name: str, arguments: dict[str, str] | None = None) -> Any:
        return await self.client.get_prompt(name, arguments)

    async def read(self, uri: Any) -> Any:
        return await self.client.read_resource(uri)

    async def complete(self, ref: dict[str, str], argument: dict[str, str]) -> Any:
        kind: Any = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await self.client.complete(kind(**ref), argument)


def transport(script: dict[str, Any]) -> Any:
    """The streams to the server and from it."""
    if "url" in script:
        return streamablehttp_client(script["url"])
    program, *arguments = script["command"]
    return stdio_client(StdioServerParameters(command=program, args=arguments, env=script["env"]))


@asynccontextmanager
async def connect(script: dict[str, Any], stage: Stage) -> Any:
    """The connected client."""

    answers = callbacks(stage, types) if script["capable"] else {}
    async with (
        transport(script) as (read, write, *_),
        ClientSession(read, write, logging_callback=stage.log, message_handler=stage.notified, **answers) as session,
    ):
        player = Python1(session, stage, script["era"])
        player.began = await session.initialize()
        yield player


if __name__ == "__main__":
    main(connect)
