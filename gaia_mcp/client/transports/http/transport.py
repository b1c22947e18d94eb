"""`HttpTransport`: a server behind a URL, over Streamable HTTP, HTTP+SSE or AgentVault's dialect.

The dialect is a channel here: a POST whose JSON-RPC method is the name of a tool. Such a server does not support
`initialize`. The channel itself answers the requests that the conversation sends before it calls a tool, from the
server's response to `tools/list`: many servers of that project support this method, and then also `tools/call`. For the
others the tools are those of the entry, if it names any. The dialect has nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from gaia_mcp.client.conversation.transport import ChannelTransport
from gaia_mcp.client.transports.base import Channel, Receiver
from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.channel import HttpChannel
from gaia_mcp.client.transports.http.connections import NO_HEADERS, Endpoint
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.core.errors import MCPError, PeerError, RemoteProtocolError, StatusError
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.text.redaction import masked_url

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Authorizer
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.protocol.jsonrpc import Message, RequestId
    from gaia_mcp.text.redaction.masker import Masker


class HttpTransport(ChannelTransport):
    """The server at `url`. `headers` are sent with every request to it, and to no other origin.

    `way` is "http", "sse" or "rpc" (AgentVault's dialect) if the transport is known; `declared` are the tool
    definitions for a server of that dialect that cannot list its tools. `authorizer` supplies tokens; without one no
    tokens are sent. `ca`, `cert` and `key` are as for an `Endpoint`. `timeout` is in seconds, for `connect` and for
    each `send_request`. With `debug` every message is logged.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        debug: bool = False,
        *,
        way: str | None = None,
        declared: Sequence[dict[str, Any]] = (),
        name: str = "server",
        authorizer: Authorizer | None = None,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(self._new_http_channel, name=name, timeout=timeout, debug=debug)
        self.url = url
        self.headers = dict(headers)
        self.way = way
        self._declared = declared
        self._authorizer = authorizer
        # As `way`, but from an earlier detection: it may have changed since.
        self._recalled: str | None = None
        self._channel: HttpChannel | None = None
        self._files = (ca, cert, key)
        self._masker: Masker | None = None
        self._masked_tokens: tuple[str, ...] = ()

    def __repr__(self) -> str:
        state = "connected" if self.is_connected() else "not connected"
        return f"<HttpTransport {masked_url(self.url)!r}, {state}>"

    def masker(self) -> Masker:
        """A masker for the secrets that are sent to the server and that no error or log may contain: credentials in the
        headers and the URL, and the current tokens.
        """
        tokens = tuple(self._authorizer.secrets()) if self._authorizer is not None else ()
        if self._masker is None or tokens != self._masked_tokens:
            from gaia_mcp.text.redaction.masker import Masker, secrets_in

            self._masker = Masker([*secrets_in(self.headers, [self.url]), *tokens], spared=self.name)
            self._masked_tokens = tokens
        return self._masker

    @property
    def peer(self) -> Peer | None:
        peer = super().peer
        return self._opened(peer) if peer is not None else None

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        try:
            return self._opened(super().open(probe=probe, deadline=deadline))
        except MCPError as error:
            if (self.way or self._recalled) is not None or not _may_speak_rpc(error, self.url):
                raise
            self._recalled = "rpc"
            try:
                return self._opened(super().open(probe=False, deadline=deadline))
            except MCPError:
                self._recalled = None
                raise error from None

    def _opened(self, peer: Peer) -> Peer:
        return peer._replace(era="rpc") if (self.way or self._recalled) == "rpc" else peer

    def _new_http_channel(self) -> Channel:
        has_header = any(name.lower() == "authorization" for name in self.headers)
        authorizer = self._authorizer or NoAuthorizer(self.name, has_header=has_header)
        way = self.way or self._recalled
        if way == "rpc":
            endpoint = Endpoint(self.name, _rpc_url(self.url), self.headers, *self._files)
            return RpcChannel(HttpChannel(endpoint, authorizer, "http", self.masker), self._declared)
        endpoint = Endpoint(self.name, self.url, self.headers, *self._files)
        self._channel = HttpChannel(endpoint, authorizer, way, self.masker, is_sure=not self._recalled)
        return self._channel

    def recall(self, era: str | None) -> bool:
        self._recalled = era if era in ("sse", "rpc") and self.way is None else None
        return super().recall(era) and self._recalled is None and self.way != "rpc"

    def era_of(self, peer: Peer) -> str:
        is_old = self.way is None and self._channel is not None and self._channel.answers_on_stream
        return "sse" if is_old else super().era_of(peer)


def _may_speak_rpc(error: MCPError, url: str) -> bool:
    """Whether a server that responded with this error may use AgentVault's dialect: it supports no method of MCP, or
    has nothing at its root.
    """
    if isinstance(error, PeerError):
        return error.code == METHOD_NOT_FOUND
    return isinstance(error, StatusError) and error.status in (404, 405) and _rpc_url(url) != url


def _rpc_url(url: str) -> str:
    """The URL of the dialect's endpoint: `/rpc`, unless the URL has a path."""
    parts = urlsplit(url)
    return url if parts.path.strip("/") else urlunsplit(parts._replace(path="/rpc"))


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
