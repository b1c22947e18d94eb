"""Divides a recorded conversation into exchanges: a client's request or notification, with the server's messages.

A message of the server belongs to the request that it refers to by id, progress token or subscription, and otherwise to
the latest request that was open when it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from gaia_mcp.jsontext import canonical, canonical_text
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, meta_of, progress_token
from gaia_mcp.protocol.jsonrpc import Error, Notification, Request, RequestId, Result
from gaia_mcp.recordings import CLIENT, TranscriptLine


class Send(NamedTuple):
    """The server sends this message as it was recorded, or the `text` of a line that was not JSON."""

    message: Any
    text: str | None = None


class AwaitResponse(NamedTuple):
    """The server continues after the response to its own request, which had this id."""

    request_id: RequestId


class Exchange:
    """A message of the client, and the steps of the server in response."""

    def __init__(self, first: Request | Notification | None) -> None:
        self.id = first.id if isinstance(first, Request) else None
        self.method = first.method if first is not None else ""
        self.params = first.params if first is not None else {}
        self.token = progress_token(meta_of(self.params))
        self.steps: list[Send | AwaitResponse] = []
        self.is_answered = False
        self.is_cancelled = False


class RecordedConversation:
    """One conversation: its exchanges in the order of their beginning, and the messages before the first one."""

    def __init__(self, lines: Iterable[TranscriptLine]) -> None:
        # The server's messages before the client's first.
        self.prologue = Exchange(None)
        self.exchanges: list[Exchange] = []
        self._open: dict[RequestId, Exchange] = {}
        self._server_requests: dict[RequestId, Exchange] = {}
        self._latest = self.prologue
        for line in lines:
            add = self._add_client_message if line.sender == CLIENT else self._add_server_message
            if line.text is not None:
                if line.sender != CLIENT:
                    self._latest_open().steps.append(Send(None, line.text))
            elif isinstance(line.message, list):
                for message in line.message:
                    add(message)
            else:
                add(line.message)

    def _latest_open(self) -> Exchange:
        """The exchange for a message that refers to none: the latest open one, or the latest of all if none is open."""
        return next(reversed(self._open.values()), self._latest)

    def _add_client_message(self, value: Any) -> None:
        message = jsonrpc.classify(value)
        if isinstance(message, (Result, Error)):
            if message.id is not None and (asking := self._server_requests.pop(message.id, None)) is not None:
                asking.steps.append(AwaitResponse(message.id))
        elif isinstance(message, Notification) and message.method == "notifications/cancelled":
            if jsonrpc.is_id(cancelled := message.params.get("requestId")) and cancelled in self._open:
                self._open.pop(cancelled).is_cancelled = True
        elif isinstance(message, (Request, Notification)):
            self._latest = exchange = Exchange(message)
            self.exchanges.append(exchange)
            if isinstance(message, Request):
                self._open[message.id] = exchange

    def _add_server_message(self, value: Any) -> None:
        message = jsonrpc.classify(value)
        latest = self._latest_open()
        exchange: Exchange | None = latest
        if isinstance(message, (Result, Error)):
            exchange = self._open.pop(message.id, None) if message.id is not None else latest
            if exchange is not None:
                exchange.is_answered = True
        elif isinstance(message, Request):
            self._server_requests[message.id] = latest
        elif isinstance(message, Notification):
            if message.method == "notifications/progress":
                token = message.params.get("progressToken")
                exchange = next((one for one in self._open.values() if token is not None and one.token == token), None)
            elif jsonrpc.is_id(subscription := meta_of(message.params).get(SUBSCRIPTION_KEY)):
                exchange = self._open.get(subscription)
        # A response to an unknown request, or progress for a request that is not open, is not replayed.
        if exchange is not None:
            exchange.steps.append(Send(value))


def request_keys(method: str, params: dict[str, Any]) -> list[str]:
    """The keys under which a message of the client is looked up, the most specific first."""
    compared = {key: value for key, value in params.items() if key != "_meta"}
    if method == "initialize":
        return [f"{method} {_canonical(compared.get('protocolVersion'))}", method]
    keys = [f"{method} {_canonical(compared)}"]
    if "inputResponses" in compared:
        # A separate key, which the same request without responses does not have.
        keys.append(f"{method} answered {_canonical({**compared, 'inputResponses': None})}")
    return keys


def _canonical(value: Any) -> str:
    try:
        return canonical_text(canonical(value))
    except (RecursionError, ValueError):  # Nested too deeply, or with NaN: all such values count as equal.
        return "no canonical form"
