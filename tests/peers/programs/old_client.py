"""A client written with the official Python SDK, 1.9.4: uses the server of its arguments, and prints the results."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    command, *arguments = sys.argv[1:]
    seen: dict = {}
    async with (
        stdio_client(StdioServerParameters(command=command, args=arguments)) as (read, write),
        ClientSession(read, write) as session,
    ):
        began = await session.initialize()
        seen["version"] = began.protocolVersion
        seen["server"] = began.serverInfo.name
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        result = await session.call_tool("greet", {"name": "Ada"})
        seen["greet"] = [result.isError, result.content[0].text]
        result = await session.call_tool("greet", {"nme": "Ada"})
        seen["invalid"] = [result.isError, result.content[0].text]
        seen["attach"] = [block.type for block in (await session.call_tool("attach", {})).content]
        seen["fail"] = (await session.call_tool("fail", {})).isError
        try:
            await session.call_tool("nope", {})
        except Exception as error:
            seen["unknown"] = str(error)
        seen["prompt"] = (await session.get_prompt("introduce", {"name": "Ada"})).messages[0].content.text
        seen["resources"] = [str(resource.uri) for resource in (await session.list_resources()).resources]
        seen["about"] = (await session.read_resource("demo://about")).contents[0].text
        await session.send_ping()
    print(json.dumps(seen))


asyncio.run(main())
