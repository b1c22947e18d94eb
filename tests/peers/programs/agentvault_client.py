"""Clients of AgentVault's own library: they do what lines of JSON on stdin ask for, all at once, and what came of each
is written to stdout. The first line for a client has it meet its agent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import httpx
from agentvault.client import AgentVaultClient
from agentvault.exceptions import AgentVaultError
from agentvault.key_manager import KeyManager
from agentvault.models import AgentCard, DataPart, Message, TextPart

# One answer, on a busy machine.
TIMEOUT_SECONDS = 120


class Driven:
    """What can be asked for, each by the name of its method."""

    def __init__(self, connections: httpx.AsyncClient) -> None:
        self.connections = connections
        self.client = AgentVaultClient(connections)

    async def meet(self, card: str, environ: dict[str, str]) -> None:
        """The agent whose card is at this URL, with the keys of these variables."""
        self.card = AgentCard.model_validate((await self.connections.get(card)).json())
        os.environ |= environ
        self.keys = KeyManager()
        for name in environ:
            del os.environ[name]

    async def begin(self, content: Any = None, context: Any = None, webhook: str | None = None) -> Any:
        part = TextPart(content="no data") if content is None else DataPart(content=content)
        message = Message(role="user", parts=[part])
        return await self.client.initiate_task(self.card, message, self.keys, mcp_context=context, webhook_url=webhook)

    async def go_on(self, task: str) -> Any:
        message = Message(role="user", parts=[TextPart(content="more")])
        return await self.client.send_message(self.card, task, message, self.keys)

    async def follow(self, task: str) -> Any:
        followed = self.client.receive_messages(self.card, task, self.keys)
        return [event.model_dump(mode="json", by_alias=True) async for event in followed]

    async def status(self, task: str) -> Any:
        found = await self.client.get_task_status(self.card, task, self.keys)
        return found.model_dump(mode="json", by_alias=True)

    async def terminate(self, task: str) -> Any:
        return await self.client.terminate_task(self.card, task, self.keys)

    async def run(self, content: Any = None) -> Any:
        """All that becomes of a message, to one who subscribes at once, and the task in the end."""
        task = await self.begin(content)
        return {"id": task, "events": await self.follow(task), "task": await self.status(task)}

    async def run_many(self, contents: list[Any]) -> Any:
        """The same of many at once; and what each one who subscribes after all of them have ended receives."""
        ran = await asyncio.gather(*(self.run(content) for content in contents))
        late = await asyncio.gather(*(self.follow(one["id"]) for one in ran))
        return [{**one, "late": events} for one, events in zip(ran, late, strict=True)]


async def answer(driven: Driven, asked: dict[str, Any]) -> None:
    try:
        answered = {"result": await getattr(driven, asked["do"])(**asked["with"])}
    except AgentVaultError as error:
        answered = {"error": type(error).__name__, "status": getattr(error, "status_code", None), "text": str(error)}
    print(json.dumps({"number": asked["number"], **answered}), flush=True)


async def main() -> None:
    unlimited = httpx.Limits(max_connections=None)
    clients: dict[int, Driven] = {}
    async with (
        httpx.AsyncClient(timeout=TIMEOUT_SECONDS, http2=True, limits=unlimited) as connections,
        asyncio.TaskGroup() as answers,
    ):
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            driven = clients.setdefault(asked["client"], Driven(connections))
            answers.create_task(answer(driven, asked))


asyncio.run(main())
