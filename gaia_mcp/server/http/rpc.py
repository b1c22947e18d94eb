"""AgentVault's dialect, at a URL of its own: a POST whose JSON-RPC method is the name of a tool.

Nothing goes before it, and its params are the arguments. `tools/list`, `tools/call`, `server/discover` and
`initialize` are understood at the same URL. Whatever is wrong with a message is an error with status 200. Each request
is answered as one of the stateless era, by a client that declares nothing: a tool cannot ask it anything.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY, has_envelope, with_meta
from gaia_mcp.protocol.jsonrpc import Notification, Request
from gaia_mcp.protocol.versions import STATELESS_VERSIONS
from gaia_mcp.server.http.answering import OK, scope_head
from gaia_mcp.server.http.refusals import RefusalError
from gaia_mcp.server.http.responses import send_body
from gaia_mcp.server.http.stateless import Form
from gaia_mcp.server.provider import unknown_tool

if TYPE_CHECKING:
    from starlette.types import Send

    from gaia_mcp.protocol.jsonrpc import Message
    from gaia_mcp.server.http.answering import Head
    from gaia_mcp.server.http.caller import Caller
    from gaia_mcp.server.http.exchange import Sent
    from gaia_mcp.server.http.received import Received
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.http.stateless import StatelessEndpoint

# Every other method is a tool.
METHODS = ("initialize", "server/discover", "tools/list", "tools/call")
# There is no stream to keep alive: its client waits as long as it likes.
_PATIENCE_SECONDS = 24 * 3600.0
# Of results, and for clients of the stateless era.
_ENVELOPE = ("resultType", "_meta", "ttlMs", "cacheScope")
_CLIENT = {VERSION_KEY: STATELESS_VERSIONS[0], CAPABILITIES_KEY: {}, INFO_KEY: {"name": "rpc", "version": ""}}


class RpcEndpoint:
    """Answers the requests of the dialect for one provider."""

    def __init__(self, served: Served, stateless: StatelessEndpoint) -> None:
        self._served = served
        self._stateless = stateless

    async def post(self, request: Received, send: Send) -> None:
        """Answer one message. Raises `RefusalError`."""
        try:
            message = await request.message(self._served.limits)
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
        form = Form(shape, partial(_head_of, request.caller), _PATIENCE_SECONDS)
        await self._stateless.answer(request, read if shape is _unchanged else _stateless(read), send, form)


def _stateless(read: Request) -> Request:
    """The same request in the stateless era."""
    if read.method in METHODS:
        return read._replace(params=with_meta(read.params, _CLIENT))
    call = {"name": read.method, "arguments": read.params}
    return Request(read.id, "tools/call", with_meta(call, _CLIENT))


def _unchanged(message: Message) -> Message:
    return message


def _shaped(read: Request, message: Message) -> Message:
    """A response without what only the stateless era has."""
    if (problem := message.get("error")) is not None:
        is_unknown = read.method not in METHODS and problem["message"] == str(unknown_tool(read.method))
        if not is_unknown:
            return message
        return jsonrpc.error(read.id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {read.method}")
    result = {name: value for name, value in message["result"].items() if name not in _ENVELOPE}
    if (output := _code_output(result.get("structuredContent"))) is not None:
        result["content"] = [output]
    return {**message, "result": result}


def _code_output(structured: Any) -> dict[str, Any] | None:
    """The block of content that the dialect has for what a program has written; None for anything else."""
    if not isinstance(structured, dict):
        return None
    written = {name: structured.get(name) for name in ("stdout", "stderr")}
    return {"type": "code_output", **written} if all(isinstance(text, str) for text in written.values()) else None


def _head_of(caller: Caller, sent: Sent) -> Head:
    return scope_head(caller, sent) or OK


def _lacks_object(message: Any) -> bool:
    """Whether a request is invalid by its params alone."""
    return isinstance(message, dict) and isinstance(jsonrpc.classify({**message, "params": {}}), Request)


async def _send_error(send: Send, request_id: Any, code: int, text: str) -> None:
    # In this dialect the id is null, and not absent, where it could not be read.
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
    await send_body(send, 200, jsonrpc.encode(error))
