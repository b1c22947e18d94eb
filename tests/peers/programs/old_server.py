"""A server written with the official Python SDK, 1.9.4."""

from mcp.server.fastmcp import Context, FastMCP

app = FastMCP("old")


@app.tool()
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}!"


@app.tool()
async def work(context: Context, steps: int = 3) -> str:
    """Report progress."""
    for done in range(1, steps + 1):
        await context.report_progress(done, steps)
    return "worked"


@app.tool()
async def sample(context: Context) -> str:
    """Ask the client for a model's words."""
    from mcp.types import SamplingMessage, TextContent

    message = SamplingMessage(role="user", content=TextContent(type="text", text="think"))
    return str(await context.session.create_message([message], max_tokens=10))


@app.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("it went wrong")


if __name__ == "__main__":
    app.run()
