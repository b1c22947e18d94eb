"""`HttpTransport`: a server behind a URL, over Streamable HTTP, HTTP+SSE or the dialect of a system.

Which of them is remembered, and found out otherwise: a server that supports no method of MCP may have a dialect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.transports.http.auth import Authorizer, NoAuthorizer
from gaia_mcp.client.transports.http.channel import HttpChannel
from gaia_mcp.client.transports.http.connections import NO_HEADERS, Endpoint
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.core.errors import MCPError, PeerError, StatusError
from gaia_mcp.core.systems import HttpDialect, http_dialects, imported
from gaia_mcp.protocol import ERAS
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.text.redaction import masked_url

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Channel
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.text.redaction.masker import Masker


# The transports of MCP itself.
_OF_MCP = ("http", "sse")
# What is remembered of a server that has no dialect.
_ERAS = (None, *ERAS, "sse")


class HttpTransport(ChannelTransport):
    """The server at `url`. `headers` are sent with every request to it, and to no other origin.

    `way` is "http", "sse" or the name of a dialect if the transport is known; `declared` are the tool definitions for a
    server with a dialect that cannot list its tools. `authorizer` supplies tokens; without one no
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

    def _alternatives(self, error: MCPError) -> Iterator[None]:
        if self._known_way is not None:
            return
        for name, dialect in http_dialects().items():
            if _may_have(dialect, error, self.url):
                self._recalled = name
                yield
                self._recalled = None

    @property
    def _known_way(self) -> str | None:
        return self.way or self._recalled

    def _new_http_channel(self) -> Channel:
        has_header = any(name.lower() == "authorization" for name in self.headers)
        authorizer = self._authorizer or NoAuthorizer(self.name, has_header=has_header)
        way = self._known_way
        if way not in (None, *_OF_MCP):
            dialect = http_dialects()[way]
            endpoint = Endpoint(self.name, _url_with(dialect.path, self.url), self.headers, *self._files)
            posts = HttpChannel(endpoint, authorizer, "http", self.masker)
            found: Channel = imported(dialect.channel)(posts, self._declared)
            found.dialect = way
            return found
        endpoint = Endpoint(self.name, self.url, self.headers, *self._files)
        self._channel = HttpChannel(endpoint, authorizer, way, self.masker, is_sure=not self._recalled)
        return self._channel

    def _recall(self, era: str | None) -> bool:
        is_known = era == "sse" or (era not in _ERAS and era in http_dialects())
        self._recalled = era if is_known and self.way is None else None
        return super()._recall(era) and self._recalled is None and self.way in (None, *_OF_MCP)

    def _era_of(self, peer: Peer) -> str:
        is_old = self.way is None and self._channel is not None and self._channel.answers_on_stream
        return "sse" if is_old else super()._era_of(peer)


def _may_have(dialect: HttpDialect, error: MCPError, url: str) -> bool:
    """Whether a server that responded with this error may have a dialect: it supports no method of MCP, or has nothing
    at its root.
    """
    if isinstance(error, PeerError):
        return error.code == METHOD_NOT_FOUND
    return isinstance(error, StatusError) and error.status in (404, 405) and _url_with(dialect.path, url) != url


def _url_with(path: str, url: str) -> str:
    """The URL of the endpoint of a dialect: it has this path, unless the URL has one."""
    parts = urlsplit(url)
    return url if parts.path.strip("/") else urlunsplit(parts._replace(path=path))
