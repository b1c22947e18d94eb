"""AgentVault's dialect as a channel: a POST whose JSON-RPC method is the name of a tool.

Such a server does not support `initialize`. The channel itself answers the requests that the conversation sends before
it calls a tool, from the server's response to `tools/list`: many servers of that project support this method, and then
also `tools/call`. For the others the tools are those of the entry, if it names any. The dialect has nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.base import Channel, Receiver
from gaia_mcp.core.errors import MCPError, RemoteProtocolError
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Outgoing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.client.transports.http.channel import HttpChannel
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.jsonrpc import Message, RequestId
    from gaia_mcp.text.redaction.masker import Masker


class RpcChannel(Channel):
    """Uses the dialect over `posts`, where each message is a POST. `declared` are the tool definitions for a server
    that cannot list its own.
    """

    silence_case = "url-silent"
    listens = False

    def __init__(self, posts: HttpChannel, declared: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(posts.name)
        self._posts = posts
        self._declared = list(declared)
        # Set by `start`, before anything arrives.
        self.receiver: Receiver
        # The `initialize` request of the conversation, for which `tools/list` was sent.
        self._opening: Message | None = None
        # The result of `tools/list`; None if the server does not support the method.
        self._listed: dict[str, Any] | None = None

    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        self.receiver = receiver
        self._posts.start(_Responses(self), deadline)

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        message = outgoing.message
        assert isinstance(message, dict)  # noqa: S101 (a client sends no batches)
        if "id" not in message or "method" not in message:
            return  # A notification or a response: the dialect has neither.
        asked = self._asked(message)
        if asked is not None:
            self._posts.send(Outgoing(asked, message["id"]), deadline, stage)

    def send_soon(self, outgoing: Outgoing) -> None:
        """Does nothing: the dialect has no such messages."""

    def abandon(self, cancellation: Outgoing) -> None:
        """Close the connection of the request: the dialect has no cancellation."""
        self._posts.interrupt(cancellation.about)

    def is_running(self) -> bool:
        return self._posts.is_running()

    def why_lost(self, stage: str, noise: str = "") -> MCPError:
        return self._posts.why_lost(stage, noise)

    def close(self, grace_seconds: float | None) -> None:
        self._posts.close(grace_seconds)

    def masker(self) -> Masker:
        return self._posts.masker()

    @property
    def lists_tools(self) -> bool:
        return self._listed is not None

    def _asked(self, message: Message) -> Message | None:
        """The request to send in place of one of MCP; None if that has been answered here."""
        request_id, method, params = message["id"], message["method"], message.get("params") or {}
        if method == "initialize":
            self._opening = message
            return jsonrpc.request(request_id, "tools/list", {})
        if method == "tools/call" and self._listed is None:
            return jsonrpc.request(request_id, params["name"], params.get("arguments") or {})
        if method == "tools/call":
            given = {key: params[key] for key in ("name", "arguments") if key in params}
            return jsonrpc.request(request_id, method, given)
        if method == "tools/list":
            if self._listed is not None and "cursor" in params:
                return jsonrpc.request(request_id, method, {"cursor": params["cursor"]})
            self.answer(request_id, self._listed or {"tools": self._declared})
        elif method == "ping":
            self.answer(request_id, {})
        else:
            problem = f"Method not found: {method}"
            self._receive(jsonrpc.error(request_id, jsonrpc.METHOD_NOT_FOUND, problem), request_id)
        return None

    def answer(self, request_id: RequestId, result: dict[str, Any]) -> None:
        """Pass the result of a request to the receiver."""
        self._receive(jsonrpc.result(request_id, result), request_id)

    def arrived(self, value: Any, about: RequestId | None) -> None:
        """A message has arrived for the request `about`."""
        opening = self._opening
        if opening is None or about != opening["id"] or not isinstance(value, dict):
            if about is not None and (result_error := self._result_error(value, about)) is not None:
                self.receiver.request_failed(about, result_error)
            else:
                self._receive(value, about)
            return
        error = value.get("error")
        if isinstance(error, dict) and error.get("code") != jsonrpc.METHOD_NOT_FOUND:
            self._receive(value, about)
            return
        self._opening = None
        self._listed = value["result"] if isinstance(value.get("result"), dict) else None
        self.answer(
            opening["id"],
            {
                "protocolVersion": opening["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self.name, "version": ""},
            },
        )

    def _result_error(self, value: Any, about: RequestId) -> MCPError | None:
        """The error for a response whose result is not an object; None for any other message."""
        if not isinstance(value, dict) or value.get("id") != about or value.get("error") is not None:
            return None
        if "result" not in value or isinstance(value["result"], dict):
            return None
        error = RemoteProtocolError(self.name, "answered with a result that is not an object")
        error.facts = {"invalid": "result"}
        return error

    def _receive(self, value: Any, about: RequestId | None) -> None:
        self.receiver.receive_message(value, about)


class _Responses:
    """The receiver of the posts."""

    def __init__(self, channel: RpcChannel) -> None:
        self._channel = channel

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        """A record that is not JSON."""
        self._channel.receiver.receive(record, about)

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        """A message."""
        self._channel.arrived(value, about)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        """No response will arrive."""
        self._channel.receiver.request_failed(about, error)

    def channel_ended(self, error: MCPError) -> None:
        """Nothing more will arrive."""
        self._channel.receiver.channel_ended(error)
