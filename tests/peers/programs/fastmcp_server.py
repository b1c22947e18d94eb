"""Servers of FastMCP, each of a kind and at a port: `fastmcp_server.py {sessions|stateless|json|sse|oauth}=PORT...`."""

import asyncio
import sys

from fastmcp import Context, FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

OPTIONS = {"stateless": {"stateless_http": True}, "json": {"json_response": True}, "sse": {"transport": "sse"}}
ports = {kind: int(port) for kind, port in (word.split("=") for word in sys.argv[1:])}
server = FastMCP("peer", version="1.2.3", instructions="Add numbers.")
protected = FastMCP(
    "protected",
    auth=InMemoryOAuthProvider(
        base_url=f"http://127.0.0.1:{ports['oauth']}",
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["files"]),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["files"],
    ),
)


@protected.tool
@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def fail() -> str:
    """Fail."""
    raise ValueError("as it should")


@server.tool
async def count(ctx: Context, steps: int) -> str:
    """Report each step, and log it."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await ctx.info(f"at {step + 1}")
        await asyncio.sleep(0.01)
    return "counted"


@server.tool
async def wait(ctx: Context) -> str:
    """Take a minute."""
    await asyncio.sleep(60)
    return "waited"


@server.tool
async def ask(ctx: Context) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("Your name?", response_type=str)
    return f"Hello, {answer.data}!" if answer.action == "accept" else answer.action


@server.tool
async def session(ctx: Context) -> str:
    """The session of the request."""
    return ctx.session_id


@server.resource("data://text", mime_type="text/plain")
def text() -> str:
    """A text."""
    return "Some text."


@server.resource("data://{name}/text")
def text_of(name: str) -> str:
    """A text of one of many."""
    return f"Some text of {name}."


@server.prompt
def greet(name: str) -> str:
    """Greet a person."""
    return f"Greet {name}."


async def run() -> None:
    """Serve all of them."""
    quiet = {"host": "127.0.0.1", "show_banner": False, "log_level": "error"}
    await asyncio.gather(
        *(
            (protected if kind == "oauth" else server).run_http_async(port=port, **quiet, **OPTIONS.get(kind, {}))
            for kind, port in ports.items()
        )
    )


asyncio.run(run())
