"""AgentVault's variant of A2A, at its own URL: the agent card, and messages that each start a tool call as a task,
which the client polls or subscribes to.

The tasks are MCP tasks, in the same store, so any worker can answer requests about them. An invalid message is answered
by an error with status 200.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gaia_mcp._version import __version__
from gaia_mcp.contrib.agentvault import a2a
from gaia_mcp.protocol import NEWEST, jsonrpc
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY, with_meta
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Message, encode
from gaia_mcp.protocol.sse import KEEP_ALIVE, write_event
from gaia_mcp.protocol.tasks import EXTENSIONS, TaskState
from gaia_mcp.server.http.endpoint import ByMethod, Entrance
from gaia_mcp.server.http.exchange import OK
from gaia_mcp.server.http.received import EventStream, Received, RefusalError, overloaded, send_body, send_refusal
from gaia_mcp.server.http.security import LOOPBACK_NAMES, Authorizer, Hosts
from gaia_mcp.server.http.served import Served
from gaia_mcp.server.http.stateless import ResponseForm, StatelessEndpoint
from gaia_mcp.server.provider import Provider, RequestError
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gaia_mcp.contrib.agentvault.a2a import Request
    from gaia_mcp.server.http.app import Shared
    from gaia_mcp.server.http.sharing import StoreThreads
    from gaia_mcp.server.http.workers import Limits
    from gaia_mcp.server.tasks import Tasks

# A message is answered by its task, as soon as the store has saved it or has failed.
_PATIENCE_SECONDS = 600.0
# The `_meta` of the MCP requests that are made from A2A messages.
_CLIENT = {
    VERSION_KEY: NEWEST,
    CAPABILITIES_KEY: {"extensions": dict(EXTENSIONS)},
    INFO_KEY: {"name": "a2a", "version": ""},
}
_ID = 1
A2A_PATH = "/a2a"
CARD_PATH = "/agent-card.json"
# AgentVault's clients look up their key by this name, first in the variable AGENTVAULT_KEY_GAIA_MCP. By default they
# would use the card's id, which is not a valid variable name.
KEY_NAME = "gaia_mcp"
_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_INPUT = {
    "type": "object",
    "properties": {
        "target_mcp_server_id": {**_TEXT, "description": "The name of the server that has the tool"},
        "tool_name": {**_TEXT, "description": "The name of the tool, such as filesystem.readFile"},
        "arguments": {**_OBJECT, "description": "The tool's arguments"},
    },
    "required": ["target_mcp_server_id", "tool_name", "arguments"],
}
_OUTPUT = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "mcp_result": {"type": ["object", "null"], "description": "The tool's result, if it has succeeded"},
        "error": {
            "type": ["object", "null"],
            "properties": {
                "source": {"type": "string", "enum": ["A2A_PROXY", "MCP_PROTOCOL", "MCP_TOOL"]},
                "code": _TEXT,
                "message": _TEXT,
                "details": {"type": ["object", "null"]},
            },
            "required": ["source", "code", "message"],
        },
    },
    "required": ["success", "mcp_result", "error"],
}


class TaskFront:
    """Serves a provider to A2A clients. Each call of its tool `skill` becomes a task."""

    def __init__(self, skill: str, provider: Provider) -> None:
        self._skill = skill
        self._provider = provider

    def endpoints(self, shared: Shared) -> Mapping[str, ASGIApp]:
        """The endpoint of the tasks, and that of the agent card."""
        sealer = shared.sealer(A2A_PATH)
        served = Served(self._provider, shared.workers, shared.limits, sealer, shared.tasks, shared.on_failure)
        proxy = A2aEndpoint(served, self._skill, shared.tasks, shared.threads, shared.hosts, shared.authorizer)
        shared.opened.append(proxy)
        return {A2A_PATH: proxy, CARD_PATH: AgentCard(self._skill, shared.limits, shared.hosts, shared.authorizer)}


class A2aEndpoint:
    """An ASGI app for the tasks of one provider. Each call of its tool `skill` becomes a task."""

    def __init__(
        self,
        served: Served,
        skill: str,
        tasks: Tasks,
        threads: StoreThreads,
        hosts: Hosts,
        authorizer: Authorizer | None,
    ) -> None:
        self.served = served
        self.entrance = Entrance(served.limits, hosts, authorizer, served.on_failure)
        self._skill = skill
        self._tasks = tasks
        self._threads = threads
        self._calls = StatelessEndpoint(served)
        # One function for each open stream, which ends it.
        self._streams: set[Callable[[], None]] = set()
        self._http_methods: ByMethod = {"POST": self._post}
        self._methods: dict[str, Callable[[Received, Request, Send], Awaitable[None]]] = {
            "tasks/send": self._begin,
            "tasks/get": self._get,
            "tasks/cancel": self._cancel,
            "tasks/sendSubscribe": self._subscribe,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Received(scope, receive)
        # AgentVault's clients send the token in the header X-Api-Key.
        if (key := request.headers.get("x-api-key")) is not None:
            request.headers.setdefault("authorization", f"Bearer {key}")
        await self.entrance.answer(request, send, self._http_methods)

    @property
    def streams(self) -> int:
        """The number of clients that are subscribed to a task."""
        return len(self._streams)

    def end_streams(self) -> None:
        """Refuse new requests, and end the streams."""
        self.entrance.is_ending = True
        for end in list(self._streams):
            end()

    def close(self) -> None:
        """Unsubscribe from the provider."""
        self.served.close()

    async def _post(self, request: Received, send: Send) -> None:
        try:
            read = a2a.read_request(await request.message(self.served.limits, self.served.unfinished))
        except RefusalError as refusal:
            if refusal.code != jsonrpc.PARSE_ERROR:
                raise
            await _send_error(send, None, refusal.code, refusal.text)
            return
        except a2a.InvalidRequestError as problem:
            await _send_error(send, problem.id, problem.code, str(problem))
            return
        if (answer := self._methods.get(read.method)) is None:
            await _send_error(send, read.id, METHOD_NOT_FOUND, f"Method not found: {read.method}")
            return
        try:
            await answer(request, read, send)
        except ValueError as problem:
            await _send_error(send, read.id, INVALID_PARAMS, f"Invalid parameters: {problem}")
        except RequestError:
            await _send_error(send, read.id, a2a.TASK_UNKNOWN, "Task not found: it does not exist, or has expired")
        except StoreError as problem:
            self.entrance.note(problem)
            await _send_error(send, read.id, a2a.AGENT_ERROR, "the store of tasks does not answer; repeat this later")

    # The methods. Each raises `ValueError` for invalid parameters, `RequestError` if the caller has no such task, and
    # `StoreError`.

    async def _begin(self, request: Received, read: Request, send: Send) -> None:
        sent = a2a.read_sent(read.params)
        if sent.task_id is not None:
            await self._state(request, sent.task_id)
            await _send_error(send, read.id, a2a.AGENT_ERROR, "a task takes one message: send this one without an id")
            return
        params = with_meta({"name": self._skill, "arguments": sent.content}, _CLIENT)
        if sent.context is not None:
            params = with_meta(params, {"mcp_context": sent.context})
        form = ResponseForm(partial(_begun, read.id), lambda _: OK, _PATIENCE_SECONDS)
        await self._calls.answer(request, jsonrpc.Request(_ID, "tools/call", params), send, form)

    async def _get(self, request: Received, read: Request, send: Send) -> None:
        state = await self._state(request, a2a.read_task_id(read.params))
        await _send_result(send, read.id, a2a.described(state))

    async def _cancel(self, request: Received, read: Request, send: Send) -> None:
        task_id = a2a.read_task_id(read.params)
        before = await self._state(request, task_id)
        state = await self._threads.run(self._tasks.cancel, task_id, request.caller.principal or "")
        is_canceled = not before.is_final and state.status == "cancelled"
        message = None if is_canceled else "the task has ended already"
        await _send_result(send, read.id, {"success": is_canceled, "message": message})

    async def _subscribe(self, request: Received, read: Request, send: Send) -> None:
        task_id = a2a.read_task_id(read.params)
        await self._state(request, task_id)
        if self.streams >= self.served.limits.streams:
            raise overloaded("too many streams are open already")
        loop = asyncio.get_running_loop()
        changed, is_over = asyncio.Event(), asyncio.Event()

        def end() -> None:
            is_over.set()
            changed.set()

        def hear() -> None:
            loop.call_soon_threadsafe(changed.set)

        unsubscribe = await self._threads.run(self._tasks.on_change, task_id, hear)
        watch = asyncio.create_task(_then(end, request.disconnected))
        self._streams.add(end)
        try:
            await self._follow(request, task_id, EventStream(send), changed, is_over)
        finally:
            self._streams.discard(end)
            watch.cancel()
            await self._threads.run(unsubscribe)

    async def _follow(
        self, request: Received, task_id: str, stream: EventStream, changed: asyncio.Event, is_over: asyncio.Event
    ) -> None:
        """Send the changes of a task until it has ended, or `is_over` is set."""
        shown: TaskState | None = None
        await stream.start()
        while not is_over.is_set():
            changed.clear()
            try:
                state = await self._state(request, task_id)
                events = a2a.events(state, shown)
                shown, is_last = state, state.is_final
            except RequestError as problem:
                events, is_last = [("error", {"error": "task_not_found", "message": str(problem)})], True
            except StoreError:
                events, is_last = [], False  # The next iteration retries.
            written = b"".join(write_event(jsonrpc.encode(data), name=name) for name, data in events)
            await stream.write(written or KEEP_ALIVE)
            if is_last:
                break
            try:
                async with asyncio.timeout(self.served.limits.keep_alive_seconds):
                    await changed.wait()
            except TimeoutError:
                continue
        await stream.end()

    async def _state(self, request: Received, task_id: str) -> TaskState:
        return await self._threads.run(self._tasks.state_of, task_id, request.caller.principal or "")


def _begun(request_id: Any, message: Message) -> Message:
    """The A2A response to a message, from the MCP response to its tool call."""
    if (result := message.get("result")) is not None:
        return {"jsonrpc": "2.0", "id": request_id, "result": {"id": result["taskId"]}}
    return {"jsonrpc": "2.0", "id": request_id, "error": {**message["error"], "code": a2a.AGENT_ERROR}}


async def _then(end: Callable[[], None], happened: Callable[[], Awaitable[object]]) -> None:
    await happened()
    end()


async def _send_result(send: Send, request_id: Any, result: Any) -> None:
    await send_body(send, 200, jsonrpc.encode({"jsonrpc": "2.0", "id": request_id, "result": result}))


async def _send_error(send: Send, request_id: Any, code: int, text: str) -> None:
    error = {"code": code, "message": text}
    await send_body(send, 200, jsonrpc.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))


class AgentCard:
    """An ASGI app for the card. It requires an allowed host but no token: only the proxy itself requires the token."""

    def __init__(self, skill: str, limits: Limits, hosts: Hosts, authorizer: Authorizer | None) -> None:
        self._limits = limits
        self._hosts = hosts
        scheme = {"scheme": "none", "description": "No credentials are needed."}
        if authorizer is not None:
            described = "The token of the server, as X-Api-Key."
            scheme = {"scheme": "apiKey", "description": described, "service_identifier": KEY_NAME}
        self._card: dict[str, Any] = {
            "schemaVersion": "1.0",
            "humanReadableId": "gaia-mcp/proxy",
            "agentVersion": __version__,
            "name": "gaia-mcp",
            "description": "Calls tools of MCP servers for agents of A2A.",
            "provider": {"name": "gaia-mcp"},
            "capabilities": {"a2aVersion": "1.0", "supportedMessageParts": ["data"]},
            "authSchemes": [scheme],
            "skills": [
                {
                    "id": skill,
                    "name": "Execute an MCP tool",
                    "description": "Executes a tool of an MCP server.",
                    "input_schema": _INPUT,
                    "output_schema": _OUTPUT,
                }
            ],
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Received(scope, receive)
        try:
            request.check_head(self._limits)
            self._hosts.check(request)
        except RefusalError as refusal:
            await send_refusal(send, refusal)
            return
        url = f"{scope['scheme']}://{_named(request.headers['host'])}{scope.get('root_path', '')}{A2A_PATH}"
        await send_body(send, 200, encode({**self._card, "url": url}))


def _named(host: str) -> str:
    """The host in a form that AgentVault's client accepts: `localhost` is the only loopback name that it supports."""
    parts = urlsplit(f"//{host}")
    if parts.hostname not in LOOPBACK_NAMES:
        return host
    return "localhost" if parts.port is None else f"localhost:{parts.port}"
