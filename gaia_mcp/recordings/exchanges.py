"""A recorded conversation taken apart: how each request and notification of the client was answered, step by step.

The server's messages are put to the request that they name, by id, token or subscription, and else to the last one that
was open when they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.jsontext import canonical, canonical_text
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, meta_of, progress_token
from gaia_mcp.protocol.jsonrpc import Error, Notification, Request, RequestId, Result
from gaia_mcp.recordings.transcript import CLIENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.recordings.transcript import Said


class Say(NamedTuple):
    """The server says this; as it stands in the recording."""

    message: Any
    text: str | None = None


class Wait(NamedTuple):
    """The server goes on after the answer to its question, which had this id."""

    asked: RequestId


class Exchange:
    """What a client said, and all that the server did about it."""

    def __init__(self, opening: Request | Notification | None) -> None:
        self.id = opening.id if isinstance(opening, Request) else None
        self.method = opening.method if opening is not None else ""
        self.params = opening.params if opening is not None else {}
        self.token = progress_token(meta_of(self.params))
        self.steps: list[Say | Wait] = []
        self.is_answered = False
        self.is_cancelled = False


class Conversation:
    """One recorded conversation: its exchanges in the order in which they began, and what preceded them."""

    def __init__(self, said: Iterable[Said]) -> None:
        # What the server said before it was asked anything.
        self.prologue = Exchange(None)
        self.exchanges: list[Exchange] = []
        self._open: dict[RequestId, Exchange] = {}
        self._asked: dict[RequestId, Exchange] = {}
        self._latest = self.prologue
        for one in said:
            take = self._client_said if one.sender == CLIENT else self._server_said
            if one.text is not None:
                if one.sender != CLIENT:
                    self._about().steps.append(Say(None, one.text))
            elif isinstance(one.message, list):
                for message in one.message:
                    take(message)
            else:
                take(one.message)

    def _about(self) -> Exchange:
        """The exchange that something belongs to which does not say so: the last one that is open."""
        return next(reversed(self._open.values()), self._latest)

    def _client_said(self, message: Any) -> None:
        said = jsonrpc.classify(message)
        if isinstance(said, (Result, Error)):
            if said.id is not None and (asking := self._asked.pop(said.id, None)) is not None:
                asking.steps.append(Wait(said.id))
        elif isinstance(said, Notification) and said.method == "notifications/cancelled":
            if jsonrpc.is_id(given_up := said.params.get("requestId")) and given_up in self._open:
                self._open.pop(given_up).is_cancelled = True
        elif isinstance(said, (Request, Notification)):
            self._latest = exchange = Exchange(said)
            self.exchanges.append(exchange)
            if isinstance(said, Request):
                self._open[said.id] = exchange

    def _server_said(self, message: Any) -> None:
        said = jsonrpc.classify(message)
        last = self._about()
        about: Exchange | None = last
        if isinstance(said, (Result, Error)):
            about = self._open.pop(said.id, None) if said.id is not None else last
            if about is not None:
                about.is_answered = True
        elif isinstance(said, Request):
            self._asked[said.id] = last
        elif isinstance(said, Notification):
            if said.method == "notifications/progress":
                token = said.params.get("progressToken")
                about = next((one for one in self._open.values() if token is not None and one.token == token), None)
            elif jsonrpc.is_id(subscription := meta_of(said.params).get(SUBSCRIPTION_KEY)):
                about = self._open.get(subscription)
        # An answer to nothing, or progress of nothing that is open, is of no use to anybody.
        if about is not None:
            about.steps.append(Say(message))


def keys_of(method: str, params: dict[str, Any]) -> list[str]:
    """Under what a message of the client is known, the most exact first."""
    told = {key: value for key, value in params.items() if key != "_meta"}
    if method == "initialize":
        return [f"{method} {_canonical(told.get('protocolVersion'))}", method]
    found = [f"{method} {_canonical(told)}"]
    if "inputResponses" in told:
        # Not what the same request is known by before anything was asked.
        found.append(f"{method} answered {_canonical({**told, 'inputResponses': None})}")
    return found


def _canonical(value: Any) -> str:
    try:
        return canonical_text(canonical(value))
    except (RecursionError, ValueError):  # Nested too deeply, or with NaN: one such value is as good as another.
        return "no canonical form"
