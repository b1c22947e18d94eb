"""One message that is sent by POST, and everything that arrives in response.

A message is sent once. It is sent again only if the server rejected it without running it: because of its
authorization, its headers, a redirect, or with a status that asks to retry
later.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.client.transports.http.connections import (
    MAX_HELD_BYTES,
    TRANSPORT_ERRORS,
    InterruptedExchangeError,
    Response,
)
from gaia_mcp.client.transports.http.failures import failure_of, lost, not_mcp, redirected, refused
from gaia_mcp.client.transports.http.streams import resume
from gaia_mcp.client.transports.http.wire import Wire, is_response_to
from gaia_mcp.core.errors import LocalProtocolError, MCPError, RemoteProtocolError, SessionExpiredError
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import has_envelope, meta_of
from gaia_mcp.protocol.sse import EventParser

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.worker_connections import Lane
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.jsonrpc import Message

logger = logging.getLogger("gaia_mcp")

# As in browsers and other clients; more is a loop.
MAX_REDIRECTS = 5
# A busy server states when to retry. One that is always busy must be reported.
MAX_PAUSES = 5
_REDIRECTS = {301, 302, 303, 307, 308}
# Client errors that say nothing about the server's era: they are about access, time or load.
_NO_EVIDENCE = {401, 403, 407, 408, 421, 425, 429}
# The statuses with which servers that do not know a session refuse it, if they say so: the request has not run. Not
# 500: something may have run then.
_DENIES_SESSION = {400, 401, 404, 409, 410, 412, 422, 428, 503}
# The error of the official SDKs for an unknown session, and for a server that is not initialized.
_SESSION_UNKNOWN, _UNINITIALIZED = -32001, -32000
_OVER = object()
# The call waits for all pages; servers send up to a thousand tools in each.
MAX_PAGES = 20


class Owner(Protocol):
    """The owner of an exchange. Called on the exchange's thread."""

    @property
    def is_fixed(self) -> bool:
        """Whether no other transport than Streamable HTTP may be tried."""

    def find_stream(self, deadline: Deadline) -> bool:
        """The server does not accept `initialize`. Returns whether it has the stream of HTTP+SSE, used from now on.
        Raises an error that tells more than the refusal.
        """

    def response_came(self, exchange: Exchange) -> None:
        """The response has arrived on a stream, which may continue."""

    def session_expired(self) -> None:
        """The server no longer knows the session. Nothing more may be sent in it."""

    def session_ended(self) -> None:
        """The request that found the session expired has failed. The other pending requests fail now."""

    def exchange_done(self, exchange: Exchange) -> None:
        """Nothing more will arrive."""


