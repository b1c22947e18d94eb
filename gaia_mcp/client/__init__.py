"""The client library: one server at a time, over a transport.

    >>> from gaia_mcp import MCPClient
    >>> DEMO = {"command": "gaia", "args": ["mcp", "serve", "demo"]}
    >>> with MCPClient.from_config("demo", DEMO) as client:
    ...     print(client.protocol_version, [tool.name for tool in client.list_tools()][:2])
    ...     print(client.call_tool("greet", {"name": "Ada"})["content"][0]["text"])
    2026-07-28 ['greet', 'add']
    Hello, Ada!

A client blocks, may be used from several threads at once, and restarts a server that has exited. It never sends a tool
call twice: if time runs out, the server exits or its response is invalid after the call was sent, the error is also an
`OutcomeUnknownError`, since the tool may have run.

`connect`, `list_tools` and `call_tool` report failures as GAIA's documents promise: by False, an empty list or the key
`error`. Every other method raises an exception of `gaia_mcp.core.errors`.

Prompts, resources, progress, and a call that another thread cancels are the same with servers of all revisions:

    >>> import threading
    >>> from gaia_mcp.core.errors import CancelledError
    >>> client = MCPClient.from_config("demo", DEMO)
    >>> client.connect()
    True
    >>> client.get_prompt("introduce", {"name": "Ada", "language": "Latin"})["messages"][0]["content"]["text"]
    'Introduce Ada in two sentences, in Latin.'
    >>> [(content["uri"], content["mimeType"]) for content in client.read_resource("demo://about")["contents"]]
    [('demo://about', 'text/plain')]
    >>> quick = {"steps": 1, "seconds": 0.01}
    >>> result = client.call_tool("countdown", quick, on_progress=lambda report: print(report.progress))
    1
    >>> deadline = client.deadline()
    >>> threading.Timer(0.2, deadline.cancel).start()
    >>> try:
    ...     client.call("countdown", {"steps": 3, "seconds": 60}, deadline)
    ... except CancelledError as error:
    ...     print(error)
    tools/call 'countdown' was cancelled before server 'demo' answered
    >>> client.disconnect()

After `subscribe_resource`, `on_resource_updated` is called at each change of that resource; `on_list_changed` is
called when tools, prompts or resources are added or removed. `complete` returns completions of an argument, and
`set_log_level` requests log messages. A `Host` responds to the requests of a server: `MCPClient.from_config(...,
host=Host(elicit=..., sample=..., roots=..., on_log=...))`.

A server behind a URL may require authorization. Programs use the tokens that `gaia mcp login` obtained; with the
settings in `oauth` of the entry a program obtains a token without a user, as `man gaia-mcp-servers` describes. An
interactive program derives from `Person`, and passes an instance to the client:

    >>> import webbrowser
    >>> from gaia_mcp import Person
    >>> class Window(Person):
    ...     def show(self, url: str) -> None:
    ...         webbrowser.open(url)
    >>> ENTRY = {"url": "https://mcp.example.com/mcp", "oauth": {"scopes": ["read"]}}
    >>> client = MCPClient.from_config("example", ENTRY, timeout=120, person=Window())

The user is asked only when a request is refused. Granted tokens are stored, and shared with the command line.

Names are imported when they are first used, so that a program loads only what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from gaia_mcp.client.config import MCPConfig
    from gaia_mcp.client.host import Host
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.http.transport import HttpTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport
    from gaia_mcp.contrib.gaia.client_manager import MCPClientManager

__all__ = [
    "Host",
    "HttpTransport",
    "MCPClient",
    "MCPClientManager",
    "MCPConfig",
    "MCPTool",
    "MCPTransport",
    "Person",
    "StdioTransport",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "gaia_mcp.client.config": ("MCPConfig",),
        "gaia_mcp.client.host": ("Host",),
        "gaia_mcp.client.mcp_client": ("MCPClient",),
        "gaia_mcp.client.tools": ("MCPTool",),
        "gaia_mcp.client.transports.base": ("MCPTransport",),
        "gaia_mcp.client.transports.http.auth": ("Person",),
        "gaia_mcp.client.transports.http.transport": ("HttpTransport",),
        "gaia_mcp.client.transports.stdio.transport": ("StdioTransport",),
        "gaia_mcp.contrib.gaia.client_manager": ("MCPClientManager",),
    },
)
