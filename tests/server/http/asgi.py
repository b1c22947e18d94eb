"""An ASGI server in memory: requests whose bodies, reading and going away a test decides step by step."""

from __future__ import annotations

import asyncio
import json
import threading
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from gaia_mcp.asking import current_call
from gaia_mcp.protocol.sse import EventParser, ServerSentEvent
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.app import HttpApp
from gaia_mcp.server.http.security import Hosts
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import MemoryStore
from tests.server.talk import META, initialize
from tests.waiting import PATIENCE_SECONDS

Wire = dict[str, Any]
BOTH = "application/json, text/event-stream"


class Reply(NamedTuple):
    """A whole response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages of its events."""
        return [json.loads(event.data) for event in self.events]

    @property
    def events(self) -> list[ServerSentEvent]:
        assert self.headers["content-type"] == "text/event-stream", self
        return EventParser().feed(self.body)

    @property
    def error(self) -> int:
        """The code of its error."""
        found: int = self.json["error"]["code"]
        return found


class Asked:
    """One request that is being answered."""

    def __init__(self, loop: asyncio.AbstractEventLoop, scope: Wire, app: Any) -> None:
        self._loop = loop
        self._incoming: asyncio.Queue[Wire] = asyncio.Queue()
        self._sent: SimpleQueue[Wire] = SimpleQueue()
        self._reads = asyncio.Event()
        self._reads.set()
        self._parser = EventParser()
        self._events: list[ServerSentEvent] = []
        self.start: Wire | None = None
        self.task = asyncio.run_coroutine_threadsafe(app(scope, self._receive, self._send), loop)

    def feed(self, body: bytes, *, more: bool = False) -> Asked:
        """Send a piece of its body."""
        self._put({"type": "http.request", "body": body, "more_body": more})
        return self

    def leave(self) -> None:
        """Go away."""
        self._put({"type": "http.disconnect"})

    def stop_reading(self) -> None:
        """Take nothing from now on."""
        self._loop.call_soon_threadsafe(self._reads.clear)

    def read_again(self) -> None:
        """Take everything again."""
        self._loop.call_soon_threadsafe(self._reads.set)

    @property
    def has_begun(self) -> bool:
        """Whether anything of its response was sent."""
        return self.start is not None or not self._sent.empty()

    def end(self) -> None:
        """Wait until the app has ended it."""
        self.task.result(PATIENCE_SECONDS)

    def reply(self) -> Reply:
        """Its whole response."""
        start = self.head()
        body = b""
        while True:
            part = self._next()
            body += part.get("body", b"")
            if not part.get("more_body"):
                self.end()
                headers = {name.decode(): value.decode() for name, value in start["headers"]}
                return Reply(start["status"], headers, body)

    def head(self) -> Wire:
        """The start of its response."""
        if self.start is None:
            self.start = self._next()
        return self.start

    def event(self) -> ServerSentEvent:
        """Its next event that carries a message."""
        self.head()
        while not self._events:
            part = self._next()
            assert part.get("more_body"), "the stream has ended"
            self._events += self._parser.feed(part["body"])
        return self._events.pop(0)

    def message(self) -> Any:
        """The message of its next event."""
        return json.loads(self.event().data)

    def ends(self) -> bool:
        """Whether nothing but the end of the stream follows."""
        part = self._next()
        return part == {"type": "http.response.body", "body": b""}

    def raw(self) -> bytes:
        """The next piece of its response."""
        self.head()
        found: bytes = self._next()["body"]
        return found

    def drain(self) -> None:
        """Discard what has been sent so far."""
        while not self._sent.empty():
            self._next()

    def _next(self) -> Wire:
        try:
            return self._sent.get(timeout=PATIENCE_SECONDS)
        except Empty:
            raise AssertionError(f"nothing more was sent; the app: {self.task}") from None

    def _put(self, event: Wire) -> None:
        self._loop.call_soon_threadsafe(self._incoming.put_nowait, event)

    async def _receive(self) -> Wire:
        return await self._incoming.get()

    async def _send(self, message: Wire) -> None:
        await self._reads.wait()
        self._sent.put(message)


class Server:
    """Serves an app in a thread with an event loop."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def ask(self, method: str, path: str = "/mcp", **headers: str) -> Asked:
        """Send the head of a request. Underscores in the names of headers stand for dashes."""
        given = {"host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": b"", "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1), "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }  # fmt: skip

        async def begin() -> Asked:
            return Asked(self.loop, scope, self.app)

        return asyncio.run_coroutine_threadsafe(begin(), self.loop).result(PATIENCE_SECONDS)

    def send(self, message: Any, path: str = "/mcp", **headers: str) -> Asked:
        """Send a message of a session, or without one."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {"content_type": "application/json", "accept": BOTH, **headers}
        return self.ask("POST", path, **{name: value for name, value in given.items() if value}).feed(body)

    def stateless(self, message: Wire, path: str = "/mcp", **headers: str) -> Asked:
        """Send a stateless message with its headers."""
        params = message.get("params") or {}
        given = {"mcp_protocol_version": "2026-07-28", "mcp_method": message["method"]}
        if isinstance(name := params.get("name") or params.get("uri"), str):
            given["mcp_name"] = name
        return self.send(message, path, **given | headers)

    def open_session(self, version: str = "2025-11-25", capabilities: Wire | None = None, **headers: str) -> Any:
        """Begin a session; the headers of what is sent in it."""
        message = initialize(version)
        message["params"]["capabilities"] = capabilities or {}
        session = {**headers, "mcp_session_id": self.send(message, **headers).reply().headers["mcp-session-id"]}
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.send(initialized, **session).reply().status == 202
        return session

    def end(self) -> None:
        """Leave nothing behind."""

        async def cancel_all() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.get_running_loop().shutdown_default_executor()

        asyncio.run_coroutine_threadsafe(cancel_all(), self.loop).result(PATIENCE_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self.loop.close()
        if isinstance(self.app, HttpApp):
            self.app.close()


def app_of(provider: Any, limits: Limits | None = None, **options: Any) -> HttpApp:
    """An app that serves an agent, or a provider."""
    served = provider if hasattr(provider, "describe") else AgentProvider(provider)
    # On a busy machine, a short call takes longer than clients of a session wait for JSON.
    limits = limits or Limits(json_seconds=PATIENCE_SECONDS)
    given = {"hosts": Hosts(), "authorizer": None, "limits": limits, "store": MemoryStore()} | options
    return HttpApp({"/mcp": served}, **given)


def with_capabilities(**capabilities: Any) -> Wire:
    """The `_meta` of a stateless client that has these."""
    return {**META, "io.modelcontextprotocol/clientCapabilities": capabilities}


class Tools:
    """An agent whose tools are functions of the running call."""

    def __init__(self, **tools: Any) -> None:
        self.tools = tools

    def get_mcp_tool_definitions(self) -> list[Wire]:
        """As every agent."""
        return [{"name": name, "description": "", "inputSchema": {"type": "object"}} for name in self.tools]

    def execute_mcp_tool(self, name: str, arguments: Wire) -> Any:
        """As every agent."""
        return self.tools[name](current_call())


class Gate:
    """What a tool waits for, and a test opens."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self._open = threading.Event()

    def __call__(self, call: Any = None) -> str:
        self.entered.release()
        assert self._open.wait(PATIENCE_SECONDS)
        return "through"

    def await_entered(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE_SECONDS)

    def open(self) -> None:
        self._open.set()


def text_of(answer: Wire) -> str:
    """The text of a tool's result."""
    found: str = answer["result"]["content"][0]["text"]
    return found
