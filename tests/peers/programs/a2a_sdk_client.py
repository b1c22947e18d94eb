"""The client of the official A2A SDK, for the agent whose origin is the first argument: what becomes of each thing that
it can do, as one line of JSON. The second argument is a task of the agent that runs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable
from typing import Any

import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client_factory import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as types
from google.protobuf.json_format import ParseDict

# One answer, on a busy machine.
TIMEOUT_SECONDS = 60
HELLO = {"role": "ROLE_USER", "messageId": "1", "parts": [{"data": {"tool_name": "greet"}}]}


async def tried(done: Awaitable[Any]) -> str:
    """ "done", or the name of the exception that it ends with."""
    try:
        await done
    except Exception as error:
        return type(error).__name__
    return "done"


async def main() -> None:
    origin, task = sys.argv[1:]
    found: dict[str, Any] = {}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as connections:
        found["the card where it looks"] = await tried(A2ACardResolver(connections, origin).get_agent_card())
        card = await A2ACardResolver(connections, origin, "/agent-card.json").get_agent_card()
        found["the card at our URL"] = [card.name, *(interface.url for interface in card.supported_interfaces)]
        for version in ("0.3.0", "1.0"):
            card.supported_interfaces[0].protocol_version = version
            client = ClientFactory(ClientConfig(httpx_client=connections, streaming=False)).create(card)
            message = ParseDict(HELLO, types.Message())

            async def send(client: Any = client, message: Any = message) -> None:
                async for _ in client.send_message(types.SendMessageRequest(message=message)):
                    pass

            found[version] = {
                "send": await tried(send()),
                "get": await tried(client.get_task(types.GetTaskRequest(id=task))),
                "get of nothing": await tried(client.get_task(types.GetTaskRequest(id="nothing"))),
                "cancel of nothing": await tried(client.cancel_task(types.CancelTaskRequest(id="nothing"))),
                "cancel": await tried(client.cancel_task(types.CancelTaskRequest(id=task))),
            }
    print(json.dumps(found))


asyncio.run(main())
