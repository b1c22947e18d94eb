"""AgentVault's dialect, at its own URL: a POST whose JSON-RPC method is the name of a tool.

It needs no initialization, and its params are the arguments. `tools/list`, `tools/call`, `server/discover` and
`initialize` are supported at the same URL. An invalid message is answered by an error with status 200. Each request is
processed as one of the stateless era, from a client without capabilities: a tool cannot send it requests.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import NEWEST, jsonrpc
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY, has_envelope, with_meta
from gaia_mcp.protocol.jsonrpc import Message, Notification, Request
from gaia_mcp.server.http.exchange import OK, Head, Sent, scope_head
from gaia_mcp.server.http.received import Caller, Received, RefusalError, send_body
from gaia_mcp.server.http.stateless import ResponseForm
from gaia_mcp.server.provider import unknown_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gaia_mcp.server.http.app import Shared
    from gaia_mcp.server.http.endpoint import ByMethod, Endpoint

# Every other method is the name of a tool.
METHODS = ("initialize", "server/discover", "tools/list", "tools/call")
# A response is never a stream here, so it may take as long as the client waits.
_PATIENCE_SECONDS = 24 * 3600.0
# The members of results that only the stateless era has.
_ENVELOPE = ("resultType", "_meta", "ttlMs", "cacheScope")
_CLIENT = {VERSION_KEY: NEWEST, CAPABILITIES_KEY: {}, INFO_KEY: {"name": "rpc", "version": ""}}


class RpcFront:
    """Serves the providers at `paths` in the dialect too: that of `/NAME/mcp` at `/NAME/rpc`."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = list(paths)

    def endpoints(self, shared: Shared) -> Mapping[str, ASGIApp]:
        """An ASGI app for each provider."""
        return {f"{path.removesuffix('/mcp')}/rpc": RpcEndpoint(shared.endpoints[path]) for path in self._paths}


class RpcEndpoint:
    """An ASGI app for the provider of an endpoint, which admits the requests of both."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._entrance = endpoint.entrance
        self._served = endpoint.served
        self._stateless = endpoint.stateless
        self._by_method: ByMethod = {"POST": self._post}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._entrance.answer(Received(scope, receive), send, self._by_method)

    async def _post(self, request: Received, send: Send) -> None:
        """Answer one message. Raises `RefusalError`."""
        try:
            message = await request.message(self._served.limits, self._served.unfinished)
        except RefusalError as refusal:
            if refusal.code != jsonrpc.PARSE_ERROR:
                raise
            await _send_error(send, None, refusal.code, refusal.text)
            return
        read = jsonrpc.classify(message)
        if isinstance(read, Notification):
            await send_body(send, 202, b"")
            return
        if not isinstance(read, Request):
            request_id = read.id if isinstance(read, jsonrpc.Malformed) else None
            if _lacks_object(message):
                problem = "Invalid params: an object with the arguments is needed"
                await _send_error(send, request_id, jsonrpc.INVALID_PARAMS, problem)
            else:
                await _send_error(send, request_id, jsonrpc.INVALID_REQUEST, "Invalid Request")
            return
        has_own = read.method == "initialize" or has_envelope(read.params)
        shape = partial(_shaped, read) if not has_own or read.method not in METHODS else _unchanged
        # The params of a method are validated before the method runs; those of `tools/call` are not the tool's.
        is_tool = read.method not in METHODS
        form = ResponseForm(shape, partial(_head_of, request.caller), _PATIENCE_SECONDS, rejects_arguments=is_tool)
        await self._stateless.answer(request, read if shape is _unchanged else _stateless(read), send, form)


def _stateless(read: Request) -> Request:
    """The equivalent request of the stateless era."""
    if read.method in METHODS:
        return read._replace(params=with_meta(read.params, _CLIENT))
    call = {"name": read.method, "arguments": read.params}
    return Request(read.id, "tools/call", with_meta(call, _CLIENT))


def _unchanged(message: Message) -> Message:
    return message


def _shaped(read: Request, message: Message) -> Message:
    """A response without the members that only the stateless era has."""
    if (problem := message.get("error")) is not None:
        is_unknown = read.method not in METHODS and problem["message"] == str(unknown_tool(read.method))
        if not is_unknown:
            return message
        return jsonrpc.error(read.id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {read.method}")
    result = {name: value for name, value in message["result"].items() if name not in _ENVELOPE}
    if result.get("isError") is False:
        del result["isError"]  # In this dialect the member stands only in a failure.
    if (output := _code_output(result.get("structuredContent"))) is not None:
        result["content"] = [output]
    return {**message, "result": result}


def _code_output(structured: Any) -> dict[str, Any] | None:
    """The dialect's content block for the output of a program; None for any other structured content."""
    if not isinstance(structured, dict):
        return None
    written = {name: structured.get(name) for name in ("stdout", "stderr")}
    return {"type": "code_output", **written} if all(isinstance(text, str) for text in written.values()) else None


def _head_of(caller: Caller, sent: Sent) -> Head:
    return scope_head(caller, sent) or OK


def _lacks_object(message: Any) -> bool:
    """Whether a request is invalid only because of its params."""
    return isinstance(message, dict) and isinstance(jsonrpc.classify({**message, "params": {}}), Request)


async def _send_error(send: Send, request_id: Any, code: int, text: str) -> None:
    # In this dialect the id is null, not absent, if it could not be read.
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
    await send_body(send, 200, jsonrpc.encode(error))
