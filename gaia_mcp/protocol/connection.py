"""What both roles and both eras share: numbering requests, matching responses to them, dispatching messages.

The owner of a connection passes records to `receive()`, and takes events from `take_events()` and messages to send from
`take_outgoing()`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.events import (
    Discarded,
    Event,
    InvalidResponse,
    ListChanged,
    Logged,
    Progressed,
)
from gaia_mcp.protocol.jsonrpc import Error, Malformed, Message, Notification, Request, RequestId, Result

# The length of the excerpt of a discarded record: enough to recognise it. Whoever shows it can see by one more
# character that it was cut.
EXCERPT_CHARS = 120
# Responses to abandoned requests are recognised by id; a long-lived client must not remember every one of them.
ABANDONED_KEPT = 1024

_LIST_CHANGED = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


class Outgoing(NamedTuple):
    """A message to send, and the request that it belongs to.

    `about` is the id of that request, whichever side sent it, so that a channel with a stream for each request knows
    the stream; None for a message that belongs to no request. `cancels` marks a notification that cancels the request
    `about`: a channel with streams may close the stream instead of sending it.
    """

    message: Message | list[Message]
    about: RequestId | None = None
    cancels: bool = False


class Connection:
    """One end of a conversation. `client` and `server` have a subclass for each role. Its requests are numbered from
    `first_id` on.
    """

    _decoder = jsonrpc.DECODER

    def __init__(self, first_id: int = 1) -> None:
        self._outgoing: list[Outgoing] = []
        self._events: list[Event] = []
        self._first_id = self._next_id = first_id
        self._pending: dict[RequestId, str] = {}
        self._abandoned: dict[RequestId, None] = {}
        self._progress: dict[RequestId, float] = {}
        # The request on whose own stream the current record arrived.
        self._about: RequestId | None = None

    def take_outgoing(self) -> list[Outgoing]:
        """The messages to send now, in order."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def take_events(self) -> list[Event]:
        """The events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification that belongs to no request."""
        self._outgoing.append(Outgoing(jsonrpc.notification(method, params)))

    def abandon(self, request_id: RequestId, reason: str) -> None:
        """Cancel a request. A response that still arrives is ignored."""
        method = self._pending.pop(request_id, None)
        if method is None:
            return
        self._ignore_responses_to(request_id)
        # The handshake itself must not be cancelled: the specification forbids it, and the probe is harmless.
        if method not in ("initialize", "server/discover"):
            message = jsonrpc.notification("notifications/cancelled", {"requestId": request_id, "reason": reason})
            self._outgoing.append(Outgoing(message, request_id, cancels=True))

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        """Process one record, valid or not. Never raises.

        `about` is the request on whose own stream it arrived, None for a channel that has one stream for everything.
        """
        try:
            value = jsonrpc.parse_text(record.decode(), self._decoder)
        except jsonrpc.RepeatedMemberError:
            self._about = about
            self._receive_repeated_member(record)
        except ValueError:
            self._about = about
            self._receive_invalid_json(record)
        else:
            self.receive_message(value, about, record)

    def _receive_repeated_member(self, record: bytes) -> None:
        try:
            jsonrpc.parse_strictly(record)
        except jsonrpc.RepeatedMemberError as problem:
            value = problem.value
            if isinstance(value, list) and self._accepts_batches() and value:
                self._receive_malformed_batch([jsonrpc.malformed(each, str(problem)) for each in value], record)
            else:
                self._receive_malformed(jsonrpc.malformed(value, str(problem)), record)
        except ValueError:  # Something else follows.
            self._receive_invalid_json(record)

    def receive_message(self, value: Any, about: RequestId | None = None, record: bytes = b"") -> None:
        """As `receive`, for a JSON value that has been parsed; `record` is its text, for excerpts."""
        self._about = about
        if isinstance(value, list) and self._accepts_batches() and value:
            self._receive_batch(value)
            return
        message = jsonrpc.classify(value)
        if isinstance(message, Result):
            self._match_response(message)
        elif isinstance(message, Malformed):
            self._receive_malformed(message, record)
        else:
            self._receive_message(message)

    def receive_request(self, request: Request) -> None:
        """As `receive_message`, for a request that has been classified."""
        self._about = None
        self._receive_request(request)

    # What subclasses decide.

    def _accepts_batches(self) -> bool:
        raise NotImplementedError

    def _receive_request(self, request: Request) -> None:
        raise NotImplementedError

    def _receive_notification(self, notification: Notification) -> None:
        raise NotImplementedError

    def _receive_invalid_json(self, record: bytes) -> None:
        self._discard("not JSON", record)

    def _receive_malformed(self, message: Malformed, record: bytes) -> None:
        self._discard(message.problem, record)

    def _receive_malformed_batch(self, messages: list[Malformed], record: bytes) -> None:
        raise NotImplementedError

    def _receive_batch(self, values: list[Any]) -> None:
        for value in values:
            message = jsonrpc.classify(value)
            if isinstance(message, Malformed):
                self._receive_malformed(message, _excerpt(value))
            else:
                self._receive_message(message)

    def _receive_response(self, method: str, response: Result | Error) -> None:
        """A response to one of our own requests, of this method."""
        raise NotImplementedError

    def _receive_stray_response(self, problem: str) -> None:
        """A response with an id that was never sent."""
        self._discard(problem, b"")

    # What all share.

    def _send_request(self, request_id: RequestId, method: str, params: dict[str, Any] | None) -> None:
        self._pending[request_id] = method
        self._outgoing.append(Outgoing(jsonrpc.request(request_id, method, params), request_id))

    def _new_id(self) -> int:
        number = self._next_id
        self._next_id += 1
        return number

    def _was_sent(self, request_id: RequestId) -> bool:
        return isinstance(request_id, int) and self._first_id <= request_id < self._next_id

    def _ignore_responses_to(self, request_id: RequestId) -> None:
        self._progress.pop(request_id, None)
        self._abandoned[request_id] = None
        if len(self._abandoned) > ABANDONED_KEPT:
            del self._abandoned[next(iter(self._abandoned))]

    def _receive_message(self, message: Request | Notification | Result | Error) -> None:
        if isinstance(message, Request):
            self._receive_request(message)
        elif isinstance(message, Notification):
            self._sort_notification(message)
        else:
            self._match_response(message)

    def _match_response(self, response: Result | Error) -> None:
        request_id = response.id
        if request_id is None:
            assert isinstance(response, Error)  # noqa: S101 (a result always has an id)
            request_id = self._about if self._about is not None else self._match_without_id(response)
            if request_id is None:
                self._discard(f"an error without an id: {response.message}", b"")
                return
            response = response._replace(id=request_id)
        method = self._pending.pop(request_id, None)
        if method is not None:
            self._progress.pop(request_id, None)
            self._receive_response(method, response)
        elif request_id in self._abandoned:
            del self._abandoned[request_id]
        elif self._was_sent(request_id):
            self._discard(f"a second response to id {request_id!r}", b"")
        else:
            self._receive_stray_response(f"answered id {request_id!r}, which was never sent")

    def _match_without_id(self, error: Error) -> RequestId | None:
        """The request that an error without an id is about, if any, on a channel that has one stream for everything."""
        # If it is about a request, then about the only one.
        return self._only_pending() if self._may_lack_id(error) else None

    def _may_lack_id(self, error: Error) -> bool:
        """Whether this error, which has no id, can be the response to a request."""
        # Errors with other codes come from servers that respond to notifications.
        return error.code in (jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST)

    def _only_pending(self) -> RequestId | None:
        """The request that a response without an id belongs to, None if it could be one of several."""
        if self._about is not None:
            return self._about
        # A subscription stays open; counted, no other request would ever be the only pending one.
        waiting = [request_id for request_id, method in self._pending.items() if method != "subscriptions/listen"]
        return waiting[0] if len(waiting) == 1 else None

    def _fail_pending(self, request_id: RequestId | None, problem: str, record: bytes = b"") -> None:
        """Fail a request with `problem`; without an id the only pending one, and none if there are several."""
        if request_id in self._abandoned:
            del self._abandoned[request_id]
            return
        if request_id not in self._pending:
            request_id = self._only_pending()
        if request_id is not None and self._pending.pop(request_id, None) is not None:
            self._ignore_responses_to(request_id)
            self._receive_invalid_response(request_id, problem, excerpt_of(record))
        else:
            self._discard(problem, record)

    def _receive_invalid_response(self, request_id: RequestId, problem: str, excerpt: str = "") -> None:
        self._events.append(InvalidResponse(request_id, problem, excerpt))

    def _sort_notification(self, notification: Notification) -> None:
        method, params = notification
        if method == "notifications/progress":
            self._receive_progress(params)
        elif method == "notifications/message":
            level, logger = params.get("level"), params.get("logger")
            self._events.append(
                Logged(
                    level if isinstance(level, str) else "info",
                    logger if isinstance(logger, str) else "",
                    params.get("data"),
                )
            )
        elif method in _LIST_CHANGED:
            self._receive_list_changed(_LIST_CHANGED[method], params)
        else:
            self._receive_notification(notification)

    def _receive_list_changed(self, kind: str, params: dict[str, Any]) -> None:  # noqa: ARG002
        self._events.append(ListChanged(kind))

    def _receive_progress(self, params: dict[str, Any]) -> None:
        token, progress = params.get("progressToken"), params.get("progress")
        if not jsonrpc.is_id(token) or token not in self._pending or not jsonrpc.is_number(progress):
            return
        # Progress must increase: a smaller value is the server's mistake, and a progress bar would jump back.
        if progress <= self._progress.get(token, float("-inf")):
            return
        self._progress[token] = progress
        total, text = params.get("total"), params.get("message")
        self._events.append(
            Progressed(
                token,
                progress,
                total if jsonrpc.is_number(total) else None,
                text if isinstance(text, str) else "",
            )
        )

    def _discard(self, problem: str, record: bytes) -> None:
        self._events.append(Discarded(problem, excerpt_of(record)))


def excerpt_of(record: bytes) -> str:
    """The beginning of a record, for a message."""
    return record[: EXCERPT_CHARS * 4 + 1].decode("utf-8", "replace")[: EXCERPT_CHARS + 1]


def _excerpt(value: Any) -> bytes:
    """A member of a batch, encoded again for the excerpt. Unlike our own messages, it may contain NaN."""
    try:
        return json.dumps(value).encode("ascii")
    except RecursionError:  # Python reads JSON that is nested a little more deeply than it can write.
        return b""
