"""A server written with the official Python SDK, 2.x, that offers everything beside tools, in both eras."""

from __future__ import annotations

import os
import warnings
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # noqa: TC002 (read at run time)
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CreateMessageResult,
    EmptyResult,
    ListRootsResult,
    ResourceTemplateReference,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

# The SDK calls sampling, roots and logging deprecated, as the specification does.
warnings.simplefilter("ignore")

app = MCPServer("offering", version="3.1", instructions="Read before you ask.")
# Who was subscribed to in the handshake era: the SDK keeps that for 2026-07-28 only.
subscribed: set[str] = set()
LANGUAGES = ["perl", "php", "prolog", "python"]


class Answer(BaseModel):
    """What the person says."""

    colour: str


def ask(question: str) -> Elicit[Answer]:
    """Ask the person."""
    return Elicit(question, Answer)


def think() -> Sample:
    """Ask a model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Think of a word."))
    return Sample([message], max_tokens=10, system_prompt="Be brief.")


def look() -> ListRoots:
    """Ask for the folders."""
    return ListRoots()


@app.tool()
def dream(thought: Annotated[CreateMessageResult, Resolve(think)]) -> str:
    """Ask a model first."""
    assert isinstance(thought.content, TextContent)
    return f"{thought.model} says {thought.content.text}"


@app.tool()
def folders(found: Annotated[ListRootsResult, Resolve(look)]) -> str:
    """Ask for the folders first."""
    return " ".join(str(root.uri) for root in found.roots)


@app.tool()
def favourite(question: str, answer: Annotated[Answer, Resolve(ask)]) -> str:
    """Ask the person first."""
    return f"it is {answer.colour}"


@app.tool()
async def touch(uri: str, context: Context) -> str:
    """Change a resource."""
    await context.notify_resource_updated(uri)
    if uri in subscribed:
        await context.session.send_resource_updated(uri)
    return "touched"


@app.tool()
async def grow(context: Context) -> str:
    """Have another prompt from now on."""
    app.prompt(name=f"more {len(await app.list_prompts())}")(lambda: "more")
    await context.notify_prompts_changed()
    await context.session.send_prompt_list_changed()
    return "grown"


@app.tool()
async def say(level: str, text: str, context: Context) -> str:
    """Write to the log."""
    await context.log(level, text, logger_name="offering")  # type: ignore[arg-type]
    return "said"


@app.tool()
def die() -> None:
    """End at once."""
    os._exit(3)


@app.prompt(title="Review")
def review(language: str, style: str = "short") -> str:
    """Review code."""
    return f"Review this {language}, {style}."


@app.resource("offering://text", mime_type="text/plain")
def text() -> str:
    """A text."""
    return "grüße"


@app.resource("offering://bytes", mime_type="application/octet-stream")
def blob() -> bytes:
    """Some bytes."""
    return b"\x00\x01\xff"


@app.resource("offering://by-name/{name}")
def by_name(name: str) -> str:
    """One for each name."""
    return f"this is {name}"


@app.completion()
async def complete(reference: Any, argument: Any, context: Any) -> Completion | None:
    """Complete a language, or what is known already."""
    if isinstance(reference, ResourceTemplateReference):
        return Completion(values=[f"{argument.value}-1"])
    if argument.name == "style":
        known = (context.arguments or {}) if context else {}
        return Completion(values=[f"as {known['language']} is"] if "language" in known else [])
    found = [language for language in LANGUAGES if language.startswith(argument.value)]
    return Completion(values=found[:2], total=len(found), has_more=len(found) > 2)


async def subscribe(_context: Any, params: SubscribeRequestParams) -> EmptyResult:
    subscribed.add(str(params.uri))
    return EmptyResult()


async def unsubscribe(_context: Any, params: UnsubscribeRequestParams) -> EmptyResult:
    subscribed.discard(str(params.uri))
    return EmptyResult()


async def set_level(_context: Any, _params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


# `MCPServer` has no decorators for what only the handshake era knows.
below = app._lowlevel_server
below.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
below.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
below.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)

if __name__ == "__main__":
    app.run()