class Exchange:
    """Sends `message`, encoded as `record`, by POST. `stage` names it in errors.

    It is carried out in steps, so that its caller can begin it and a thread can go on.

    For a message that gets no response `done` is set at the end, and `error` is then the reason if it was not sent. For
    a request `done` is None, and `is_settled` is whether the response has arrived.
    """

    def __init__(
        self,
        wire: Wire,
        owner: Owner,
        message: Message,
        record: bytes,
        deadline: Deadline,
        stage: str,
    ) -> None:
        self.message = message
        # "At its start" would not name the request.
        self.stage = message["method"] if stage == "at its start" else stage
        self.is_given_up = False
        self.is_request = "id" in message and "method" in message
        self.done = None if self.is_request else threading.Event()
        self.error: MCPError | None = None
        self.is_settled = False
        self._wire = wire
        self._record = record
        self._deadline = deadline
        self._owner = owner
        self._redirects = 0
        self._pauses = 0
        self._is_refreshed = False
        self._steps: Iterator[None] | None = None

    @property
    def may_begin_here(self) -> bool:
        """Whether the caller may begin it. Closing the connection must cancel the request, and nothing of it may be in
        danger of a Ctrl-C, as the renewal of a token would be.
        """
        is_short = len(self._record) <= MAX_HELD_BYTES
        return self.is_request and self._stands_alone and is_short and not self._wire.authorizer.secrets()

    def begin(self, lane: Lane) -> bool:
        """Up to the first event of a stream, and to all that is not a successful response."""
        self._steps = self._run(lane)
        return next(self._steps, _OVER) is _OVER

    def run(self, lane: Lane) -> None:
        for _ in self._steps or self._run(lane):
            pass

    def _run(self, lane: Lane) -> Iterator[None]:
        """Carry it out. Pauses before whatever may take long: another thread may go on there."""
        try:
            is_due = True
            while is_due:
                with closing(self._open(lane)) as response:
                    if 200 <= response.status_code < 300:
                        yield from self._take(lane, response)
                        is_due = False
                    else:
                        yield
                        is_due = self._is_repeated(lane, response)
        except InterruptedExchangeError:
            pass
        except MCPError as error:
            self._fail(error)
        except TRANSPORT_ERRORS as cause:
            self._fail(failure_of(cause, self._wire.endpoint, self.stage))
        except Exception as cause:  # one request of many; its caller would wait until the deadline
            logger.exception("a request to MCP server %r failed", self._wire.endpoint.server)
            self._fail(LocalProtocolError(f"{self.stage} failed: {type(cause).__name__}: {cause}"))
        finally:
            self._owner.exchange_done(self)
            if self.done is not None:
                self.done.set()

    def _open(self, lane: Lane) -> Response:
        """Send the message; the response, its body unread."""
        headers = self._wire.headers_of(self.message, self._deadline)
        return lane.open("POST", self._wire.url, headers, self._record, self._deadline.remaining())

    def _is_repeated(self, lane: Lane, response: Response) -> bool:
        """Process a response that is not a success. Returns whether to send the message once more."""
        status = response.status_code
        if status in _REDIRECTS:
            self._follow(response)
            return True
        body = None
        if status == 401 and self._has_session and "www-authenticate" not in response.headers:
            body = bodies.begin(response)
            self._check_session(status, body)
        if status in (401, 403) and self._wire.authorizer.challenged(response, self._deadline):
            return True
        if status in (429, 503) and self._has_paused(lane, response):
            return True
        return self._is_refused(lane, response, bodies.begin(response) if body is None else body)

    # Success.

    def _take(self, lane: Lane, response: Response) -> Iterator[None]:
        wire, message = self._wire, self.message
        if not self.is_request or wire.answers_on_stream:
            _drain(response)
            return
        if message["method"] == "initialize":
            wire.initialized(response)
        kind = bodies.kind_of(response)
        if kind == bodies.EVENTS:
            yield from self._take_events(lane, response)
            return
        if kind not in ("application/json", ""):
            raise not_mcp(wire.endpoint, self.stage, kind, bodies.begin(response))
        body = bodies.read(response, wire.endpoint.server)
        begun = body[: bodies.MAX_EXCERPT_BYTES]
        try:
            text = body.decode()
            # A response may have 50 MB: it is held as few times as possible.
            del body
            value = jsonrpc.parse_text(text)
        except ValueError:
            raise not_mcp(wire.endpoint, self.stage, kind, begun) from None
        del text
        if wire.is_receiving:
            yield
        if self._has_session and _denies_session(value):
            raise SessionExpiredError(wire.endpoint.server)
        # A batch (2025-03-26) is an array. A response to another request must not reach its caller from here.
        for each in value if isinstance(value, list) else [value] if is_response_to(value, message["id"]) else ():
            self.is_settled |= wire.receive_value(each, message)
        if not self.is_settled:
            raise RemoteProtocolError(
                wire.endpoint.server, f"answered {self.stage} with JSON that is not a response of MCP"
            )

    def _take_events(self, lane: Lane, response: Response) -> Iterator[None]:
        parser = EventParser()
        failure: Exception | None = None
        try:
            yield from self._steps_of_events(response, parser)
        except TRANSPORT_ERRORS as cause:
            lane.check()
            failure = cause
        if self.is_settled:
            return
        if parser.last_id and not self._stands_alone:
            resume(lane, self._wire, self._deadline, parser, self._read_events)
        if not self.is_settled:
            raise lost(self._wire.endpoint.server, self.stage) from failure

    def _read_events(self, response: Response, parser: EventParser) -> bool:
        """Process the events of a stream to its end. Returns whether the response has arrived, now or before."""
        for _ in self._steps_of_events(response, parser):
            pass
        return self.is_settled

    def _steps_of_events(self, response: Response, parser: EventParser) -> Iterator[None]:
        for event in bodies.events(response, parser, self._wire.endpoint.server):
            if event.name != "message":
                continue
            text = bodies.text_of(event.data)
            # Neither is held while waiting for the next event, nor both at a time: one may have 50 MB.
            del event
            if self._wire.is_receiving:
                yield
            is_response = self._wire.receive(text, self.message)
            del text
            if is_response and not self.is_settled:
                self.is_settled = True
                self._owner.response_came(self)
            yield

    # Rejections.

    @property
    def _has_session(self) -> bool:
        """Whether the message was sent in a session."""
        return self._wire.session is not None and self.message.get("method") != "initialize"

    def _check_session(self, status: int, body: bytes) -> None:
        """Raise `SessionExpiredError` for a status, or the beginning of a body, that denies the session. The
        specification demands 404; servers that were started anew have many ways to say it.
        """
        is_denied = status in (404, 410) or (status in _DENIES_SESSION and _is_about_session(body))
        if self._has_session and is_denied:
            raise SessionExpiredError(self._wire.endpoint.server)

    def _is_refused(self, lane: Lane, response: Response, body: bytes) -> bool:
        """Pass on the error that arrived, whose body begins so. Returns whether to send the message again instead."""
        wire, status = self._wire, response.status_code
        lane.check()
        self._check_session(status, body)
        method = self.message.get("method")
        if not self.is_request:
            raise refused(wire.endpoint, self.stage, response, body)
        error = _error_in(body) or self._invalid_params(status, body)
        if error is not None:
            is_mismatch = error["error"].get("code") == jsonrpc.HEADER_MISMATCH and method == "tools/call"
            if is_mismatch and not self._is_refreshed:
                self._is_refreshed = True
                if refresh_tools(lane, wire, self.message, self._deadline):
                    return True
            self.is_settled = wire.receive_value(error, self.message)
            return False
        if method == "server/discover" and 400 <= status < 500 and status not in _NO_EVIDENCE:
            # Not a server of the stateless era; the response of another server to an unknown request means nothing.
            refusal = jsonrpc.error(self.message["id"], jsonrpc.METHOD_NOT_FOUND, f"HTTP status {status}")
            self.is_settled = wire.receive_value(refusal, self.message)
            return False
        if method == "initialize" and status in (400, 404, 405) and self._owner.find_stream(self._deadline):
            return True
        problem = refused(wire.endpoint, self.stage, response, body)
        if method == "initialize" and status == 405 and self._owner.is_fixed:
            problem.case = "not-http"
        raise problem

    def _invalid_params(self, status: int, body: bytes) -> Message | None:
        """The error for FastAPI's status for invalid arguments; None for everything else."""
        detail = _object_in(body).get("detail") if status == 422 else None
        if detail is None:
            return None
        text = detail if isinstance(detail, str) else json.dumps(detail, ensure_ascii=False)
        return jsonrpc.error(self.message["id"], jsonrpc.INVALID_PARAMS, text)

    def _follow(self, response: Response) -> None:
        status, place = response.status_code, response.headers.get("location", "")
        self._redirects += 1
        # The other redirects would turn it into a GET without the message.
        if status not in (307, 308) or self._redirects > MAX_REDIRECTS or not self._wire.redirected(place):
            raise redirected(self._wire.endpoint, status, place)

    def _has_paused(self, lane: Lane, response: Response) -> bool:
        """Wait as long as the server asks, if the deadline allows. Returns whether it did."""
        seconds = _retry_after(response.headers.get("retry-after", ""))
        self._pauses += 1
        if seconds is None or self._pauses > MAX_PAUSES or seconds >= self._deadline.remaining():
            return False
        lane.pause(seconds)
        return True

    @property
    def _stands_alone(self) -> bool:
        return has_envelope(self.message.get("params") or {})

    def _fail(self, error: MCPError) -> None:
        is_expired = isinstance(error, SessionExpiredError)
        if is_expired:
            # Before the caller knows: it retries at once, which must be in a new session.
            self._owner.session_expired()
        if not self.is_request:
            self.error = error
        elif self.message["method"] == "subscriptions/listen":
            # No caller waits for its end.
            ended = jsonrpc.error(self.message["id"], jsonrpc.INTERNAL_ERROR, error.message)
            self._wire.receive_value(ended, self.message)
        elif not self.is_settled:
            self._wire.request_failed(self.message, error)
        if is_expired:
            self._owner.session_ended()


