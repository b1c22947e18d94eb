"""What an agent of ours announces, heard by the official SDK, and by our client."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged

from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gaia_mcp.client import MCPClient

CHANGING = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", f"{PROGRAMS / 'changing_agent.py'}:Changing"]
TODAY, TOMORROW, NOWHERE = "board://today", "board://tomorrow", "nowhere://at/all"
LISTS = {"tools", "prompts", "resources"}
# A flood of so many changes from each of four threads, and of how few notifications at most a client hears then.
TIMES, FEW = 5000, 2000

pytestmark = [pytest.mark.peer]


def _with_sdk(use: Callable[[Client], Awaitable[None]], mark: dict[str, str], **options: Any) -> None:
    program, *arguments = CHANGING

    async def run() -> None:
        server = StdioServerParameters(command=program, args=arguments, env=mark)
        async with asyncio.timeout(TIMEOUT_SECONDS), Client(server, **options) as client:
            await use(client)

    asyncio.run(run())


def test_the_sdk_listens_in_the_stateless_era(mark: dict[str, str]) -> None:
    """Spec, MS-13: what was opted into, to each subscription; a URI that is not there may be subscribed to."""

    async def use(client: Client) -> None:
        async with (
            client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=[TODAY, NOWHERE],
            ) as everything,
            client.listen(resource_subscriptions=[TOMORROW]) as tomorrow,
        ):
            honoured = everything.honored.model_dump(by_alias=True, exclude_none=True)
            assert honoured.pop("resourceSubscriptions") == [TODAY, NOWHERE]
            assert honoured == dict.fromkeys((f"{kind}ListChanged" for kind in LISTS), True)
            await client.call_tool("add", {"name": "more"})
            assert [type(await anext(everything)) for _ in LISTS] == [
                ToolsListChanged,
                PromptsListChanged,
                ResourcesListChanged,
            ]
            assert "more" in [tool.name for tool in (await client.list_tools()).tools]
            await client.call_tool("write", {"text": "milk"})
            assert await anext(everything) == ResourceUpdated(uri=TODAY)
            await client.call_tool("write", {"text": "bread", "uri": TOMORROW})
            assert await anext(tomorrow) == ResourceUpdated(uri=TOMORROW)
            await client.call_tool("write", {"text": "?", "uri": NOWHERE})
            assert await anext(everything) == ResourceUpdated(uri=NOWHERE)

    _with_sdk(use, mark)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_the_sdk_subscribes_in_the_handshake_era(mark: dict[str, str]) -> None:
    """Spec 2025-11-25: lists unasked, resources between `resources/subscribe` and `resources/unsubscribe`."""
    heard: list[tuple[str, str]] = []

    async def hear(message: Any) -> None:
        heard.append((message.method, getattr(message.params, "uri", "")))

    async def until(*expected: tuple[str, str]) -> None:
        while not set(expected) <= set(heard):
            await asyncio.sleep(0.01)

    async def use(client: Client) -> None:
        assert client.server_capabilities is not None
        resources = client.server_capabilities.resources
        assert resources is not None
        assert (resources.subscribe, resources.list_changed) == (True, True)
        await client.session.subscribe_resource(TODAY)
        await client.session.subscribe_resource(TOMORROW)
        await client.session.unsubscribe_resource(TODAY)
        await client.call_tool("write", {"text": "milk"})
        await client.call_tool("write", {"text": "bread", "uri": TOMORROW})
        await client.call_tool("add", {"name": "more"})
        updated = ("notifications/resources/updated", TOMORROW)
        await until(updated, *((f"notifications/{kind}/list_changed", "") for kind in LISTS))
        assert ("notifications/resources/updated", TODAY) not in heard

    _with_sdk(use, mark, mode="legacy", message_handler=hear)


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_many_changes_are_few_notifications_to_our_client(connect: Callable[..., MCPClient], revision: str) -> None:
    """Ours: by the same callbacks in both eras; many changes at once are a few notifications, also after the last. A
    subscription ends with the connection, if it was closed.
    """
    lists: list[str] = []
    resources: list[str] = []
    client = connect(*CHANGING, protocolVersion=revision)
    client.on_list_changed, client.on_resource_updated = lists.append, resources.append
    client.list_tools()
    client.subscribe_resource(TODAY)

    client.call_tool("write", {"text": "bread", "uri": TOMORROW})
    client.call_tool("write", {"text": "milk"})
    client.call_tool("add", {"name": "more"})
    wait_until(lambda: set(lists) == LISTS and resources == [TODAY])
    assert "more" in [tool.name for tool in client.list_tools()]

    result = client.call_tool("flood", {"times": TIMES})
    assert not result["isError"], result
    before = len(lists) + len(resources)
    assert 2 <= before <= FEW
    client.unsubscribe_resource(TODAY)
    before = len(resources)
    client.call_tool("write", {"text": "butter"})
    client.call_tool("add", {"name": "last"})
    wait_until(lambda: lists[-1] == "resources")
    assert len(resources) == before

    client.subscribe_resource(TODAY)
    client.disconnect()
    client.open()
    client.call_tool("write", {"text": "milk"})
    client.check_alive()
    assert len(resources) == before
