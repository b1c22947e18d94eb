"""The state that all exchanges with one server share: its URL, session and revision, the header annotations of its
tools (which arguments are repeated in headers; a tool with malformed ones is removed from the list), and the
receiver of messages.

Also how the body of a response is read: one JSON object, or events as they arrive.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.http.connections import TRANSPORT_ERRORS, Endpoint, Response, same_origin
from gaia_mcp.core.errors import RemoteProtocolError
from gaia_mcp.protocol import has_sessions, since
from gaia_mcp.protocol.envelope import VERSION_KEY, has_envelope, meta_of
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.protocol.headers import (
    LAST_EVENT_HEADER,
    METHOD_HEADER,
    SESSION_HEADER,
    VERSION_HEADER,
    AnnotationError,
    Parameter,
    annotated_parameters,
    encoded,
    parameter_headers,
    repeats_in_headers,
    standard_headers,
)
from gaia_mcp.protocol.jsonrpc import Message, RequestId, parse, parse_text
from gaia_mcp.protocol.sse import EventParser, EventTooLongError, ServerSentEvent

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Receiver
    from gaia_mcp.client.transports.http.auth import Authorizer
    from gaia_mcp.core.deadline import Deadline

EVENTS = "text/event-stream"
# The limits for a body that is read only to describe it in an error. If it does not arrive, the status is enough.
MAX_EXCERPT_BYTES = 1024 * 1024
EXCERPT_SECONDS = 0.5
# Servers reject a client that does not accept both, even if they would send only one of them.
_ACCEPTED = f"application/json, {EVENTS}"
# The first revision that is named in a header of each request.
_FIRST_NAMED = "2025-06-18"
_VISIBLE = re.compile(r"[!-~]+")


def kind_of(response: Response) -> str:
    """The media type of a response, without parameters and in lower case; empty without one."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def text_of(record: bytes) -> str | bytes:
    """A record as text, or the record itself if it is not UTF-8.

    So the caller of a record of 50 MB keeps only the text: the parsed value is as large again.
    """
    try:
        return record.decode()
    except UnicodeDecodeError:
        return record


def read(response: Response, server: str, limit: int = MAX_RECORD_BYTES) -> bytes:
    """The whole body. Raises `RemoteProtocolError` for one that is longer than `limit`, in bytes."""
    pieces, size = [], 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise RemoteProtocolError(server, f"sent a body of more than {limit} bytes")
    return b"".join(pieces)


def begin(response: Response, seconds: float = EXCERPT_SECONDS) -> bytes:
    """The beginning of a body, for an error: the part that arrives within these seconds."""
    body = bytearray()
    end = time.monotonic() + seconds
    response.limit_silence(seconds)
    try:
        for piece in response.iter_bytes():
            body += piece
            if len(body) >= MAX_EXCERPT_BYTES or time.monotonic() > end:
                break
    except TRANSPORT_ERRORS:
        pass  # Cut off, or its compression does not match its header.
    return bytes(body)


def events(response: Response, parser: EventParser, server: str) -> Iterator[ServerSentEvent]:
    """The events of a stream, as they arrive. Raises `RemoteProtocolError` for one that is too long."""
    for piece in response.iter_bytes():
        try:
            found = parser.feed(piece)
        except EventTooLongError as problem:
            raise RemoteProtocolError(server, f"sent {problem}") from problem
        # Not held while waiting for the next: one may have 50 MB.
        del piece
        while found:
            yield found.pop(0)