def _is_about_session(text: bytes) -> bool:
    """Whether a refusal says that the server has no such session, or has not been initialized."""
    return any(each in text.lower() for each in (b"session", b"not initialized"))


def _denies_session(value: Any) -> bool:
    """Whether a response is an error about the session. One that has no id answers no request."""
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict) or not _is_about_session(str(error.get("message")).encode()):
        return False
    return error.get("code") == _SESSION_UNKNOWN or (error.get("code") == _UNINITIALIZED and value.get("id") is None)


def _drain(response: Response) -> None:
    """Read and drop a short body, so that the connection can be reused."""
    length = response.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 6:
        bodies.begin(response)


def _error_in(body: bytes) -> dict[str, Any] | None:
    value = _object_in(body)
    return value if isinstance(value.get("error"), dict) and "jsonrpc" in value else None


def _object_in(body: bytes) -> dict[str, Any]:
    """The JSON object in a body; an empty one for any other body."""
    try:
        value = jsonrpc.parse(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _retry_after(value: str) -> float | None:
    """The seconds until the time in a `Retry-After`, which is a number or a date."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


# The ids are strings made of these numbers; the requests of the conversation have integers.
_numbers = count(1)


def refresh_tools(lane: Lane, wire: Wire, call: Message, deadline: Deadline) -> bool:
    """List the tools again. Returns whether the headers of `call` have changed.

    Raises as `Lane.open` and `Wire.headers_of` do.
    """
    before = wire.annotations.headers(call["params"])
    meta = {key: value for key, value in meta_of(call["params"]).items() if key != "progressToken"}
    cursor: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        message = jsonrpc.request(f"tools-{next(_numbers)}", "tools/list", {**cursor, "_meta": meta})
        headers = wire.headers_of(message, deadline)
        response = lane.open("POST", wire.url, headers, jsonrpc.encode(message), deadline.remaining())
        with closing(response):
            result = _result(response, wire, message["id"])
        wire.annotations.learn(result, is_first=not cursor)
        if not isinstance(following := result.get("nextCursor"), str) or {"cursor": following} == cursor:
            break
        cursor = {"cursor": following}
    return wire.annotations.headers(call["params"]) != before


def _result(response: Response, wire: Wire, request_id: str) -> dict[str, Any]:
    server = wire.endpoint.server
    if bodies.kind_of(response) == bodies.EVENTS:
        records: Iterator[bytes] = (event.data for event in bodies.events(response, EventParser(), server))
    else:
        records = iter([bodies.read(response, server)])
    for record in records:
        try:
            value = jsonrpc.parse(record)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("id") == request_id and isinstance(value.get("result"), dict):
            return dict(value["result"])
    return {}
