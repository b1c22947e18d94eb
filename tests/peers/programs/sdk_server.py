"""A server written with the official Python SDK, 2.x."""

from __future__ import annotations

import asyncio
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # noqa: TC002 (read at run time)
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp_types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

app = MCPServer("sdk", version="1.2.3", instructions="Just try.")


class Weather(BaseModel):
    """What the weather is."""

    city: str
    degrees: float


class Answer(BaseModel):
    """What the person says."""

    colour: str


def ask(question: str) -> Elicit[Answer]:
    """Ask the person."""
    return Elicit(question, Answer)


def think() -> Sample:
    """Ask a model."""
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="think"))], max_tokens=10)


@app.tool()
def greet(name: str, style: str = "plain") -> str:
    """Say hello."""
    return f"Hello, {name}!"


@app.tool()
def weather(city: str) -> Weather:
    """Structured output."""
    return Weather(city=city, degrees=4.5)


@app.tool()
async def work(context: Context, steps: int = 3) -> str:
    """Report progress."""
    for done in range(1, steps + 1):
        await context.report_progress(done, steps, f"step {done}")
    return "worked"


@app.tool()
async def sleep() -> str:
    """Take for ever."""
    await asyncio.sleep(3600)
    return "awake"


@app.tool()
def favourite(question: str, answer: Annotated[Answer, Resolve(ask)]) -> str:
    """Ask the person first."""
    return f"it is {answer.colour}"


@app.tool()
def dream(thought: Annotated[CreateMessageResult, Resolve(think)]) -> str:
    """Ask a model first."""
    return str(thought)


@app.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("it went wrong")


@app.prompt()
def review(language: str) -> str:
    """Review code."""
    return f"Review this {language}."


@app.resource("sdk://about")
def about() -> str:
    """What this is."""
    return "a server"


if __name__ == "__main__":
    app.run()