class Wire:
    """`url` is where messages are sent: at first the URL of `endpoint`, then the target of its redirects, or the URL
    that an HTTP+SSE server named. `session` and `revision` are those of the handshake, None without one.

    `receiver` is given one message at a time, on the thread that has read it.
    """

    def __init__(self, endpoint: Endpoint, authorizer: Authorizer, receiver: Receiver) -> None:
        self.endpoint = endpoint
        self.authorizer = authorizer
        self.url = endpoint.url
        self.session: str | None = None
        self.revision: str | None = None
        self.annotations = Annotations()
        # Whether this is an HTTP+SSE server, so that all responses arrive on one stream.
        self.answers_on_stream = False
        self._receiver = receiver
        # Held while a message is received. Reentrant: receiving may send other messages.
        self._receiving = threading.RLock()
        self._depth = 0

    @property
    def is_receiving(self) -> bool:
        """Whether a message is being received, which may take as long as a listener does."""
        return self._depth > 0

    def headers_of(self, message: Message, deadline: Deadline) -> dict[str, str]:
        """The headers of a POST. Raises `AuthorizationError` and `DeadlineError`."""
        headers = {"Content-Type": "application/json", "Accept": _ACCEPTED}
        params = message.get("params") or {}
        if has_envelope(params):
            headers.update(standard_headers(message))
            self.revision = str(meta_of(params)[VERSION_KEY])
            if message["method"] == "tools/call":
                headers.update(self.annotations.headers(params))
        elif message.get("method") != "initialize":
            headers.update(self._of_conversation())
            if repeats_in_headers(self.revision) and "method" in message:
                headers[METHOD_HEADER] = encoded(message["method"])
        headers.update(self.authorizer.headers("POST", self.url, deadline))
        return headers

    def stream_headers(self, method: str, deadline: Deadline, last_id: str = "") -> dict[str, str]:
        """The headers of a GET for events after `last_id`, or of a DELETE. Raises as `headers_of` does."""
        headers = {"Accept": EVENTS, **self._of_conversation()}
        if last_id:
            headers[LAST_EVENT_HEADER] = last_id
        headers.update(self.authorizer.headers(method, self.url, deadline))
        return headers

    def initialized(self, response: Response) -> None:
        """The server has responded to `initialize` with success: store the session id, if it sent one."""
        session = response.headers.get(SESSION_HEADER.lower(), "")
        self.session = session if _VISIBLE.fullmatch(session) else None

    def redirected(self, place: str) -> bool:
        """Follow a redirect: later messages go to `place`. Returns False, and changes nothing, for another origin."""
        found = same_origin(self.url, place)
        if found is None:
            return False
        self.url = found
        return True

    def receive(self, text: str | bytes, request: Message | None) -> bool:
        """Pass on a record, as `text_of` returns it, that has arrived for `request`, or for none. Returns whether it is
        the response.
        """
        about = request["id"] if request is not None else None
        try:
            value = parse_text(text) if isinstance(text, str) else parse(text)
        except ValueError:
            self._pass_on(self._receiver.receive, text.encode() if isinstance(text, str) else text, about)
            return False
        del text
        return self.receive_value(value, request)

    def receive_value(self, value: Any, request: Message | None) -> bool:
        """As `receive`, for a parsed value."""
        about: RequestId | None = None
        is_response = False
        if request is not None:
            about = request["id"]
            is_response = is_response_to(value, about)
            if is_response:
                value = self._learned(request, {**value, "id": about})
        self._pass_on(self._receiver.receive_message, value, about)
        return is_response

    def request_failed(self, request: Message, error: Any) -> None:
        """Report that `request` gets no response."""
        self._pass_on(self._receiver.request_failed, request["id"], error)

    def _pass_on(self, receive: Callable[[Any, Any], None], arrived: Any, about: Any) -> None:
        with self._receiving:
            self._depth += 1
            try:
                receive(arrived, about)
            finally:
                self._depth -= 1

    def _learned(self, request: Message, response: dict[str, Any]) -> dict[str, Any]:
        result = response.get("result")
        if not isinstance(result, dict):
            return response
        if request["method"] == "initialize":
            named = result.get("protocolVersion", request["params"]["protocolVersion"])
            self.revision = named if has_sessions(named) else None
        elif request["method"] == "tools/list" and repeats_in_headers(self.revision):
            is_first = "cursor" not in (request.get("params") or {})
            return {**response, "result": self.annotations.learn(result, is_first=is_first)}
        return response

    def _of_conversation(self) -> dict[str, str]:
        headers = {}
        if self.session is not None:
            headers[SESSION_HEADER] = self.session
        if self.revision is not None and since(self.revision, _FIRST_NAMED):
            headers[VERSION_HEADER] = self.revision
        return headers


def is_response_to(value: Any, about: RequestId) -> bool:
    """Whether `value`, which arrived on the request's own exchange, is the response. An error may have another id or
    none if the request could not be read, and some servers return a numeric id as a string.
    """
    if not isinstance(value, dict) or value.get("method") is not None:
        return False
    return isinstance(value.get("error"), dict) or ("result" in value and str(value.get("id")) == str(about))


class Annotations:
    """The annotated parameters of a server's tools, by the tool's name. `left_out` has the problems of the tools that
    were removed from the list, by their names.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, str] = {}
        self._parameters: dict[str, tuple[Parameter, ...]] = {}

    def headers(self, params: dict[str, Any]) -> dict[str, str]:
        """The headers that repeat arguments of a `tools/call`."""
        parameters = self._parameters.get(str(params.get("name")))
        return parameter_headers(parameters, params.get("arguments")) if parameters else {}

    def learn(self, result: dict[str, Any], *, is_first: bool = True) -> dict[str, Any]:
        """The result of a `tools/list`, without the tools whose annotations are malformed. Stores the annotations of
        the others. `is_first` is whether this is the first page of a list.
        """
        if is_first:
            self.left_out = {}
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        kept = [tool for tool in tools if self._accepts(tool)]
        return {**result, "tools": kept} if len(kept) < len(tools) else result

    def _accepts(self, tool: Any) -> bool:
        if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
            return True  # The reader of the list reports what is wrong with it.
        try:
            parameters = annotated_parameters(tool.get("inputSchema"))
        except AnnotationError as problem:
            self.left_out[name] = str(problem)
            return False
        if parameters:
            self._parameters[name] = parameters
        else:
            self._parameters.pop(name, None)
        return True
