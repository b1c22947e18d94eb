"""Replays recorded conversations as a server: every request gets the response that was recorded for it.

A request is matched by its method and its params without `_meta`; for `initialize` only the version is compared, and a
response to a request of the server may differ from the recorded one. If a request was recorded several times, its
responses are replayed in order, then the last one repeatedly; a later conversation replaces earlier ones. The replay
ignores recorded times, and waits only for responses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, meta_of, progress_token
from gaia_mcp.protocol.jsonrpc import Error, Malformed, Message, Notification, Request, RequestId, Result
from gaia_mcp.recordings import AwaitResponse, Exchange, RecordedConversation, request_keys
from gaia_mcp.safetext import cut

if TYPE_CHECKING:
    from gaia_mcp.recordings import Transcript

# Answered with an empty result even if not recorded, as by every server of the handshake era.
ALWAYS_ANSWERED = frozenset({"ping", "logging/setLevel"})
# An error lists at most this many recorded requests, each cut to about one line.
SHOWN_REQUESTS, SHOWN_CHARS = 5, 200


class _Replay:
    """An exchange that is being replayed for a request with another id and progress token."""

    def __init__(self, exchange: Exchange, request_id: RequestId | None, token: RequestId | None) -> None:
        self.exchange = exchange
        self.request_id = request_id
        self.token = token
        self.left = list(reversed(exchange.steps))
        # The ids of the server's requests: as recorded, and as sent now.
        self.new_ids: dict[RequestId, str] = {}
        self.answered: set[RequestId] = set()
        self.is_over = False


class Player:
    """The server of recorded conversations. It receives each line of the client and returns the lines to send."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        # The last conversation first.
        self._conversations = [RecordedConversation(transcript.lines) for transcript in reversed(transcripts)]
        # The exchanges still to be replayed for each key; the last one is never removed.
        self._left: dict[str, list[Exchange]] = {}
        for conversation in self._conversations:
            recorded: dict[str, list[Exchange]] = {}
            for exchange in conversation.exchanges:
                for key in request_keys(exchange.method, exchange.params):
                    recorded.setdefault(key, []).append(exchange)
            self._left = recorded | self._left
        self._waiting: dict[RequestId, _Replay] = {}
        self._server_requests = 0

    def prologue(self) -> list[bytes]:
        """The lines that the server sends before any request."""
        prologue = self._conversations[0].prologue if self._conversations else Exchange(None)
        return self._continue(_Replay(prologue, None, None))

    def receive(self, record: bytes) -> list[bytes]:
        """The lines that the server sends in response to this one."""
        try:
            value = jsonrpc.parse(record)
            messages = value if isinstance(value, list) else [value]
            return [line for message in messages for line in self._answer(message)]
        except (RecursionError, ValueError):  # RecursionError: nested too deeply to be encoded again.
            return [jsonrpc.encode(jsonrpc.error(None, jsonrpc.PARSE_ERROR, "Parse error"))]

    def _answer(self, value: Any) -> list[bytes]:
        message = jsonrpc.classify(value)
        if isinstance(message, Request):
            exchange = self._next(message.method, message.params)
            if exchange is not None:
                return self._continue(_Replay(exchange, message.id, progress_token(meta_of(message.params))))
            if message.method in ALWAYS_ANSWERED:
                return [jsonrpc.encode(jsonrpc.result(message.id, {}))]
            return [jsonrpc.encode(self._unknown(message))]
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                cancelled = message.params.get("requestId")
                self._waiting = {key: one for key, one in self._waiting.items() if one.request_id != cancelled}
                return []
            exchange = self._next(message.method, message.params)
            return self._continue(_Replay(exchange, None, None)) if exchange is not None else []
        if isinstance(message, Malformed):
            if message.id is None:
                return []
            text = f"Invalid request: {message.problem}"
            return [jsonrpc.encode(jsonrpc.error(message.id, jsonrpc.INVALID_REQUEST, text))]
        replay = self._waiting.pop(message.id, None) if message.id is not None else None
        if replay is None or message.id is None:
            return []
        replay.answered.add(message.id)
        return self._continue(replay)

    def _next(self, method: str, params: dict[str, Any]) -> Exchange | None:
        """The exchange to replay: the next one of the most specific key that has any."""
        for key in request_keys(method, params):
            if left := self._left.get(key):
                return left.pop(0) if len(left) > 1 else left[0]
        return None

    def _continue(self, replay: _Replay) -> list[bytes]:
        """The lines to send now, up to the next request of the server that has no response yet."""
        lines: list[bytes] = []
        while replay.left:
            step = replay.left[-1]
            if isinstance(step, AwaitResponse):
                new_id = replay.new_ids.get(step.request_id)
                if new_id is not None and new_id not in replay.answered:
                    return lines
            elif step.text is not None:
                lines.append(step.text.encode(errors="backslashreplace") + b"\n")
            elif (message := self._adapted(step.message, replay)) is not None:
                lines.append(jsonrpc.encode(message))
            replay.left.pop()
        exchange, was_over, replay.is_over = replay.exchange, replay.is_over, True
        is_answered = exchange.is_answered or exchange.is_cancelled or exchange.method == "subscriptions/listen"
        if replay.request_id is not None and not is_answered and not was_over:
            text = f"the recording ends before the response to this {exchange.method}"
            lines.append(jsonrpc.encode(jsonrpc.error(replay.request_id, jsonrpc.INTERNAL_ERROR, text)))
        return lines

    def _adapted(self, recorded: Any, replay: _Replay) -> Any:
        """A recorded message with the new ids and tokens; None for progress that the client did not request."""
        message = jsonrpc.classify(recorded)
        if isinstance(message, (Result, Error)) and message.id is not None:
            adapted = {**recorded, "id": replay.request_id}
            return _with_subscription(adapted, "result", replay) if isinstance(message, Result) else adapted
        if isinstance(message, Request):
            self._server_requests += 1
            new_id = replay.new_ids[message.id] = f"replay-{self._server_requests}"
            self._waiting[new_id] = replay
            return {**recorded, "id": new_id}
        if isinstance(message, Notification):
            if message.method == "notifications/progress":
                if replay.token is None:
                    return None
                return {**recorded, "params": {**message.params, "progressToken": replay.token}}
            if message.method == "notifications/cancelled":
                cancelled = message.params.get("requestId")
                if jsonrpc.is_id(cancelled) and cancelled in replay.new_ids:
                    return {**recorded, "params": {**message.params, "requestId": replay.new_ids[cancelled]}}
            return _with_subscription(recorded, "params", replay)
        return recorded

    def _unknown(self, request: Request) -> Message:
        exchanges = [
            one for conversation in self._conversations for one in conversation.exchanges if one.id is not None
        ]
        same = {
            request_keys(one.method, one.params)[0]: one.params for one in exchanges if one.method == request.method
        }
        if not same:
            methods = ", ".join(dict.fromkeys(one.method for one in exchanges)) or "nothing"
            text = f"the recording has no {request.method}; it has {methods}"
            return jsonrpc.error(request.id, jsonrpc.METHOD_NOT_FOUND, text)
        known = [{key: value for key, value in params.items() if key != "_meta"} for params in same.values()]
        shown = "; ".join(cut(json.dumps(params, ensure_ascii=False), SHOWN_CHARS) for params in known[:SHOWN_REQUESTS])
        more = f"; and {len(known) - SHOWN_REQUESTS} more" if len(known) > SHOWN_REQUESTS else ""
        text = f"the recording has no {request.method} with these params; it has {shown}{more}"
        return jsonrpc.error(request.id, jsonrpc.INVALID_PARAMS, text, {"recorded": known[:SHOWN_REQUESTS]})


def _with_subscription(message: dict[str, Any], member: str, replay: _Replay) -> dict[str, Any]:
    held = message.get(member)
    if not isinstance(held, dict) or SUBSCRIPTION_KEY not in meta_of(held):
        return message
    return {**message, member: {**held, "_meta": {**meta_of(held), SUBSCRIPTION_KEY: replay.request_id}}}
